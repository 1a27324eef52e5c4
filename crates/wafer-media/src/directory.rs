//! Which pages the write buffer holds: the newest bytes that hosts wrote.

/// Remembers where in the sequence of written bytes a page was written last.
#[derive(Clone, Debug)]
pub(crate) struct Directory {
    /// Page and position by hash. A page that hashes alike takes the place of another, which is then read
    /// from the media.
    slots: Vec<(u64, u64)>,
    written: u64,
}

const EMPTY: u64 = u64::MAX;

impl Directory {
    /// Makes a directory of a buffer of so many pages.
    pub(crate) fn new(pages: u64) -> Self {
        let slots = (pages.max(1) * 4).next_power_of_two() as usize;
        Directory { slots: vec![(EMPTY, 0); slots], written: 0 }
    }

    fn slot(&self, page: u64) -> usize {
        mix(page) as usize & (self.slots.len() - 1)
    }

    /// Enters pages of `page_bytes` bytes that a host writes.
    pub(crate) fn write(&mut self, first: u64, pages: u64, page_bytes: u64) {
        for page in first..first + pages {
            self.written += page_bytes;
            let slot = self.slot(page);
            self.slots[slot] = (page, self.written);
        }
    }

    /// Returns whether a page is among the newest `held` bytes.
    pub(crate) fn holds(&self, page: u64, held: u64) -> bool {
        let (key, position) = self.slots[self.slot(page)];
        key == page && self.written - position < held
    }
}

/// Mixes the bits of a number (the finaliser of SplitMix64).
pub(crate) fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
