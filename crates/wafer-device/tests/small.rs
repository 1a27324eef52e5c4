//! Small cases that reach all unsafe code of the device, for `scripts/miri`: the map by page and by run, the counts of
//! reclaim units, and the index of the minimum.

use wafer_device::Device;
use wafer_interface::{Command, NsId, Placement, RuId};

use crate::fuzz::target::{Outcome, config, kinds, pack, state, traffic};

#[test]
fn pages_one_by_one_and_in_runs_are_where_a_plain_list_has_them() {
    for kind in [0, 4] {
        let mut device = Device::new(&config(kind), 1).unwrap();
        let pages = device.geometry().logical_pages;
        let mut mapped = vec![false; pages as usize];
        let commands = [
            Command::write(0, 128 * 100, Placement(0)),
            Command::deallocate(128 * 7, 128 * 20),
            Command::write(128 * 10, 128, Placement(1)),
            Command::write(128 * pages - 128, 128, Placement(1)),
            Command::write(128 * pages - 128, 256, Placement(1)),
            Command::deallocate(0, 128 * pages as u32),
            Command::write(128 * 50, 128 * 3, Placement::NONE),
        ];
        for command in commands.into_iter().chain(traffic(if cfg!(miri) { 20 } else { 300 })) {
            device.apply(&[command]);
            let (first, last) = (command.lba, command.lba + u64::from(command.blocks));
            if last > 128 * pages || command.blocks == 0 {
                continue;
            }
            let write = command.written_bytes() > 0;
            // A write maps every page that it touches, a deallocation unmaps whole ones.
            let range = if write {
                first / 128..last.div_ceil(128)
            } else {
                first.div_ceil(128)..last / 128
            };
            for page in range {
                mapped[page as usize] = write;
            }
            let valid: u32 =
                (0..device.geometry().ru_count).map(|ru| device.valid_pages(RuId(ru))).sum();
            assert_eq!(valid as usize, mapped.iter().filter(|mapped| **mapped).count());
        }
        let labels = device.map_bytes().chunks_exact(4).map(|label| label != [0; 4]);
        assert!(labels.eq(mapped.iter().copied()));
        assert_eq!(device.check_invariants(), Ok(()));
    }
}

#[test]
fn batches_and_collections_of_every_kind_keep_the_invariants() {
    // Under Miri, only the greedy devices without and with classes, since policies have no unsafe code.
    for kind in (0..kinds()).filter(|kind| !cfg!(miri) || *kind < 2) {
        let mut device = Device::new(&config(kind), 2).unwrap();
        device.apply(&traffic(if cfg!(miri) { 300 } else { 700 }));
        assert!(cfg!(miri) || device.counters().erased_bytes > 0);
        device.apply(&[Command::update(NsId(0), Placement(1)), Command::flush(NsId(0))]);
        assert_eq!(device.check_invariants(), Ok(()));
        assert_eq!(state(&pack(kind, &device)), Outcome::Accepted);
    }
}
