//! Small devices and steps for property tests: 99 % full or more, with every policy, isolation, grouping and way to
//! write.

use std::ops::Range;

use proptest::prelude::*;
use wafer_device::{Destination, DeviceConfig, Separation};
use wafer_interface::{Bytes, Command, FirmwareConfig, LBA_BYTES, NsId, Op, Placement, RuhId};
use wafer_oracle::smallest_count;

use crate::devices::{self, command};
pub(crate) use crate::devices::{BLOCKS, PAGE};

/// One step of a property test.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Command(Command),
    /// Reclaim unit update.
    Update(NsId, Placement),
    /// A namespace of this many pages.
    Create(u64, Vec<RuhId>),
    Delete(NsId),
    /// Resets all counters to zero.
    Reset,
}

/// A device and the steps applied to it.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) config: DeviceConfig,
    pub(crate) steps: Vec<Step>,
    /// Number of steps between two comparisons; the device gets their commands together.
    pub(crate) batch: usize,
    pub(crate) seed: u64,
}

/// Any device with these numbers of logical reclaim units and of pages in each.
pub(crate) fn device(
    logical_rus: Range<u64>,
    ru_pages: impl Strategy<Value = u64>,
) -> impl Strategy<Value = DeviceConfig> {
    devices::device(logical_rus, ru_pages, smallest_count)
}

/// A command or a reclaim unit update on a device of `blocks` blocks; most commands write one page, some up to
/// `longest` blocks.
pub(crate) fn step(blocks: u64, longest: u32) -> impl Strategy<Value = Step> {
    command(blocks, longest).prop_map(|command| match command.op {
        Op::Update => Step::Update(command.namespace, command.placement),
        _ => Step::Command(command),
    })
}

/// Any firmware: caches of a few pages, parity, and limits that are reached soon.
pub(crate) fn firmware() -> impl Strategy<Value = FirmwareConfig> {
    let pages = || prop_oneof![2 => Just(0u64), 3 => 1..12u64];
    let count = |most: u32| prop_oneof![2 => Just(0u32), 3 => 1..most];
    let writes = || prop_oneof![2 => Just(0.0), 3 => 0.05..2.0f64];
    let caches = (pages(), pages(), count(6), pages(), 1..40u32);
    // Few devices become read-only within a test.
    let retire = prop_oneof![3 => Just(0u32), 1 => 1..12u32, 2 => 12..60u32];
    let care = (count(4), writes(), count(40), writes(), retire);
    (caches, care).prop_map(|((buffer, slc, parity, map, entries), care)| FirmwareConfig {
        write_buffer: Bytes(buffer * PAGE),
        slc_cache: Bytes(slc * PAGE),
        parity,
        wear_difference: care.0,
        refresh_after: care.1,
        reads_before_move: care.2,
        open_limit: care.3,
        retire_after: care.4,
        mapping_cache: Bytes(map * PAGE),
        mapping_entries: entries,
    })
}

/// A device with any firmware; reclaim units are retired only in devices of one group, which need some to spare.
pub(crate) fn maintained(
    device: impl Strategy<Value = DeviceConfig>,
) -> impl Strategy<Value = DeviceConfig> {
    (device, firmware(), 0..6u64).prop_map(|(mut config, firmware, more)| {
        config.firmware = firmware;
        if config.groups > 1 {
            config.firmware.retire_after = 0;
        }
        let map = (config.capacity.0 / PAGE).div_ceil(config.firmware.entries(PAGE)) * PAGE;
        config.firmware.mapping_cache = config.firmware.mapping_cache.min(Bytes(map));
        config.reclaim_unit.count = config.reclaim_unit.count.map(|count| count + more);
        config
    })
}

/// The device with another destination and separation, and as little spare space as before.
pub(crate) fn placed(
    config: &DeviceConfig,
    destination: Option<Destination>,
    separation: Option<Separation>,
) -> DeviceConfig {
    let spare =
        |config: &DeviceConfig| config.reclaim_unit.count.map(|n| n - smallest_count(config));
    let mut other = config.clone();
    (other.gc.destination, other.gc.separation) = (destination, separation);
    other.gc.separate = true;
    other.reclaim_unit.count = spare(config).map(|spare| smallest_count(&other) + spare);
    other
}

/// Writes the whole device through three placement handles in turn.
pub(crate) fn fill(config: &DeviceConfig) -> impl Iterator<Item = Step> + use<> {
    let pages = 0..config.capacity.0 / PAGE;
    pages.map(|page| {
        let placement = Placement(page as u16 % 3);
        Step::Command(Command::write(page * BLOCKS, BLOCKS as u32, placement))
    })
}

/// Any device of the strategy and up to this many steps: in half of the cases after a fill, so that it is full from the
/// start.
pub(crate) fn case<S: Strategy<Value = Step>>(
    device: impl Strategy<Value = DeviceConfig>,
    step: impl Fn(u64) -> S,
    steps: usize,
) -> impl Strategy<Value = Case> {
    device.prop_flat_map(move |config| {
        let blocks = config.capacity.0 / LBA_BYTES;
        let steps = prop::collection::vec(step(blocks), 1..steps);
        (Just(config), steps, any::<bool>(), any::<u64>()).prop_map(
            |(config, steps, filled, seed)| {
                let before: Vec<Step> = if filled { fill(&config).collect() } else { Vec::new() };
                Case { config, steps: before.into_iter().chain(steps).collect(), batch: 1, seed }
            },
        )
    })
}

/// Like [`step`], with more reads.
pub(crate) fn reading(blocks: u64) -> impl Strategy<Value = Step> {
    let read = (0..blocks, 1..300u32).prop_map(|(lba, blocks)| {
        Step::Command(Command { op: Op::Read, ..Command::write(lba, blocks, Placement::NONE) })
    });
    prop_oneof![5 => step(blocks, 1000), 1 => read]
}

/// A device with reclaim units of 16 pages: its segments are single pages.
pub(crate) fn tiny(steps: usize) -> impl Strategy<Value = Case> {
    case(device(2..12, Just(16)), |blocks| step(blocks, 4000), steps)
}
