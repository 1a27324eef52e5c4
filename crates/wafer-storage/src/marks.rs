//! Logical blocks that hosts marked as uncorrectable: reads fail until the blocks are written or deallocated.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use serde::{Deserialize, Serialize};

/// Marked byte ranges of a namespace, disjoint and not adjacent.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(from = "Vec<(u64, u64)>", into = "Vec<(u64, u64)>")]
pub struct Marks {
    /// Whether there are any; otherwise reads check nothing else.
    any: AtomicBool,
    /// The end of each range, by its start.
    ranges: RwLock<BTreeMap<u64, u64>>,
}

impl Clone for Marks {
    fn clone(&self) -> Self {
        self.ranges.read().unwrap_or_else(PoisonError::into_inner).clone().into()
    }
}

impl From<BTreeMap<u64, u64>> for Marks {
    fn from(ranges: BTreeMap<u64, u64>) -> Self {
        Marks { any: AtomicBool::new(!ranges.is_empty()), ranges: RwLock::new(ranges) }
    }
}

impl From<Vec<(u64, u64)>> for Marks {
    fn from(ranges: Vec<(u64, u64)>) -> Self {
        let marks = Marks::default();
        ranges.into_iter().for_each(|(from, end)| marks.add(from, end));
        marks
    }
}

impl From<Marks> for Vec<(u64, u64)> {
    fn from(marks: Marks) -> Self {
        marks.ranges.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().collect()
    }
}

impl Marks {
    /// Returns whether any byte is marked.
    pub fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// Returns the number of ranges.
    pub fn count(&self) -> usize {
        self.ranges.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Returns the first marked byte of a range.
    pub fn first(&self, from: u64, end: u64) -> Option<u64> {
        if !self.any() {
            return None;
        }
        let ranges = self.ranges.read().unwrap_or_else(PoisonError::into_inner);
        let before = ranges.range(..=from).next_back().filter(|(_, last)| **last > from);
        before.map(|_| from).or_else(|| ranges.range(from..end).next().map(|(begin, _)| *begin))
    }

    /// Returns at most `count` marked ranges within a range, ascending: start and end.
    pub fn within(&self, from: u64, end: u64, count: usize) -> Vec<(u64, u64)> {
        let ranges = self.ranges.read().unwrap_or_else(PoisonError::into_inner);
        let before = ranges.range(..from).next_back().filter(|(_, last)| **last > from);
        before
            .into_iter()
            .chain(ranges.range(from..end))
            .map(|(begin, until)| ((*begin).max(from), (*until).min(end)))
            .take(count)
            .collect()
    }

    /// Marks a range.
    pub fn add(&self, from: u64, end: u64) {
        if from >= end {
            return;
        }
        let mut ranges = self.ranges.write().unwrap_or_else(PoisonError::into_inner);
        let (mut first, mut last) = (from, end);
        while let Some((begin, until)) = ranges.range(..=last).next_back().map(|(b, e)| (*b, *e))
            && until >= first
        {
            ranges.remove(&begin);
            (first, last) = (first.min(begin), last.max(until));
        }
        ranges.insert(first, last);
        self.any.store(true, Ordering::Release);
    }

    /// Removes the marks of a range.
    pub fn remove(&self, from: u64, end: u64) {
        if from >= end || !self.any() {
            return;
        }
        let mut ranges = self.ranges.write().unwrap_or_else(PoisonError::into_inner);
        while let Some((begin, until)) = ranges.range(..end).next_back().map(|(b, e)| (*b, *e))
            && until > from
        {
            ranges.remove(&begin);
            if begin < from {
                ranges.insert(begin, from);
            }
            if until > end {
                ranges.insert(end, until);
            }
        }
        self.any.store(!ranges.is_empty(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests;
