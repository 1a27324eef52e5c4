use proptest::prelude::{ProptestConfig, any, prop_assert, proptest};

use super::*;

fn config() -> AerospikeConfig {
    AerospikeConfig { write_block: Bytes(32 << 10), record: Bytes(1024), ..Default::default() }
}

fn run(app: &mut Aerospike, steps: u32) -> Vec<Command> {
    let mut out = Vec::new();
    while app.load(&mut out) {}
    for _ in 0..steps {
        app.step(&mut out);
    }
    out
}

fn figure(app: &Aerospike, name: &str) -> f64 {
    app.figures().into_iter().find(|f| f.name == name).unwrap().value
}

/// Uniform updates: every block is defragmented one record below the mark f, so the store writes 1/(1 - f)
/// times as much as its clients. The balance 1/(1 - fill at defrag) holds for any choice of keys.
#[test]
fn its_own_write_amplification_is_that_of_its_fill_at_defrag() {
    for (lwm, keys) in [
        (0.5, KeyOrder::Uniform),
        (0.3, KeyOrder::Uniform),
        (0.5, KeyOrder::Zipfian),
        (0.5, KeyOrder::Latest),
    ] {
        let config = AerospikeConfig { defrag_lwm: lwm, keys, ..config() };
        let mut app = Aerospike::new(&config, &Space::single(64 << 20, 1), 1).unwrap();
        // Many times the data, so that the initial load hardly matters.
        run(&mut app, 4_000_000);
        let waf = figure(&app, "application_waf");
        let balance = 1.0 / (1.0 - figure(&app, "fill_at_defrag"));
        assert!((waf / balance - 1.0).abs() < 0.02, "{keys:?} {lwm}: {waf}, balance {balance}");
        if keys == KeyOrder::Uniform {
            // 32 records per block: one fewer live record than the mark.
            let expected = 1.0 / (1.0 - ((lwm * 32.0_f64).ceil() - 1.0) / 32.0);
            assert!((waf / expected - 1.0).abs() < 0.02, "{lwm}: {waf}, not {expected}");
        } else {
            assert!(waf < 2.0, "{keys:?}: {waf}");
        }
        assert_eq!(figure(&app, "below_need"), 0.0);
        app.blocks.check_invariants();
    }
}

/// Blocks are written whole, and none is reused before the queue of free blocks has gone round.
#[test]
fn blocks_are_reused_first_in_first_out() {
    let mut app = Aerospike::new(&config(), &Space::single(64 << 20, 1), 1).unwrap();
    let out = run(&mut app, 200_000);
    let writes: Vec<u64> = out.iter().filter(|c| c.op == Op::Write).map(|c| c.lba / 64).collect();
    assert!(out.iter().filter(|c| c.op == Op::Write).all(|c| c.blocks == 64));
    let mut last = std::collections::BTreeMap::new();
    let mut shortest = usize::MAX;
    for (i, block) in writes.iter().enumerate() {
        if let Some(before) = last.insert(block, i) {
            shortest = shortest.min(i - before);
        }
    }
    // A third of 2,048 blocks is live; a freed block waits behind all the other free ones.
    assert!(shortest > 500, "{shortest}");
}

#[test]
fn trim_tells_the_drive_of_each_freed_block() {
    let config = AerospikeConfig { trim: true, ..config() };
    let mut app = Aerospike::new(&config, &Space::single(16 << 20, 1), 1).unwrap();
    let out = run(&mut app, 100_000);
    // Follows the commands: a block is deallocated between two writes of it.
    let mut written = vec![false; 512];
    let mut trims = 0;
    for command in &out {
        let block = (command.lba / 64) as usize;
        match command.op {
            Op::Write => {
                assert!(!written[block], "block {block} is written twice without a deallocate");
                written[block] = true;
            }
            Op::Deallocate => {
                trims += 1;
                assert!(std::mem::take(&mut written[block]));
            }
            _ => {}
        }
    }
    assert!(trims > 1000);
}

#[test]
fn reads_and_updates_are_ycsbs() {
    let share = |ycsb| {
        let mut rng = rng(1, 0);
        let reads = (0..100_000).filter(|_| matches!(Ycsb::draw(ycsb, &mut rng).0, Other::Read(_)));
        reads.count() as f64 / 1e5
    };
    for (ycsb, expected) in [(Ycsb::A, 0.5), (Ycsb::B, 0.95), (Ycsb::C, 1.0), (Ycsb::D, 0.95)] {
        assert!((share(ycsb) - expected).abs() < 0.01);
    }
}

#[test]
fn parameters_that_cannot_work_name_their_key() {
    let space = Space::single(64 << 20, 2);
    let key = |config: AerospikeConfig| Aerospike::new(&config, &space, 0).err().unwrap().key;
    assert_eq!(key(AerospikeConfig { write_block: Bytes(100_000), ..config() }), "write_block");
    assert_eq!(key(AerospikeConfig { record: Bytes(40_000), ..config() }), "record");
    assert_eq!(key(AerospikeConfig { fill: f64::NAN, ..config() }), "fill");
    assert_eq!(key(AerospikeConfig { handle: Some(2), ..config() }), "handle");
    assert_eq!(key(AerospikeConfig { ycsb: Ycsb::C, reads: false, ..config() }), "ycsb");
    let tiny = Aerospike::new(&config(), &Space::single(1 << 19, 2), 0).err().unwrap();
    assert_eq!(tiny.key, "fill");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..Default::default() })]

    /// With any parameters, the bookkeeping is consistent and no command leaves the namespace.
    #[test]
    fn the_books_are_right(
        block in 12u32..17,
        record in 64u64..3000,
        fill in 0.05f64..0.85,
        lwm in 0.1f64..0.9,
        ycsb in proptest::sample::select(vec![Ycsb::A, Ycsb::B, Ycsb::D, Ycsb::E, Ycsb::F]),
        keys in proptest::sample::select(vec![KeyOrder::Uniform, KeyOrder::Zipfian, KeyOrder::Latest]),
        trim in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let config = AerospikeConfig {
            write_block: Bytes(1 << block), record: Bytes(record), fill, defrag_lwm: lwm, ycsb, keys,
            trim, ..Default::default()
        };
        let bytes = 8 << 20;
        let Ok(mut app) = Aerospike::new(&config, &Space::single(bytes, 1), seed) else {
            return Ok(());
        };
        let mut out = Vec::new();
        while app.load(&mut out) {}
        app.blocks.check_invariants();
        for round in 0..20_000 {
            app.step(&mut out);
            if round % 4_000 == 0 {
                app.blocks.check_invariants();
            }
        }
        app.blocks.check_invariants();
        for command in &out {
            prop_assert!(command.lba * LBA_BYTES + command.bytes() <= bytes);
        }
    }
}
