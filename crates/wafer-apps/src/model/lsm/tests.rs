use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};

use super::*;

fn config() -> LsmConfig {
    LsmConfig {
        memtable: Bytes(256 << 10),
        file: Bytes(256 << 10),
        level1: Bytes(1 << 20),
        fill: 0.4,
        ..Default::default()
    }
}

fn start(config: &LsmConfig, bytes: u64) -> Lsm {
    Lsm::new(config, &Space::single(bytes, 4), 1).unwrap()
}

fn run(app: &mut Lsm, steps: u64) -> Vec<Command> {
    let mut out = Vec::new();
    while app.load(&mut out) {}
    for _ in 0..steps {
        app.step(&mut out);
    }
    out
}

fn figure(app: &Lsm, name: &str) -> f64 {
    app.figures().into_iter().find(|f| f.name == name).unwrap().value
}

/// Write amplification of levelled compaction: 1 for the log, 1 for the flush, and for each level
/// between a third of and the full size ratio plus one (a file of the upper level overlaps about
/// `ratio` of the lower).
#[test]
fn levelled_write_amplification() {
    for ratio in [4.0, 8.0] {
        let config = LsmConfig { ratio, ..config() };
        let mut app = start(&config, 128 << 20);
        run(&mut app, 300_000);
        assert!((figure(&app, "wal_waf") - 1.0).abs() < 0.02);
        assert!((figure(&app, "flush_waf") - 1.0).abs() < 0.05);
        let levels = figure(&app, "levels");
        let compaction = figure(&app, "compaction_waf");
        let most = 1.0 + levels * (ratio + 1.0);
        let least = 1.0 + (levels - 1.0) * ratio / 3.0;
        assert!(levels >= 3.0 || ratio > 4.0);
        assert!((least..most).contains(&compaction), "{ratio}: {levels} levels, {compaction}");
        // Old copies exist only in the upper levels: about 1/ratio of the data.
        let space = figure(&app, "space_amplification");
        assert!((1.0..1.0 + 2.5 / ratio).contains(&space), "{space}");
        assert_eq!(figure(&app, "without_room"), 0.0);
    }
}

/// Deleted keys leave no trace once they have reached the last level.
#[test]
fn deletions_reclaim_space() {
    let config = LsmConfig { deletes: 0.8, ..config() };
    let mut app = start(&config, 64 << 20);
    run(&mut app, 400_000);
    let live = app.tree.check_invariants().values().filter(|live| **live).count() as f64;
    // The last write of a key was a put with one chance in five.
    let share = live / app.keys.records() as f64;
    assert!((share - 0.2).abs() < 0.05, "{share}");
    // Deletions stay in the upper levels until those are full.
    assert!(figure(&app, "space_amplification") < 1.0);
}

/// No file is overwritten while it exists, and each is deallocated when it is deleted.
#[test]
fn files_are_written_once_and_deallocated() {
    let mut app = start(&config(), 64 << 20);
    let out = run(&mut app, 100_000);
    let mut mapped = vec![false; (64 << 20) / PAGE as usize];
    for c in &out {
        let first = (c.lba * LBA_BYTES / PAGE) as usize;
        let pages = &mut mapped[first..first + (c.bytes() / PAGE) as usize];
        match c.op {
            Op::Write => {
                assert!(pages.iter().all(|mapped| !mapped), "written over: {c:?}");
                pages.fill(true);
            }
            Op::Deallocate => pages.fill(false),
            _ => {}
        }
    }
    app.area.check_invariants();
    let held: u64 = app.tree.extents().chain(&app.wal).map(|e| e.1).sum();
    assert_eq!(held, (64 << 20) / PAGE - app.area.free());
}

#[test]
fn levels_have_handles() {
    let config =
        LsmConfig { wal_handle: Some(3), level_handles: vec![0, 1], reads: 0.3, ..config() };
    let mut app = start(&config, 64 << 20);
    let out = run(&mut app, 50_000);
    let bytes = |handle| {
        let own = out.iter().filter(|c| c.op == Op::Write && c.placement == Placement(handle));
        own.map(Command::bytes).sum::<u64>()
    };
    assert_eq!(bytes(3), app.counts.wal);
    assert_eq!(bytes(0), app.counts.flushed);
    assert_eq!(bytes(1), app.counts.compacted);
    assert!(out.iter().any(|c| c.op == Op::Read));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..Default::default() })]

    /// The tree holds the same keys as a map, after any writes and deletions.
    #[test]
    fn the_tree_is_a_map(
        records in proptest::collection::vec((0u32..500, 0u32..4), 1..4000),
        per_file in 1usize..60,
        memtable in 1usize..80,
        l0 in 1usize..5,
        ratio in 1.5f64..6.0,
    ) {
        let mut tree = Tree::new(per_file, l0, 100.0, ratio);
        let mut expected = std::collections::BTreeMap::new();
        for batch in records.chunks(memtable) {
            let batch: Vec<u32> = batch.iter()
                .map(|&(key, kind)| if kind == 0 { key | DELETED } else { key }).collect();
            for record in &batch {
                expected.insert(record & !DELETED, record & DELETED == 0);
            }
            tree.add_level0(File { keys: tree::sorted(batch), ..Default::default() });
            while let Some(merge) = tree.next_merge() {
                let (level, outputs, _) = tree.merge(merge);
                let files = outputs.into_iter()
                    .map(|keys| File { keys, ..Default::default() }).collect();
                tree.install(level, files);
            }
        }
        let seen = tree.check_invariants();
        for (key, live) in &expected {
            prop_assert_eq!(seen.get(key).copied().unwrap_or(false), *live, "key {}", key);
            prop_assert_eq!(tree.find(*key).is_some(), *live);
        }
        prop_assert!(seen.len() <= expected.len());
    }
}
