//! Destinations of relocated data: those that the configuration can name, and those that a policy chooses.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use wafer_device::policy::{self, RuView, VictimPolicy};
use wafer_device::{Destination, Device, DeviceConfig, Isolation};
use wafer_interface::RuId;

use crate::agreement::{agree, apply};
use crate::configs::{Case, case, device, placed, step};
use crate::hot_and_cold::hot_and_cold;
use crate::traffic::mixed;
use crate::two_handles::two_handles;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_writer_is_drawn(
        config in device(4..16, Just(16)), volume in 2..8u64, seed in any::<u64>(),
    ) {
        let config = placed(&config, Some(Destination::Writer), None);
        let steps = mixed(&config, volume, (4, 1), seed);
        agree(&Case { config, steps, batch: 1, seed })?;
    }

    #[test]
    fn generations_are_counted(
        config in device(8..24, Just(16)), volume in 2..8u64, seed in any::<u64>(),
    ) {
        let config = placed(&config, Some(Destination::Generation), None);
        let steps = mixed(&config, volume, (4, 1), seed);
        agree(&Case { config, steps, batch: 5, seed })?;
    }
}

/// The victims of a policy, with destinations of its own.
struct Chooses<F> {
    victims: Box<dyn VictimPolicy>,
    choose: F,
    /// Generations of the candidates.
    seen: Arc<Mutex<BTreeSet<u8>>>,
}

impl<F: FnMut(RuId, &mut RuView<'_>) -> Option<u8> + Send> VictimPolicy for Chooses<F> {
    fn select(&mut self, rus: &mut RuView<'_>) -> Option<RuId> {
        self.seen.lock().unwrap().extend(rus.candidates().map(|(ru, _)| rus.generation(ru)));
        self.victims.select(rus)
    }

    fn destination(&mut self, victim: RuId, rus: &mut RuView<'_>) -> Option<u8> {
        assert!(rus.valid(victim).is_some(), "the victim is still a candidate");
        (self.choose)(victim, rus)
    }
}

fn chooses(
    config: &DeviceConfig,
    choose: impl FnMut(RuId, &mut RuView<'_>) -> Option<u8> + Send + 'static,
) -> (Box<dyn VictimPolicy>, Arc<Mutex<BTreeSet<u8>>>) {
    let (victims, seen) = (policy::make(&config.gc).unwrap(), Arc::default());
    (Box::new(Chooses { victims, choose, seen: Arc::clone(&seen) }), seen)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn the_rule_of_the_configuration_may_come_from_the_policy(
        case in case(device(2..12, 16..80u64), |blocks| step(blocks, 4000), 120),
    ) {
        // Separation has rules that depend on more than generations.
        prop_assume!(case.config.gc.separation.is_none());
        // A policy may choose destinations itself, like `midas`: only its victims count here.
        let (named, _) = chooses(&case.config, |_, _| None);
        let writer = case.config.gc.destination == Some(Destination::Writer);
        let (chosen, _) = chooses(&case.config, move |victim, rus| {
            Some(match writer {
                true if rus.forced => rus.writer.0 as u8,
                true => 0,
                false => rus.generation(victim).min(rus.classes - 1),
            })
        });
        let mut named = Device::with_policy(&case.config, named, case.seed, ()).unwrap();
        let mut chosen = Device::with_policy(&case.config, chosen, case.seed, ()).unwrap();
        apply(&mut named, &case.steps);
        apply(&mut chosen, &case.steps);
        prop_assert_eq!(named.counters(), chosen.counters());
        prop_assert_eq!(named.handle_counters(), chosen.handle_counters());
        prop_assert_eq!(named.gc_counters(), chosen.gc_counters());
        prop_assert_eq!(chosen.check_invariants(), Ok(()));
    }
}

/// Returns the generations that a policy with this choice of destinations sees.
fn generations(
    choose: impl FnMut(RuId, &mut RuView<'_>) -> Option<u8> + Send + 'static,
) -> Vec<u8> {
    let mut config = two_handles("greedy", Isolation::Persistently);
    config.gc.destination = Some(Destination::Generation);
    config.gc.generations = 3;
    let (policy, seen) = chooses(&config, choose);
    let mut device = Device::with_policy(&config, policy, 1, ()).unwrap();
    device.apply(&hot_and_cold(60_000, &mut 5));
    assert_eq!(device.check_invariants(), Ok(()));
    let seen = seen.lock().unwrap();
    seen.iter().copied().collect()
}

#[test]
fn data_goes_where_the_policy_chooses() {
    // All in one class; then three classes by age, each of which fills reclaim units.
    assert_eq!(generations(|_, _| Some(1)), [0, 2]);
    let by_age = |victim, rus: &mut RuView<'_>| Some((rus.age(victim) / 10_000).min(2) as u8);
    assert_eq!(generations(by_age), [0, 1, 2, 3]);
}

#[test]
#[should_panic(expected = "the policy chose class 3 for relocated data; there are 3")]
fn a_class_out_of_range_is_a_fault_of_the_policy() {
    generations(|_, _| Some(3));
}
