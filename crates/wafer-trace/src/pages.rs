//! The pages of 4 KiB that a trace writes: whole granules as ranges, others with a bit per page.

use std::collections::BTreeMap;

use super::granules::{GRANULE, Granules, Growing};

/// Bytes of a page: the unit in which touched bytes are counted.
pub const PAGE: u64 = 4096;
/// Pages of a granule.
const PAGES: u64 = GRANULE / PAGE;
/// The pages of a granule as bits.
type Bits = [u64; (PAGES / 64) as usize];
const ALL: Bits = [u64::MAX; (PAGES / 64) as usize];

fn count(bits: &Bits) -> u64 {
    bits.iter().map(|word| u64::from(word.count_ones())).sum()
}

/// A set of pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pages {
    /// Granules whose pages are all in the set.
    whole: Granules,
    /// Other granules: number, pages of the set in earlier ones of these, pages; ascending.
    parts: Vec<(u64, u64, Bits)>,
}

impl Pages {
    /// Returns the number of pages.
    pub fn len(&self) -> u64 {
        let parts = self.parts.last().map_or(0, |(_, before, bits)| before + count(bits));
        self.whole.len() * PAGES + parts
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the memory that the set takes, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.whole.memory_bytes() + size_of_val(self.parts.as_slice()) as u64
    }

    /// Returns how many pages of the set come before `page`, and whether it is one of them.
    pub(super) fn rank(&self, page: u64) -> (u64, bool) {
        let (granule, within) = (page / PAGES, page % PAGES);
        let (wholes, whole) = self.whole.rank(granule);
        let at = self.parts.partition_point(|(part, ..)| *part < granule);
        let (before, part) = match self.parts.get(at) {
            Some((part, before, bits)) if *part == granule => (*before, Some(bits)),
            Some((_, before, _)) => (*before, None),
            None => (self.len() - self.whole.len() * PAGES, None),
        };
        let before = wholes * PAGES + before;
        match part {
            None => (before + if whole { within } else { 0 }, whole),
            Some(bits) => {
                let (word, bit) = ((within / 64) as usize, within % 64);
                let below = bits[word] & ((1 << bit) - 1);
                let earlier: u32 = bits[..word].iter().map(|word| word.count_ones()).sum();
                let rank = before + u64::from(earlier) + u64::from(below.count_ones());
                (rank, bits[word] >> bit & 1 == 1)
            }
        }
    }

    /// Returns the page with `rank` pages of the set before it; none after the last.
    pub(super) fn page(&self, rank: u64) -> Option<u64> {
        if rank >= self.len() {
            return None;
        }
        // The last page with at most `rank` pages before it.
        let (mut low, mut high) = (0, u64::MAX / PAGE);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if self.rank(middle).0 <= rank {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        Some(low)
    }
}

/// A set under construction.
#[derive(Debug, Default)]
pub(super) struct GrowingPages {
    whole: Growing,
    parts: BTreeMap<u64, Bits>,
}

impl GrowingPages {
    /// Adds `first..end`. Returns by how much the number of ranges and parts grew.
    pub(super) fn add(&mut self, first: u64, end: u64) -> i64 {
        let before = self.parts.len() as i64;
        let mut ranges = 0;
        let mut at = first;
        while at < end {
            let granule = at / PAGES;
            let stop = end.min((granule + 1) * PAGES);
            if stop - at == PAGES {
                // All the whole granules that follow.
                let last = (end / PAGES).max(granule + 1);
                while let Some((&part, _)) = self.parts.range(granule..last).next() {
                    self.parts.remove(&part);
                }
                ranges += self.whole.add(granule, last);
                at = last * PAGES;
                continue;
            }
            if !self.whole.contains(granule) {
                let bits = self.parts.entry(granule).or_default();
                for page in at % PAGES..at % PAGES + (stop - at) {
                    bits[(page / 64) as usize] |= 1 << (page % 64);
                }
                if *bits == ALL {
                    self.parts.remove(&granule);
                    ranges += self.whole.add(granule, granule + 1);
                }
            }
            at = stop;
        }
        ranges + self.parts.len() as i64 - before
    }

    pub(super) fn finish(self) -> Pages {
        let mut before = 0;
        let ranked = self.parts.into_iter().map(|(granule, bits)| {
            let part = (granule, before, bits);
            before += count(&bits);
            part
        });
        Pages { parts: ranked.collect(), whole: self.whole.finish() }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn pages_are_what_a_set_of_numbers_would_be() {
        let (mut growing, mut oracle, mut entries) = (GrowingPages::default(), BTreeSet::new(), 0);
        let mut x = 7u64;
        for step in 0..3000 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let longest = if step % 50 == 0 { 700 } else { 9 };
            let (first, pages) = ((x >> 33) % 6000, (x >> 20) % longest);
            entries += growing.add(first, first + pages);
            oracle.extend(first..first + pages);
        }
        assert_eq!(entries, growing.whole.len() as i64 + growing.parts.len() as i64);
        let pages = growing.finish();
        assert!(!pages.whole.is_empty() && !pages.parts.is_empty());
        assert_eq!(pages.len(), oracle.len() as u64);
        for page in 0..7000 {
            let before = oracle.range(..page).count() as u64;
            assert_eq!(pages.rank(page), (before, oracle.contains(&page)), "page {page}");
        }
        for (rank, page) in oracle.iter().enumerate() {
            assert_eq!(pages.page(rank as u64), Some(*page));
        }
        assert_eq!(pages.page(pages.len()), None);
    }
}
