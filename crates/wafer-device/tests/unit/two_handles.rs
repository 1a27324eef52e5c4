//! A device with two handles, which tests of several crates share. Each includes this file as its own module, next to
//! one called `device` with the types.

use wafer_interface::{Bytes, FirmwareConfig, ServiceConfig};

use super::device::{Destination, DeviceConfig, GcConfig, Isolation, ReclaimUnitConfig};

/// Pages of a reclaim unit of [`two_handles`].
pub(crate) const UNIT: u64 = 64;

/// Returns a device with 200 logical RUs of 64 pages and two handles.
pub(crate) fn two_handles(policy: &str, isolation: Isolation) -> DeviceConfig {
    let page = 16384;
    DeviceConfig {
        capacity: Bytes(200 * UNIT * page),
        page: Bytes(page),
        reclaim_unit: ReclaimUnitConfig { size: Bytes(UNIT * page), count: Some(234) },
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
        firmware: FirmwareConfig::default(),
        service: ServiceConfig::default(),
    }
}
