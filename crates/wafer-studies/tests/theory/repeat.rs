//! The same configuration, seed and commands give the same counters, alone or next to other runs.

use wafer_interface::{Counters, HandleCounters, RuId};

use super::bench::{Bench, HOT_COLD, Rng, config};

type Outcome = (Counters, Vec<HandleCounters>, Vec<(u32, u32)>);

fn outcome(bench: &Bench) -> Outcome {
    let mut device = bench.device();
    bench.fill(&mut device);
    bench.churn(&mut device, &mut Rng::new(bench.seed), 5 * bench.pages());
    let rus = (0..device.geometry().ru_count).map(RuId);
    let state = rus.map(|ru| (device.valid_pages(ru), device.erase_count(ru))).collect();
    (device.counters(), device.handle_counters().to_vec(), state)
}

#[test]
fn same_seed_same_counters() {
    // Random victims and two streams that share a GC reclaim unit: all sources of randomness.
    let more = "handles = 2\ngc.policy = \"d-choices\"\ngc.choices = 3\n";
    let bench = Bench::new(config(256, 300, more), 62_000.0, HOT_COLD, true);
    let other = Bench { seed: 2, ..bench.clone() };
    let at_once: Vec<Outcome> = std::thread::scope(|scope| {
        let runs = [&bench, &bench, &other].map(|b| scope.spawn(move || outcome(b)));
        runs.map(|run| run.join().expect("a run")).into()
    });
    assert_eq!(at_once[0], at_once[1]);
    assert_ne!(at_once[0], at_once[2]);
    assert_eq!(at_once[0], outcome(&bench));
    assert_eq!(at_once[2], outcome(&other));
}
