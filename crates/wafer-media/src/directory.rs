//! Which pages the write buffer holds: those that hosts wrote last.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

/// Remembers where in the sequence of written bytes each page was last written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Directory {
    /// The position after each page that may still be held.
    positions: FxHashMap<u64, u64>,
    /// Page and position of each write, in order.
    order: VecDeque<(u64, u64)>,
    /// How many of the newest writes are not in `positions` yet: only reads need them there.
    new: usize,
    written: u64,
}

impl Directory {
    /// Adds pages of `page_bytes` bytes that a host writes while the newest `held` bytes are in the buffer. A page that
    /// is not held now will not be until it is written again: the buffer grows only by what is written.
    pub(crate) fn write(&mut self, first: u64, pages: u64, page_bytes: u64, held: u64) {
        while let Some((page, position)) = self.order.front().copied() {
            if self.written - position < held {
                break;
            }
            if self.new == self.order.len() {
                self.new -= 1;
            } else if self.positions.get(&page) == Some(&position) {
                self.positions.remove(&page);
            }
            self.order.pop_front();
        }
        for page in first..first + pages {
            self.written += page_bytes;
            self.order.push_back((page, self.written));
        }
        self.new += pages as usize;
    }

    /// Adds the positions of pages written since the last call.
    pub(crate) fn update(&mut self) {
        let old = self.order.len() - std::mem::take(&mut self.new);
        self.positions.extend(self.order.range(old..).copied());
    }

    /// Returns whether a page is among the newest `held` bytes. The positions must be [up to date](Self::update).
    pub(crate) fn holds(&self, page: u64, held: u64) -> bool {
        self.positions.get(&page).is_some_and(|position| self.written - position < held)
    }
}

/// Mixes the bits of a number (the finaliser of SplitMix64).
pub(crate) fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
