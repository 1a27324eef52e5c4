//! Attribution: which handle's writes cause relocations of which handle's data, by the rule of
//! `docs/concepts/attribution.md`. Kept only for an observer that [requests
//! it](wafer_interface::Observer::wants_attribution).
//!
//! The *origin* of a page is the handle through which a host last wrote it. A page is *invalidated by* the handle of
//! the write that replaces it; a deallocated page by its origin. Relocations of a victim's valid pages are *caused by*
//! handles in proportion to the pages of the victim that these invalidated or, if there are none, by the handle that
//! *demanded* space. Shares are rounded cumulatively over the handles in order, so the sum over all causes is exactly
//! the number of relocated pages.

use wafer_interface::{Attribution, Owner, RuhId};

/// The state of attribution.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// For each handle, the pages of each reclaim unit that it invalidated since the unit's erase, and one more entry
    /// for "unmapped". The entries of a handle are contiguous, so they stay in the cache.
    pub(crate) invalid: Vec<Vec<u32>>,
    /// Where the last command of each handle ended.
    pub(crate) next_page: Vec<u64>,
    /// Scratch memory: valid pages of each origin in the victim.
    pub(crate) valid: Vec<u32>,
    /// Scratch memory: pages of the victim that each handle invalidated.
    victim: Vec<u32>,
    pub(crate) totals: Attribution,
}

impl Ledger {
    /// Creates an empty ledger.
    pub(crate) fn new(ru_count: u32, handles: usize) -> Self {
        Ledger {
            invalid: vec![vec![0; ru_count as usize + 1]; handles],
            next_page: vec![u64::MAX; handles],
            valid: vec![0; handles],
            victim: Vec::with_capacity(handles),
            totals: Attribution::new(handles),
        }
    }

    /// Notes that handle `by` invalidated `count` pages of a reclaim unit. On the path of every write.
    #[inline(always)]
    pub(crate) fn invalidate(&mut self, ru: u32, by: u32, count: u32) {
        let entry = &mut self.invalid[by as usize][ru as usize];
        // The entry for "unmapped" counts modulo 2^32 and is never read.
        *entry = entry.wrapping_add(count);
    }

    /// Returns how many pages of a reclaim unit were invalidated.
    pub(crate) fn invalid_pages(&self, ru: u32) -> u32 {
        self.invalid.iter().map(|by| by[ru as usize]).sum()
    }

    /// Notes that handle `by` writes `blocks` logical blocks in pages `first..=last`; `inside` tells whether they begin
    /// within the first page.
    #[inline(always)]
    pub(crate) fn written(&mut self, by: u32, first: u64, last: u64, inside: bool, blocks: u64) {
        let next = &mut self.next_page[by as usize];
        // A command smaller than a page may continue in the page where the last one ended.
        if first == *next || (inside && first.wrapping_add(1) == *next) {
            self.totals.sequential[by as usize] += blocks;
        }
        *next = last + 1;
    }

    /// Counts the collection of a victim, whose valid pages of each origin are in [`Self::valid`], and clears its
    /// entries.
    pub(crate) fn collected(&mut self, victim: u32, owner: Owner, asking: RuhId) {
        self.victim.clear();
        let invalid = self.invalid.iter_mut().map(|by| std::mem::take(&mut by[victim as usize]));
        self.victim.extend(invalid);
        count(&mut self.totals, owner, asking, &self.valid, &self.victim);
        self.valid.fill(0);
    }
}

#[cfg(test)]
mod tests;

/// Counts one collection: `valid` pages of each origin, `invalid` pages by each handle.
fn count(totals: &mut Attribution, owner: Owner, asking: RuhId, valid: &[u32], invalid: &[u32]) {
    let handles = totals.sequential.len();
    let column = match owner {
        Owner::Handle(handle) => handle.index(),
        Owner::Gc => handles,
    };
    for (row, count) in totals.invalidated.iter_mut().zip(invalid) {
        row[column] += u64::from(*count);
    }
    let collected = &mut totals.collected[column];
    let moved: u64 = valid.iter().map(|v| u64::from(*v)).sum();
    collected.units += 1;
    collected.empty += u64::from(moved == 0);
    collected.valid += moved;
    let all: u64 = invalid.iter().map(|k| u64::from(*k)).sum();
    for (origin, pages) in valid.iter().enumerate().filter(|(_, pages)| **pages > 0) {
        let pages = u64::from(*pages);
        totals.demanded[asking.index()][origin] += pages;
        if all == 0 {
            totals.relocated[asking.index()][origin] += pages;
            continue;
        }
        let (mut seen, mut given) = (0, 0);
        for (cause, count) in invalid.iter().enumerate() {
            seen += u64::from(*count);
            let due = pages * seen / all;
            totals.relocated[cause][origin] += due - given;
            given = due;
        }
    }
}
