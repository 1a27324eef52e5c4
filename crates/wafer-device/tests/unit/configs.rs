//! Tiny devices and command sequences for property tests: at 99 % full and above, with every
//! policy, isolation, grouping and way to write.

use proptest::prelude::*;

use wafer_interface::*;

use crate::*;

/// A tiny device: reclaim units of `pages_per_ru` pages of 64 KiB (1 MiB are 16), as little spare as
/// the configuration allows plus `extra` reclaim units.
#[derive(Clone, Debug)]
pub(super) struct Tiny {
    pub(super) config: DeviceConfig,
    pub(super) steps: Vec<Command>,
    pub(super) seed: u64,
}

fn config(
    (policy, handles, groups, own, destination): (usize, u16, u16, u8, u8),
    (fdp, separate, namespaces, spread): (bool, bool, bool, bool),
    (logical_rus, odd_pages, extra, ru_pages): (u64, u64, u64, u64),
    (background, max_valid, forced): (f64, f64, f64),
) -> DeviceConfig {
    let page = 65536;
    let capacity = Bytes((logical_rus * ru_pages + odd_pages) * page);
    let isolation = |h: u16| match own {
        0 => Isolation::Initially,
        1 => Isolation::Persistently,
        _ if h.is_multiple_of(2) => Isolation::Initially,
        _ => Isolation::Persistently,
    };
    let mut config = DeviceConfig {
        capacity,
        page: Bytes(page),
        reclaim_unit: ReclaimUnitConfig { size: Bytes(ru_pages * page), count: Some(1) },
        overprovisioning: None,
        handles,
        groups,
        isolation: Isolation::Initially,
        handle_isolation: (0..handles).map(|h| (h.to_string(), isolation(h))).collect(),
        fdp,
        streams: 0,
        gc: GcConfig {
            policy: policy::POLICIES[policy].name.to_owned(),
            choices: 3,
            window: 0.4,
            background_free: background,
            background_max_valid: max_valid,
            forced_free: forced,
            separate,
            destination: match destination {
                _ if !fdp && !separate => None,
                1 => Some(Destination::Isolation),
                2 => Some(Destination::Host),
                3 => Some(Destination::Handle),
                4 => Some(Destination::Generation),
                5 if own == 0 => Some(Destination::Shared),
                11 => Some(Destination::Writer),
                _ => None,
            },
            generations: 1 + destination % 4,
            separation: match destination {
                _ if !fdp && !separate => None,
                8 => Some(Separation::Sepbit),
                9 => Some(Separation::Midas),
                10 => Some(Separation::MultiLog),
                12 => Some(Separation::Dac),
                13 => Some(Separation::Warcip),
                14 => Some(Separation::AutoStream),
                15 => Some(Separation::Fadac),
                0 => Some(Separation::DeathTime),
                _ => None,
            },
            order: if spread { RelocationOrder::Spread } else { RelocationOrder::Written },
        },
        namespaces: Vec::new(),
        timing: None,
        endurance: None,
        firmware: wafer_interface::FirmwareConfig::default(),
        service: ServiceConfig::default(),
    };
    if namespaces {
        let half = capacity.0 / page / 2;
        config.namespaces = vec![
            NamespaceConfig { size: Bytes(half * page), handles: (0..handles).rev().collect() },
            NamespaceConfig { size: Bytes((half / 2).max(1) * page), handles: vec![0] },
        ];
    }
    // The message names the smallest count that works: the fullest device there is.
    let error = config.resolve().unwrap_err();
    let smallest: u64 = error.message.rsplit(' ').next().unwrap().parse().unwrap();
    config.reclaim_unit.count = Some(smallest + extra);
    config
}

fn step(blocks: u64) -> impl Strategy<Value = Command> {
    let lba =
        prop_oneof![4 => 0..blocks, 2 => 0..blocks.div_ceil(20), 1 => Just(0), 1 => 0..blocks * 2];
    let len = prop_oneof![6 => Just(128u32), 2 => 1..300u32, 1 => 1..4000u32, 1 => Just(0)];
    let aligned = any::<bool>();
    let placement = prop_oneof![8 => 0..4u16, 2 => Just(u16::MAX), 1 => any::<u16>(), 2 => (0..4u16).prop_map(|g| g << 14)];
    let namespace = prop_oneof![6 => Just(0u8), 3 => Just(1), 1 => Just(7)];
    (lba, len, aligned, placement, namespace, 0..40u8).prop_map(
        |(lba, blocks, aligned, placement, namespace, kind)| {
            let lba = if aligned { lba / 128 * 128 } else { lba };
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

/// Any tiny device with reclaim units of the given page counts, and up to `steps` steps: a
/// sequential fill first in half of the cases, so that the device is full from the start.
pub(super) fn tiny(
    ru_pages: impl Strategy<Value = u64>,
    steps: usize,
) -> impl Strategy<Value = Tiny> {
    let kind = (
        0..policy::POLICIES.len(),
        1..5u16,
        prop_oneof![4 => Just(1u16), 1 => 2..4u16],
        0..3u8,
        0..16u8,
    );
    let flags = (prop::bool::weighted(0.8), any::<bool>(), any::<bool>(), any::<bool>());
    let sizes = (2..12u64, 0..16u64, 0..3u64, ru_pages);
    let shares = (
        prop_oneof![Just(0.0), Just(0.3)],
        prop_oneof![Just(0.05), Just(0.6)],
        prop_oneof![Just(0.01), Just(0.2)],
    );
    (kind, flags, sizes, shares).prop_flat_map(move |(kind, flags, sizes, shares)| {
        let config = config(kind, flags, sizes, shares);
        let blocks = config.capacity.0 / LBA_BYTES;
        (Just(config), prop::collection::vec(step(blocks), 1..steps), any::<bool>(), any::<u64>())
            .prop_map(|(config, mut steps, fill, seed)| {
                if fill {
                    let first = (0..config.capacity.0 / 65536)
                        .map(|page| Command::write(page * 128, 128, Placement(page as u16 % 3)));
                    steps = first.chain(steps).collect();
                }
                Tiny { config, steps, seed }
            })
    })
}
