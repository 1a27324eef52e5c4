//! Host reads: their units on the dies, until all data has been transferred.

use wafer_interface::{Cause, MediaWork, RuId};
use wafer_media::{Part, Parts, Time, Work};

use super::super::die::CellRead;
use super::super::mix;
use super::{Drive, Event, add, ns};

impl Drive<'_> {
    pub(super) fn cells_read(&mut self, die: usize, read: &CellRead) {
        let mut parts = Parts::default();
        let waited = read.began - read.arrived;
        let part = match read.behind {
            None | Some(Work::HostRead) => Part::Reads,
            Some(Work::HostProgram) => Part::HostProgram,
            Some(Work::GcProgram) => Part::GcProgram,
            Some(Work::MetadataProgram) => Part::MetadataProgram,
            Some(Work::BackgroundRead) => Part::BackgroundRead,
            Some(Work::Erase) => Part::Erase,
            Some(Work::FoldProgram) => Part::FoldProgram,
        };
        add(&mut parts, part, waited);
        add(&mut parts, Part::Cells, read.length);
        let flight = &mut self.flights[read.request];
        if (self.now, read.unit) > (flight.last.0, flight.last.1) {
            flight.last = (self.now, read.unit, parts);
        }
        let bytes = u64::from(read.pages) * self.shape.page_bytes;
        let sectors = flight.request.bytes.div_ceil(4096);
        // A part of the map is one page.
        let is_part = read.part.is_some() && sectors > 0;
        let bytes = if is_part { bytes.min(sectors * 4096) } else { bytes };
        self.events.push((self.now, read.request, Event::Read { die, bytes }));
    }

    pub(super) fn read(&mut self, number: usize) {
        let (mut maps, mut own) = (0, true);
        for work in self.flights[number].work {
            match work {
                MediaWork::Map { reads, programs } => {
                    maps += reads;
                    own &= *programs == 0;
                }
                MediaWork::Read { cause: Cause::HostRead, .. } | MediaWork::CacheRead { .. } => {}
                _ => own = false,
            }
        }
        if !own {
            self.background(number);
        }
        let pages = u64::from(self.flights[number].request.pages);
        let group = self.group_of_request(number);
        self.pacing[group].host_read(pages, u64::from(self.shape.pages_per_ru));
        self.begin_due();
        if maps == 0 {
            return self.read_data(number);
        }
        self.flights[number].waits_for_map = Some(self.now);
        for _ in 0..maps {
            let die = (self.draw() % self.dies.len() as u64) as usize;
            let draw = self.draw();
            self.read_cells(number, die, None, self.read_time(draw), 1);
        }
    }

    pub(super) fn read_data(&mut self, number: usize) {
        let unit = self.unit();
        let of_plane = if self.config.independent_planes {
            unit / u64::from(self.config.planes)
        } else {
            unit
        };
        let held = self.occupied[0] as usize;
        let newest: Vec<u64> = self.written.iter().rev().take(held).copied().collect();
        for work in self.flights[number].work {
            let (ru, first, pages) = match *work {
                MediaWork::Read { ru, first, pages, cause: Cause::HostRead } => {
                    (Some(ru), first, pages)
                }
                MediaWork::CacheRead { first, pages } => (None, first, pages),
                _ => continue,
            };
            let end = first + u64::from(pages);
            let mut at = first;
            while at < end {
                let next = end.min((at / of_plane + 1) * of_plane);
                if (at..next).all(|page| newest.contains(&page)) {
                    self.counts.buffer_reads += 1;
                } else {
                    let part = (ru, at / of_plane);
                    self.read_unit(number, part, at / unit, (next - at) as u32);
                }
                at = next;
            }
        }
        if self.flights[number].missing == 0 {
            self.events.push((self.now, number, Event::Send));
        }
    }

    fn read_unit(&mut self, number: usize, part: (Option<RuId>, u64), unit: u64, pages: u32) {
        let (ru, part) = (part.0, Some(part));
        let ru_bits = u64::from(ru.map_or(u32::MAX, |ru| ru.0)) << 40;
        let die = mix(ru_bits).wrapping_add(unit);
        match ru {
            Some(ru) => {
                let length = self.read_time(mix(unit ^ ru_bits) >> 32);
                self.read_cells(number, self.die_of(ru, die), part, length, pages);
            }
            None => {
                let die = (die % self.dies.len() as u64) as usize;
                let length = ns(self.config.slc_read_us.unwrap());
                self.read_cells(number, die, part, length, pages);
            }
        }
    }

    fn read_cells(
        &mut self,
        number: usize,
        die: usize,
        part: Option<(Option<RuId>, u64)>,
        length: Time,
        pages: u32,
    ) {
        self.flights[number].units += 1;
        self.flights[number].missing += 1;
        let missed = (self.config.missed_slices * 4_294_967_296.0) as u64;
        let draws = &mut self.draws;
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
        let (arrived, began) = (self.now, 0);
        let read = CellRead {
            request: number,
            unit: self.flights[number].units,
            part,
            pages,
            arrived,
            length,
            behind: None,
            began,
        };
        if let Some(read) = self.dies[die].read(read, misses) {
            self.cells_read(die, &read);
        }
    }
}
