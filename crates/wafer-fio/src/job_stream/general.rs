//! The commands of any job, one at a time, following fio's `fill_io_u` step by step.

use wafer_interface::Command;

use super::state::State;
use crate::job::{Direction, Order, READ, Sequencer, TRIM, WRITE};

impl State {
    /// Appends up to `max` commands; returns true at the end of the job.
    pub(super) fn fill(&mut self, out: &mut Vec<Command>, max: usize) -> bool {
        for _ in 0..max {
            let Some(command) = self.next(|direction| direction) else { return true };
            out.push(command);
        }
        false
    }

    /// Returns the next command; `None` at the end of the job. `choose` replaces the direction of a mixed job.
    pub(super) fn next(&mut self, mut choose: impl FnMut(usize) -> usize) -> Option<Command> {
        while !self.limits.reached() {
            let over = self.limits.pass_is_over();
            if !over && let Some(command) = self.one(&mut choose) {
                return Some(command);
            }
            if !self.next_pass(self.spec.random_repeat) {
                break;
            }
        }
        None
    }

    /// Returns the next command; `None` at the end of a pass.
    fn one(&mut self, choose: &mut impl FnMut(usize) -> usize) -> Option<Command> {
        let direction = self.next_direction(choose);
        let (at, mark) = self.next_offset(direction)?;
        if at >= self.spec.size {
            return None;
        }
        let room = self.spec.size - at;
        let second = self.spec.direction == Direction::TrimWrite && direction == WRITE;
        let mut bytes = if second && self.spec.order == Order::Random {
            self.position.last_end[TRIM] - self.position.last_start[TRIM].unwrap_or(0)
        } else {
            self.sizes[direction].draw(&mut self.random.size[direction], room)?
        };
        if mark && let Some(map) = self.maps.get_mut(self.map_of[direction]) {
            let block = self.sizes[direction].min;
            // A command that reaches a block already visited in this pass is cut short.
            let set = map.set_run(at / block, bytes.div_ceil(block));
            bytes = bytes.min(set * block);
        }
        let position = &mut self.position;
        position.last_start[direction] = Some(at);
        position.last_end[direction] = at + bytes;
        position.issued[direction] += 1;
        self.limits.commands += 1;
        let counted = self.spec.direction != Direction::TrimWrite || direction == WRITE;
        self.limits.bytes += if counted { bytes } else { 0 };
        Some(self.command(direction, at, bytes))
    }

    fn next_direction(&mut self, choose: &mut impl FnMut(usize) -> usize) -> usize {
        let p = &mut self.position;
        match self.spec.direction {
            Direction::ReadWrite => {
                if p.issued[p.mix] >= p.mix_until {
                    let read = self.random.mix.percent() <= self.spec.read_percent;
                    let next = if read { READ } else { WRITE };
                    if next != p.mix {
                        // fio lets the new direction catch up with the other one's share.
                        let share = if read {
                            self.spec.read_percent
                        } else {
                            100 - self.spec.read_percent
                        };
                        p.mix_until = p.issued[p.mix] * u64::from(share) / 100;
                    }
                    p.mix = next;
                }
                p.mix = choose(p.mix);
                p.mix
            }
            // If the starts are equal, the last pair is complete.
            Direction::TrimWrite if p.last_start[WRITE] == p.last_start[TRIM] => TRIM,
            Direction::TrimWrite => WRITE,
            other => other.used()[0],
        }
    }

    /// Returns the start of the next command, and whether the random map records it.
    fn next_offset(&mut self, direction: usize) -> Option<(u64, bool)> {
        let p = &mut self.position;
        p.left -= 1;
        let fresh = p.left == 0;
        if fresh {
            p.left = p.every;
        }
        if self.spec.direction == Direction::TrimWrite
            && direction == WRITE
            && self.spec.order == Order::Random
        {
            return Some((p.last_start[TRIM]?, false));
        }
        if self.spec.order == Order::Sequential {
            return Some((self.sequential(direction)?, false));
        }
        if fresh {
            let share = self.spec.percent_random[direction];
            if share == 100 || self.random.sequence[direction].percent() <= share {
                return Some((self.random_block(direction)?, true));
            }
        } else if self.spec.sequencer == Sequencer::Identical {
            return Some((p.last_start[direction].unwrap_or(0), false));
        }
        match self.sequential(direction) {
            Some(at) => Some((at, false)),
            None => Some((self.random_block(direction)?, false)),
        }
    }

    /// Returns the end of the last command plus the gap, which may lie beyond the region; wraps only where fio does
    /// (`get_next_seq_offset`).
    fn sequential(&mut self, direction: usize) -> Option<u64> {
        let last = &mut self.position.last_end[direction];
        // With `io_size`, the directions of a mixed job wrap on their own (since fio 3.38).
        let wraps = self.spec.time_based
            || self.spec.direction == Direction::ReadWrite
                && self.spec.order == Order::Sequential
                && self.spec.io_size > self.spec.size;
        if wraps && *last >= self.spec.size {
            *last = 0;
        }
        // In a random job, a sequential run needs room for a whole command.
        let needed = if self.spec.order == Order::Random { self.sizes[direction].min } else { 1 };
        if *last + needed > self.spec.size {
            return None;
        }
        let gap = self.position.gap;
        let last = match *last {
            // With an `offset`, fio starts a backward pass at the end of the region, but subtracts the offset once too
            // often.
            0 if gap < 0 && self.spec.offset > 0 => self.spec.size.wrapping_sub(self.spec.offset),
            last => last,
        };
        if last == 0 || gap == 0 {
            return Some(last);
        }
        match last.checked_add_signed(gap).filter(|at| *at < self.spec.namespace_bytes) {
            Some(at) => Some(at),
            // fio uses the offset of the region, relative to the region.
            None if gap > 0 => Some(self.spec.offset),
            None => Some(self.spec.size.saturating_add_signed(gap)),
        }
    }

    /// Returns the start of a random block, or with a map that of the next free block after it.
    fn random_block(&mut self, direction: usize) -> Option<u64> {
        let addresses = &self.addresses[direction];
        let mut block = addresses.draw(self.random.of(addresses.purpose()));
        if let Some(map) = self.maps.get_mut(self.map_of[direction]) {
            block = match map.next_free(block) {
                Some(free) => free,
                None if self.spec.time_based => {
                    // fio starts a new pass at once, with a new draw of the same generator.
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
