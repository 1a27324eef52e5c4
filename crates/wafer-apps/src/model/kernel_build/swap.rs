//! Swap: slots of one page, allocated cluster by cluster.
//!
//! Slots are allocated as in mm/swapfile.c on solid-state drives. A cluster of 256 slots is taken
//! from the list of free clusters and filled in order; a cluster whose slots are all free again goes
//! to the end of the list. Without a free cluster, the others are searched for free slots.

use std::collections::VecDeque;

use wafer_interface::{Command, Op};

use super::part::{PAGE, Part};

/// Slots of a cluster (SWAPFILE_CLUSTER).
pub(super) const CLUSTER: u64 = 256;

pub(super) struct Swap {
    part: Part,
    used: Vec<bool>,
    /// Used slots of each cluster.
    count: Vec<u16>,
    free: VecDeque<u32>,
    /// The cluster being filled, and its next slot.
    current: Option<(u32, u64)>,
    /// Start of the next search for single slots.
    scan: u64,
    in_use: u64,
}

impl Swap {
    pub(super) fn new(part: Part) -> Self {
        let clusters = part.pages / CLUSTER;
        Swap {
            part,
            used: vec![false; (clusters * CLUSTER) as usize],
            count: vec![0; clusters as usize],
            free: (0..clusters as u32).collect(),
            current: None,
            scan: 0,
            in_use: 0,
        }
    }

    /// Returns the next free slot, or `None` when the area is full.
    fn slot(&mut self) -> Option<u64> {
        if self.in_use == self.used.len() as u64 {
            return None;
        }
        loop {
            let (cluster, at) = match self.current {
                Some((cluster, at)) if at < CLUSTER => (cluster, at),
                _ => match self.free.pop_front() {
                    Some(cluster) => (cluster, 0),
                    None => break,
                },
            };
            self.current = Some((cluster, at + 1));
            let slot = u64::from(cluster) * CLUSTER + at;
            if !self.used[slot as usize] {
                return Some(slot);
            }
        }
        self.current = None;
        while self.used[self.scan as usize] {
            self.scan = (self.scan + 1) % self.used.len() as u64;
        }
        Some(self.scan)
    }

    /// Swaps pages out and appends their slots to `slots`. Returns the bytes written.
    pub(super) fn out(&mut self, pages: u64, slots: &mut Vec<u64>, out: &mut Vec<Command>) -> u64 {
        let before = slots.len();
        for _ in 0..pages {
            let Some(slot) = self.slot() else { break };
            self.used[slot as usize] = true;
            self.count[(slot / CLUSTER) as usize] += 1;
            self.in_use += 1;
            slots.push(slot);
        }
        // Adjacent slots are written together.
        let mut run = before;
        for i in before + 1..=slots.len() {
            if i == slots.len() || slots[i] != slots[i - 1] + 1 {
                let count = (i - run) as u64;
                out.push(self.part.command(Op::Write, slots[run], count));
                run = i;
            }
        }
        (slots.len() - before) as u64 * PAGE
    }

    /// Frees the slots of a process that has ended.
    pub(super) fn free(&mut self, slots: &[u64]) {
        for &slot in slots {
            assert!(std::mem::take(&mut self.used[slot as usize]), "slot {slot} is freed twice");
            self.in_use -= 1;
            let cluster = (slot / CLUSTER) as usize;
            self.count[cluster] -= 1;
            let current = self.current.is_some_and(|(c, _)| c as usize == cluster);
            if self.count[cluster] == 0 && !current {
                self.free.push_back(cluster as u32);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use wafer_interface::Placement;

    use super::*;

    fn swap(clusters: u64) -> Swap {
        let pages = clusters * CLUSTER;
        Swap::new(Part { namespace: 0, first: 0, pages, placement: Placement::NONE })
    }

    #[test]
    fn clusters_are_filled_in_order_and_come_back_at_the_end_of_the_list() {
        let mut swap = swap(4);
        let (mut a, mut b, mut out) = (Vec::new(), Vec::new(), Vec::new());
        assert_eq!(swap.out(CLUSTER, &mut a, &mut out), CLUSTER * PAGE);
        swap.out(10, &mut b, &mut out);
        assert_eq!(
            out.iter().map(|c| (c.lba / 8, c.blocks / 8)).collect::<Vec<_>>(),
            [(0, 256), (256, 10)]
        );
        swap.free(&a);
        let mut c = Vec::new();
        swap.out(3 * CLUSTER - 10, &mut c, &mut out);
        // The rest of the second cluster, the third, the fourth, then the first again.
        assert_eq!((c[0], c[246], c[246 + 512 - 1]), (266, 512, 1023));
        assert_eq!(*c.last().unwrap(), 1023);
        let mut d = Vec::new();
        swap.out(1, &mut d, &mut out);
        assert_eq!(d, [0]);
        swap.out(10_000, &mut d, &mut out);
        assert_eq!(d.len() as u64, CLUSTER);
        swap.free(&b);
        let mut e = Vec::new();
        assert_eq!(swap.out(20, &mut e, &mut out), 10 * PAGE);
        assert_eq!(e, b);
    }
}
