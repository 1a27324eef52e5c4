//! Commands of any job, one at a time, following fio's `fill_io_u` step by step.

use wafer_interface::Command;

use super::{JobStream, directions};
use crate::job::{DIRECTIONS, Direction, JobSpec, Order, READ, Sequencer, TRIM, WRITE};

/// Where a job stands in its region. Bytes count from the start of the region.
#[derive(Clone, Debug)]
pub(crate) struct Position {
    /// Start of the last command of each direction.
    last_start: [Option<u64>; DIRECTIONS],
    /// End of the last command of each direction.
    last_end: [u64; DIRECTIONS],
    /// Commands of each direction since the job began.
    issued: [u64; DIRECTIONS],
    /// Sequential jobs: bytes between the end of a command and the next.
    gap: i64,
    /// Random jobs: commands per random offset, and how many are left for the last one.
    every: u64,
    left: u64,
    sequencer: Sequencer,
    read_percent: u8,
    mix: usize,
    /// Commands of direction `mix` before the next is chosen.
    mix_until: u64,
}

impl Position {
    pub(crate) fn new(spec: &JobSpec) -> Self {
        let random = spec.order == Order::Random;
        Position {
            last_start: [None; DIRECTIONS],
            last_end: [0; DIRECTIONS],
            issued: [0; DIRECTIONS],
            gap: if random { 0 } else { spec.order_modifier },
            every: if random { spec.order_modifier.max(1) as u64 } else { 1 },
            left: 1,
            sequencer: spec.sequencer,
            read_percent: spec.read_percent,
            mix: READ,
            mix_until: 0,
        }
    }

    /// Back to the start of the region.
    pub(crate) fn rewind(&mut self) {
        self.last_start = [None; DIRECTIONS];
        self.last_end = [0; DIRECTIONS];
        self.mix_until = 0;
    }
}

impl JobStream {
    /// Adds up to `max` commands; true at the end of the job.
    pub(super) fn fill_general(&mut self, out: &mut Vec<Command>, max: usize) -> bool {
        for _ in 0..max {
            loop {
                if self.limits.reached() {
                    return true;
                }
                if let Some(command) = self.one() {
                    out.push(command);
                    break;
                }
                if !self.next_pass(self.repeat) {
                    return true;
                }
            }
        }
        false
    }

    /// The next command; `None` at the end of a pass.
    fn one(&mut self) -> Option<Command> {
        let direction = self.next_direction();
        let (at, mark) = self.next_offset(direction)?;
        if at >= self.size {
            return None;
        }
        let room = self.size - at;
        let second = self.direction == Direction::TrimWrite && direction == WRITE;
        let mut bytes = if second && self.order == Order::Random {
            self.position.last_end[TRIM] - self.position.last_start[TRIM].unwrap_or(0)
        } else {
            self.sizes[direction].draw(&mut self.random.size[direction], room)?
        };
        if mark && let Some(map) = self.maps.get_mut(self.map_of[direction]) {
            let block = self.sizes[direction].min;
            // A command that meets a block already visited in this pass is cut short.
            let set = map.set_run(at / block, bytes.div_ceil(block));
            bytes = bytes.min(set * block);
        }
        let position = &mut self.position;
        position.last_start[direction] = Some(at);
        position.last_end[direction] = at + bytes;
        position.issued[direction] += 1;
        self.limits.commands += 1;
        let counted = match self.direction {
            Direction::TrimWrite => direction == WRITE,
            _ => true,
        };
        self.limits.bytes += if counted { bytes } else { 0 };
        Some(self.command(direction, at, bytes))
    }

    fn next_direction(&mut self) -> usize {
        let p = &mut self.position;
        match self.direction {
            Direction::ReadWrite => {
                if p.issued[p.mix] >= p.mix_until {
                    let read = self.random.mix.percent() <= p.read_percent;
                    let next = if read { READ } else { WRITE };
                    if next != p.mix {
                        // fio lets the new direction catch up with the other one's share.
                        let share = if read { p.read_percent } else { 100 - p.read_percent };
                        p.mix_until = p.issued[p.mix] * u64::from(share) / 100;
                    }
                    p.mix = next;
                }
                p.mix
            }
            // Equal starts: the last pair is complete.
            Direction::TrimWrite if p.last_start[WRITE] == p.last_start[TRIM] => TRIM,
            Direction::TrimWrite => WRITE,
            other => directions(other)[0],
        }
    }

    /// Start of the next command, and whether the random map records it.
    fn next_offset(&mut self, direction: usize) -> Option<(u64, bool)> {
        let p = &mut self.position;
        p.left -= 1;
        let fresh = p.left == 0;
        if fresh {
            p.left = p.every;
        }
        if self.direction == Direction::TrimWrite
            && direction == WRITE
            && self.order == Order::Random
        {
            return Some((p.last_start[TRIM]?, false));
        }
        if self.order == Order::Sequential {
            return Some((self.sequential(direction)?, false));
        }
        if fresh {
            let share = self.percent_random[direction];
            if share == 100 || self.random.sequence[direction].percent() <= share {
                return Some((self.random_block(direction)?, true));
            }
        } else if p.sequencer == Sequencer::Identical {
            return Some((p.last_start[direction].unwrap_or(0), false));
        }
        match self.sequential(direction) {
            Some(at) => Some((at, false)),
            None => Some((self.random_block(direction)?, false)),
        }
    }

    /// Where the last command ended, with the gap; wraps only where fio does.
    fn sequential(&mut self, direction: usize) -> Option<u64> {
        let last = &mut self.position.last_end[direction];
        if self.time_based && *last >= self.size {
            *last = 0;
        }
        if *last >= self.size {
            return None;
        }
        let gap = self.position.gap;
        if *last == 0 || gap == 0 {
            return Some(*last);
        }
        match last.checked_add_signed(gap).filter(|at| *at < self.size) {
            Some(at) => Some(at),
            None if gap > 0 => Some(0),
            None => Some(self.size.saturating_add_signed(gap)),
        }
    }

    /// A random block, the next free one after it when there is a map.
    fn random_block(&mut self, direction: usize) -> Option<u64> {
        let addresses = &self.addresses[direction];
        let mut block = addresses.draw(self.random.of(addresses.purpose()));
        if let Some(map) = self.maps.get_mut(self.map_of[direction]) {
            block = match map.next_free(block) {
                Some(free) => free,
                None if self.time_based => {
                    // fio starts a new pass at once, drawing anew and going on with its numbers.
                    map.reset();
                    self.position.rewind();
                    addresses.draw(self.random.of(addresses.purpose()))
                }
                None => return None,
            };
        }
        Some(block * self.align[direction])
    }
}
