//! A priority queue, by time, of events that are added in any order.
//!
//! A calendar queue (Brown, "Calendar queues", CACM 31(10), 1988): buckets by time hold the near entries, and the cost
//! of taking the first does not depend on their number. A heap holds the rest.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::time::Time;

/// Logarithm of a bucket's length in nanoseconds: 4 µs.
const SHIFT: u32 = 12;
/// Number of buckets: together 4 ms, as long as programs and the waits of a full drive take.
const BUCKETS: usize = 1024;
const WORDS: usize = BUCKETS / 64;
/// Maximum number of entries of a bucket that a new one may follow when it is not the last; beyond that, it goes to the
/// heap.
const STEPS: usize = 16;
const _: () = assert!(2 * WORDS <= u32::BITS as usize);
/// No entry.
const NONE: u32 = u32::MAX;

/// Future events, ordered by time, then by number, then by the events themselves.
#[derive(Clone, Debug)]
pub(crate) struct Calendar<T> {
    /// Entries in buckets, and free slots.
    places: Vec<Place<T>>,
    free: u32,
    /// First and last entry of each bucket, in order.
    buckets: Vec<[u32; 2]>,
    /// A bit for each bucket: whether it has entries.
    filled: [u64; WORDS],
    /// A bit for each nonzero word of `filled`, stored twice so that a search never wraps around.
    words: u32,
    /// Number, counted from time 0, of the bucket of the entry removed last.
    base: u64,
    /// The first entry of all buckets, and its time; without entries, the end of time.
    first: u32,
    first_time: Time,
    near: usize,
    /// Entries beyond the buckets, or in a bucket that is too long.
    rest: BinaryHeap<Reverse<(Time, u64, T)>>,
    rest_time: Time,
}

#[derive(Clone, Debug)]
struct Place<T> {
    time: Time,
    number: u64,
    entry: T,
    next: u32,
}

impl<T: Copy + Ord> Default for Calendar<T> {
    fn default() -> Self {
        Calendar {
            places: Vec::new(),
            free: NONE,
            buckets: vec![[NONE; 2]; BUCKETS],
            filled: [0; WORDS],
            words: 0,
            base: 0,
            first: NONE,
            first_time: Time::MAX,
            near: 0,
            rest: BinaryHeap::new(),
            rest_time: Time::MAX,
        }
    }
}

impl<T: Copy + Ord> Calendar<T> {
    /// Adds an event.
    #[inline]
    pub(crate) fn push(&mut self, time: Time, number: u64, entry: T) {
        // A late event goes into the first bucket, ahead of the others.
        let bucket = (time >> SHIFT).max(self.base);
        if bucket - self.base >= BUCKETS as u64 {
            return self.put_aside(time, number, entry);
        }
        let bucket = bucket as usize % BUCKETS;
        let [head, tail] = self.buckets[bucket];
        let comes_before = |other: u32, all: &[Place<T>]| {
            let other = &all[other as usize];
            match time == other.time {
                true => (number, entry) < (other.number, other.entry),
                false => time < other.time,
            }
        };
        // Most come after all others of their bucket.
        let mut before = tail;
        if tail != NONE && comes_before(tail, &self.places) {
            before = NONE;
            let mut next = head;
            for step in 0.. {
                if comes_before(next, &self.places) {
                    break;
                }
                if step == STEPS {
                    return self.put_aside(time, number, entry);
                }
                before = next;
                next = self.places[next as usize].next;
            }
        }
        let next = match before {
            NONE => head,
            before => self.places[before as usize].next,
        };
        let at = self.place(Place { time, number, entry, next });
        match before {
            NONE => self.buckets[bucket][0] = at,
            before => self.places[before as usize].next = at,
        }
        if next == NONE {
            self.buckets[bucket][1] = at;
        }
        self.filled[bucket / 64] |= 1 << (bucket % 64);
        self.words |= twice(bucket / 64);
        self.near += 1;
        if time < self.first_time
            || time == self.first_time && comes_before(self.first, &self.places)
        {
            (self.first, self.first_time) = (at, time);
        }
    }

    #[cold]
    fn put_aside(&mut self, time: Time, number: u64, entry: T) {
        self.rest.push(Reverse((time, number, entry)));
        self.rest_time = self.rest_time.min(time);
    }

    fn place(&mut self, place: Place<T>) -> u32 {
        match self.free {
            NONE => {
                self.places.push(place);
                self.places.len() as u32 - 1
            }
            at => {
                self.free = std::mem::replace(&mut self.places[at as usize], place).next;
                at
            }
        }
    }

