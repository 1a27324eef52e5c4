//! A device of 200 logical reclaim units with a hot and a cold stream, large enough to compare policies.

use wafer_device::{Destination, Device, DeviceConfig, GcConfig, Isolation, ReclaimUnitConfig};
use wafer_interface::{Bytes, Command, Placement, ServiceConfig};

use crate::traffic::random;

/// Pages of a reclaim unit.
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

/// Returns single-page writes: four fifths to the first fifth of the space through handle 0, the rest through
/// handle 1.
pub(crate) fn hot_and_cold(count: usize, seed: &mut u64) -> Vec<Command> {
    let (all, hot) = (200 * PAGES, 40 * PAGES);
    (0..count)
        .map(|_| {
            let (page, handle) = match random(seed, 5) {
                0 => (hot + random(seed, all - hot), 1),
                _ => (random(seed, hot), 0),
            };
            Command::write(page * 32, 32, Placement(handle))
        })
        .collect()
}

/// Returns a write of every page through its handle.
pub(crate) fn fill() -> Vec<Command> {
    let handle = |page: u64| Placement(u16::from(page >= 40 * PAGES));
    (0..200 * PAGES).map(|page| Command::write(page * 32, 32, handle(page))).collect()
}

/// Returns the WAF of the second half of a run.
pub(crate) fn waf(config: &DeviceConfig, seed: u64) -> f64 {
    let mut device = Device::new(config, seed).unwrap();
    device.apply(&fill());
    device.apply(&hot_and_cold(100_000, &mut { seed }));
    device.reset_counters();
    device.apply(&hot_and_cold(100_000, &mut { seed + 1000 }));
    device.counters().waf()
}
