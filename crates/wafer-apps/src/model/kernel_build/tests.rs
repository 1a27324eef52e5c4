use proptest::prelude::{ProptestConfig, any, prop_assert, proptest};
use wafer_interface::{LBA_BYTES, Op};

use super::*;
use crate::model::Extent;

fn space() -> Space {
    let extent = |bytes| Extent { bytes, handles: Some(1) };
    Space { page_bytes: 4096, namespaces: vec![extent(64 << 20), extent(512 << 20)] }
}

fn config() -> KernelBuildConfig {
    KernelBuildConfig { jobs: 16, page_cache: Bytes(4 << 20), ..Default::default() }
}

fn run(config: &KernelBuildConfig, steps: u32) -> (KernelBuild, Vec<Command>) {
    let mut app = KernelBuild::new(config, &space(), 1).unwrap();
    let mut out = Vec::new();
    while app.load(&mut out) {}
    for _ in 0..steps {
        app.step(&mut out);
    }
    app.root.check_invariants();
    app.tmp.check_invariants();
    (app, out)
}

fn figure(app: &KernelBuild, name: &str) -> f64 {
    app.figures().into_iter().find(|f| f.name == name).unwrap().value
}

/// The page cache decides whether short-lived files reach the drive.
#[test]
fn short_lived_files_stay_in_a_large_page_cache() {
    let short = KernelBuildConfig { kept: 0.0, ..config() };
    let large = KernelBuildConfig { page_cache: Bytes(1 << 30), ..short.clone() };
    let (app, _) = run(&large, 20_000);
    assert!(figure(&app, "tmp_never_written") > 0.99);
    assert!(figure(&app, "tmp_share") < 0.01);
    let small = KernelBuildConfig { page_cache: Bytes(64 << 10), ..short };
    let (app, _) = run(&small, 20_000);
    assert!(figure(&app, "tmp_never_written") < 0.1);
    assert!(figure(&app, "tmp_share") > 0.5);
}

/// /tmp circulates through the whole namespace.
#[test]
fn tmp_circulates() {
    let (app, out) = run(&config(), 20_000);
    let pages = (512 << 20) / PAGE;
    let mut written = vec![false; pages as usize];
    for c in out.iter().filter(|c| c.op == Op::Write && c.namespace.0 == 1) {
        let first = c.lba * LBA_BYTES / PAGE;
        (first..first + c.bytes() / PAGE).for_each(|p| written[p as usize] = true);
    }
    let swap = (0.07 * pages as f64) as usize;
    let share =
        written[swap..].iter().filter(|w| **w).count() as f64 / (pages as usize - swap) as f64;
    assert!(share > 0.95, "{share}");
    assert_eq!(figure(&app, "without_room"), 0.0);
    assert_eq!(figure(&app, "swap_share"), 0.0);
}

#[test]
fn swap_stays_in_its_area() {
    let limited = KernelBuildConfig { swapped: Bytes(64 << 10), ..config() };
    let (app, out) = run(&limited, 5_000);
    assert!(figure(&app, "swap_share") > 0.05);
    let end = (0.07 * ((512 << 20) / PAGE) as f64) as u64 * PAGE;
    let bytes: u64 = out
        .iter()
        .filter(|c| c.namespace.0 == 1 && c.lba * LBA_BYTES < end)
        .map(Command::bytes)
        .sum();
    let counted = app.written[What::Swap as usize];
    assert_eq!(bytes, counted);
}

#[test]
fn every_written_byte_is_counted_once() {
    let (app, out) = run(&KernelBuildConfig { discard: true, ..config() }, 10_000);
    let bytes: u64 = out.iter().filter(|c| c.op == Op::Write).map(Command::bytes).sum();
    // The load, too, counts as objects, journal and metadata.
    assert_eq!(bytes, app.written.iter().sum::<u64>());
    assert!(out.iter().any(|c| c.op == Op::Deallocate));
    assert!(figure(&app, "iterations") > 1.0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..Default::default() })]

    #[test]
    fn the_books_are_right(
        jobs in 1u32..100,
        tree in 0.05f64..0.6,
        rebuilt in 0.05f64..1.0,
        kept in 0.0f64..1.0,
        cache in 0u64..64,
        swapped in 0u64..200,
        discard in any::<bool>(),
    ) {
        let config = KernelBuildConfig {
            jobs, tree, rebuilt, kept, discard, page_cache: Bytes(cache << 20),
            swapped: Bytes(swapped << 10), ..Default::default()
        };
        let Ok(mut app) = KernelBuild::new(&config, &space(), 1) else { return Ok(()) };
        let mut out = Vec::new();
        while app.load(&mut out) {}
        for _ in 0..3_000 {
            app.step(&mut out);
        }
        app.root.check_invariants();
        app.tmp.check_invariants();
        for c in &out {
            let end = c.lba * LBA_BYTES + c.bytes();
            prop_assert!(end <= [64 << 20, 512 << 20][usize::from(c.namespace.0)]);
        }
    }
}
