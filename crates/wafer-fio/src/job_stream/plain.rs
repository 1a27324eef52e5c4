//! Short cuts for the common jobs: one direction, one block size, nothing that interrupts.
//!
//! They give the same commands as the general way, which the tests check, in a tight loop.

use wafer_interface::{Command, LBA_BYTES, Placement};
use wafer_random::{RandomMap, Rng};

use super::{JobStream, directions};
use crate::address::Addresses;
use crate::job::{Direction, JobSpec, Order};

/// Start blocks drawn ahead of the random map's search, so that its words are in cache by then.
const AHEAD: usize = 32;

/// How a job can be generated in a loop.
#[derive(Clone, Debug)]
pub(crate) struct Plain {
    direction: usize,
    /// Bytes of a command.
    bytes: u64,
    /// Logical block of the region's start; logical blocks of the alignment and of a command.
    lba: u64,
    align: u64,
    blocks: u32,
    way: Way,
}

#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one per job; a box would cost an access per command")]
enum Way {
    /// The next block, of so many.
    Sequential { next: u64, of: u64 },
    /// Independent random blocks.
    Random,
    /// By the random map: starts drawn ahead, and how many of them are used.
    Map { starts: [u64; AHEAD], used: usize },
}

impl Plain {
    /// The short cut of a job, if it has one.
    pub(super) fn of(stream: &JobStream, spec: &JobSpec) -> Option<Self> {
        let single = !matches!(spec.direction, Direction::ReadWrite | Direction::TrimWrite);
        let direction = directions(spec.direction)[0];
        let (sizes, align) = (&stream.sizes[direction], stream.align[direction]);
        let whole = [spec.offset, sizes.min, align].iter().all(|b| b % LBA_BYTES == 0);
        let random = spec.order == Order::Random;
        let uninterrupted = if random {
            spec.percent_random[direction] == 100 && spec.order_modifier <= 1
        } else {
            spec.order_modifier == 0
        };
        if !(single && sizes.fixed() && whole && uninterrupted) {
            return None;
        }
        let way = if !random {
            Way::Sequential { next: 0, of: spec.size / sizes.min }
        } else if stream.maps.is_empty() {
            Way::Random
        } else {
            Way::Map { starts: [0; AHEAD], used: AHEAD }
        };
        Some(Plain {
            direction,
            bytes: sizes.min,
            lba: spec.offset / LBA_BYTES,
            align: align / LBA_BYTES,
            blocks: (sizes.min / LBA_BYTES) as u32,
            way,
        })
    }

    /// Adds up to `max` commands, at least one unless the job has ended; false: it has.
    pub(super) fn fill(
        &mut self,
        stream: &mut JobStream,
        out: &mut Vec<Command>,
        max: usize,
    ) -> bool {
        let n = stream.limits.room(self.bytes, max);
        if n == 0 {
            return false;
        }
        let d = self.direction;
        let first = out.len();
        let command = Command {
            lba: 0,
            blocks: self.blocks,
            placement: Placement::NONE,
            op: super::op(d),
            namespace: stream.namespace,
        };
        let (lba, align) = (self.lba, self.align);
        let at = |block: u64| Command { lba: lba + block * align, ..command };
        match &mut self.way {
            Way::Sequential { next, of } => {
                let n = n.min((*of - *next) as usize);
                out.extend((*next..*next + n as u64).map(at));
                *next += n as u64;
            }
            Way::Random => {
                let addresses = &stream.addresses[d];
                let rng = stream.random.of(addresses.purpose());
                addresses.draw_each(rng, n, |block| out.push(at(block)));
            }
            Way::Map { starts, used } => {
                let map = &mut stream.maps[stream.map_of[d]];
                let addresses = &stream.addresses[d];
                let n = n.min((map.len() - map.used()) as usize);
                let mut left = n;
                while left > 0 {
                    if *used == AHEAD {
                        draw_ahead(starts, used, addresses, &mut stream.random.address, map);
                    }
                    let take = left.min(AHEAD - *used);
                    for start in &starts[*used..*used + take] {
                        let block = map.next_free(*start).expect("the map is not full");
                        map.set(block);
                        out.push(at(block));
                    }
                    *used += take;
                    left -= take;
                }
            }
        }
        let added = out.len() - first;
        stream.limits.commands += added as u64;
        stream.limits.bytes += added as u64 * self.bytes;
        if d == crate::job::WRITE {
            match &mut stream.placing {
                super::Placing::Always(Placement::NONE) => {}
                super::Placing::Always(p) => out[first..].iter_mut().for_each(|c| c.placement = *p),
                other => out[first..].iter_mut().for_each(|c| c.placement = other.next(c.lba)),
            }
        }
        added > 0 || self.next_pass(stream)
    }

    /// The region has been covered.
    fn next_pass(&mut self, stream: &mut JobStream) -> bool {
        let repeat = stream.repeat && !stream.time_based;
        // Time-based jobs go on with their random numbers, as the general way does.
        let more = stream.next_pass(repeat);
        match &mut self.way {
            Way::Sequential { next, .. } => *next = 0,
            Way::Random => {}
            Way::Map { used, .. } if repeat => *used = AHEAD,
            Way::Map { starts, used } => {
                // fio notices that the map is full by a draw that finds nothing.
                if *used == AHEAD {
                    let (addresses, map) = (&stream.addresses[self.direction], &stream.maps);
                    let map = &map[stream.map_of[self.direction]];
                    draw_ahead(starts, used, addresses, &mut stream.random.address, map);
                }
                *used += 1;
            }
        }
        more
    }
}

/// Draws the next starts and has their words fetched.
fn draw_ahead(
    starts: &mut [u64; AHEAD],
    used: &mut usize,
    addresses: &Addresses,
    rng: &mut Rng,
    map: &RandomMap,
) {
    for start in starts.iter_mut() {
        *start = addresses.draw(rng);
        map.prefetch(*start);
    }
    *used = 0;
}
