//! Small devices and steps for property tests: at 99 % full and above, with every policy, isolation, grouping
//! and way to write.

use std::ops::Range;

use proptest::prelude::*;
use wafer_device::policy::POLICIES;
use wafer_device::{
    Destination, DeviceConfig, GcConfig, Isolation, NamespaceConfig, ReclaimUnitConfig,
    RelocationOrder, Separation,
};
use wafer_interface::{
    Bytes, Command, FirmwareConfig, LBA_BYTES, NsId, Op, Placement, RuhId, ServiceConfig,
};
use wafer_oracle::smallest_count;

/// Bytes and logical blocks of a page: 1 MiB, the smallest reclaim unit, has 16.
pub(crate) const PAGE: u64 = 65536;
pub(crate) const BLOCKS: u64 = PAGE / LBA_BYTES;

/// One step of a property test.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Command(Command),
    /// Reclaim unit update.
    Update(NsId, Placement),
    /// A namespace of so many pages.
    Create(u64, Vec<RuhId>),
    Delete(NsId),
    /// All counters to zero.
    Reset,
}

/// A device and what is done with it.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) config: DeviceConfig,
    pub(crate) steps: Vec<Step>,
    /// Steps between two comparisons; the device gets their commands at once.
    pub(crate) batch: usize,
    pub(crate) seed: u64,
}

/// Destination and separation by a number below [`PLACINGS`].
fn placing(number: u8, mixes: bool) -> (Option<Destination>, Option<Separation>) {
    match number {
        1 => (Some(Destination::Isolation), None),
        2 => (Some(Destination::Host), None),
        3 => (Some(Destination::Handle), None),
        4 => (Some(Destination::Generation), None),
        5 if mixes => (Some(Destination::Shared), None),
        8 => (None, Some(Separation::Sepbit)),
        9 => (None, Some(Separation::Midas)),
        10 => (None, Some(Separation::MultiLog)),
        0 => (None, Some(Separation::DeathTime)),
        11 => (Some(Destination::Writer), None),
        12 => (None, Some(Separation::Dac)),
        13 => (None, Some(Separation::Warcip)),
        14 => (None, Some(Separation::AutoStream)),
        15 => (None, Some(Separation::Fadac)),
        _ => (None, None),
    }
}

const PLACINGS: u8 = 16;

fn config(
    (policy, handles, groups, own, placed): (usize, u16, u16, u8, u8),
    (fdp, separate, namespaces, spread): (bool, bool, bool, bool),
    (logical_rus, odd_pages, extra, ru_pages): (u64, u64, u64, u64),
    (background, max_valid, forced): (f64, f64, f64),
) -> DeviceConfig {
    let capacity = Bytes((logical_rus * ru_pages + odd_pages) * PAGE);
    let isolation = |h: u16| match own {
        0 => Isolation::Initially,
        1 => Isolation::Persistently,
        _ if h.is_multiple_of(2) => Isolation::Initially,
        _ => Isolation::Persistently,
    };
    let (destination, separation) =
        if fdp || separate { placing(placed, own == 0) } else { (None, None) };
    let mut config = DeviceConfig {
        capacity,
        page: Bytes(PAGE),
        reclaim_unit: ReclaimUnitConfig { size: Bytes(ru_pages * PAGE), count: None },
        overprovisioning: None,
        handles,
        groups,
        isolation: Isolation::Initially,
        handle_isolation: (0..handles).map(|h| (h.to_string(), isolation(h))).collect(),
        fdp,
        streams: u16::from(spread) * (handles - 1),
        gc: GcConfig {
            policy: POLICIES[policy].name.to_owned(),
            choices: 3,
            window: 0.4,
            background_free: background,
            background_max_valid: max_valid,
            forced_free: forced,
            separate,
            destination,
            generations: 1 + (odd_pages % 4) as u8,
            separation,
            order: if spread { RelocationOrder::Spread } else { RelocationOrder::Written },
        },
        namespaces: Vec::new(),
        timing: None,
        endurance: None,
        firmware: FirmwareConfig::default(),
        service: ServiceConfig::default(),
    };
    if namespaces {
        let half = capacity.0 / PAGE / 2;
        config.namespaces = vec![
            NamespaceConfig { size: Bytes(half * PAGE), handles: (0..handles).rev().collect() },
            NamespaceConfig { size: Bytes((half / 2).max(1) * PAGE), handles: vec![0] },
        ];
    }
    // The fullest device there is, or a little more.
    config.reclaim_unit.count = Some(smallest_count(&config) + extra);
    config
}

