//! Policies that choose where relocated data goes: the device stays whole whatever they choose, and a
//! rule that the configuration can name gives the same device when a policy says it.

use proptest::prelude::*;

use super::configs::tiny;
use super::oracle::agree_with;
use super::policies::{config, hot_and_cold};
use crate::policy::{self, RuView, VictimPolicy};
use crate::*;

/// A policy's victims, with destinations of its own.
struct Chooses<F> {
    victims: Box<dyn VictimPolicy>,
    choose: F,
}

impl<F: FnMut(RuId, &mut RuView<'_>) -> Option<u8> + Send> VictimPolicy for Chooses<F> {
    fn select(&mut self, rus: &mut RuView<'_>) -> Option<RuId> {
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
) -> Box<dyn VictimPolicy> {
    Box::new(Chooses { victims: policy::make(&config.gc).unwrap(), choose })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_choice_agrees_with_the_oracle(case in tiny(Just(16u64), 250)) {
        let policy = || chooses(&case.config, |_, rus| {
            let drawn = rus.draw(u32::from(rus.classes()) + 1) as u8;
            drawn.checked_sub(1)
        });
        agree_with(&case, &policy)?;
    }

    #[test]
    fn the_rule_of_the_configuration_may_be_said_by_the_policy(case in tiny(16..80u64, 120)) {
        // Separation has rules that generations do not tell.
        prop_assume!(case.config.gc.separation.is_none());
        let geometry = || Geometry::resolve(&case.config).unwrap();
        let named = policy::make(&case.config.gc).unwrap();
        let writer = case.config.gc.destination == Some(Destination::Writer);
        let said = chooses(&case.config, move |victim, rus| {
            Some(match writer {
                true if rus.forced() => rus.writer().0 as u8,
                true => 0,
                false => rus.generation(victim).min(rus.classes() - 1),
            })
        });
        let mut named = Device::with_geometry(geometry(), named, case.seed, ()).unwrap();
        let mut said = Device::with_geometry(geometry(), said, case.seed, ()).unwrap();
        for step in &case.steps {
            if let super::configs::Step::Command(command) = step {
                named.apply(&[*command]);
                said.apply(&[*command]);
            }
        }
        prop_assert_eq!(named.counters(), said.counters());
        prop_assert_eq!(&named.handles, &said.handles);
        prop_assert_eq!(said.check_invariants(), Ok(()));
    }
}

fn device(choose: impl FnMut(RuId, &mut RuView<'_>) -> Option<u8> + Send + 'static) -> Device {
    let mut config = config("greedy", Isolation::Persistently);
    config.gc.destination = Some(Destination::Generation);
    config.gc.generations = 3;
    let policy = chooses(&config, choose);
    let mut device =
        Device::with_geometry(Geometry::resolve(&config).unwrap(), policy, 1, ()).unwrap();
    device.apply(&hot_and_cold(60_000, &mut 5));
    device
}

#[test]
fn data_goes_where_the_policy_says() {
    // All in one class, and by age: three classes of which each fills reclaim units.
    let generations = |device: &Device| {
        let mut seen: Vec<u8> = device.rus.units.iter().map(|u| u.generation).collect();
        seen.sort_unstable();
        seen.dedup();
        seen
    };
    assert_eq!(generations(&device(|_, _| Some(1))), [0, 2]);
    let by_age = device(|victim, rus| Some((rus.age(victim) / 10_000).min(2) as u8));
    assert_eq!(generations(&by_age), [0, 1, 2, 3]);
    assert_eq!(by_age.check_invariants(), Ok(()));
}

#[test]
#[should_panic(expected = "the policy chose class 3 for relocated data; there are 3")]
fn a_class_that_there_is_not_is_a_fault_of_the_policy() {
    device(|_, _| Some(3));
}
