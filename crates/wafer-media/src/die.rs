//! One die: a queue of programs, erases and background reads, and host reads, which take precedence.
//!
//! A host read waits for a free plane, and for the work under way until that reaches its next yield point. The work
//! then continues where it left off. Everything is arithmetic on a short queue: nothing happens between two calls.
//! Reads begin in order of arrival, so no read delays an earlier one.
//!
//! A read loads a whole page of its planes into their page registers (NAND: READ PAGE), where it stays until the plane
//! reads another page or the die does other work. Until then, reads of the same page take it from the registers (CHANGE
//! READ COLUMN).

use std::collections::VecDeque;
use std::ops::{AddAssign, SubAssign};

use crate::time::Time;
use crate::work::{DieTimes, Work};

/// Work in the queue of a die. It begins when the work before it has ended, but not before `from`, so delaying the
/// first entry delays the others without touching them.
#[derive(Clone, Copy, Debug)]
struct Queued {
    work: Work,
    /// The earliest start; for the first in the queue, the start.
    from: Time,
    /// Duration, including the reads that it yields to.
    length: Time,
    /// When it last yielded or will yield, and when the last of those reads ends.
    gives_way: Time,
    resumed: Time,
    frees: Frees,
}

impl Queued {
    /// Returns when it ends if it is first in the queue.
    fn end(&self) -> Time {
        self.from + self.length
    }
}

/// Bytes of the write buffer, by their origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Room {
    /// Written by hosts.
    pub(crate) host: u64,
    /// Relocated by garbage collection.
    pub(crate) relocated: u64,
}

impl Room {
    /// Returns the bytes of both.
    pub(crate) fn total(self) -> u64 {
        self.host + self.relocated
    }
}

impl AddAssign for Room {
    fn add_assign(&mut self, other: Room) {
        self.host += other.host;
        self.relocated += other.relocated;
    }
}

impl SubAssign for Room {
    fn sub_assign(&mut self, other: Room) {
        self.host -= other.host;
        self.relocated -= other.relocated;
    }
}

/// What a program frees when it ends.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Frees {
    /// Room in the write buffer.
    pub(crate) room: Room,
    /// Number of the program, in the order in which programs were queued on all dies.
    pub(crate) program: u64,
}

/// Distances between the points at which work yields to reads, and the time it takes to resume.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slices {
    pub(crate) program: Time,
    pub(crate) erase: Time,
    pub(crate) resume: Time,
}

/// A kind of work of a die, and its time.
type WorkTime = (Work, Time);

/// A read of a host on a die.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DieRead {
    /// Wait for earlier reads.
    pub(crate) behind_reads: Time,
    /// The work that was under way, and the wait for it.
    pub(crate) behind: Option<WorkTime>,
    /// Time to read the cells.
    pub(crate) length: Time,
    /// Part of that time in which no earlier read keeps the die busy.
    pub(crate) busy: Time,
    /// The work that yields, and the extra time that it takes because of that.
    pub(crate) prolonged: Option<WorkTime>,
    pub(crate) end: Time,
}

/// Identifies a page that planes read at once; unique within a drive.
pub(crate) type PageNumber = u64;

/// The number of no page: no page register holds it.
pub(crate) const NO_PAGE: PageNumber = PageNumber::MAX;

/// The last read of a plane. Once it has ended, the page is in the register of the plane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plane {
    page: PageNumber,
    end: Time,
    /// The work that the read waits for, if it does not wait for other reads.
    behind: Option<Work>,
}

impl Default for Plane {
    fn default() -> Self {
        Plane { page: NO_PAGE, end: 0, behind: None }
    }
}

