//! Separation by death time, on traffic in which one stream overwrites another, cyclic one.

use proptest::prelude::*;
use wafer_device::policy::POLICIES;
use wafer_device::{
    Destination, Device, DeviceConfig, Isolation, ReclaimUnitConfig, Relocation, RelocationOrder,
    Separation,
};
use wafer_interface::{Bytes, Command, Placement};
use wafer_oracle::smallest_count;

use crate::agreement::agree;
use crate::configs::{BLOCKS, Case, PAGE, Step, fill};
use crate::random::random;
use crate::restored::goes_on;
use crate::two_handles::two_handles;

/// Pages of a reclaim unit, and number of logical reclaim units.
const PAGES: u64 = 16;
const RUS: u64 = 240;
const ALL: u64 = PAGES * RUS;

fn device(policy: &str, separation: Option<Separation>) -> DeviceConfig {
    let mut config = two_handles(policy, Isolation::Initially);
    config.page = Bytes(PAGE);
    config.capacity = Bytes(ALL * PAGE);
    config.reclaim_unit = ReclaimUnitConfig { size: Bytes(PAGES * PAGE), count: Some(RUS + 60) };
    config.handles = 3;
    config.gc.destination = separation.is_none().then_some(Destination::Generation);
    config.gc.separation = separation;
    config
}

/// A fill, then of every five pages three in order over the first nine tenths through handle 0, one at random over the
/// same tenths through handle 2, and one at random over the rest through handle 1.
fn three_streams(volume: u64, mut seed: u64) -> Vec<Command> {
    let (all, most) = (ALL, ALL * 9 / 10);
    let write = |page: u64, handle| Command::write(page * BLOCKS, BLOCKS as u32, Placement(handle));
    let fill = (0..all).map(|page| write(page, u16::from(page >= most)));
    let mut next = 0;
    let mixed = (0..volume * all).map(|at| match at % 5 {
        0 => write(most + random(&mut seed, all - most), 1),
        1 => write(random(&mut seed, most), 2),
        _ => {
            next = (next + 1) % most;
            write(next, 0)
        }
    });
    fill.chain(mixed).collect()
}

#[test]
fn pages_that_overwrite_a_regular_stream_are_relocated_less() {
    let moved = |separation| {
        let mut device = Device::new(&device("gittins", separation), 1).unwrap();
        let commands = three_streams(13, 1);
        let (learning, counted) = commands.split_at(7 * ALL as usize);
        device.apply(learning);
        device.reset_counters();
        device.apply(counted);
        assert_eq!(device.check_invariants(), Ok(()));
        let counters = device.handle_counters()[2];
        counters.media_bytes as f64 / counters.host_bytes as f64 - 1.0
    };
    let (together, apart) = (moved(None), moved(Some(Separation::DeathTime)));
    assert!(apart < 0.8 * together, "{apart}, together {together}");
}

#[test]
fn as_many_handles_are_split_as_the_spare_space_has_room_for() {
    // Three handles with three generations, 13 more logs for each split handle, and a fifth of the spare space for
    // them.
    let split = |spare: u64| {
        let mut config = device("gittins", None);
        config.gc.destination = None;
        config.reclaim_unit.count = Some(RUS + spare);
        let (_, layout) = config.resolve().unwrap();
        (layout.separation.is_some(), layout.relocation)
    };
    let expected = [(false, Relocation::ByHandle(3)), (true, Relocation::ByHandle(4))];
    assert_eq!([124, 125].map(split), expected);
    let (_, layout) = device("gittins", None).resolve().unwrap();
    assert_eq!(layout.separation, None, "a destination was asked for");
    // A configuration that requests separation has at least one split handle.
    let config = device("greedy", Some(Separation::DeathTime));
    assert_eq!(config.resolve().unwrap().1.split_handles, 1);
}

