//! Relocation that is owed, and how much of it is due.

use wafer_interface::RuId;

/// What is owed, in order.
pub(super) enum Owed {
    Move { to: RuId, pages: u64, per_read: u64 },
    Erase(RuId),
}

const ONE: u128 = 1 << 32;

pub(super) struct Pacing {
    pub(super) owed: Vec<Owed>,
    /// Pages freed and not written yet.
    pub(super) room: u64,
    /// Pages due, in parts of 2^-32.
    due: u128,
    /// Pages moved because of reads that later reads have not made due yet, in the same parts.
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

    /// Returns the pages that are to be moved.
    pub(super) fn left(&self) -> u64 {
        let pages = self
            .owed
            .iter()
            .map(|owed| if let Owed::Move { pages, .. } = owed { *pages } else { 0 });
        pages.sum()
    }

    /// Returns the pages that one page of a host takes with it, in parts of 2^-32.
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

    /// Lets so many pages that a host reads take along what reads made move: the part that they are of a reclaim unit, and
    /// a page for each of them at least.
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

    /// Takes what is due now: whole pages, once as many as a burst are, and erases that nothing is before.
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
