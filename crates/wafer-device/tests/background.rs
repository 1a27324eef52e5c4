//! Termination of background GC.

use wafer_device::Device;
use wafer_interface::{Command, Placement};

use crate::devices::{BLOCKS, config};

/// Whatever share of a victim may be valid, background GC never collects a full one, because it would never end.
#[test]
fn background_gc_of_full_victims_ends() {
    for share in [0.999, 1.0] {
        let mut config = config("greedy");
        (config.gc.background_free, config.gc.background_max_valid) = (0.5, share);
        let mut device = Device::new(&config, 1).unwrap();
        let pages = device.geometry().logical_pages;
        let fill: Vec<Command> = (0..pages)
            .map(|page| Command::write(page * BLOCKS, BLOCKS as u32, Placement(0)))
            .collect();
        device.apply(&fill);
        device.apply(&fill);
        assert_eq!(device.counters().host_pages, 2 * pages);
    }
}
