use proptest::prelude::{ProptestConfig, prop_assert, proptest};
use wafer_interface::LBA_BYTES;

use super::*;

const BYTES: u64 = 256 << 20;

fn start(config: &F2fsConfig) -> F2fs {
    F2fs::new(config, &Space::single(BYTES, 8), 1).unwrap()
}

fn config() -> F2fsConfig {
    F2fsConfig { checkpoint: Bytes(16 << 20), ..Default::default() }
}

fn run(app: &mut F2fs, steps: u32) -> Vec<Command> {
    let mut out = Vec::new();
    while app.load(&mut out) {}
    app.segments.check_invariants();
    for _ in 0..steps {
        app.step(&mut out);
    }
    app.segments.check_invariants();
    out
}

fn figure(app: &F2fs, name: &str) -> f64 {
    app.figures().into_iter().find(|f| f.name == name).unwrap().value
}

/// Linux without hints: all user data is warm. Each log has its handle, each segment one kind.
#[test]
fn log_separation() {
    let config = F2fsConfig { handles: vec![0, 1, 2, 3, 4, 5, 6], ..config() };
    let mut app = start(&config);
    let out = run(&mut app, 3_000);
    assert_eq!(figure(&app, "warm_share"), 1.0);
    let bytes = |handle| {
        let own = out.iter().filter(|c| c.op == Op::Write && c.placement == Placement(handle));
        own.map(Command::bytes).sum::<u64>()
    };
    let warm: u64 = app.counts.user.iter().sum::<u64>() * BLOCK;
    assert_eq!((bytes(0), bytes(1), bytes(3)), (0, warm, 0));
    assert_eq!(bytes(4), app.counts.nodes * BLOCK);
    assert_eq!(bytes(2) + bytes(5), app.segments.stats().moved * BLOCK);
    assert_eq!(bytes(6), app.counts.meta * BLOCK);
    // Metadata stays in its own area, and everything else after it.
    let main = app.sizes.meta * BLOCK / LBA_BYTES;
    for c in out.iter().filter(|c| c.op == Op::Write) {
        assert_eq!(c.lba < main, c.placement == Placement(6));
    }
}

/// Without SSR all space comes from cleaning: the balance of a log, 1 + moved / users.
#[test]
fn cleaning_frees_what_it_does_not_move() {
    let mut app = start(&F2fsConfig { ssr_below: 0, ..config() });
    run(&mut app, 10_000);
    assert_eq!(figure(&app, "ssr_share"), 0.0);
    let moved = figure(&app, "fill_at_cleaning");
    assert!((0.1..0.95).contains(&moved), "{moved}");
    let greedy = figure(&app, "application_waf");
    // Writes fill the space freed by cleaning and by segments that became invalid by themselves.
    assert!(greedy > 1.05 && greedy < 1.2 / (1.0 - moved), "{greedy} {moved}");
    let mut app = start(&F2fsConfig { ssr_below: 40, ..config() });
    run(&mut app, 10_000);
    assert!(figure(&app, "ssr_share") > 0.5);
    assert!(figure(&app, "application_waf") < greedy);
}

/// Every segment without valid blocks is discarded, and nothing in use is.
#[test]
fn discards_are_of_dead_blocks() {
    for discard in [Discard::Segment, Discard::Block, Discard::None] {
        let mut app = start(&F2fsConfig { discard, ssr_below: 0, ..config() });
        let mut valid = vec![false; (BYTES / BLOCK) as usize];
        let mut out = Vec::new();
        let mut discarded = 0u64;
        while app.load(&mut out) {}
        for _ in 0..5_000 {
            app.step(&mut out);
        }
        for c in &out {
            let first = (c.lba * LBA_BYTES / BLOCK) as usize;
            valid[first..first + (c.bytes() / BLOCK) as usize].fill(c.op == Op::Write);
            discarded += u64::from(c.op == Op::Deallocate);
        }
        for segment in 0..app.sizes.segments {
            for block in 0..SEGMENT {
                let at = app.sizes.meta as usize + (segment * SEGMENT + block) as usize;
                if app.segments.owner(segment, block).is_some() {
                    assert!(valid[at], "{discard:?}: a block in use was discarded");
                }
            }
        }
        assert_eq!(discarded > 0, discard != Discard::None);
    }
}

/// With skewed popularity, an oracle by file finds hot and cold data; Linux finds none.
#[test]
fn finer_temperatures() {
    let skewed = F2fsConfig { popularity: 1.2, ..config() };
    for temperature in [Temperature::File, Temperature::Frequency] {
        let mut app = start(&F2fsConfig { temperature, ..skewed.clone() });
        run(&mut app, 10_000);
        let warm = figure(&app, "warm_share");
        assert!(warm < 0.6, "{temperature:?}: {warm}");
        assert!(app.counts.user.iter().all(|n| *n > 0));
    }
    let mut app = start(&skewed);
    run(&mut app, 1_000);
    assert_eq!(figure(&app, "warm_share"), 1.0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..Default::default() })]

    #[test]
    fn the_books_are_right(
        pages in 1u64..200,
        fill in 0.1f64..0.95,
        reserved in 0.02f64..0.2,
        popularity in 0.0f64..0.9,
        checkpoint in 1u64..64,
        ssr in 0u32..40,
        kind in 0usize..3,
    ) {
        let config = F2fsConfig {
            file: Bytes(pages * BLOCK), overwrite: Bytes(BLOCK), fill, reserved, popularity,
            checkpoint: Bytes(checkpoint << 20), ssr_below: ssr,
            discard: [Discard::None, Discard::Segment, Discard::Block][kind],
            temperature: [Temperature::Linux, Temperature::File, Temperature::Frequency][kind],
            ..Default::default()
        };
        let Ok(mut app) = F2fs::new(&config, &Space::single(BYTES, 1), 1) else { return Ok(()) };
        let out = run(&mut app, 40_000);
        for c in &out {
            prop_assert!(c.lba * LBA_BYTES + c.bytes() <= BYTES && c.blocks > 0);
        }
    }
}
