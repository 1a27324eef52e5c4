//! Space of a file system: free and used pages, allocated by next fit.
//!
//! Next fit approximates the allocation groups of ext4 and XFS over time: new files follow the last ones, and
//! allocation circulates through the whole area.

/// An extent: first page and number of pages.
pub(super) type Extent = (u64, u64);

/// Pages `0..pages` of an area.
#[derive(Clone, Debug)]
pub(super) struct Area {
    pages: u64,
    used: Vec<u64>,
    in_use: u64,
    cursor: u64,
}

impl Area {
    pub(super) fn new(pages: u64) -> Self {
        Area { pages, used: vec![0; pages.div_ceil(64) as usize], in_use: 0, cursor: 0 }
    }

    /// Returns the number of free pages.
    pub(super) fn free(&self) -> u64 {
        self.pages - self.in_use
    }

    fn is_used(&self, page: u64) -> bool {
        self.used[page as usize / 64] >> (page % 64) & 1 != 0
    }

    fn set(&mut self, (first, count): Extent, value: bool) {
        for page in first..first + count {
            assert_ne!(self.is_used(page), value, "page {page} is taken or freed twice");
            self.used[page as usize / 64] ^= 1 << (page % 64);
        }
        self.in_use = if value { self.in_use + count } else { self.in_use - count };
    }

    /// Allocates pages after the last allocation; `None` without enough room.
    pub(super) fn take(&mut self, pages: u64) -> Option<Vec<Extent>> {
        if pages > self.free() {
            return None;
        }
        let mut extents: Vec<Extent> = Vec::with_capacity(1);
        let mut left = pages;
        while left > 0 {
            if self.cursor == self.pages {
                self.cursor = 0;
            }
            let first = self.cursor;
            while self.cursor < self.pages
                && self.cursor - first < left
                && !self.is_used(self.cursor)
            {
                self.cursor += 1;
            }
            let count = self.cursor - first;
            if count == 0 {
                self.skip();
                continue;
            }
            self.set((first, count), true);
            extents.push((first, count));
            left -= count;
        }
        Some(extents)
    }

    /// Moves the cursor to the next free page, or to the end.
    fn skip(&mut self) {
        while self.cursor < self.pages {
            let word = self.used[self.cursor as usize / 64] >> (self.cursor % 64);
            let used = u64::from(word.trailing_ones());
            if used == 0 {
                return;
            }
            self.cursor = (self.cursor + used.min(64 - self.cursor % 64)).min(self.pages);
        }
    }

    pub(super) fn free_extents(&mut self, extents: &[Extent]) {
        for extent in extents {
            self.set(*extent, false);
        }
    }

    /// Returns the memory that an area takes, in bytes.
    pub(super) fn memory_bytes(pages: u64) -> u64 {
        pages / 8
    }

    #[cfg(test)]
    pub(super) fn check_invariants(&self) {
        let count: u64 = self.used.iter().map(|w| u64::from(w.count_ones())).sum();
        assert_eq!(count, self.in_use);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::*;

    #[test]
    fn allocation_circulates() {
        let mut area = Area::new(100);
        let a = area.take(60).unwrap();
        assert_eq!(a, [(0, 60)]);
        area.free_extents(&a);
        // After the last allocation although the front is free, then around the end.
        assert_eq!(area.take(50).unwrap(), [(60, 40), (0, 10)]);
        assert_eq!(area.take(51), None);
        assert_eq!(area.take(50).unwrap(), [(10, 50)]);
        assert_eq!(area.free(), 0);
    }

    proptest! {
        /// Extents never overlap, cover the request, and can be freed.
        #[test]
        fn extents_are_disjoint(sizes in proptest::collection::vec((1u64..200, any::<bool>()), 1..200)) {
            let mut area = Area::new(1003);
            let mut held: Vec<Vec<Extent>> = Vec::new();
            for (size, free) in sizes {
                if free && !held.is_empty() {
                    let extents = held.remove(size as usize % held.len());
                    area.free_extents(&extents);
                }
                let before = area.free();
                match area.take(size) {
                    Some(extents) => {
                        prop_assert_eq!(extents.iter().map(|e| e.1).sum::<u64>(), size);
                        held.push(extents);
                    }
                    None => prop_assert!(before < size),
                }
                area.check_invariants();
                let mut all: Vec<Extent> = held.iter().flatten().copied().collect();
                all.sort_unstable();
                prop_assert!(all.windows(2).all(|w| w[0].0 + w[0].1 <= w[1].0));
                prop_assert!(all.last().is_none_or(|e| e.0 + e.1 <= 1003));
            }
        }
    }
}
