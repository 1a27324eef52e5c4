//! Host reads: from the buffer, or from the cells and over a channel.

use wafer_interface::{Cause, MediaWork, RuId};

use super::{Event, Media};
use crate::die::{NO_PAGE, PageNumber};
use crate::directory::mix;
use crate::time::Time;
use crate::work::Work;

/// Minimum transfer of a die over its channel, in bytes: the data that one error-correcting codeword protects
/// (assumption).
const SECTOR: u64 = 4096;

impl Media {
    /// Reads the part of the map that a host read needs, unless it is in memory, and then the data. Also begins the
    /// other work that the read causes.
    pub(super) fn read(&mut self, now: Time, flight: u32) {
        let mut reads = 0;
        let mut causes = false;
        for work in &self.flights[flight as usize].work {
            match work {
                MediaWork::Read { cause: Cause::HostRead, .. } | MediaWork::CacheRead { .. } => {}
                MediaWork::Map { reads: more, programs } => {
                    reads += more;
                    causes |= *programs > 0;
                }
                _ => causes = true,
            }
        }
        if causes {
            self.background(now, flight);
        }
        let group = self.group_of_flight(flight);
        let pacing = &mut self.groups[group].pacing;
        if pacing.owes_for_reads() {
            let pages = self.flights[flight as usize].request.pages;
            pacing.host_read(u64::from(pages), u64::from(self.shape.pages_per_ru));
            self.begin_due(now);
        }
        if reads == 0 {
            return self.read_data(now, flight);
        }
        self.flights[flight as usize].mapping = Some(now);
        self.mapping += 1;
        for _ in 0..reads {
            let die = self.any_die();
            self.draws += 1;
            let length = self.read_time(mix(self.draws));
            let bytes = self.shape.page_bytes as u32;
            self.read_die(now, flight, die, NO_PAGE, length, bytes);
        }
    }

    /// Reads the requested data from the buffer or from the cells; pages that were never written cost nothing.
    pub(super) fn read_data(&mut self, now: Time, flight: u32) {
        let work = std::mem::take(&mut self.flights[flight as usize].work);
        self.directory.update();
        for work in &work {
            let (ru, mut at, mut left) = match *work {
                MediaWork::Read { ru, first, pages, cause: Cause::HostRead } => {
                    (Some(ru), first, pages)
                }
                MediaWork::CacheRead { first, pages } => (None, first, pages),
                _ => continue,
            };
            while left > 0 {
                let rest = self.read_unit - at % self.read_unit;
                let count = rest.min(u64::from(left)) as u32;
                if self.is_buffered(now, at..at + u64::from(count)) {
                    self.counts.buffer_reads += 1;
                } else {
                    self.read_cells(now, flight, ru, at, count);
                }
                at += u64::from(count);
                left -= count;
            }
        }
        self.flights[flight as usize].work = work;
        if self.flights[flight as usize].missing == 0 {
            self.schedule(now, flight, Event::Send);
        }
    }

    /// Reads the pages that a write covers in part, unless the buffer holds them.
    pub(super) fn read_rest_of_pages(&mut self, now: Time, flight: u32) {
        let rest = |work: &MediaWork| match *work {
            MediaWork::Read { ru, first, pages, cause: Cause::ReadModifyWrite(_) } => {
                Some((Some(ru), first..first + u64::from(pages)))
            }
            MediaWork::CacheRead { first, pages } => Some((None, first..first + u64::from(pages))),
            _ => None,
        };
        let work = &self.flights[flight as usize].work;
        if !work.iter().any(|work| rest(work).is_some()) {
            return;
        }
        let work = std::mem::take(&mut self.flights[flight as usize].work);
        self.directory.update();
        for (ru, pages) in work.iter().filter_map(rest) {
            if self.is_buffered(now, pages) {
                self.counts.buffer_reads += 1;
                continue;
            }
            match ru {
                Some(ru) => {
                    self.draws += 1;
                    let die = self.group_die(ru, mix(self.draws));
                    self.background_read(die, now);
                }
                None => self.read_cache(now),
            }
        }
        self.flights[flight as usize].work = work;
    }

    /// Returns whether the buffer holds all of these pages. The directory must be up to date.
    fn is_buffered(&mut self, now: Time, pages: std::ops::Range<u64>) -> bool {
        let held = |media: &Media| {
            pages.clone().all(|page| media.directory.holds(page, media.occupied.host))
        };
        held(self) && {
            self.free_programmed(now);
            held(self)
        }
    }

    /// Reads `pages` pages from `first` on, of one read unit, from the cells of a reclaim unit, or of the SLC cache.
    fn read_cells(&mut self, now: Time, flight: u32, ru: Option<RuId>, first: u64, pages: u32) {
        let ru_bits = u64::from(ru.map_or(u32::MAX, |ru| ru.0)) << 40;
        let page = (first / self.read_unit) ^ ru_bits;
        // Pages at the same place in all planes lie on one die, and the next ones on the next die.
        let unit = first / u64::from(self.unit);
        let place = mix(ru_bits).wrapping_add(unit);
        let (die, length) = match ru {
            Some(ru) => (self.group_die(ru, place), self.read_time(mix(unit ^ ru_bits) >> 32)),
            None => ((place % self.dies.len() as u64) as usize, self.times.cache_read),
        };
        // A coarse mapping unit is read as a whole, but only the part that the host requests leaves the die. Data that
        // stays on the drive, as that of a Copy does, leaves it as a whole.
        let bytes = u64::from(pages) * self.shape.page_bytes;
        let wanted = match self.flights[flight as usize].request.bytes {
            0 => bytes,
            asked => bytes.min(asked.next_multiple_of(SECTOR)),
        };
        self.read_die(now, flight, die, page, length, wanted as u32);
    }

    /// Reads a page of a die, and sends `bytes` of it.
    fn read_die(
        &mut self,
        now: Time,
        flight: u32,
        die: usize,
        page: PageNumber,
        length: Time,
        bytes: u32,
    ) {
        let (missed, draws) = (self.times.missed, &mut self.draws);
        let misses = || {
            let mut count = 0;
            loop {
                *draws += 1;
                if missed == 0 || mix(*draws) >> 32 >= missed {
                    return count;
                }
                count += 1;
            }
        };
        let (freed, read) = self.dies.read(die, now, page, length, &self.times.slices, misses);
        self.occupied -= freed;
        self.counts.dies.add(Work::HostRead, read.busy);
        if let Some((work, time)) = read.prolonged {
            self.counts.dies.add(work, time);
        }
        let flight_data = &mut self.flights[flight as usize];
        flight_data.missing += 1;
        if read.end >= flight_data.last.end {
            flight_data.last = read;
        }
        self.schedule(read.end, flight, Event::Transfer { die: die as u32, bytes });
    }
}
