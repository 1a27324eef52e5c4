//! What happens next: a queue in the order of time, fast where things are entered nearly in that order.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::time::Time;

/// Things that will happen: in order of time, at the same time of a number, and then in their own order.
///
/// The overheads of a drive are constant, so most entries come after all others; only the rest needs a heap.
#[derive(Clone, Debug)]
pub struct Agenda<T> {
    /// Entries in order, each with its time and number as one number.
    line: VecDeque<(u128, T)>,
    /// Those that came when a later one was there already.
    heap: BinaryHeap<Reverse<(u128, T)>>,
}

impl<T: Ord> Default for Agenda<T> {
    fn default() -> Self {
        Agenda { line: VecDeque::new(), heap: BinaryHeap::new() }
    }
}

impl<T: Ord> Agenda<T> {
    /// Enters something.
    #[inline]
    pub fn push(&mut self, time: Time, number: u64, entry: T) {
        let entry = (u128::from(time) << 64 | u128::from(number), entry);
        match self.line.back() {
            Some(last) if entry < *last => self.heap.push(Reverse(entry)),
            _ => self.line.push_back(entry),
        }
    }

    /// Returns whether the heap has what is first.
    #[inline]
    fn is_heap_first(&self) -> bool {
        match (self.line.front(), self.heap.peek()) {
            (Some(line), Some(Reverse(other))) => other < line,
            (None, other) => other.is_some(),
            (Some(_), None) => false,
        }
    }

    /// Returns when the first happens.
    #[inline]
    pub fn first(&self) -> Option<Time> {
        let first = match self.is_heap_first() {
            true => self.heap.peek().map(|Reverse(entry)| entry),
            false => self.line.front(),
        };
        first.map(|(key, _)| (key >> 64) as Time)
    }

    /// Removes what is first; returns its time, too.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, T)> {
        let (key, entry) = match self.is_heap_first() {
            true => self.heap.pop()?.0,
            false => self.line.pop_front()?,
        };
        Some(((key >> 64) as Time, entry))
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
            let (mut agenda, mut all) = (Agenda::default(), Vec::<(Time, u64, u64)>::new());
            for step in 0..3_000u64 {
                let draw = mix(step * 7 + spread);
                assert_eq!((agenda.len(), agenda.is_empty()), (all.len(), all.is_empty()));
                if draw.is_multiple_of(5) || all.len() > 60 {
                    all.sort_unstable();
                    let first = (!all.is_empty()).then(|| all.remove(0));
                    assert_eq!(agenda.first(), first.map(|(time, ..)| time));
                    assert_eq!(agenda.pop(), first.map(|(time, _, entry)| (time, entry)));
                } else {
                    let (time, number) = (step + draw % spread, draw >> 20 & 3);
                    agenda.push(time, number, step);
                    all.push((time, number, step));
                }
            }
        }
    }
}
