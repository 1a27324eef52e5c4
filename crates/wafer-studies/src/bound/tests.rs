use wafer_device::{Device, Isolation};
use wafer_interface::Placement;

use self::hot_and_cold::{fill, hot_and_cold, waf};
use self::two_handles::{UNIT, two_handles};
use super::*;

/// Types of the shared device.
mod device {
    pub(super) use wafer_device::{
        Destination, DeviceConfig, GcConfig, Isolation, ReclaimUnitConfig,
    };
}
#[path = "../../../wafer-device/tests/unit/hot_and_cold.rs"]
mod hot_and_cold;
#[path = "../../../wafer-device/tests/unit/random.rs"]
mod random;
#[path = "../../../wafer-device/tests/unit/two_handles.rs"]
mod two_handles;

fn bound(classes: usize, commands: &[&[Command]], counted: usize) -> f64 {
    bound_of(classes, false, commands, counted)
}

fn bound_of(classes: usize, by_handle: bool, commands: &[&[Command]], counted: usize) -> f64 {
    let geometry = Geometry::resolve(&two_handles("greedy", Isolation::Initially)).unwrap();
    let mut future = Future::new(&geometry);
    commands.iter().for_each(|commands| future.see(&geometry, commands));
    let mut device = FutureKnowledge::new(&geometry, &future, classes, by_handle).unwrap();
    let mut before = (0, 0);
    for (at, commands) in commands.iter().enumerate() {
        if at == counted {
            before = (device.host_pages(), device.relocated_pages());
        }
        device.apply(commands);
        for (ru, unit) in device.units.iter().enumerate() {
            let mapped = device.map.iter().filter(|m| **m == ru as u32 + 1).count();
            assert_eq!(mapped, unit.valid as usize);
        }
    }
    assert_eq!(device.host_pages(), future.host_pages());
    let host = device.host_pages() - before.0;
    1.0 + (device.relocated_pages() - before.1) as f64 / host as f64
}

#[test]
fn knowing_the_future_beats_every_policy_and_more_classes_are_better() {
    let fill = fill();
    let (first, second) = (hot_and_cold(100_000, &mut 1), hot_and_cold(100_000, &mut 1001));
    // Later commands are known, but not counted.
    let rest = hot_and_cold(60_000, &mut 5);
    let run = [&fill[..], &first, &second, &rest];
    let best = waf(&two_handles("gittins", Isolation::Persistently), 1);
    let [one, four, sixteen] = [1, 4, 12].map(|classes| bound(classes, &run, 2));
    assert!(sixteen < four && four < one, "{one} {four} {sixteen}");
    assert!(sixteen < 0.75 * best && sixteen >= 1.0, "{sixteen}, gittins {best}");
}

#[test]
fn a_sequential_stream_costs_nothing() {
    let fill = fill();
    let run = [&fill[..], &fill, &fill, &fill];
    assert_eq!(bound(2, &run, 0), 1.0);
}

/// Two rings of different length: their death times overlap, but not within a handle.
#[test]
fn rings_on_handles_of_their_own_cost_nothing() {
    let (all, short) = (200 * UNIT, 37 * UNIT);
    let page = |n: u64, first: u64, pages: u64, handle| {
        Command::write((first + n % pages) * 32, 32, Placement(handle))
    };
    let rings: Vec<Command> = (0..3 * all)
        .map(|n| match n % 3 {
            0 => page(n / 3, 0, short, 0),
            _ => page(n - n / 3 - 1, short, all - short, 1),
        })
        .collect();
    let mut device = Device::new(&two_handles("greedy", Isolation::Persistently), 1).unwrap();
    device.apply(&rings);
    assert_eq!(device.counters().waf(), 1.0);
    assert_eq!(bound_of(1, true, &[&rings], 0), 1.0);
    assert!(bound(1, &[&rings], 0) > 1.0);
}

#[test]
fn deallocated_pages_are_dead() {
    let fill = fill();
    let trim = [Command::deallocate(0, (200 * UNIT * 32) as u32)];
    assert_eq!(bound(1, &[&fill, &trim, &fill, &trim, &fill], 0), 1.0);
}
