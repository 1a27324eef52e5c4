//! The queue of future events.

use std::collections::VecDeque;

use crate::calendar::Calendar;
use crate::time::Time;

/// Future events, ordered by time, then by number, then by the events themselves. A kind of event that is pushed in
/// nearly that order has one of the `FIFOS`, which cost next to nothing. A calendar holds the rest. An event at
/// `Time::MAX`, the end of time, never happens.
#[derive(Clone, Debug)]
pub struct Agenda<T, const FIFOS: usize> {
    fifos: [VecDeque<(Time, u64, T)>; FIFOS],
    /// The time of each FIFO's first event; the end of time if it is empty.
    firsts: [Time; FIFOS],
    calendar: Calendar<T>,
    /// The time of the first event of all.
    first: Time,
    /// Where that event is: the number of a FIFO, `FIFOS` for the calendar, or [`SEVERAL`].
    source: usize,
    /// The latest time of an event that went to the calendar although it has a FIFO.
    strayed: Time,
}

/// Maximum number of FIFO entries that a new one may overtake; beyond that, it goes to the calendar.
const STEPS: usize = 16;

/// More than one source has an event at the first time.
const SEVERAL: usize = usize::MAX;

impl<T: Copy + Ord, const FIFOS: usize> Default for Agenda<T, FIFOS> {
    fn default() -> Self {
        Agenda {
            fifos: [const { VecDeque::new() }; FIFOS],
            firsts: [Time::MAX; FIFOS],
            calendar: Calendar::default(),
            first: Time::MAX,
            source: SEVERAL,
            strayed: 0,
        }
    }
}

impl<T: Copy + Ord, const FIFOS: usize> Agenda<T, FIFOS> {
    /// Adds an event in any order.
    #[inline]
    pub fn push(&mut self, time: Time, number: u64, entry: T) {
        if time < Time::MAX {
            self.calendar.push(time, number, entry);
            self.note(FIFOS, time);
        }
    }

    /// Adds an event of a kind that nearly always comes after all others of its FIFO.
    #[inline]
    pub fn push_in(&mut self, fifo: usize, time: Time, number: u64, entry: T) {
        let (new, entries) = ((time, number, entry), &mut self.fifos[fifo]);
        if entries.back().is_none_or(|last| *last <= new) && time < Time::MAX {
            entries.push_back(new);
        } else {
            let steps = entries.iter().rev().take(STEPS + 1).take_while(|it| **it > new).count();
            if steps > STEPS || time == Time::MAX {
                self.strayed = self.strayed.max(time);
                return self.push(time, number, entry);
            }
            entries.insert(entries.len() - steps, new);
        }
        self.firsts[fifo] = self.firsts[fifo].min(time);
        self.note(fifo, time);
    }

    /// Notes that there is an entry at a time.
    #[inline]
    fn note(&mut self, source: usize, time: Time) {
        if time < self.first {
            (self.first, self.source) = (time, source);
        } else if time == self.first && source != self.source {
            self.source = SEVERAL;
        }
    }

    /// Returns the time of the first event; if there is none, the end of time.
    #[inline]
    pub fn first(&self) -> Time {
        self.first
    }

    /// Returns whether the FIFOs numbered `from` and above have no event up to a time.
    #[inline]
    pub fn is_free(&self, from: usize, until: Time) -> bool {
        self.strayed < self.first && self.firsts[from..].iter().all(|first| *first > until)
    }

    /// Removes and returns the first event, with its time.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(Time, T)> {
        let source = if self.source == SEVERAL { self.first_of_several() } else { self.source };
        let popped = if source == FIFOS {
            self.calendar.pop()?
        } else {
            let (time, _, entry) = self.fifos[source].pop_front()?;
            self.firsts[source] = self.fifos[source].front().map_or(Time::MAX, |first| first.0);
            (time, entry)
        };
        (self.first, self.source) = (self.calendar.first_time(), FIFOS);
        for fifo in 0..FIFOS {
            self.note(fifo, self.firsts[fifo]);
        }
        Some(popped)
    }

    /// Returns the source of the first event when several have one at that time: a FIFO, or `FIFOS` for the calendar.
    #[cold]
    fn first_of_several(&self) -> usize {
        let mut first = self.calendar.peek().map(|it| (it, FIFOS));
        for (fifo, entries) in self.fifos.iter().enumerate() {
            first = first.into_iter().chain(entries.front().map(|it| (*it, fifo))).min();
        }
        first.map_or(FIFOS, |(_, fifo)| fifo)
    }

    /// Returns the number of entries.
    pub fn count(&self) -> usize {
        self.fifos.iter().map(VecDeque::len).sum::<usize>() + self.calendar.len()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::directory::mix;

    #[test]
    fn entries_leave_in_order_whatever_the_order_of_their_fifo() {
        for (spread, most) in [(1, 60), (3, 60), (40, 300), (60_000, 300)] {
            let (mut agenda, mut all) =
                (Agenda::<u64, 3>::default(), Vec::<(Time, u64, u64)>::new());
            // Steps whose events went to the last two FIFOs.
            let mut last_two = HashSet::new();
            let (mut free, mut stray) = (0, 0);
            let mut lasts = [0; 4];
            for step in 0..6_000u64 {
                let draw = mix(step * 7 + spread);
                assert_eq!(agenda.count(), all.len());
                if draw.is_multiple_of(3) || all.len() > most {
                    all.sort_unstable();
                    let first = (!all.is_empty()).then(|| all.remove(0));
                    assert_eq!(agenda.first(), first.map_or(Time::MAX, |(time, ..)| time));
                    assert_eq!(agenda.pop(), first.map(|(time, _, entry)| (time, entry)));
                    continue;
                }
                let until = agenda
                    .first()
                    .saturating_add((draw >> 30) % spread / 8)
                    .saturating_sub(draw >> 41 & 1);
                if agenda.is_free(1, until) {
                    let comes =
                        |(time, _, step): &(Time, _, _)| *time <= until && last_two.contains(step);
                    assert!(!all.iter().any(comes), "{spread}: {step}");
                    free += 1;
                }
                stray += u32::from(agenda.strayed >= agenda.first());
                let fifo = (draw >> 8) as usize % lasts.len();
                if fifo == 1 || fifo == 2 {
                    last_two.insert(step);
                }
                // One in eight may precede the last of its FIFO, and one in a hundred is at the end of time.
                let late = if (draw >> 16).is_multiple_of(8) { spread } else { 0 };
                let time = (lasts[fifo] + (draw >> 20) % spread).saturating_sub(late);
                let time = if (draw >> 40).is_multiple_of(100) { Time::MAX } else { time };
                let number = draw >> 50 & 3;
                match fifo {
                    3 => agenda.push(time, number, step),
                    fifo => agenda.push_in(fifo, time, number, step),
                }
                // The end of time never comes.
                if time < Time::MAX {
                    lasts[fifo] = time;
                    all.push((time, number, step));
                }
            }
            assert!(free > 0 && (most < 300 || stray > 0), "{spread}: {free} {stray}");
            all.sort_unstable();
            for (time, _, entry) in all {
                assert_eq!((agenda.first(), agenda.pop()), (time, Some((time, entry))));
            }
            assert_eq!((agenda.first(), agenda.pop()), (Time::MAX, None));
        }
    }
}
