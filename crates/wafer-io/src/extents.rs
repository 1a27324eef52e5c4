//! Ranges that are deallocated or zeroed in slices.

use std::collections::VecDeque;
use std::sync::Arc;

use wafer_drive::Namespace;
use wafer_interface::{Op, Placement};
use wafer_nvme::Status;

use super::{Failure, IoQueue, Rest, TURN};

/// Bytes that use up a turn: the device deallocates pages faster than it writes them, and the host sends no data in
/// either case.
const DEALLOCATED: u64 = 64 << 20;
const WRITTEN: u64 = 16 << 20;

/// Ranges of a namespace that read as zeroes afterwards, and what the device counts for them.
pub(super) struct Zeroing {
    pub(super) namespace: Arc<Namespace>,
    pub(super) op: Op,
    pub(super) pid: Placement,
    /// Whether the write must be durable.
    pub(super) durable: bool,
    /// Remaining ranges, none empty: offset and length in bytes.
    pub(super) ranges: VecDeque<(u64, u64)>,
}

impl Rest for Zeroing {
    fn step(&mut self, queue: &mut IoQueue) -> Result<bool, Failure> {
        queue.check_live(&self.namespace)?;
        self.namespace.check_unprotected()?;
        let slice = if self.op == Op::Deallocate { DEALLOCATED } else { WRITTEN };
        let Some((offset, length)) = self.ranges.front_mut() else { return Ok(true) };
        // Slices end at multiples of their size, so that no page is split.
        let count = (*length).min(slice - *offset % slice);
        let lba = *offset >> self.namespace.lba_shift;
        let done = self.namespace.store.deallocate(*offset, count);
        done.map_err(|e| Failure::medium(&e, Status::WRITE_FAULT, lba))?;
        queue.batch.ticket.stays = true;
        queue.batch.ticket.durable = self.durable;
        queue.count(self.op, &self.namespace, *offset, count, self.pid);
        queue.spend(count * TURN / slice);
        *offset += count;
        *length -= count;
        if *length == 0 {
            self.ranges.pop_front();
        }
        if !self.ranges.is_empty() {
            return Ok(false);
        }
        queue.finish_write(self.durable)?;
        Ok(true)
    }
}

/// Merges ranges that overlap, sorted by offset. Without an overlap, returns the ranges unchanged.
pub(super) fn unite(mut ranges: Vec<(u64, u64)>) -> VecDeque<(u64, u64)> {
    ranges.retain(|(_, length)| *length > 0);
    let mut sorted = ranges.clone();
    sorted.sort_unstable();
    if sorted.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0) {
        return ranges.into();
    }
    let mut united: VecDeque<(u64, u64)> = VecDeque::new();
    for (offset, length) in sorted {
        match united.back_mut() {
            Some((from, count)) if offset <= *from + *count => {
                *count = (*count).max(offset + length - *from);
            }
            _ => united.push_back((offset, length)),
        }
    }
    united
}

#[cfg(test)]
mod tests {
    use super::unite;

    #[test]
    fn only_ranges_that_overlap_are_united() {
        assert_eq!(unite(vec![(8, 4), (0, 4), (4, 4), (20, 0)]), [(8, 4), (0, 4), (4, 4)]);
        assert_eq!(unite(vec![(8, 4), (0, 9), (30, 1), (10, 6)]), [(0, 16), (30, 1)]);
        assert_eq!(unite(vec![(0, 1 << 40); 256]), [(0, 1 << 40)]);
    }
}
