//! The fast path for common jobs: one direction, one block size, no interruptions.
//!
//! It generates the same commands as `general.rs` in a tight loop; the tests compare the two.

use wafer_interface::{Command, LBA_BYTES, NsId, Placement};
use wafer_random::{RandomMap, Rng};

use super::placing::Placing;
use super::state::{State, op};
use crate::address::Addresses;
use crate::job::{Direction, Order, WRITE};

/// Number of start blocks drawn at once, while as many others are still to be looked up.
const AHEAD: usize = 32;

/// A job that can be generated in a loop.
#[derive(Clone, Debug)]
pub(crate) struct Plain {
    direction: usize,
    /// Bytes of a command.
    bytes: u64,
    /// First logical block of the region, and the logical blocks of the alignment and of a command.
    lba: u64,
    align: u64,
    blocks: u32,
    addresses: Pattern,
}

#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one per job; a box would cost an access per command")]
enum Pattern {
    /// The next block, out of `of`.
    Sequential { next: u64, of: u64 },
    /// Independent random blocks.
    Random,
    /// By the random map.
    Map(Starts),
}

/// Start blocks drawn ahead of the search in the random map, so that its words are in the cache by then.
#[derive(Clone, Debug)]
struct Starts {
    blocks: [[u64; AHEAD]; 2],
    /// Which half is in use, and how many of its blocks are used.
    current: usize,
    used: usize,
    /// Whether neither half is drawn.
    empty: bool,
}

impl Starts {
    const EMPTY: Starts = Starts { blocks: [[0; AHEAD]; 2], current: 1, used: AHEAD, empty: true };

    /// If a half is used up, turns to the other one and draws the used half anew.
    fn turn(&mut self, addresses: &Addresses, rng: &mut Rng, map: &RandomMap) {
        if self.used < AHEAD {
            return;
        }
        if std::mem::take(&mut self.empty) {
            self.draw(1 - self.current, addresses, rng, map);
        }
        self.draw(self.current, addresses, rng, map);
        (self.current, self.used) = (1 - self.current, 0);
    }

    fn draw(&mut self, half: usize, addresses: &Addresses, rng: &mut Rng, map: &RandomMap) {
        for start in &mut self.blocks[half] {
            *start = addresses.draw(rng);
            map.prefetch(*start);
        }
    }
}

impl Plain {
    /// Returns the fast path of a job, if it has one.
    pub(super) fn of(state: &State) -> Option<Self> {
        let spec = &state.spec;
        let single = !matches!(spec.direction, Direction::ReadWrite | Direction::TrimWrite);
        let direction = spec.direction.used()[0];
        let (sizes, align) = (&state.sizes[direction], state.align[direction]);
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
        let addresses = if !random {
            Pattern::Sequential { next: 0, of: spec.size / sizes.min }
        } else if state.maps.is_empty() {
            Pattern::Random
        } else {
            Pattern::Map(Starts::EMPTY)
        };
        Some(Plain {
            direction,
            bytes: sizes.min,
            lba: spec.offset / LBA_BYTES,
            align: align / LBA_BYTES,
            blocks: (sizes.min / LBA_BYTES) as u32,
            addresses,
        })
    }

    /// Appends up to `max` commands; returns false when the job has ended.
    pub(super) fn fill(&mut self, state: &mut State, out: &mut Vec<Command>, max: usize) -> bool {
        let n = state.limits.room(self.bytes, max);
        if n == 0 {
            return false;
        }
        let n = state.limits.room_in_the_pass(self.bytes, n);
        let d = self.direction;
        let first = out.len();
        let command = Command {
            lba: 0,
            blocks: self.blocks,
            placement: Placement::NONE,
            op: op(d),
            namespace: NsId(state.spec.namespace),
        };
        let (lba, align) = (self.lba, self.align);
        let at = |block: u64| Command { lba: lba + block * align, ..command };
        match &mut self.addresses {
            Pattern::Sequential { next, of } => {
                let n = n.min((*of - *next) as usize);
                out.extend((*next..*next + n as u64).map(at));
                *next += n as u64;
            }
            Pattern::Random => {
                let addresses = &state.addresses[d];
                let rng = state.random.of(addresses.purpose());
                addresses.draw_each(rng, n, |block| out.push(at(block)));
            }
            Pattern::Map(starts) => {
                let map = &mut state.maps[state.map_of[d]];
                let addresses = &state.addresses[d];
                let n = n.min((map.len() - map.used()) as usize);
                let mut left = n;
                while left > 0 {
                    starts.turn(addresses, &mut state.random.address, map);
                    let take = left.min(AHEAD - starts.used);
                    for start in &starts.blocks[starts.current][starts.used..][..take] {
                        let block = map.next_free(*start).expect("the map is not full");
                        map.set(block);
                        out.push(at(block));
                    }
                    starts.used += take;
                    left -= take;
                }
            }
        }
        let added = out.len() - first;
        state.limits.commands += added as u64;
        state.limits.bytes += added as u64 * self.bytes;
        if d == WRITE {
            match &mut state.placing {
                Placing::Always(Placement::NONE) => {}
                Placing::Always(p) => out[first..].iter_mut().for_each(|c| c.placement = *p),
                other => out[first..].iter_mut().for_each(|c| c.placement = other.next(c.lba)),
            }
        }
        added > 0 || self.next_pass(state)
    }

    /// Starts the next pass over the region; returns false when there is none.
    fn next_pass(&mut self, state: &mut State) -> bool {
        let repeat = state.spec.random_repeat && !state.spec.time_based;
        // Time-based jobs continue their random numbers, as in `general.rs`.
        let by_bytes = state.limits.pass_is_over();
        let more = state.next_pass(repeat);
        match &mut self.addresses {
            Pattern::Sequential { next, .. } => *next = 0,
            Pattern::Random => {}
            Pattern::Map(starts) if repeat => *starts = Starts::EMPTY,
            Pattern::Map(_) if by_bytes => {}
            Pattern::Map(starts) => {
                // fio notices that the map is full only when a draw finds nothing.
                let map = &state.maps[state.map_of[self.direction]];
                let addresses = &state.addresses[self.direction];
                starts.turn(addresses, &mut state.random.address, map);
                starts.used += 1;
            }
        }
        more
    }
}
