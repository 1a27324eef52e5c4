//! A device that is saved and restored in the middle of a run continues like one that is not.

use proptest::prelude::*;
use wafer_device::{Destination, Device, DeviceConfig, DeviceState, Separation};
use wafer_oracle::{Oracle, named};

use crate::agreement::{apply, same_state};
use crate::configs::{Case, case, device, maintained, placed, reading, step};
use crate::traffic::mixed;
use crate::witness;

/// Attribution is not part of what is saved.
use witness::Heard;

/// Saves a device to bytes and restores it from them.
fn restored(device: &Device<Heard>, config: &DeviceConfig) -> Device<Heard> {
    let bytes = postcard::to_allocvec(&device.state()).unwrap();
    let state: DeviceState = postcard::from_bytes(&bytes).unwrap();
    let map = device.map_bytes().to_vec();
    let fill = |target: &mut [u8]| {
        target.copy_from_slice(&map);
        Ok(())
    };
    Device::restore(config, Heard::default(), state, fill).unwrap()
}

/// Drives both devices, and saves and restores the first before each part of the steps. Policies that learn are
/// replaced, as the oracle has none.
pub(crate) fn goes_on(case: &Case, parts: usize) -> Result<(), TestCaseError> {
    let mut config = case.config.clone();
    if named(&config.gc).is_none() {
        config.gc.policy = "greedy".to_owned();
    }
    let mut device = Device::with_observer(&config, case.seed, Heard::default()).unwrap();
    let mut oracle = Oracle::new(&config, named(&config.gc).unwrap(), case.seed);
    for steps in case.steps.chunks(case.steps.len().div_ceil(parts).max(1)) {
        device = restored(&device, &config);
        prop_assert_eq!(apply(&mut device, steps), apply(&mut oracle, steps));
        prop_assert_eq!(&device.observer().events, &oracle.take_events());
        oracle.take_asked();
    }
    same_state(&device, &oracle)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_restored_device_goes_on(
        case in case(device(2..12, 16..300u64), |blocks| step(blocks, 4000), 300), parts in 1..5usize,
    ) {
        goes_on(&case, parts)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// Pages that wait in caches and the state of maintenance are restored, too.
    #[test]
    fn a_restored_device_goes_on_with_its_firmware(
        case in case(maintained(device(2..12, 16..100u64)), reading, 300), parts in 1..5usize,
    ) {
        goes_on(&case, parts)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// What the device has learned about lifespans and writers is restored, too.
    #[test]
    fn a_restored_device_knows_what_it_knew(
        placing in prop::sample::select(vec![
            (Some(Destination::Writer), None),
            (None, Some(Separation::Sepbit)),
            (None, Some(Separation::Midas)),
            (None, Some(Separation::Warcip)),
            (None, Some(Separation::AutoStream)),
            (None, Some(Separation::Fadac)),
        ]),
        config in device(4..20, 16..300u64), volume in 1..6u64, parts in 2..6usize,
        seed in any::<u64>(),
    ) {
        let config = placed(&config, placing.0, placing.1);
        let steps = mixed(&config, volume, (6, 2), seed);
        goes_on(&Case { config, steps, batch: 1, seed }, parts)?;
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
