//! A device that was saved and restored in the middle of a run goes on like one that was not.

use proptest::prelude::*;

use super::configs::{Step, tiny};
use crate::*;

fn apply(device: &mut Device, steps: &[Step]) {
    for step in steps {
        match step {
            Step::Command(command) => device.apply(&[*command]),
            Step::Update(namespace, placement) => {
                device.update_reclaim_unit(*namespace, *placement);
            }
        }
    }
}

/// Policies that know nothing but what the device shows them. What others learned is not saved.
const WITHOUT_MEMORY: [&str; 6] =
    ["greedy", "cost-benefit", "cost-age-time", "fifo", "random", "d-choices"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_restored_device_goes_on(case in tiny(16..300u64, 300), at in 0.0..1.0f64) {
        let mut case = case;
        if !WITHOUT_MEMORY.contains(&case.config.gc.policy.as_str()) {
            case.config.gc.policy = "greedy".to_owned();
        }
        let at = (case.steps.len() as f64 * at) as usize;
        let mut straight = Device::new(&case.config, case.seed).unwrap();
        apply(&mut straight, &case.steps[..at]);
        let bytes = postcard::to_allocvec(&straight.state()).unwrap();
        let map = straight.map_bytes().to_vec();
        let state: DeviceState = postcard::from_bytes(&bytes).unwrap();
        let mut restored = Device::restore(&case.config, (), state, |target| {
            target.copy_from_slice(&map);
            Ok(())
        }).unwrap();
        apply(&mut straight, &case.steps[at..]);
        apply(&mut restored, &case.steps[at..]);
        prop_assert_eq!(restored.counters(), straight.counters());
        prop_assert_eq!(&restored.handles, &straight.handles);
        prop_assert_eq!(restored.map_bytes(), straight.map_bytes());
        prop_assert_eq!(restored.check_invariants(), Ok(()));
        for ru in (0..straight.geometry().ru_count).map(RuId) {
            prop_assert_eq!(restored.valid_pages(ru), straight.valid_pages(ru));
            prop_assert_eq!(restored.erase_count(ru), straight.erase_count(ru));
        }
    }
}

#[test]
fn a_state_of_other_sizes_is_refused() {
    let config = |count| -> DeviceConfig {
        serde_json::from_value(serde_json::json!({
            "capacity": "16MiB", "reclaim_unit": { "size": "1MiB", "count": count },
        }))
        .unwrap()
    };
    let state = Device::new(&config(40), 0).unwrap().state();
    let refused = Device::restore(&config(41), (), state, |_| Ok(())).err().unwrap();
    assert_eq!(refused.to_string(), "the state is of a device with 40 reclaim units, not 41");
}
