//! A hot and a cold stream for the device of `two_handles.rs`, which is large enough to compare policies.

use wafer_device::{Device, DeviceConfig};
use wafer_interface::{Command, Placement};

use super::random::random;
use super::two_handles::UNIT;

/// Returns single-page writes: four fifths to the first fifth of the space through handle 0, and the others to the rest
/// through handle 1.
pub(crate) fn hot_and_cold(count: usize, seed: &mut u64) -> Vec<Command> {
    let (all, hot) = (200 * UNIT, 40 * UNIT);
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
    let handle = |page: u64| Placement(u16::from(page >= 40 * UNIT));
    (0..200 * UNIT).map(|page| Command::write(page * 32, 32, handle(page))).collect()
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
