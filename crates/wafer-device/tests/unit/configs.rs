//! Tiny devices and command sequences for property tests.

use proptest::prelude::*;
use wafer_interface::{Command, LBA_BYTES, Placement};

use super::devices::{BLOCKS, PAGE, command, device};
use crate::DeviceConfig;

/// A tiny device with reclaim units of a few pages of 64 KiB (16 are 1 MiB), and the commands for it.
#[derive(Clone, Debug)]
pub(super) struct Tiny {
    pub(super) config: DeviceConfig,
    pub(super) steps: Vec<Command>,
    pub(super) seed: u64,
}

/// Returns the smallest number of reclaim units with which a device works, which the error for fewer names.
fn smallest(config: &DeviceConfig) -> u64 {
    let count = Some(1);
    let reclaim_unit = crate::ReclaimUnitConfig { count, ..config.reclaim_unit.clone() };
    let error = DeviceConfig { reclaim_unit, ..config.clone() }.resolve().unwrap_err();
    error.message.rsplit(' ').next().unwrap().parse().unwrap()
}

/// Returns any tiny device with reclaim units of the given page counts, and up to `steps` steps, preceded in half of
/// the cases by a sequential fill, so that the device is full from the start.
pub(super) fn tiny(
    ru_pages: impl Strategy<Value = u64>,
    steps: usize,
) -> impl Strategy<Value = Tiny> {
    device(2..12, ru_pages, smallest).prop_flat_map(move |config| {
        let steps = prop::collection::vec(command(config.capacity.0 / LBA_BYTES, 4000), 1..steps);
        (Just(config), steps, any::<bool>(), any::<u64>()).prop_map(
            |(config, mut steps, fill, seed)| {
                if fill {
                    let pages = 0..config.capacity.0 / PAGE;
                    let write = |page| {
                        Command::write(page * BLOCKS, BLOCKS as u32, Placement(page as u16 % 3))
                    };
                    steps = pages.map(write).chain(steps).collect();
                }
                Tiny { config, steps, seed }
            },
        )
    })
}
