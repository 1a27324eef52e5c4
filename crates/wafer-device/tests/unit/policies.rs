//! A device with a hot and a cold stream.

use wafer_interface::*;

use crate::*;

pub(crate) const PAGES: u64 = 64;

/// A device of 200 logical RUs of 64 pages and two handles.
pub(crate) fn config(policy: &str, isolation: Isolation) -> DeviceConfig {
    let page = 16384;
    DeviceConfig {
        capacity: Bytes(200 * PAGES * page),
        page: Bytes(page),
        reclaim_unit: ReclaimUnitConfig { size: Bytes(PAGES * page), count: Some(234) },
        overprovisioning: None,
        handles: 2,
        groups: 1,
        isolation,
        handle_isolation: Default::default(),
        fdp: true,
        streams: 0,
        gc: GcConfig {
            policy: policy.to_owned(),
            background_free: 0.0,
            destination: Some(Destination::Isolation),
            ..GcConfig::default()
        },
        namespaces: Vec::new(),
        timing: None,
        endurance: None,
        firmware: wafer_interface::FirmwareConfig::default(),
        service: ServiceConfig::default(),
    }
}

/// Numbers that look random: SplitMix64.
pub(crate) fn random(state: &mut u64, bound: u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((u128::from(z ^ (z >> 31)) * u128::from(bound)) >> 64) as u64
}
