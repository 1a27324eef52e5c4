//! Garbage collection spread over time.
//!
//! The device relocates a victim in one step: its valid pages move, and a reclaim unit is free. Here, that work is
//! spread over the pages that hosts write before the next collection. Each host page carries a share of the remaining
//! work, and the work is done when the freed space is used up. Relocation caused by host reads, as for read disturb,
//! frees no space for writes to use up: each page read carries a share of it.

use std::collections::VecDeque;

use wafer_interface::RuId;

/// Relocated pages that go to one reclaim unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move {
    pub(crate) to: RuId,
    pub(crate) pages: u32,
    /// Pages that one read of the victim's cells yields, times 256.
    pub(crate) per_read: u32,
}

/// Work that is due.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Due {
    Move(Move),
    /// Erases of a reclaim unit, on all its dies.
    Erase(RuId),
}

#[derive(Clone, Debug)]
pub(crate) struct Pacing {
    items: VecDeque<Due>,
    /// Pages still to be moved.
    backlog: u64,
    /// The part of the backlog that reads caused, with 32 bits of fraction: an upper bound, since writes take their
    /// share of it too.
    for_reads: u64,
    /// Pages that hosts may write until the freed space is used up.
    room: u64,
    /// Pages due to be moved, with 32 bits of fraction.
    credit: u64,
    /// Pages moved at a time.
    burst: u64,
    bursting: bool,
}

impl Pacing {
    pub(crate) fn new(burst_pages: u64) -> Self {
        Pacing {
            items: VecDeque::new(),
            backlog: 0,
            for_reads: 0,
            room: 0,
            credit: 0,
            burst: burst_pages.max(1),
            bursting: false,
        }
    }

    /// Reports whether there is work left.
    pub(crate) fn is_active(&self) -> bool {
        self.backlog > 0
    }

    /// Returns the pages to be moved for each page that hosts write, with 32 bits of fraction.
    pub(crate) fn ratio(&self) -> u64 {
        let left = (u128::from(self.backlog) << 32) - u128::from(self.credit);
        u64::try_from(left / u128::from(self.room.max(1))).unwrap_or(u64::MAX)
    }

    /// Adds pages to be relocated because of a host write or a read.
    pub(crate) fn add(&mut self, moved: Move, for_read: bool) {
        self.backlog += u64::from(moved.pages);
        self.for_reads += if for_read { u64::from(moved.pages) << 32 } else { 0 };
        self.items.push_back(Due::Move(moved));
    }

    /// Adds the erase of a victim, with the number of its invalid pages.
    pub(crate) fn freed(&mut self, ru: RuId, pages: u64) {
        self.room += pages;
        self.items.push_back(Due::Erase(ru));
    }

    /// Counts pages that a host writes.
    pub(crate) fn host_wrote(&mut self, pages: u64) {
        if self.backlog > 0 {
            let left = (u128::from(self.backlog) << 32) - u128::from(self.credit);
            let share = left * u128::from(pages) / u128::from(self.room.max(pages));
            self.credit += share as u64;
        }
        self.room = self.room.saturating_sub(pages);
    }

    /// Reports whether there is work left that reads caused.
    #[inline]
    pub(crate) fn owes_for_reads(&self) -> bool {
        self.for_reads > 0
    }

    /// Counts pages that a host reads. Each carries a share of the work that earlier reads caused, over as many pages
    /// as a reclaim unit holds, and at least one page.
    pub(crate) fn host_read(&mut self, pages: u64, pages_per_ru: u64) {
        let left = (u128::from(self.backlog) << 32) - u128::from(self.credit);
        let all = u128::from(self.for_reads).min(left);
        let share = all * u128::from(pages) / u128::from(pages_per_ru.max(pages));
        let share = share.max(u128::from(pages) << 32).min(all);
        self.credit += share as u64;
        self.for_reads = (all - share) as u64;
    }

    /// Returns the next work that is due.
    pub(crate) fn next(&mut self) -> Option<Due> {
        let due = self.credit >> 32;
        if !self.bursting && due < self.burst.min(self.backlog.max(1)) {
            // An erase waits for the moves before it, not for more writes.
            return match self.items.front() {
                Some(Due::Erase(_)) => self.items.pop_front(),
                _ => None,
            };
        }
        self.bursting = due > 0;
        match self.items.front_mut()? {
            Due::Erase(_) => self.items.pop_front(),
            Due::Move(whole) => {
                let pages = u64::from(whole.pages).min(due) as u32;
                if pages == 0 {
                    return None;
                }
                let part = Move { pages, ..*whole };
                self.credit -= u64::from(pages) << 32;
                self.backlog -= u64::from(pages);
                whole.pages -= pages;
                if whole.pages == 0 {
                    self.items.pop_front();
                }
                Some(Due::Move(part))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(pacing: &mut Pacing) -> u32 {
        std::iter::from_fn(|| pacing.next())
            .map(|due| if let Due::Move(part) = due { part.pages } else { 0 })
            .sum()
    }

    #[test]
    fn the_work_is_done_when_the_freed_space_is_used_up() {
        let mut pacing = Pacing::new(1);
        pacing.add(Move { to: RuId(1), pages: 75, per_read: 256 }, false);
        pacing.freed(RuId(0), 25);
        let mut each = Vec::new();
        for _ in 0..25 {
            pacing.host_wrote(1);
            each.push(moved(&mut pacing));
        }
        assert!(each.iter().all(|pages| *pages == 3), "{each:?}");
        assert!(!pacing.is_active());
    }

    #[test]
    fn what_reads_cause_is_moved_while_hosts_read() {
        let mut pacing = Pacing::new(1);
        for _ in 0..3 {
            pacing.add(Move { to: RuId(1), pages: 100, per_read: 256 }, true);
            pacing.freed(RuId(0), 0);
        }
        let mut each = Vec::new();
        while pacing.owes_for_reads() {
            pacing.host_read(1, 100);
            each.push(moved(&mut pacing));
        }
        assert_eq!(each.iter().sum::<u32>(), 300);
        assert!(each[0] == 3 && each.len() < 300, "{each:?}");
        assert!(!pacing.is_active());
    }

    #[test]
    fn bursts_have_their_size() {
        let mut pacing = Pacing::new(30);
        pacing.add(Move { to: RuId(1), pages: 75, per_read: 256 }, false);
        pacing.freed(RuId(0), 25);
        let each: Vec<u32> = (0..25)
            .map(|_| {
                pacing.host_wrote(1);
                moved(&mut pacing)
            })
            .filter(|pages| *pages > 0)
            .collect();
        assert_eq!(each, [30, 30, 15]);
    }
}
