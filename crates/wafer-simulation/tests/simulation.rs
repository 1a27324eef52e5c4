//! A fixed set of seeds, and the faults found by the simulation.

use std::thread;

use wafer_simulation::known::{KNOWN, Known, open};
use wafer_simulation::plan::Plan;
use wafer_simulation::{run, run_plan};

#[test]
fn a_seed_repeats_its_run_to_the_byte() {
    for seed in 0..12 {
        assert_eq!(run(seed, false), run(seed, false), "seed {seed}");
    }
    assert_ne!(run(0, false).fingerprint, run(1, false).fingerprint);
}

#[test]
fn seeds_violate_nothing_but_open_faults() {
    for seed in 1_000..1_064 {
        let violation = run(seed, false).violation;
        let wrong = violation.filter(|what| open(what).is_none());
        assert_eq!(wrong, None, "repeat it with: wafer-simulate --seed {seed} --trace");
    }
}

#[test]
fn hosts_work() {
    // Without commands there would be no violations either.
    let commands: u64 = (0..8).map(|seed| run_plan(Plan::of(seed).only(&[]), false).commands).sum();
    assert!(commands > 2_000, "{commands}");
}

/// An open fault is found within these seeds, a fixed one is not.
#[test]
fn known_faults_are_found_until_they_are_fixed() {
    let check = |known: &Known| {
        let mut violations = (0..24).filter_map(|seed| {
            let violation = run_plan(Plan::of(seed).only(known.actions), false).violation?;
            known.shows.iter().any(|part| violation.contains(part)).then_some((seed, violation))
        });
        let found = violations.next();
        assert_eq!(found.is_none(), known.fixed, "{}: {found:?}", known.fault);
    };
    // A thread for each: this test takes longer than all others of the file.
    thread::scope(|scope| KNOWN.iter().for_each(|known| drop(scope.spawn(|| check(known)))));
}
