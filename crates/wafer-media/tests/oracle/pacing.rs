//! Relocation that is outstanding, and how much of it is due.

use wafer_interface::RuId;

/// Outstanding work, in order.
pub(super) enum Owed {
    Move { to: RuId, pages: u64, per_read: u64 },
    Erase(RuId),
}

const ONE: u128 = 1 << 32;

pub(super) struct Pacing {
    pub(super) owed: Vec<Owed>,
    /// Pages freed and not written yet.
    pub(super) room: u64,
    /// Pages due, in units of 2^-32.
    due: u128,
    /// Pages moved because of reads that later reads have not made due yet, in the same unit.
    pub(super) by_reads: u128,
    burst: u64,
    bursting: bool,
}

impl Pacing {
    pub(super) fn new(burst: u64) -> Self {
        Pacing {
            owed: Vec::new(),
            room: 0,
            due: 0,
            by_reads: 0,
            burst: burst.max(1),
            bursting: false,
        }
    }

    /// Returns the number of pages still to be moved.
    pub(super) fn left(&self) -> u64 {
        let pages = self
            .owed
            .iter()
            .map(|owed| if let Owed::Move { pages, .. } = owed { *pages } else { 0 });
        pages.sum()
    }

    /// Returns the pages that become due with one host page, in units of 2^-32.
    pub(super) fn share(&self) -> u128 {
        (u128::from(self.left()) * ONE - self.due) / u128::from(self.room.max(1))
    }

    pub(super) fn host_wrote(&mut self, pages: u64) {
        if self.left() > 0 {
            let open = u128::from(self.left()) * ONE - self.due;
            self.due += open * u128::from(pages) / u128::from(self.room.max(pages));
        }
        self.room = self.room.saturating_sub(pages);
    }

    /// Makes a part of the pages moved because of reads due: in proportion to `pages` of a reclaim unit, and at least
    /// one for each page read.
    pub(super) fn host_read(&mut self, pages: u64, pages_per_ru: u64) {
        if self.by_reads == 0 {
            return;
        }
        self.by_reads = self.by_reads.min(u128::from(self.left()) * ONE - self.due);
        let part = if pages >= pages_per_ru {
            self.by_reads
        } else {
            self.by_reads * u128::from(pages) / u128::from(pages_per_ru)
        };
        let taken = self.by_reads.min(part.max(u128::from(pages) * ONE));
        self.by_reads -= taken;
        self.due += taken;
    }

    /// Takes work that is due now: whole pages, once a burst of them is due, and erases with nothing before them.
    pub(super) fn take(&mut self) -> Option<Owed> {
        if let Some(Owed::Erase(_)) = self.owed.first() {
            return Some(self.owed.remove(0));
        }
        let due = (self.due / ONE) as u64;
        if due == 0 || (!self.bursting && due < self.burst.min(self.left())) {
            self.bursting = false;
            return None;
        }
        self.bursting = true;
        let Some(Owed::Move { to, pages, per_read }) = self.owed.first_mut() else { return None };
        let now = due.min(*pages);
        *pages -= now;
        let part = Owed::Move { to: *to, pages: now, per_read: *per_read };
        if *pages == 0 {
            self.owed.remove(0);
        }
        self.due -= u128::from(now) * ONE;
        Some(part)
    }
}
