//! Host writes: throttled by garbage collection, buffered, and made durable.

use wafer_interface::{Cause, MediaWork, RuId};

use super::{Event, Flight, Media};
use crate::Done;
use crate::request::{Kind, Request};
use crate::time::Time;
use crate::work::Part;

/// Minimum relocated pages per host page at which `gc_host_rate` applies, with 32 bits of fraction: garbage collection
/// that moves next to nothing does not throttle hosts.
const CAPPED: u64 = (1 << 32) / 50;

/// How far hosts must be ahead of the rate at the knee before garbage collection throttles them, nanoseconds.
const KNEE_WINDOW: Time = 10_000_000;

/// A flush, or a durable write, that waits for programs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flush {
    flight: u32,
    since: Time,
    /// The last program that it waits for.
    last: u64,
}

impl Media {
    /// Passes on a write whose data is in the drive, delayed if garbage collection has work.
    pub(super) fn pace(&mut self, now: Time, flight: u32, done: &mut Vec<Done>) {
        let group = self.group_of_flight(flight);
        let pacing = &self.groups[group].pacing;
        if !pacing.is_active() {
            return self.arrive(now, flight, done);
        }
        let request = self.flights[flight as usize].request;
        let mut time = now;
        if let Some(cap) = self.times.host_cap.filter(|_| pacing.ratio() >= CAPPED) {
            time = self.cap.serve(time, cap.time(request.bytes));
        }
        time = self.throttle(group, time, u64::from(request.pages));
        self.flights[flight as usize].parts.add(Part::Pacing, time - now);
        self.schedule(time, flight, Event::Arrive);
    }

    /// Returns when garbage collection lets a write of `pages` pages to a group proceed (generic cell rate algorithm).
    fn throttle(&mut self, group: usize, now: Time, pages: u64) -> Time {
        let Some(credit) = self.times.credit else { return now };
        let group = &mut self.groups[group];
        let moved = (u128::from(self.times.moved_page) * u128::from(group.pacing.ratio())) >> 32;
        let each = u128::from(self.times.page) + moved;
        // Without free space in the configuration, these times could be longer than any run.
        let nanoseconds = |pages: u64| ((u128::from(pages) * each) >> 16).min(1 << 62) as Time;
        let (cost, ahead) = (nanoseconds(pages), nanoseconds(credit));
        if self.times.knee > 0 {
            // A queue served at the rate of the knee grows only while hosts are faster.
            let slower = (u128::from(cost) << 32) / u128::from(self.times.knee);
            let end = u128::from(group.knee_until.max(now)) + slower;
            group.knee_until = end.min(u128::from(now + 2 * KNEE_WINDOW)) as Time;
            if end < u128::from(now + KNEE_WINDOW) {
                return now;
            }
        }
        group.paced_until = group.paced_until.max(now).saturating_add(cost);
        now.max(group.paced_until.saturating_sub(ahead))
    }

    /// Takes a write into the buffer, or queues it behind those that already wait for room.
    pub(super) fn write(&mut self, now: Time, flight: u32, done: &mut Vec<Done>) {
        if !self.waits_for_room() && self.has_room(now, flight) {
            self.admit(now, flight, now, done);
        } else {
            self.parked.push_back((flight, now));
        }
        self.unblock(now);
    }

    /// Returns whether a write waits for room in the buffer.
    pub(super) fn waits_for_room(&self) -> bool {
        self.entering.is_some() || !self.parked.is_empty()
    }

    /// Completes a request that moves no data or whose data is in the buffer. If the buffer is unprotected, a flush or
    /// a durable write completes when everything in it has been programmed; all others complete at once.
    pub(super) fn complete(&mut self, now: Time, flight: u32, done: &mut Vec<Done>) {
        let Request { kind, durable, .. } = self.flights[flight as usize].request;
        if self.protected || !(durable || kind == Kind::Flush) {
            return self.finish(now, flight, done);
        }
        self.free_programmed(now);
        self.program_partials(now);
        self.flushes.push(Flush { flight, since: now, last: self.programs });
        self.complete_flushes(now, done);
    }

