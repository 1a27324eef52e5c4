//! The work that commands cause: programs, relocation, erases and metadata.

use wafer_interface::{Cause, MediaWork, RuId};

use super::{Filling, Media};
use crate::die::{Frees, Room};
use crate::directory::mix;
use crate::group::Beside;
use crate::pacing::{Due, Move};
use crate::request::Kind;
use crate::time::Time;
use crate::work::Work;

impl Media {
    /// Begins the work that a command causes.
    pub(super) fn background(&mut self, now: Time, flight: u32) {
        let work = std::mem::take(&mut self.flights[flight as usize].work);
        // Valid pages of the victim of the collection being reported, and how many of them a read of the cells yields,
        // times 256.
        let (mut moved, mut per_read) = (0, 256);
        let request = &self.flights[flight as usize].request;
        let is_read = request.kind == Kind::Read;
        if request.kind == Kind::Write {
            self.recent.add(request.pages, self.shape.pages_per_ru);
        }
        let mut folds = false;
        for work in &work {
            match *work {
                MediaWork::Read { pages, cause: Cause::Relocation { .. }, .. } => {
                    moved = pages;
                    per_read = self.pages_per_read(pages);
                }
                MediaWork::Program { ru, first, pages, cause: Cause::Relocation { .. } } => {
                    self.filling[ru.index()].end = first + pages;
                    let group = self.group_of(ru);
                    self.groups[group].pacing.add(Move { to: ru, pages, per_read }, is_read);
                }
                MediaWork::Erase { ru } => {
                    // A reclaim unit that was closed early frees only what it had received.
                    let written = match std::mem::take(&mut self.filling[ru.index()].end) {
                        0 => self.shape.pages_per_ru,
                        end => end,
                    };
                    let group = self.group_of(ru);
                    self.groups[group].pacing.freed(ru, u64::from(written.saturating_sub(moved)));
                    moved = 0;
                    self.close(ru, now);
                }
                MediaWork::Read { .. } | MediaWork::CacheRead { .. } => {}
                MediaWork::Parity { ru, pages } => {
                    self.write_beside(self.group_of(ru), pages, now);
                }
                MediaWork::Map { reads, programs } => {
                    // A host read waits for its part of the map, so it has been read already.
                    for _ in 0..if is_read { 0 } else { reads } {
                        let die = self.any_die();
                        self.background_read(die, now);
                    }
                    self.write_beside(self.beside.len() - 1, programs, now);
                }
                MediaWork::CacheProgram { pages } => {
                    self.fill_cache(pages, now);
                    self.write_metadata(self.beside.len() - 1, now, pages);
                }
                MediaWork::Fold { pages } => {
                    folds = true;
                    self.fold(pages, now);
                }
                MediaWork::Program { ru, first, pages, .. } if folds => {
                    self.filling[ru.index()].end = first + pages;
                    if self.gc_buffered {
                        self.occupied.relocated += u64::from(pages) * self.shape.page_bytes;
                    }
                    self.fill(ru, pages, now, Work::FoldProgram);
                    let group = self.group_of(ru);
                    self.groups[group].pacing.host_wrote(u64::from(pages));
                }
                MediaWork::Program { ru, first, pages, .. } => {
                    self.filling[ru.index()].end = first + pages;
                    self.occupied.host += u64::from(pages) * self.shape.page_bytes;
                    self.fill(ru, pages, now, Work::HostProgram);
                    let group = self.group_of(ru);
                    self.groups[group].pacing.host_wrote(u64::from(pages));
                    self.write_metadata(group, now, pages);
                }
            }
        }
        self.flights[flight as usize].work = work;
        self.begin_due(now);
    }

    /// Begins the garbage collection that is due.
    pub(super) fn begin_due(&mut self, now: Time) {
        for group in 0..self.groups.len() {
            while let Some(due) = self.groups[group].pacing.next() {
                match due {
                    Due::Move(part) => self.relocate(group, part, now),
                    Due::Erase(ru) => self.erase(ru, now),
                }
            }
        }
    }

    /// Returns how many valid pages one read of a victim's cells yields, times 256, if `valid` of its pages are valid,
    /// at random places and in runs as long as host writes.
    fn pages_per_read(&self, valid: u32) -> u32 {
        let share = f64::from(valid) / f64::from(self.shape.pages_per_ru);
        let unit = f64::from(self.unit);
        let runs = self.unit.div_ceil(self.recent.mean());
        let read = 1.0 - (1.0 - share).powi(runs as i32);
        (unit * share / read.max(1e-9) * 256.0).round().max(256.0) as u32
    }

    fn relocate(&mut self, group: usize, part: Move, now: Time) {
        self.groups[group].to_read += i64::from(part.pages) * 256;
        while self.groups[group].to_read > 0 {
            self.draws += 1;
            let die = self.group_die(part.to, mix(self.draws));
            self.background_read(die, now);
            self.groups[group].to_read -= i64::from(part.per_read);
        }
        if self.gc_buffered {
            self.occupied.relocated += u64::from(part.pages) * self.shape.page_bytes;
        }
        // The data was read ahead: a program does not wait for a read on another die.
        self.fill(part.to, part.pages, now, Work::GcProgram);
    }

    pub(super) fn background_read(&mut self, die: usize, now: Time) {
        self.draws += 1;
        let length = self.read_time(mix(self.draws));
        self.counts.dies.add(Work::BackgroundRead, length);
        self.occupied -=
            self.dies.push(die, Work::BackgroundRead, [now, now], length, Frees::default());
    }

