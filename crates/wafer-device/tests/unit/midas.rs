//! MiDAS compared with greedy with the same classes: groups of measured size gain where lifetimes differ, and cost
//! little where they do not.

use super::adaptive::{ALL, config, run, skewed, three_streams, write};
use super::random::random;
use wafer_interface::*;

use crate::*;

#[test]
fn groups_sized_by_how_long_pages_live_gain_where_lives_differ() {
    let gain = |handles: u16, commands: &[Command]| {
        let mut greedy = config("greedy", 80, handles);
        greedy.gc.separation = Some(Separation::Midas);
        let (first, rest) = commands.split_at(commands.len() / 2);
        let relocated = |config: &DeviceConfig| {
            let (mut device, _) = run(config, first);
            let before = device.counters().relocated_pages;
            device.apply(rest);
            (device.counters().relocated_pages - before) as f64
        };
        relocated(&config("midas", 80, handles)) / relocated(&greedy)
    };
    let skewed_gain = gain(1, &skewed(8));
    assert!(skewed_gain < 0.93, "{skewed_gain}");
    let mut seed = 3;
    let uniform: Vec<Command> = (0..8 * ALL).map(|_| write(random(&mut seed, ALL), 0)).collect();
    let uniform_gain = gain(1, &uniform);
    assert!(uniform_gain < 1.02, "{uniform_gain}");
    let streams_gain = gain(3, &three_streams(ALL, 8));
    assert!(streams_gain < 0.8, "{streams_gain}");
}
