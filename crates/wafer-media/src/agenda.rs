//! What happens next: a queue in the order of time, fast where things are entered nearly in that order.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Things that will happen, each with its time.
///
/// The overheads of a drive are constant, so most entries come after all others; only the rest needs a heap.
#[derive(Clone, Debug)]
pub struct Agenda<T> {
    /// Entries in order.
    line: VecDeque<T>,
    /// Those that came when a later one was there already.
    heap: BinaryHeap<Reverse<T>>,
}

impl<T: Ord> Default for Agenda<T> {
    fn default() -> Self {
        Agenda { line: VecDeque::new(), heap: BinaryHeap::new() }
    }
}

impl<T: Ord> Agenda<T> {
    /// Enters something.
    #[inline]
    pub fn push(&mut self, entry: T) {
        match self.line.back() {
            Some(last) if entry < *last => self.heap.push(Reverse(entry)),
            _ => self.line.push_back(entry),
        }
    }

    /// Returns what is first.
    #[inline]
    pub fn first(&self) -> Option<&T> {
        let line = self.line.front();
        match (line, self.heap.peek()) {
            (Some(line), Some(Reverse(other))) => Some(line.min(other)),
            (line, None) => line,
            (None, Some(Reverse(other))) => Some(other),
        }
    }

    /// Removes what is first.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let in_heap = match (self.line.front(), self.heap.peek()) {
            (Some(line), Some(Reverse(other))) => other < line,
            (None, other) => other.is_some(),
            (Some(_), None) => false,
        };
        match in_heap {
            true => self.heap.pop().map(|Reverse(entry)| entry),
            false => self.line.pop_front(),
        }
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.line.len() + self.heap.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::mix;

    #[test]
    fn entries_leave_in_order_whatever_the_order_in_which_they_came() {
        for spread in [1, 3, 40] {
            let (mut agenda, mut all) = (Agenda::default(), Vec::new());
            for step in 0..3_000u64 {
                let draw = mix(step * 7 + spread);
                if draw.is_multiple_of(5) || agenda.len() > 60 {
                    all.sort_unstable();
                    let first = (!all.is_empty()).then(|| all.remove(0));
                    assert_eq!(agenda.first().copied(), first);
                    assert_eq!(agenda.pop(), first);
                } else {
                    agenda.push((step + draw % spread, step));
                    all.push((step + draw % spread, step));
                }
                assert_eq!((agenda.len(), agenda.is_empty()), (all.len(), all.is_empty()));
            }
        }
    }
}