/// Any device with so many logical reclaim units of so many pages.
pub(crate) fn device(
    logical_rus: Range<u64>,
    ru_pages: impl Strategy<Value = u64>,
) -> impl Strategy<Value = DeviceConfig> {
    let kind = (
        0..POLICIES.len(),
        1..5u16,
        prop_oneof![4 => Just(1u16), 1 => 2..4u16],
        0..3u8,
        0..PLACINGS,
    );
    let flags = (prop::bool::weighted(0.8), any::<bool>(), any::<bool>(), any::<bool>());
    let sizes = (logical_rus, 0..16u64, 0..3u64, ru_pages);
    let shares = (
        prop_oneof![Just(0.0), Just(0.3)],
        prop_oneof![Just(0.05), Just(0.6)],
        prop_oneof![Just(0.01), Just(0.2)],
    );
    (kind, flags, sizes, shares)
        .prop_map(|(kind, flags, sizes, shares)| config(kind, flags, sizes, shares))
}

/// Any firmware: caches of a few pages, parity, and limits that are reached soon.
pub(crate) fn firmware() -> impl Strategy<Value = FirmwareConfig> {
    let pages = || prop_oneof![2 => Just(0u64), 3 => 1..12u64];
    let count = |most: u32| prop_oneof![2 => Just(0u32), 3 => 1..most];
    let writes = || prop_oneof![2 => Just(0.0), 3 => 0.05..2.0f64];
    let caches = (pages(), pages(), count(6), pages(), 1..40u32);
    // Few devices end within a test.
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

/// A device with any firmware; reclaim units are retired in devices of one group only, and need some to spare.
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

/// The device with another destination and separation, and as little spare as before.
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

/// A command or a reclaim unit update on a device of so many blocks; most commands write one page, some up to
/// `longest` blocks.
pub(crate) fn step(blocks: u64, longest: u32) -> impl Strategy<Value = Step> {
    let lba =
        prop_oneof![4 => 0..blocks, 2 => 0..blocks.div_ceil(20), 1 => Just(0), 1 => 0..blocks * 2];
    let len = prop_oneof![6 => Just(128u32), 2 => 1..300u32, 1 => 1..longest, 1 => Just(0)];
    let aligned = any::<bool>();
    let placement = prop_oneof![8 => 0..4u16, 2 => Just(u16::MAX), 1 => any::<u16>(), 2 => (0..4u16).prop_map(|g| g << 14)];
    let namespace = prop_oneof![6 => Just(0u8), 3 => Just(1), 1 => Just(7)];
    (lba, len, aligned, placement, namespace, 0..40u8).prop_map(
        |(lba, blocks, aligned, placement, namespace, kind)| {
            let lba = if aligned { lba / BLOCKS * BLOCKS } else { lba };
            let (placement, namespace) = (Placement(placement), NsId(namespace));
            let op = match kind {
                0 => return Step::Update(namespace, placement),
                1..=3 => Op::Deallocate,
                4 => Op::Read,
                _ => Op::Write,
            };
            Step::Command(Command { lba, blocks, placement, op, namespace })
        },
    )
}

/// A write of the whole device through three placement handles in turn.
pub(crate) fn fill(config: &DeviceConfig) -> impl Iterator<Item = Step> + use<> {
    let pages = 0..config.capacity.0 / PAGE;
    pages.map(|page| {
        let placement = Placement(page as u16 % 3);
        Step::Command(Command::write(page * BLOCKS, BLOCKS as u32, placement))
    })
}

/// Any device of the strategy and up to so many steps: after a fill in half of the cases, so that it is full
/// from the start.
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

/// As [`step`], with more reads.
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
