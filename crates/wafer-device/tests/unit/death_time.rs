//! Separation by inherited death times, with WARP's three streams.

use super::random::random;
use wafer_interface::*;

use crate::*;

/// Pages of a reclaim unit, and number of logical reclaim units.
const PAGES: u64 = 16;
const RUS: u64 = 240;
const ALL: u64 = PAGES * RUS;
const MOST: u64 = ALL * 9 / 10;

fn device(policy: &str, separation: Option<Separation>) -> DeviceConfig {
    let page = 65536;
    let mut config = super::two_handles::two_handles(policy, Isolation::Initially);
    config.page = Bytes(page);
    config.capacity = Bytes(ALL * page);
    config.reclaim_unit = ReclaimUnitConfig { size: Bytes(PAGES * page), count: Some(RUS + 60) };
    config.handles = 3;
    config.gc.destination = separation.is_none().then_some(Destination::Generation);
    config.gc.separation = separation;
    config
}

/// Returns a fill, then of every five pages three in order over the first nine tenths through handle 0, one at random
/// over the same through handle 2, and one over the rest through handle 1.
fn three_streams(volume: u64, mut seed: u64) -> Vec<Command> {
    let write = |page: u64, handle| Command::write(page * 128, 128, Placement(handle));
    let fill = (0..ALL).map(|page| write(page, u16::from(page >= MOST)));
    let mut next = 0;
    let mixed = (0..volume * ALL).map(|at| match at % 5 {
        0 => write(MOST + random(&mut seed, ALL - MOST), 1),
        1 => write(random(&mut seed, MOST), 2),
        _ => {
            next = (next + 1) % MOST;
            write(next, 0)
        }
    });
    fill.chain(mixed).collect()
}

#[test]
fn only_who_overwrites_a_regular_stream_is_split() {
    let mut device = Device::new(&device("greedy", Some(Separation::DeathTime)), 1).unwrap();
    device.apply(&three_streams(9, 1));
    assert_eq!([0, 1, 2].map(|handle| device.is_split(handle)), [false, false, true]);
    assert_eq!(device.check_invariants(), Ok(()));
}

#[test]
fn pages_of_a_reclaim_unit_die_at_about_the_same_time() {
    let mut device = Device::new(&device("greedy", Some(Separation::DeathTime)), 1).unwrap();
    let commands = three_streams(9, 1);
    device.apply(&commands);
    // One pass of the sequential stream takes 5/3 of the pages that it covers.
    let turn = MOST * 5 / 3;
    let (next, now) = ((9 * ALL * 3 / 5) % MOST, device.clock);
    let mut late = [0u64; 2];
    for page in 0..MOST {
        let label = device.map.as_slice()[page as usize];
        // Pages of divided labels are skipped.
        let unit = device.rus.units.get(device.segments.hot[label as usize].ru as usize);
        let Some(unit) = unit.filter(|unit| unit.death_time > now && unit.class > 0) else {
            continue;
        };
        let passes = now + (page + MOST - next) % MOST * 5 / 3;
        late[usize::from(unit.death_time.abs_diff(passes) > turn / 4)] += 1;
    }
    assert!(late[0] > 100 && late[1] * 10 < late[0], "{late:?}");
}

#[test]
fn batches_do_not_matter_to_a_split_handle() {
    let config = device("gittins", Some(Separation::DeathTime));
    let commands = three_streams(6, 1);
    let (mut whole, mut single) =
        (Device::new(&config, 1).unwrap(), Device::new(&config, 1).unwrap());
    whole.apply(&commands);
    commands.iter().for_each(|command| single.apply(&[*command]));
    assert!(whole.is_split(2));
    assert_eq!(whole.counters(), single.counters());
    assert_eq!(whole.map_bytes(), single.map_bytes());
}

#[test]
fn a_restored_device_keeps_split_handles() {
    let config = device("greedy", Some(Separation::DeathTime));
    let commands = three_streams(9, 1);
    let (before, after) = commands.split_at(7 * ALL as usize);
    let mut saved = Device::new(&config, 1).unwrap();
    saved.apply(before);
    let map = saved.map_bytes().to_vec();
    let fill = |target: &mut [u8]| {
        target.copy_from_slice(&map);
        Ok(())
    };
    let mut restored = Device::restore(&config, (), saved.state(), fill).unwrap();
    assert_eq!([0, 1, 2].map(|handle| restored.is_split(handle)), [false, false, true]);
    restored.apply(after);
    assert_eq!(restored.check_invariants(), Ok(()));
}
