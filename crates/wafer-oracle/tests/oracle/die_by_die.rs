//! The order "spread" compared with what it stands for: a drive whose reclaim units are superblocks, with pages written
//! over all dies in turn, and whose collection relocates a victim block by block, die after die, like FEMU. The model
//! here is written for this one case and shares only the sizes with the device.

use std::collections::{BTreeSet, VecDeque};

use wafer_device::{Device, Isolation, ReclaimUnitConfig, RelocationOrder};
use wafer_interface::{Bytes, Command, Placement};

use crate::random::random;
use crate::two_handles::two_handles;

const DIES: usize = 64;
/// Pages of a reclaim unit: eight in each block.
const PAGES: usize = 512;
const LOGICAL: usize = 448;
/// OP 14 %; 1 % of the units stays free.
const UNITS: usize = 511;
const RESERVE: usize = UNITS / 100;
/// Number of logical pages, and of those of the sequential stream.
const ALL: usize = LOGICAL * PAGES;
const MOST: usize = ALL / 10 * 9 / 32 * 32;

const NONE: usize = usize::MAX;

#[derive(Clone, Copy, PartialEq)]
enum Order {
    Written,
    DieByDie,
}

/// A page-mapped drive with one handle, greedy collection and relocated data in reclaim units of its own.
struct Drive {
    order: Order,
    /// The place of each logical page, and the logical page in each place.
    place: Vec<usize>,
    holds: Vec<usize>,
    valid: Vec<usize>,
    closed: BTreeSet<(usize, usize)>,
    free: VecDeque<usize>,
    /// Open unit and next page in it, for the host and for collection.
    open: [(usize, usize); 2],
    written: u64,
}

impl Drive {
    fn new(order: Order) -> Self {
        Drive {
            order,
            place: vec![NONE; ALL],
            holds: vec![NONE; UNITS * PAGES],
            valid: vec![0; UNITS],
            closed: BTreeSet::new(),
            free: (2..UNITS).collect(),
            open: [(0, 0), (1, 0)],
            written: 0,
        }
    }

    fn append(&mut self, log: usize, page: usize) {
        let (unit, at) = self.open[log];
        self.place[page] = unit * PAGES + at;
        self.holds[unit * PAGES + at] = page;
        self.valid[unit] += 1;
        self.written += 1;
        self.open[log].1 += 1;
        if at + 1 == PAGES {
            self.closed.insert((self.valid[unit], unit));
            self.open[log] = (self.free.pop_front().expect("collection keeps some free"), 0);
        }
    }

    fn write(&mut self, page: usize) {
        let old = self.place[page];
        if old != NONE {
            let unit = old / PAGES;
            let is_closed = self.closed.remove(&(self.valid[unit], unit));
            self.holds[old] = NONE;
            self.valid[unit] -= 1;
            if is_closed {
                self.closed.insert((self.valid[unit], unit));
            }
        }
        self.append(0, page);
    }

    fn collect(&mut self) {
        let (_, unit) = self.closed.pop_first().expect("a closed unit");
        let blocks = match self.order {
            Order::Written => 1,
            Order::DieByDie => DIES,
        };
        for block in 0..blocks {
            for at in (block..PAGES).step_by(blocks) {
                let page = std::mem::replace(&mut self.holds[unit * PAGES + at], NONE);
                if page != NONE {
                    self.append(1, page);
                }
            }
        }
        self.valid[unit] = 0;
        self.free.push_back(unit);
    }
}

/// Returns first pages and lengths: a fill, then, up to eight device writes, 62 % in order in runs of 32 over the first
/// nine tenths; of the rest, half at random over the last tenth and half over the nine tenths, mostly their first
/// fifth.
fn traffic() -> Vec<(usize, usize)> {
    let (mut seed, mut next) = (1, 0);
    let mut random = |below: usize| random(&mut seed, below as u64) as usize;
    let mut writes: Vec<_> = (0..MOST / 32).map(|run| (run * 32, 32)).collect();
    writes.extend((MOST..ALL).map(|page| (page, 1)));
    while writes.len() < 7 * ALL / 52 * 21 {
        writes.push((next, 32));
        next = (next + 32) % MOST;
        for _ in 0..10 {
            writes.push((MOST + random(ALL - MOST), 1));
            let space = if random(5) == 0 { MOST } else { MOST / 5 };
            writes.push((random(space), 1));
        }
    }
    writes
}

fn waf_of_drive(order: Order, traffic: &[(usize, usize)]) -> f64 {
    let mut drive = Drive::new(order);
    for (first, pages) in traffic {
        while drive.free.len() <= RESERVE {
            drive.collect();
        }
        (*first..first + pages).for_each(|page| drive.write(page));
    }
    drive.written as f64 / traffic.iter().map(|(_, pages)| *pages as f64).sum::<f64>()
}

fn waf_of_device(order: RelocationOrder, traffic: &[(usize, usize)]) -> f64 {
    let mut config = two_handles("greedy", Isolation::Initially);
    config.capacity = Bytes((ALL * 16384) as u64);
    config.reclaim_unit =
        ReclaimUnitConfig { size: Bytes((PAGES * 16384) as u64), count: Some(UNITS as u64) };
    config.handles = 1;
    config.gc.forced_free = 0.01;
    config.gc.order = order;
    let mut device = Device::new(&config, 1).unwrap();
    for (first, pages) in traffic {
        device.apply(&[Command::write(*first as u64 * 32, *pages as u32 * 32, Placement(0))]);
    }
    device.counters().waf()
}

#[test]
fn spread_is_what_a_drive_does_that_moves_block_by_block() {
    let traffic = traffic();
    let die_by_die = waf_of_drive(Order::DieByDie, &traffic);
    let spread = waf_of_device(RelocationOrder::Spread, &traffic);
    assert!((spread / die_by_die - 1.0).abs() < 0.01, "{spread} {die_by_die}");

    let written = waf_of_drive(Order::Written, &traffic);
    let kept = waf_of_device(RelocationOrder::Written, &traffic);
    assert!((kept / written - 1.0).abs() < 0.01, "{kept} {written}");
    // The two orders differ.
    assert!(die_by_die > 1.02 * written, "{die_by_die} {written}");
}
