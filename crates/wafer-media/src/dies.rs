//! All dies, and which of them finishes work first.

use crate::die::{Die, DieRead, Frees, PageNumber, Plane, Room, Slices};
use crate::time::Time;
use crate::work::{DieTimes, Work};

/// The dies of a drive. Because there are many dies, work that has ended is removed only where it matters.
#[derive(Debug)]
pub(crate) struct Dies {
    dies: Vec<Die>,
    /// The last read of each independently reading plane of each die.
    planes: Vec<Plane>,
    planes_per_die: usize,
    /// A lower bound on the end of each die's first work: reads may delay it.
    ends: Earliest,
    /// Likewise for the first work that frees a part of the write buffer.
    frees: Earliest,
    /// The die that frees a part first, and when; `None` if it must be searched for.
    next_free: Option<(usize, Time)>,
}

impl Dies {
    /// Creates idle dies, each of which reads for hosts on `planes_per_die` planes at once.
    pub(crate) fn new(count: usize, planes_per_die: usize) -> Self {
        Dies {
            dies: vec![Die::default(); count],
            planes: vec![Plane::default(); count * planes_per_die],
            planes_per_die,
            ends: Earliest::new(count),
            frees: Earliest::new(count),
            next_free: None,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.dies.len()
    }

    /// Removes the work that a die has finished by `now`, and queues work that may begin at `from`. Returns the room
    /// that the finished work frees in the write buffer.
    pub(crate) fn push(
        &mut self,
        die: usize,
        work: Work,
        [now, from]: [Time; 2],
        length: Time,
        frees: Frees,
    ) -> Room {
        let freed = self.finish_die(die, now);
        self.dies[die].push(work, from, length, frees);
        // Usually, earlier work of the same kind is queued, and neither time changes.
        if self.ends.of(die) == Earliest::NEVER {
            self.ends.set(die, self.dies[die].next_end());
        }
        if frees.room.total() > 0 && self.frees.of(die) == Earliest::NEVER {
            self.frees.set(die, self.dies[die].next_free());
            self.next_free = None;
        }
        freed
    }

    /// Removes the work that a die has finished by `now`, and reads a page on it. Also returns the room that the
    /// finished work frees in the write buffer.
    pub(crate) fn read(
        &mut self,
        die: usize,
        now: Time,
        page: PageNumber,
        length: Time,
        slices: &Slices,
        misses: impl FnMut() -> u64,
    ) -> (Room, DieRead) {
        let freed = self.finish_die(die, now);
        let planes = &mut self.planes[die * self.planes_per_die..][..self.planes_per_die];
        let read = self.dies[die].read(now, page, length, planes, slices, misses);
        self.next_free = self.next_free.filter(|(first, _)| *first != die);
        (freed, read)
    }

    /// Removes the work that all dies have finished by `now`; returns the room that it frees in the write buffer.
    pub(crate) fn finish(&mut self, now: Time) -> Room {
        let mut freed = Room::default();
        while let Some(die) = self.ends.until(now) {
            freed += self.finish_die(die, now);
            self.ends.set(die, self.dies[die].next_end());
        }
        freed
    }

    /// Removes the work that a die has finished by `now`; returns the room that it frees in the write buffer.
    fn finish_die(&mut self, die: usize, now: Time) -> Room {
        let freed = self.dies[die].finish(now);
        if freed.total() > 0 {
            self.next_free = self.next_free.filter(|(first, _)| *first != die);
        }
        freed
    }

    /// Returns the end of the first work that frees a part of the write buffer.
    #[inline]
    pub(crate) fn next_free(&mut self) -> Option<Time> {
        if self.next_free.is_none() {
            self.next_free = self.find_free();
        }
        self.next_free.map(|(_, time)| time)
    }

    fn find_free(&mut self) -> Option<(usize, Time)> {
        loop {
            let (die, time) = self.frees.first()?;
            let free = self.dies[die].next_free();
            if free == Some(time) {
                return Some((die, time));
            }
            self.frees.set(die, free);
        }
    }

    /// Returns the time for which all dies still work after `now` on the work that is queued.
    pub(crate) fn left(&self, now: Time) -> DieTimes {
        let mut left = DieTimes::default();
        self.dies.iter().for_each(|die| die.add_left(now, &mut left));
        left
    }

    /// Returns the number of the first program that frees a part of the write buffer.
    pub(crate) fn oldest(&self) -> Option<u64> {
        self.dies.iter().filter_map(Die::oldest).min()
    }
}

/// A time for each die, and their minimum: a tree in which each node has the smaller of its two children's.
#[derive(Debug)]
struct Earliest {
    /// The root is at 1, the children of `n` are at `2n` and `2n + 1`, and the leaves are the second half.
    tree: Vec<Time>,
}

impl Earliest {
    const NEVER: Time = Time::MAX;

    fn new(count: usize) -> Self {
        Earliest { tree: vec![Self::NEVER; 2 * count.next_power_of_two()] }
    }

    fn set(&mut self, die: usize, time: Option<Time>) {
        let mut at = self.tree.len() / 2 + die;
        let mut time = time.unwrap_or(Self::NEVER);
        while at > 0 && self.tree[at] != time {
            self.tree[at] = time;
            time = time.min(self.tree[at ^ 1]);
            at /= 2;
        }
    }

    fn of(&self, die: usize) -> Time {
        self.tree[self.tree.len() / 2 + die]
    }

    /// Returns a die with the minimum time, and that time.
    fn first(&self) -> Option<(usize, Time)> {
        let time = self.tree[1];
        if time == Self::NEVER {
            return None;
        }
        Some((self.until(time)?, time))
    }

    /// Returns a die whose time is at most `now`.
    fn until(&self, now: Time) -> Option<usize> {
        if self.tree[1] > now {
            return None;
        }
        let (mut at, leaves) = (1, self.tree.len() / 2);
        while at < leaves {
            at = 2 * at + usize::from(self.tree[2 * at] > now);
        }
        Some(at - leaves)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_is_that_of_a_search() {
        for count in [1usize, 2, 3, 7, 8, 100] {
            let mut earliest = Earliest::new(count);
            let mut times = vec![None; count];
            let mut state = count as u64;
            for _ in 0..2_000 {
                state = crate::directory::mix(state + 1);
                let die = state as usize % count;
                times[die] = Some(state >> 32 & 63).filter(|time| *time > 5);
                earliest.set(die, times[die]);
                let first = earliest.first();
                assert_eq!(first.map(|(_, time)| time), times.iter().flatten().min().copied());
                assert!(first.is_none_or(|(die, time)| times[die] == Some(time)));
                let now = state >> 40 & 63;
                let found = earliest.until(now);
                let is_due = |die: usize| times[die].is_some_and(|time| time <= now);
                assert_eq!(found.is_some(), (0..count).any(is_due));
                assert!(found.is_none_or(is_due));
            }
        }
    }
}