/// One or two cyclic streams, each over its part of the pages, with random overwrites by other handles there and a page
/// deallocated now and then. In the second half, handles may swap roles.
fn streams(
    config: &DeviceConfig,
    (volume, regular, run, change): (u64, u64, u64, bool),
    mut seed: u64,
) -> Vec<Step> {
    let all = config.capacity.0 / PAGE;
    let part = all / regular;
    let mut next = [0; 2];
    let mut steps: Vec<Step> = fill(config).collect();
    let count = volume * all / run;
    for at in 0..count {
        let mut below = |bound| random(&mut seed, bound);
        let stream = below(regular);
        let from = stream * part;
        let write = |page, pages, handle| {
            let changed = change && at > count / 2;
            let placement = Placement(if changed { 3 - handle } else { handle } as u16);
            Command::write(page * BLOCKS, (pages * BLOCKS) as u32, placement)
        };
        steps.push(Step::Command(match below(64) {
            0 => Command::deallocate((from + below(part)) * BLOCKS, BLOCKS as u32),
            1..26 => write(from + below(part), 1, regular + below(4 - regular)),
            _ => {
                let cursor = &mut next[stream as usize];
                let pages = (1 + below(2 * run - 1)).min(part - *cursor);
                let command = write(from + *cursor, pages, stream);
                *cursor = (*cursor + pages) % part;
                command
            }
        }));
    }
    steps
}

/// Devices that learn death times, with [`streams`].
fn learns() -> impl Strategy<Value = Case> {
    let kind = (0..POLICIES.len(), any::<bool>(), 1..4u8, any::<bool>(), any::<bool>());
    let sizes = (40..90u64, prop_oneof![4 => Just(16u64), 1 => 128..200u64], 0..60u64);
    let traffic = (4..14u64, 1..3u64, 1..6u64, any::<bool>());
    (kind, sizes, traffic, any::<u64>()).prop_map(|(kind, sizes, traffic, seed)| {
        let (policy, asks, generations, own, spread) = kind;
        let (rus, pages, spare) = sizes;
        let mut config = device(POLICIES[policy].name, Some(Separation::DeathTime));
        config.handles = 4;
        config.gc.generations = generations;
        config.gc.order = if spread { RelocationOrder::Spread } else { RelocationOrder::Written };
        config.isolation = if own { Isolation::Persistently } else { Isolation::Initially };
        config.capacity = Bytes(rus * pages * PAGE);
        config.reclaim_unit = ReclaimUnitConfig { size: Bytes(pages * PAGE), count: None };
        config.reclaim_unit.count = Some(smallest_count(&config) + spare);
        if asks {
            // The policy requests separation, and gets it for as many handles as fit the space.
            config.gc.policy = "gittins".to_owned();
            config.gc.separation = None;
            config.gc.destination = None;
            config.reclaim_unit.count = Some(rus + 5 * (4 * (1 + u64::from(generations)) + spare));
        }
        let steps = streams(&config, traffic, seed);
        Case { config, steps, batch: 9, seed }
    })
}

/// A second handle overwrites a cyclic stream at random and is split. Then only the second handle writes, cyclically:
/// it becomes regular, and its pages go to one open reclaim unit again.
#[test]
fn a_split_handle_that_becomes_regular_is_written_together() {
    let mut config = device("greedy", Some(Separation::DeathTime));
    config.capacity = Bytes(40 * PAGES * PAGE);
    config.reclaim_unit.count = None;
    config.reclaim_unit.count = Some(smallest_count(&config) + 4);
    let all = 40 * PAGES;
    let write = |page: u64, handle| {
        let command = Command::write(page * BLOCKS, BLOCKS as u32, Placement(handle));
        Step::Command(command)
    };
    let mut seed = 5;
    let mut steps: Vec<Step> = fill(&config).collect();
    for at in 0..12 * all {
        steps.push(write(at % all, 0));
        if at % 2 == 0 {
            steps.push(write(random(&mut seed, all), 1));
        }
    }
    steps.extend((0..12 * all).map(|at| write(at % all, 1)));
    agree(&Case { config, steps, batch: 9, seed }).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn death_times_are_inherited(case in learns()) {
        agree(&case)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn what_was_learned_is_restored(case in learns(), parts in 2..5usize) {
        prop_assume!(case.config.gc.separation.is_some());
        goes_on(&case, parts)?;
    }
}