    /// Adds pages to the programs of a reclaim unit, and starts the programs that are full.
    fn fill(&mut self, ru: RuId, pages: u32, now: Time, work: Work) {
        let mut left = pages;
        while left > 0 {
            let filling = &mut self.filling[ru.index()];
            let rest = self.shape.pages_per_ru - filling.received;
            let count = left.min(self.stripe - filling.pages).min(rest);
            left -= count;
            filling.pages += count;
            filling.host += if work == Work::HostProgram { count } else { 0 };
            filling.received += count;
            if filling.received == self.shape.pages_per_ru {
                filling.received = 0;
            } else if filling.pages < self.stripe {
                break;
            }
            let pages = self.filling[ru.index()].pages;
            self.program_filling(ru, now, pages, work);
        }
    }

    /// Closes a reclaim unit, which need not be full: what it has received is programmed, and after its erase it begins
    /// with a new program.
    fn close(&mut self, ru: RuId, now: Time) {
        let pages = self.filling[ru.index()].pages;
        if pages > 0 {
            self.program_partial(ru, now, pages);
        }
        self.filling[ru.index()].received = 0;
    }

    /// Returns the buffer space of pages that are not part of a program yet.
    pub(super) fn filling_room(&self, ru: RuId) -> Room {
        let Filling { pages, host, .. } = self.filling[ru.index()];
        let relocated = if self.gc_buffered { pages - host } else { 0 };
        Room {
            host: u64::from(host) * self.shape.page_bytes,
            relocated: u64::from(relocated) * self.shape.page_bytes,
        }
    }

    /// Programs the pages of a reclaim unit that do not fill a program, in the time of `timed` pages.
    pub(super) fn program_partial(&mut self, ru: RuId, now: Time, timed: u32) {
        let host = self.filling[ru.index()].host > 0;
        let work = if host { Work::HostProgram } else { Work::GcProgram };
        self.program_filling(ru, now, timed, work);
    }

    /// Programs what a reclaim unit has received, whether a full program or not, in the time of `timed` pages.
    fn program_filling(&mut self, ru: RuId, now: Time, timed: u32, work: Work) {
        let room = self.filling_room(ru);
        let filling = &mut self.filling[ru.index()];
        let pages = std::mem::take(&mut filling.pages);
        filling.host = 0;
        let number = u64::from(filling.programs) + mix(u64::from(ru.0)) % (1 << 32);
        filling.programs = filling.programs.wrapping_add(1);
        let die = self.group_die(ru, number);
        let length = self.times.program * u64::from(timed) / u64::from(self.stripe);
        self.queue_program(die, now, pages, length, work, room);
    }

    /// Queues a program of a given duration on a die, once its pages have arrived over the channel.
    pub(super) fn queue_program(
        &mut self,
        die: usize,
        now: Time,
        pages: u32,
        length: Time,
        work: Work,
        room: Room,
    ) {
        let bytes = u64::from(pages) * self.shape.page_bytes;
        let channel = die % self.channels.len();
        let ready = self.channels[channel][0].serve(now, self.times.channel.time(bytes));
        self.counts.channel_bytes += bytes;
        self.counts.dies.add(work, length);
        self.programs += 1;
        let frees = Frees { room, program: self.programs };
        self.occupied -= self.dies.push(die, work, [now, ready], length, frees);
    }

    fn write_metadata(&mut self, beside: usize, now: Time, pages: u32) {
        self.beside[beside].metadata += u64::from(pages) * self.metadata_share;
        while self.beside[beside].metadata >> 32 >= u64::from(self.stripe) {
            self.beside[beside].metadata -= u64::from(self.stripe) << 32;
            self.counts.metadata_bytes += u64::from(self.stripe) * self.shape.page_bytes;
            self.program_beside(beside, now);
        }
    }

    /// Programs parity and the map one stripe at a time. The device counts their bytes.
    fn write_beside(&mut self, beside: usize, pages: u32, now: Time) {
        self.beside[beside].owed += pages;
        while self.beside[beside].owed >= self.stripe {
            self.beside[beside].owed -= self.stripe;
            self.program_beside(beside, now);
        }
    }

    /// Returns a random die.
    pub(super) fn any_die(&mut self) -> usize {
        self.draws += 1;
        (mix(self.draws) % self.dies.len() as u64) as usize
    }

    /// Programs a stripe of data outside the reclaim units, on the dies in turn.
    fn program_beside(&mut self, beside: usize, now: Time) {
        let Beside { dies, next_die, .. } = &mut self.beside[beside];
        let die = *next_die;
        *next_die = if die + 1 == dies.end { dies.start } else { die + 1 };
        let (pages, length) = (self.stripe, self.times.program);
        self.queue_program(die, now, pages, length, Work::MetadataProgram, Room::default());
    }

    /// Erases a reclaim unit: its share of a block on every die of its group.
    fn erase(&mut self, ru: RuId, now: Time) {
        for die in self.groups[self.group_of(ru)].dies.clone() {
            self.erase_owed[die] += self.erase_share;
            while self.times.erase > 0 && self.erase_owed[die] >= self.times.erase {
                self.erase_owed[die] -= self.times.erase;
                self.erase_block(die, now);
            }
        }
    }

    pub(super) fn erase_block(&mut self, die: usize, now: Time) {
        let (length, frees) = (self.times.erase, Frees::default());
        self.counts.erases += 1;
        self.counts.dies.add(Work::Erase, length);
        self.occupied -= self.dies.push(die, Work::Erase, [now, now], length, frees);
    }
}
