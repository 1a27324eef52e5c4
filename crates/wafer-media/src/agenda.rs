//! What happens next.

use std::collections::VecDeque;

use crate::calendar::Calendar;
use crate::time::Time;

/// Things that will happen, in order of time; at the same time by number, and then in their own order. A kind that is
/// entered in that order has one of the `FIFOS`, which cost next to nothing. A calendar has the rest.
#[derive(Clone, Debug)]
pub struct Agenda<T, const FIFOS: usize> {
    fifos: [VecDeque<(Time, u64, T)>; FIFOS],
    /// The time of the first of each; without one the end of time.
    firsts: [Time; FIFOS],
    calendar: Calendar<T>,
}

impl<T: Copy + Ord, const FIFOS: usize> Default for Agenda<T, FIFOS> {
    fn default() -> Self {
        Agenda {
            fifos: [const { VecDeque::new() }; FIFOS],
            firsts: [Time::MAX; FIFOS],
            calendar: Calendar::default(),
        }
    }
}

impl<T: Copy + Ord, const FIFOS: usize> Agenda<T, FIFOS> {
    /// Enters something in any order.
    #[inline]
    pub fn push(&mut self, time: Time, number: u64, entry: T) {
        self.calendar.push(time, number, entry);
    }

    /// Enters something that nearly always comes after all others of its FIFO.
    #[inline]
    pub fn push_in(&mut self, fifo: usize, time: Time, number: u64, entry: T) {
        let (first, fifo) = (&mut self.firsts[fifo], &mut self.fifos[fifo]);
        let comes_after = fifo.back().is_none_or(|last| *last <= (time, number, entry));
        if !comes_after || time == Time::MAX {
            return self.calendar.push(time, number, entry);
        }
        *first = (*first).min(time);
        fifo.push_back((time, number, entry));
    }

    /// Returns when the first happens.
    #[inline]
    pub fn first(&self) -> Option<Time> {
        match self.first_time() {
            Time::MAX => self.calendar.first(),
            time => Some(time),
        }
    }

    /// Returns when the first happens; at the end of time it may be that nothing does.
    #[inline]
    fn first_time(&self) -> Time {
        self.firsts.iter().fold(self.calendar.first_time(), |least, time| least.min(*time))
    }

    /// Removes what is first; returns its time, too.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, T)> {
        let time = self.first_time();
        let (mut fifo, mut found) = (FIFOS, u32::from(self.calendar.first_time() == time));
        for (at, first) in self.firsts.iter().enumerate() {
            let is_first = *first == time;
            fifo = if is_first { at } else { fifo };
            found += u32::from(is_first);
        }
        if found > 1 {
            fifo = self.first_of_several(time);
        }
        if fifo == FIFOS {
            return self.calendar.pop();
        }
        let (_, _, entry) = self.fifos[fifo].pop_front()?;
        self.firsts[fifo] = self.fifos[fifo].front().map_or(Time::MAX, |first| first.0);
        Some((time, entry))
    }

    /// Returns the FIFO of the first of what happens at a time, or for the calendar the number of FIFOs.
    #[cold]
    fn first_of_several(&self, time: Time) -> usize {
        let mut first = self.calendar.peek().filter(|(at, ..)| *at == time).map(|it| (it, FIFOS));
        for (fifo, entries) in self.fifos.iter().enumerate() {
            let here = entries.front().filter(|(at, ..)| *at == time).map(|it| (*it, fifo));
            first = first.into_iter().chain(here).min();
        }
        first.map_or(FIFOS, |(_, fifo)| fifo)
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.fifos.iter().map(VecDeque::len).sum::<usize>() + self.calendar.len()
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
    fn entries_leave_in_order_whatever_the_order_of_their_fifo() {
        for spread in [1, 3, 40, 60_000] {
            let (mut agenda, mut all) =
                (Agenda::<u64, 3>::default(), Vec::<(Time, u64, u64)>::new());
            let mut lasts = [0; 4];
            for step in 0..6_000u64 {
                let draw = mix(step * 7 + spread);
                assert_eq!((agenda.len(), agenda.is_empty()), (all.len(), all.is_empty()));
                if draw.is_multiple_of(3) || all.len() > 60 {
                    all.sort_unstable();
                    let first = (!all.is_empty()).then(|| all.remove(0));
                    assert_eq!(agenda.first(), first.map(|(time, ..)| time));
                    assert_eq!(agenda.pop(), first.map(|(time, _, entry)| (time, entry)));
                    continue;
                }
                let fifo = (draw >> 8) as usize % lasts.len();
                // One in eight comes before the last of its fifo, and one in a hundred at the end of time.
                let late = if (draw >> 16).is_multiple_of(8) { spread } else { 0 };
                let time = (lasts[fifo] + (draw >> 20) % spread).saturating_sub(late);
                let time = if (draw >> 40).is_multiple_of(100) { Time::MAX } else { time };
                let number = draw >> 50 & 3;
                match fifo {
                    3 => agenda.push(time, number, step),
                    fifo => agenda.push_in(fifo, time, number, step),
                }
                if time < Time::MAX {
                    lasts[fifo] = time;
                }
                all.push((time, number, step));
            }
            // To the last, which are at the end of time.
            all.sort_unstable();
            for (time, _, entry) in all {
                assert_eq!((agenda.first(), agenda.pop()), (Some(time), Some((time, entry))));
            }
            assert_eq!((agenda.first(), agenda.pop()), (None, None));
        }
    }
}
