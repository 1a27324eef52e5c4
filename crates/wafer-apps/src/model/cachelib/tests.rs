use proptest::prelude::{ProptestConfig, any, prop_assert, proptest};
use wafer_interface::{Bytes, LBA_BYTES};

use super::*;

fn config() -> CachelibConfig {
    CachelibConfig { region: Bytes(256 << 10), soc: 0.2, ..Default::default() }
}

fn run(app: &mut Cachelib, steps: u32) -> Vec<Command> {
    let mut out = Vec::new();
    for _ in 0..steps {
        app.step(&mut out);
    }
    out
}

fn check(app: &Cachelib) {
    app.dram.check_invariants();
    app.small.check_invariants(|key| app.traffic.size(key));
}

fn figure(app: &Cachelib, name: &str) -> f64 {
    app.figures().into_iter().find(|f| f.name == name).unwrap().value
}

/// The small-object cache is written at random, all buckets alike; the large-object cache in order,
/// ring after ring.
#[test]
fn small_objects_are_random_large_ones_a_ring() {
    let space = Space::single(64 << 20, 1);
    let flat = CachelibConfig {
        popularity: 0.05,
        large_keys: 0.05,
        dram: 0.001,
        working_set: 30.0,
        ..config()
    };
    let mut app = Cachelib::new(&flat, &space, 1).unwrap();
    let out = run(&mut app, 400_000);
    check(&app);
    let soc_at = app.soc_at / LBA_BYTES;
    let writes = || out.iter().filter(|c| c.op == Op::Write);
    let mut next = 0;
    for write in writes().filter(|c| c.lba < soc_at) {
        assert_eq!(write.lba, next);
        next = (next + u64::from(write.blocks)) % soc_at;
    }
    let buckets = flat.sizes(&space).buckets;
    let mut hits = vec![0u32; buckets as usize];
    for write in writes().filter(|c| c.lba >= soc_at) {
        assert_eq!(write.bytes(), BUCKET);
        hits[((write.lba - soc_at) / 8) as usize] += 1;
    }
    // Random: the variance of the counts is near their mean, for many keys that are nearly equally
    // popular.
    let mean = hits.iter().sum::<u32>() as f64 / hits.len() as f64;
    let variance =
        hits.iter().map(|h| (f64::from(*h) - mean).powi(2)).sum::<f64>() / hits.len() as f64;
    assert!(mean > 50.0 && (0.8..2.0).contains(&(variance / mean)), "{mean} {variance}");
}

/// With more flash for small objects, more of them are found and fewer written.
#[test]
fn hits_grow_with_the_cache() {
    let space = Space::single(64 << 20, 1);
    let ratio = |dram, working_set| {
        let config = CachelibConfig { dram, working_set, ..config() };
        let mut app = Cachelib::new(&config, &space, 1).unwrap();
        run(&mut app, 600_000);
        check(&app);
        figure(&app, "hit_ratio")
    };
    assert!(ratio(0.1, 2.0) > ratio(0.01, 2.0) + 0.01);
    assert!(ratio(0.02, 0.5) > ratio(0.02, 4.0) + 0.05);
}

/// Flash is larger than all objects together, and nothing is set again: every key misses once.
#[test]
fn everything_fits() {
    let space = Space::single(64 << 20, 1);
    let config = CachelibConfig {
        working_set: 0.05,
        sets: 0.0,
        popularity: 0.3,
        large_keys: 0.0,
        soc: 0.5,
        dram: 0.001,
        ..config()
    };
    let mut app = Cachelib::new(&config, &space, 1).unwrap();
    run(&mut app, 1_000_000);
    let misses = (1.0 - figure(&app, "hit_ratio")) * 1e6;
    let keys = f64::from(app.traffic.keys());
    assert!((misses / keys - 1.0).abs() < 0.01, "{misses} of {keys}");
}

#[test]
fn each_engine_has_its_handle() {
    let config = CachelibConfig { soc_handle: Some(1), loc_handle: Some(0), ..config() };
    let mut app = Cachelib::new(&config, &Space::single(64 << 20, 2), 1).unwrap();
    let soc_at = app.soc_at / LBA_BYTES;
    for write in run(&mut app, 200_000).iter().filter(|c| c.op == Op::Write) {
        assert_eq!(write.placement.0, u16::from(write.lba >= soc_at));
    }
    let wrong = Cachelib::new(&config, &Space::single(64 << 20, 1), 1).err().unwrap();
    assert_eq!(wrong.key, "soc_handle");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..Default::default() })]

    /// With any parameters, the bookkeeping is consistent and no command leaves the namespace.
    #[test]
    fn the_books_are_right(
        soc in 0.0f64..0.9,
        dram in 0.0f64..0.2,
        popularity in 0.1f64..1.5,
        sets in 0.0f64..0.5,
        deletes in 0.0f64..0.4,
        large_keys in 0.0f64..1.0,
        admission in 0.1f64..1.0,
        seed in any::<u64>(),
    ) {
        let config = CachelibConfig {
            soc, dram, popularity, sets, deletes, large_keys, admission, ..config()
        };
        let bytes = 16 << 20;
        let Ok(mut app) = Cachelib::new(&config, &Space::single(bytes, 1), seed) else {
            return Ok(());
        };
        let out = run(&mut app, 60_000);
        check(&app);
        for command in &out {
            prop_assert!(command.lba * LBA_BYTES + command.bytes() <= bytes && command.blocks > 0);
        }
    }
}