    /// Returns the time of the first event; if there is none, the end of time.
    #[inline]
    pub(crate) fn first_time(&self) -> Time {
        self.first_time.min(self.rest_time)
    }

    /// Returns the first event, with its time and number.
    pub(crate) fn peek(&self) -> Option<(Time, u64, T)> {
        let near = self.places.get(self.first as usize);
        let near = near.map(|near| (near.time, near.number, near.entry));
        let rest = self.rest.peek().map(|Reverse(rest)| *rest);
        near.into_iter().chain(rest).min()
    }

    /// Removes and returns the first event of the heap if it is the first of all.
    #[cold]
    fn pop_rest(&mut self) -> Option<(Time, T)> {
        let Reverse(rest) = self.rest.peek()?;
        let near = self.places.get(self.first as usize);
        if near.is_some_and(|near| (near.time, near.number, near.entry) < *rest) {
            return None;
        }
        let Reverse((time, _, entry)) = self.rest.pop()?;
        self.rest_time = self.rest.peek().map_or(Time::MAX, |Reverse(rest)| rest.0);
        self.base = self.base.max(time >> SHIFT);
        Some((time, entry))
    }

    /// Removes and returns the first event, with its time.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<(Time, T)> {
        if self.rest_time <= self.first_time
            && let Some(rest) = self.pop_rest()
        {
            return Some(rest);
        }
        let at = self.first;
        let place = self.places.get_mut(at as usize)?;
        let (time, entry) = (place.time, place.entry);
        let next = std::mem::replace(&mut place.next, self.free);
        self.free = at;
        self.near -= 1;
        let bucket = (time >> SHIFT).max(self.base);
        self.base = bucket;
        let bucket = bucket as usize % BUCKETS;
        self.buckets[bucket][0] = next;
        self.first = next;
        if next == NONE {
            self.buckets[bucket][1] = NONE;
            let word = &mut self.filled[bucket / 64];
            *word &= !(1 << (bucket % 64));
            if *word == 0 {
                self.words &= !twice(bucket / 64);
            }
            self.first = self.first_from(bucket);
        }
        self.first_time = self.places.get(self.first as usize).map_or(Time::MAX, |near| near.time);
        Some((time, entry))
    }

    /// Returns the first entry of the buckets, searching from `bucket` around to the one before it.
    fn first_from(&self, bucket: usize) -> u32 {
        if self.near == 0 {
            return NONE;
        }
        let mut word = bucket / 64;
        let mut bits = self.filled[word] & (!0 << (bucket % 64));
        if bits == 0 {
            // If no other word has a bit, the search ends in this word again, with the bits before `bucket`.
            let next = word + 1;
            word = (next + (self.words >> next).trailing_zeros() as usize) % WORDS;
            bits = self.filled[word];
        }
        self.buckets[word * 64 + bits.trailing_zeros() as usize][0]
    }

    /// Returns the number of entries.
    pub(crate) fn len(&self) -> usize {
        self.near + self.rest.len()
    }
}

/// Returns the two bits of `words` for a word of `filled`.
fn twice(word: usize) -> u32 {
    1 << word | 1 << (word + WORDS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::mix;

    #[test]
    fn entries_leave_in_order_whatever_the_order_in_which_they_came() {
        // Times within a bucket, over a few, over all, and far beyond them; some are up to `late` in the past.
        for (spread, late) in [(1, 0), (3, 0), (40, 2), (60_000, 9_000), (9_000_000, 0)] {
            for most in [5, 60, 300] {
                let (mut calendar, mut all) = (Calendar::default(), Vec::<(Time, u64, u64)>::new());
                let mut now = 0;
                for step in 0..6_000u64 {
                    let draw = mix(step * 7 + spread);
                    assert_eq!(calendar.len(), all.len());
                    if draw.is_multiple_of(3) || all.len() > most {
                        all.sort_unstable();
                        let first = (!all.is_empty()).then(|| all.remove(0));
                        assert_eq!(
                            calendar.first_time(),
                            first.map_or(Time::MAX, |(time, ..)| time)
                        );
                        assert_eq!(calendar.pop(), first.map(|(time, _, entry)| (time, entry)));
                        now = first.map_or(now, |(time, ..)| now.max(time));
                    } else {
                        let time = (now + draw % spread).saturating_sub(late);
                        let number = draw >> 20 & 3;
                        calendar.push(time, number, step);
                        all.push((time, number, step));
                    }
                }
            }
        }
    }
}