impl Plane {
    /// Returns the waits of a read that arrives `now` and takes the page from the register; reading its cells takes
    /// `length`.
    fn share(&self, now: Time, length: Time) -> DieRead {
        let (start, end) = ((self.end - length).max(now), self.end.max(now));
        let wait = start.saturating_sub(now);
        let behind = self.behind.map(|work| (work, wait)).filter(|_| wait > 0);
        let behind_reads = if behind.is_some() { 0 } else { wait };
        DieRead { behind_reads, behind, length: end - start, busy: 0, prolonged: None, end }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Die {
    queue: VecDeque<Queued>,
    /// When the work last removed from the queue ended.
    worked_until: Time,
    /// When the last host read ends.
    reads_end: Time,
    /// Reads that had not ended when the next read of their plane arrived, in order of arrival.
    followed: VecDeque<Plane>,
}

impl Die {
    /// Queues work that may begin at `from`.
    pub(crate) fn push(&mut self, work: Work, from: Time, length: Time, frees: Frees) {
        let from = from.max(self.reads_end);
        self.queue.push_back(Queued { work, from, length, gives_way: 0, resumed: 0, frees });
    }

    /// Removes work that has ended by `now` and returns the room in the write buffer that it frees.
    pub(crate) fn finish(&mut self, now: Time) -> Room {
        let mut freed = Room::default();
        while let Some(first) = self.queue.front().filter(|first| first.end() <= now) {
            let end = first.end();
            freed += first.frees.room;
            self.worked_until = end;
            self.queue.pop_front();
            if let Some(next) = self.queue.front_mut() {
                next.from = next.from.max(end);
            }
        }
        freed
    }

    /// Returns each piece of work with its start and end.
    fn timed(&self) -> impl Iterator<Item = (&Queued, Time, Time)> {
        let mut end = 0;
        self.queue.iter().map(move |queued| {
            let start = queued.from.max(end);
            end = start + queued.length;
            (queued, start, end)
        })
    }

    /// Adds the time for which the die still works after `now`.
    pub(crate) fn add_left(&self, now: Time, left: &mut DieTimes) {
        for (queued, start, end) in self.timed() {
            left.add(queued.work, end.saturating_sub(now.max(start).max(queued.resumed)));
        }
        // If no yield point is left, reads begin when the work under way ends.
        let ends_first = |first: &&Queued| {
            first.from <= now && first.resumed <= now && first.end() < self.reads_end
        };
        let from = self.queue.front().filter(ends_first).map_or(now, Queued::end).max(now);
        left.add(Work::HostRead, self.reads_end.saturating_sub(from));
    }

    /// Returns when the first work ends.
    pub(crate) fn next_end(&self) -> Option<Time> {
        self.queue.front().map(Queued::end)
    }

    /// Returns when the first work that frees a part of the buffer ends.
    pub(crate) fn next_free(&self) -> Option<Time> {
        let frees = |queued: &Queued| queued.frees.room.total() > 0;
        self.timed().find(|(queued, ..)| frees(queued)).map(|(_, _, end)| end)
    }

    /// Returns the number of the first program that frees a part of the buffer.
    pub(crate) fn oldest(&self) -> Option<u64> {
        let first = self.queue.iter().find(|queued| queued.frees.room.total() > 0);
        first.map(|queued| queued.frees.program)
    }

    /// Reads a page for `length` from `now` on, or takes it from a page register. Work that has ended by `now` must
    /// have been [removed](Self::finish). `misses` returns the number of yield points that the work under way misses.
    pub(crate) fn read(
        &mut self,
        now: Time,
        page: PageNumber,
        length: Time,
        planes: &mut [Plane],
        slices: &Slices,
        misses: impl FnOnce() -> u64,
    ) -> DieRead {
        if page != NO_PAGE
            && let Some(same) = self.find(now, page, planes)
        {
            return same.share(now, length);
        }
        let plane = planes.iter_mut().min_by_key(|plane| plane.end).expect("a die has planes");
        if plane.end > now {
            while self.followed.front().is_some_and(|read| read.end <= now) {
                self.followed.pop_front();
            }
            self.followed.push_back(*plane);
        }
        let begin = now.max(plane.end);
        let (start, behind, prolonged) = self.give_way(begin, length, slices, misses);
        let end = start + length;
        *plane = Plane { page, end, behind: behind.map(|(work, _)| work) };
        let busy = end.saturating_sub(start.max(self.reads_end));
        self.reads_end = self.reads_end.max(end);
        DieRead { behind_reads: begin - now, behind, length, busy, prolonged, end }
    }

    /// Returns a read of the page that has not ended yet, or whose page is still in the register.
    fn find<'a>(&'a self, now: Time, page: PageNumber, planes: &'a [Plane]) -> Option<&'a Plane> {
        let is_there = |plane: &&Plane| {
            plane.page == page && (plane.end > now || !self.has_worked(now, plane.end))
        };
        let followed = self.followed.iter().rev();
        let mut under_way = followed.filter(|read| read.page == page && read.end > now);
        planes.iter().find(is_there).or_else(|| under_way.next())
    }

    /// Returns whether the die has done work other than host reads between the end of a read and `now`.
    fn has_worked(&self, now: Time, read_end: Time) -> bool {
        let is_begun = |first: &Queued| {
            first.from < now && (first.gives_way > read_end || first.resumed < now)
        };
        self.worked_until > read_end || self.queue.front().is_some_and(is_begun)
    }

    /// Makes the work of the die yield to a read of `length` that could begin at `begin`. Returns when the read does
    /// begin, the work it waits for until then, and the work that takes longer because it resumes.
    fn give_way(
        &mut self,
        begin: Time,
        length: Time,
        slices: &Slices,
        misses: impl FnOnce() -> u64,
    ) -> (Time, Option<WorkTime>, Option<WorkTime>) {
        let mut before = 0;
        let at = self.queue.iter_mut().position(|queued| {
            let start = queued.from.max(before);
            before = start + queued.length;
            let is_next = before > begin;
            if is_next {
                queued.from = start;
            }
            is_next
        });
        let Some(at) = at else { return (begin, None, None) };
        let queued = &mut self.queue[at];
        if queued.from >= begin {
            queued.from = queued.from.max(begin + length);
            return (begin, None, None);
        }
        let (end, resumed) = (queued.end(), queued.from.max(queued.resumed));
        let suspended = begin <= resumed;
        if begin > resumed.max(queued.gives_way) {
            let slice = match queued.work {
                Work::HostProgram | Work::GcProgram | Work::MetadataProgram | Work::FoldProgram => {
                    slices.program
                }
                Work::Erase => slices.erase,
                Work::BackgroundRead | Work::HostRead => 0,
            };
            let whole = end - begin;
            let wait = match slice {
                0 => whole,
                slice => {
                    // A read that arrives exactly at a yield point does not wait.
                    let next = (slice - (begin - resumed) % slice) % slice;
                    whole.min(next.saturating_add(misses().saturating_mul(slice)))
                }
            };
            queued.gives_way = begin + wait;
        }
        // Work that yields to the reads before this one yields to this one, too.
        let start = begin.max(queued.gives_way);
        let read_end = start + length;
        let resume = if start < end && !suspended { slices.resume } else { 0 };
        if start < end {
            queued.length += read_end.saturating_sub(start.max(queued.resumed)) + resume;
            queued.resumed = queued.resumed.max(read_end);
        } else if let Some(next) = self.queue.get_mut(at + 1) {
            next.from = next.from.max(read_end);
        }
        let wait = start - begin;
        let work = self.queue[at].work;
        let of = |time: Time| (time > 0).then_some((work, time));
        (start, of(wait), of(resume))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLICES: Slices = Slices { program: 100, erase: 0, resume: 5 };

    fn read(die: &mut Die, now: Time) -> (Time, Time) {
        let plane = Plane { end: die.reads_end, ..Plane::default() };
        let read = die.read(now, NO_PAGE, 50, &mut [plane], &SLICES, || 0);
        (read.behind.map_or(0, |(_, wait)| wait), read.end)
    }

    #[test]
    fn an_idle_die_reads_at_once_and_one_after_the_other() {
        let mut die = Die::default();
        assert_eq!(read(&mut die, 10), (0, 60));
        assert_eq!(read(&mut die, 20), (0, 110));
        assert_eq!(read(&mut die, 110), (0, 160));
    }

    #[test]
    fn a_program_gives_way_after_a_slice_and_continues() {
        let mut die = Die::default();
        let room = Room { host: 5, relocated: 2 };
        die.push(Work::HostProgram, 0, 1000, Frees { room, program: 1 });
        // 30 into the program: 70 more, then the read; the program ends 55 later.
        assert_eq!(read(&mut die, 30), (70, 150));
        assert_eq!(die.next_free(), Some(1055));
        // While the program is suspended, another read begins at once.
        assert_eq!(read(&mut die, 120), (0, 200));
        // The program does not continue until the reads end.
        let mut left = DieTimes::default();
        die.add_left(120, &mut left);
        assert_eq!((left.of(Work::HostProgram), left.of(Work::HostRead)), (905, 80));
        assert_eq!(die.next_free(), Some(1105));
        assert_eq!((die.finish(1104), die.finish(1105)), (Room::default(), room));
    }

    #[test]
    fn work_that_does_not_give_way_ends_first() {
        let mut die = Die::default();
        die.push(Work::Erase, 0, 1000, Frees::default());
        die.push(Work::BackgroundRead, 0, 40, Frees::default());
        assert_eq!(read(&mut die, 600), (400, 1050));
        let mut left = DieTimes::default();
        die.add_left(600, &mut left);
        let of = |work| left.of(work);
        assert_eq!((of(Work::Erase), of(Work::HostRead), of(Work::BackgroundRead)), (400, 50, 40));
        // The next work begins after the read.
        assert_eq!(read(&mut die, 1060), (30, 1140));
    }

    #[test]
    fn missed_points_wait_on_to_the_end_at_most() {
        let mut die = Die::default();
        die.push(Work::GcProgram, 0, 1000, Frees::default());
        let read = die.read(950, NO_PAGE, 50, &mut [Plane::default()], &SLICES, || 3);
        assert_eq!((read.behind, read.end), (Some((Work::GcProgram, 50)), 1050));
    }
}
