//! Devices and commands that tests of the device share with those of `wafer-oracle`, which includes this file as its
//! own module; each uses the types of `super::device`.

use std::ops::Range;

use proptest::prelude::*;
use wafer_interface::{
    Bytes, Command, FirmwareConfig, LBA_BYTES, NsId, Op, Placement, ServiceConfig,
};

use super::device::{
    Destination, DeviceConfig, GcConfig, Isolation, NamespaceConfig, POLICIES, ReclaimUnitConfig,
    RelocationOrder, Separation,
};

/// Bytes and logical blocks of a page; 1 MiB, the smallest reclaim unit, has 16 pages.
pub(crate) const PAGE: u64 = 65536;
pub(crate) const BLOCKS: u64 = PAGE / LBA_BYTES;

/// Returns the destination and separation for a number below [`PLACINGS`].
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
    smallest: fn(&DeviceConfig) -> u64,
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
    // The fullest device that works, or slightly larger.
    config.reclaim_unit.count = Some(smallest(&config) + extra);
    config
}

/// Returns any device with logical reclaim units and pages in these ranges, at least 99 % full, with every policy,
/// isolation, grouping and way to write. `smallest` returns the smallest number of reclaim units that a device needs.
pub(crate) fn device(
    logical_rus: Range<u64>,
    ru_pages: impl Strategy<Value = u64>,
    smallest: fn(&DeviceConfig) -> u64,
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
        .prop_map(move |(kind, flags, sizes, shares)| config(kind, flags, sizes, shares, smallest))
}

/// Returns a command for a device of `blocks` blocks; most commands write one page, some up to `longest` blocks.
pub(crate) fn command(blocks: u64, longest: u32) -> impl Strategy<Value = Command> {
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
                0 => return Command::update(namespace, placement),
                1..=3 => Op::Deallocate,
                4 => Op::Read,
                5 => return Command::flush(namespace),
                _ => Op::Write,
            };
            Command { lba, blocks, placement, op, namespace }
        },
    )
}
