//! The addresses that a trace writes: a set of granules, kept as ranges. Its size depends on the number of
//! gaps, not on the number of granules.

use std::collections::BTreeMap;

/// Bytes of a granule, the unit in which a scan records written addresses.
pub const GRANULE: u64 = 1 << 20;

/// Granules as ranges that neither overlap nor touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Granules {
    /// First granule, one past the last, and the number of granules in earlier ranges; ascending.
    ranges: Vec<(u64, u64, u64)>,
}

impl Granules {
    /// Returns the number of granules.
    pub fn len(&self) -> u64 {
        self.ranges.last().map_or(0, |(first, end, before)| before + (end - first))
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns the memory that the set takes, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        size_of_val(self.ranges.as_slice()) as u64
    }

    /// Returns how many granules of the set come before `granule`, and whether it is one of them.
    pub(super) fn rank(&self, granule: u64) -> (u64, bool) {
        match self.ranges.partition_point(|(first, ..)| *first <= granule).checked_sub(1) {
            None => (0, false),
            Some(at) => {
                let (first, end, before) = self.ranges[at];
                (before + (granule.min(end) - first), granule < end)
            }
        }
    }
}

/// A set under construction.
#[derive(Debug, Default)]
pub(super) struct Growing {
    /// First granule to one past the last.
    ranges: BTreeMap<u64, u64>,
    /// The range that grew last: most writes are near the previous one.
    latest: (u64, u64),
}

impl Growing {
    /// Adds `first..end`. Returns the growth of the number of ranges, negative if some were joined.
    #[inline]
    pub(super) fn add(&mut self, first: u64, end: u64) -> i64 {
        if first >= self.latest.0 && end <= self.latest.1 || first >= end {
            return 0;
        }
        self.join(first, end)
    }

    /// Returns the number of ranges.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Returns whether a granule is in the set.
    pub(super) fn contains(&self, granule: u64) -> bool {
        self.ranges.range(..=granule).next_back().is_some_and(|(_, end)| granule < *end)
    }

    fn join(&mut self, mut first: u64, mut end: u64) -> i64 {
        let before = self.ranges.len() as i64;
        // Merge every range that overlaps or touches the new one.
        while let Some((&start, &stop)) = self.ranges.range(..=end).next_back() {
            if stop < first {
                break;
            }
            self.ranges.remove(&start);
            (first, end) = (first.min(start), end.max(stop));
        }
        self.ranges.insert(first, end);
        self.latest = (first, end);
        self.ranges.len() as i64 - before
    }

    pub(super) fn finish(self) -> Granules {
        let mut before = 0;
        let ranked = self.ranges.into_iter().map(|(first, end)| {
            let range = (first, end, before);
            before += end - first;
            range
        });
        Granules { ranges: ranked.collect() }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ranges_are_what_a_set_of_numbers_would_be() {
        let (mut growing, mut oracle, mut ranges) = (Growing::default(), BTreeSet::new(), 0);
        let mut state = 1u64;
        for _ in 0..4000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let (first, length) = (state >> 33 & 0x3fff, state >> 20 & 7);
            ranges += growing.add(first, first + length);
            oracle.extend(first..first + length);
        }
        let set = growing.finish();
        assert_eq!(set.ranges.len() as i64, ranges);
        assert!(set.ranges.windows(2).all(|pair| pair[0].1 < pair[1].0), "a gap between any two");
        assert_eq!(set.len(), oracle.len() as u64);
        for granule in 0..0x4010 {
            let rank = oracle.range(..granule).count() as u64;
            assert_eq!(set.rank(granule), (rank, oracle.contains(&granule)), "{granule}");
        }
    }
}
