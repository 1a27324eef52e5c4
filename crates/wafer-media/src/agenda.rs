//! What happens next.

use std::collections::VecDeque;

use crate::calendar::Calendar;
use crate::time::Time;

/// Things that will happen: in order of time, at the same time of a number, and then in their own order. Most kinds come
/// in the order in which they happen: each of them has one of the `ROWS`, which costs next to nothing. What does not come in order is
/// in a calendar.
#[derive(Clone, Debug)]
pub struct Agenda<T, const ROWS: usize> {
    rows: [VecDeque<(Time, u64, T)>; ROWS],
    /// The time of the first of each row; without one the end of time.
    firsts: [Time; ROWS],
    calendar: Calendar<T>,
}

impl<T: Copy + Ord, const ROWS: usize> Default for Agenda<T, ROWS> {
    fn default() -> Self {
        Agenda {
            rows: [const { VecDeque::new() }; ROWS],
            firsts: [Time::MAX; ROWS],
            calendar: Calendar::default(),
        }
    }
}

impl<T: Copy + Ord, const ROWS: usize> Agenda<T, ROWS> {
    /// Enters something in any order.
    #[inline]
    pub fn push(&mut self, time: Time, number: u64, entry: T) {
        self.calendar.push(time, number, entry);
    }

    /// Enters something that nearly always comes after all others of its row.
    #[inline]
    pub fn push_in(&mut self, row: usize, time: Time, number: u64, entry: T) {
        let (first, row) = (&mut self.firsts[row], &mut self.rows[row]);
        let comes_after = row.back().is_none_or(|last| *last <= (time, number, entry));
        if !comes_after || time == Time::MAX {
            return self.calendar.push(time, number, entry);
        }
        *first = (*first).min(time);
        row.push_back((time, number, entry));
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
        let (mut row, mut found) = (ROWS, u32::from(self.calendar.first_time() == time));
        for (at, first) in self.firsts.iter().enumerate() {
            let is_first = *first == time;
            row = if is_first { at } else { row };
            found += u32::from(is_first);
        }
        if found > 1 {
            row = self.first_of_several(time);
        }
        if row == ROWS {
            return self.calendar.pop();
        }
        let (_, _, entry) = self.rows[row].pop_front()?;
        self.firsts[row] = self.rows[row].front().map_or(Time::MAX, |first| first.0);
        Some((time, entry))
    }

    /// Returns the row of the first of what happens at a time, or for the calendar the number of rows.
    #[cold]
    fn first_of_several(&self, time: Time) -> usize {
        let mut first = self.calendar.peek().filter(|(at, ..)| *at == time).map(|it| (it, ROWS));
        for (row, entries) in self.rows.iter().enumerate() {
            let here = entries.front().filter(|(at, ..)| *at == time).map(|it| (*it, row));
            first = first.into_iter().chain(here).min();
        }
        first.map_or(ROWS, |(_, row)| row)
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.rows.iter().map(VecDeque::len).sum::<usize>() + self.calendar.len()
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
    fn entries_leave_in_order_whatever_their_row_and_order() {
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
                let row = (draw >> 8) as usize % lasts.len();
                // One in eight comes before the last of its row, and one in a hundred at the end of time.
                let late = if (draw >> 16).is_multiple_of(8) { spread } else { 0 };
                let time = (lasts[row] + (draw >> 20) % spread).saturating_sub(late);
                let time = if (draw >> 40).is_multiple_of(100) { Time::MAX } else { time };
                let number = draw >> 50 & 3;
                match row {
                    3 => agenda.push(time, number, step),
                    row => agenda.push_in(row, time, number, step),
                }
                if time < Time::MAX {
                    lasts[row] = time;
                }
                all.push((time, number, step));
            }
        }
    }
}