    fn complete_flushes(&mut self, now: Time, done: &mut Vec<Done>) {
        if self.flushes.is_empty() {
            return;
        }
        let oldest = self.dies.oldest().unwrap_or(u64::MAX);
        let mut flushes = std::mem::take(&mut self.flushes);
        flushes.retain(|flush| {
            if oldest > flush.last {
                self.flights[flush.flight as usize].parts.add(Part::HostProgram, now - flush.since);
                self.finish(now, flush.flight, done);
            }
            oldest <= flush.last
        });
        self.flushes = flushes;
    }

    /// Returns whether the data that a write programs fits into the buffer. Of a large write, half of the buffer's size
    /// must fit; the rest follows as room is freed.
    fn has_room(&mut self, now: Time, flight: u32) -> bool {
        let need = self.flights[flight as usize].room.min(self.buffer_bytes / 2);
        if self.occupied.total() + need > self.buffer_bytes {
            self.free_programmed(now);
        }
        self.occupied.total() + need <= self.buffer_bytes
    }

    /// Returns the room in the buffer that the work of a write takes.
    pub(super) fn buffered(&self, work: &[MediaWork]) -> u64 {
        let mut folds = false;
        let pages = work.iter().map(|work| match work {
            MediaWork::Program {
                pages,
                cause: Cause::HostWrite(_) | Cause::ReadModifyWrite(_),
                ..
            } if !folds => u64::from(*pages),
            MediaWork::CacheProgram { pages } => u64::from(*pages),
            _ => {
                folds |= matches!(work, MediaWork::Fold { .. });
                0
            }
        });
        pages.sum::<u64>() * self.shape.page_bytes
    }

    /// Completes flushes, and admits parked writes while there is room at `now`.
    pub(super) fn release(&mut self, now: Time, done: &mut Vec<Done>) {
        self.free_programmed(now);
        self.complete_flushes(now, done);
        if let Some((flight, since)) = self.entering
            && self.occupied.total() <= self.buffer_bytes
        {
            self.entering = None;
            self.flights[flight as usize].parts.add(Part::Buffer, now - since);
            self.complete(now, flight, done);
        }
        while self.entering.is_none()
            && let Some((flight, since)) = self.parked.front().copied()
            && self.has_room(now, flight)
        {
            self.parked.pop_front();
            self.admit(now, flight, since, done);
        }
        self.unblock(now);
    }

    /// Programs incomplete stripes, if nothing else can make room.
    fn unblock(&mut self, now: Time) {
        if self.waits_for_room() && self.dies.next_free().is_none() {
            self.program_partials(now);
        }
    }

    /// Programs incomplete stripes. A drive pads them, so each takes the time of a whole program.
    fn program_partials(&mut self, now: Time) {
        for ru in (0..self.shape.ru_count).map(RuId) {
            if self.filling_room(ru).total() > 0 {
                self.program_partial(ru, now, self.stripe);
            }
        }
        if self.cache.filling > 0 {
            self.program_cache(now);
        }
    }

    /// Takes a write that has waited since `since` into the buffer. It completes when all of it is there.
    fn admit(&mut self, now: Time, flight: u32, since: Time, done: &mut Vec<Done>) {
        let Flight { request, parts, room, .. } = &mut self.flights[flight as usize];
        parts.add(Part::Buffer, now - since);
        let is_large = *room > self.buffer_bytes / 2;
        let (request, page_bytes) = (*request, self.shape.page_bytes);
        self.read_rest_of_pages(now, flight);
        self.directory.write(
            request.page,
            u64::from(request.pages),
            page_bytes,
            self.occupied.host,
        );
        self.background(now, flight);
        if is_large {
            self.free_programmed(now);
        }
        if is_large && self.occupied.total() > self.buffer_bytes {
            self.entering = Some((flight, now));
        } else {
            self.complete(now, flight, done);
        }
    }
}
