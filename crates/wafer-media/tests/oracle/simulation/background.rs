//! The work that requests cause: programs, relocation, erases, metadata, the map and the SLC cache.

use wafer_interface::{Cause, MediaWork, RuId};
use wafer_media::{Kind, Time, Work};

use super::super::die::Job;
use super::super::mix;
use super::super::pacing::Owed;
use super::{Drive, Filling, ns, pass};

impl Drive<'_> {
    pub(super) fn background(&mut self, number: usize) {
        let mut valid = 0;
        let mut per_read = 256;
        let mut leaves = false;
        let request = self.flights[number].request;
        if request.kind == Kind::Write {
            self.sizes[0] += u64::from(request.pages);
            self.sizes[1] += 1;
            if self.sizes[0] >= 2 * u64::from(self.shape.pages_per_ru) {
                self.sizes = [self.sizes[0] / 2, self.sizes[1] - self.sizes[1] / 2];
            }
        }
        for work in self.flights[number].work {
            match *work {
                MediaWork::Read { pages, cause: Cause::Relocation { .. }, .. } => {
                    valid = pages;
                    let unit = self.config.planes as u64 * self.config.plane_page.0
                        / self.shape.page_bytes;
                    let share = f64::from(pages) / f64::from(self.shape.pages_per_ru);
                    let mean = (self.sizes[0] / self.sizes[1].max(1)).max(1);
                    let mut runs = unit / mean;
                    if runs * mean < unit {
                        runs += 1;
                    }
                    let any = 1.0 - (1.0 - share).powi(runs as i32);
                    per_read =
                        (unit as f64 * share / any.max(1e-9) * 256.0).round().max(256.0) as u64;
                }
                MediaWork::Program { ru, first, pages, cause: Cause::Relocation { .. } } => {
                    self.used.insert(ru, first + pages);
                    let pages = u64::from(pages);
                    let group = self.group_of(ru);
                    let pacing = &mut self.pacing[group];
                    if request.kind == Kind::Read {
                        pacing.by_reads += u128::from(pages) << 32;
                    }
                    pacing.owed.push(Owed::Move { to: ru, pages, per_read });
                }
                MediaWork::Erase { ru } => {
                    let used = self.used.remove(&ru).unwrap_or(self.shape.pages_per_ru);
                    let group = self.group_of(ru);
                    let pacing = &mut self.pacing[group];
                    pacing.room += u64::from(used.saturating_sub(valid));
                    pacing.owed.push(Owed::Erase(ru));
                    valid = 0;
                    let Filling { pages, host, .. } = self.filling[ru.index()];
                    if pages > 0 {
                        self.program(
                            ru,
                            if host > 0 { Work::HostProgram } else { Work::GcProgram },
                            false,
                        );
                    }
                    self.filling[ru.index()].received = 0;
                }
                MediaWork::Read { .. } | MediaWork::CacheRead { .. } => {}
                MediaWork::Parity { ru, pages } => self.program_beside(Some(ru), pages),
                MediaWork::Map { reads, programs } => {
                    if self.flights[number].request.kind != Kind::Read {
                        for _ in 0..reads {
                            let die = (self.draw() % self.dies.len() as u64) as usize;
                            let draw = self.draw();
                            let length = self.read_time(draw);
                            self.queue(die, Work::BackgroundRead, self.now, length, [0, 0]);
                        }
                    }
                    self.program_beside(None, programs);
                }
                MediaWork::CacheProgram { pages } => {
                    self.occupied[0] += u64::from(pages);
                    for _ in 0..pages {
                        self.cached += 1;
                        if self.cached == self.unit() {
                            self.program_cache();
                        }
                    }
                    self.write_metadata(None, pages);
                }
                MediaWork::Fold { pages } => {
                    leaves = true;
                    self.folded += u64::from(pages);
                    while self.folded >= self.unit() {
                        self.folded -= self.unit();
                        self.read_cache();
                    }
                }
                MediaWork::Program { ru, first, pages, .. } if leaves => {
                    self.used.insert(ru, first + pages);
                    self.occupied[1] += if self.config.gc_buffered { u64::from(pages) } else { 0 };
                    self.fill(ru, u64::from(pages), Work::FoldProgram);
                    self.host_wrote(ru, pages);
                }
                MediaWork::Program { ru, first, pages, .. } => {
                    self.used.insert(ru, first + pages);
                    self.occupied[0] += u64::from(pages);
                    self.fill(ru, u64::from(pages), Work::HostProgram);
                    self.host_wrote(ru, pages);
                    self.write_metadata(Some(ru), pages);
                }
            }
        }
        self.begin_due();
    }

    pub(super) fn begin_due(&mut self) {
        for group in 0..self.pacing.len() {
            while let Some(owed) = self.pacing[group].take() {
                match owed {
                    Owed::Move { to, pages, per_read } => {
                        self.to_read[group] += (pages * 256) as i64;
                        while self.to_read[group] > 0 {
                            self.background_read(to);
                            self.to_read[group] -= per_read as i64;
                        }
                        if self.config.gc_buffered {
                            self.occupied[1] += pages;
                        }
                        self.fill(to, pages, Work::GcProgram);
                    }
                    Owed::Erase(ru) => self.erase(ru),
                }
            }
        }
    }

    fn host_wrote(&mut self, ru: RuId, pages: u32) {
        let group = self.group_of(ru);
        self.pacing[group].host_wrote(u64::from(pages));
    }

    /// Reads the pages that a write covers in part, unless the buffer holds them.
    pub(super) fn read_old_pages(&mut self, number: usize) {
        for work in self.flights[number].work {
            let (ru, first, pages) = match *work {
                MediaWork::Read { ru, first, pages, cause: Cause::ReadModifyWrite(_) } => {
                    (Some(ru), first, pages)
                }
                MediaWork::CacheRead { first, pages } => (None, first, pages),
                _ => continue,
            };
            let held = self.occupied[0] as usize;
            let newest: Vec<u64> = self.written.iter().rev().take(held).copied().collect();
            if (first..first + u64::from(pages)).all(|page| newest.contains(&page)) {
                self.counts.buffer_reads += 1;
            } else if let Some(ru) = ru {
                self.background_read(ru);
            } else {
                self.read_cache();
            }
        }
    }

    /// Returns the group whose range of reclaim units contains this one.
    pub(super) fn group_of(&self, ru: RuId) -> usize {
        let groups = u64::from(self.shape.groups);
        let begin = |group: u64| u64::from(self.shape.ru_count) * group / groups;
        (0..groups).find(|group| u64::from(ru.0) < begin(group + 1)).unwrap() as usize
    }

    /// Returns the group of the first reclaim unit that a request reads or writes for its host, or the first group.
    pub(super) fn group_of_request(&self, number: usize) -> usize {
        for work in self.flights[number].work {
            match *work {
                MediaWork::Program { ru, cause, .. } | MediaWork::Read { ru, cause, .. } => {
                    let of_host = match work {
                        MediaWork::Program { .. } => !matches!(cause, Cause::Relocation { .. }),
                        _ => cause == Cause::HostRead,
                    };
                    if of_host {
                        return self.group_of(ru);
                    }
                }
                _ => {}
            }
        }
        0
    }

    pub(super) fn dies_of(&self, ru: RuId) -> std::ops::Range<usize> {
        let dies = self.dies.len() / usize::from(self.shape.groups);
        let first = self.group_of(ru) * dies;
        first..first + dies
    }

    pub(super) fn die_of(&self, ru: RuId, number: u64) -> usize {
        let dies = self.dies_of(ru);
        dies.start + (number % dies.len() as u64) as usize
    }

    pub(super) fn read_time(&self, number: u64) -> Time {
        let times = self.config.read_us.as_slice();
        ns(times[(number % times.len() as u64) as usize])
    }

    pub(super) fn draw(&mut self) -> u64 {
        self.draws += 1;
        mix(self.draws)
    }

    pub(super) fn queue(
        &mut self,
        die: usize,
        work: Work,
        ready: Time,
        length: Time,
        frees: [u64; 2],
    ) {
        let slice = match work {
            Work::Erase => ns(self.config.erase_slice_us),
            Work::BackgroundRead | Work::HostRead => 0,
            Work::HostProgram | Work::GcProgram | Work::MetadataProgram | Work::FoldProgram => {
                ns(self.config.slice_us)
            }
        };
        self.counts.dies.0[work as usize] += length;
        self.dies[die].queue(Job { work, ready, length, frees, program: self.programs, slice });
    }

    /// Returns the pages in one read of the cells, and in one program of the SLC cache.
    pub(super) fn unit(&self) -> u64 {
        u64::from(self.config.planes) * self.config.plane_page.0 / self.shape.page_bytes
    }

    pub(super) fn read_cache(&mut self) {
        let die = (self.draw() % self.dies.len() as u64) as usize;
        let length = ns(self.config.slc_read_us.unwrap());
        self.queue(die, Work::BackgroundRead, self.now, length, [0, 0]);
    }

    pub(super) fn program_cache(&mut self) {
        let pages = std::mem::take(&mut self.cached);
        let die = self.cache_programs % self.dies.len();
        self.cache_programs += 1;
        let length = ns(self.config.slc_program_us.unwrap());
        self.send_to(die, pages as u32, length, Work::HostProgram, [pages, 0]);
        let block = self.config.block.0 / u64::from(self.config.cell_bits) / self.shape.page_bytes;
        self.cache_blocks[die] += pages;
        if self.cache_blocks[die] >= block.max(1) {
            self.cache_blocks[die] -= block.max(1);
            let length = ns(self.config.erase_us);
            if length > 0 {
                self.counts.erases += 1;
                self.queue(die, Work::Erase, self.now, length, [0, 0]);
            }
        }
    }

    /// Returns the dies that program data outside reclaim units for a group or for the whole drive, and the index of
    /// its counts.
    fn beside(&self, ru: Option<RuId>) -> (std::ops::Range<usize>, usize) {
        match ru {
            Some(ru) => (self.dies_of(ru), self.group_of(ru)),
            None if self.shape.groups == 1 => (0..self.dies.len(), 0),
            None => (0..self.dies.len(), usize::from(self.shape.groups)),
        }
    }

    fn program_whole(&mut self, dies: &std::ops::Range<usize>, place: usize) {
        let stripe = self.config.program_bytes() / self.shape.page_bytes;
        let die = dies.start + self.beside_programs[place] % dies.len();
        self.beside_programs[place] += 1;
        let length = ns(self.config.program_us);
        self.send_to(die, stripe as u32, length, Work::MetadataProgram, [0, 0]);
    }

    /// Programs whole stripes outside the reclaim units.
    pub(super) fn program_beside(&mut self, ru: Option<RuId>, pages: u32) {
        let stripe = self.config.program_bytes() / self.shape.page_bytes;
        let (dies, place) = self.beside(ru);
        self.beside[place] += u64::from(pages);
        while self.beside[place] >= stripe {
            self.beside[place] -= stripe;
            self.program_whole(&dies, place);
        }
    }

    pub(super) fn background_read(&mut self, ru: RuId) {
        let draw = self.draw();
        let die = self.die_of(ru, draw);
        let draw = self.draw();
        self.queue(die, Work::BackgroundRead, self.now, self.read_time(draw), [0, 0]);
    }

    /// Adds pages one at a time.
    pub(super) fn fill(&mut self, ru: RuId, pages: u64, work: Work) {
        let stripe = self.config.program_bytes() / self.shape.page_bytes;
        for _ in 0..pages {
            let filling = &mut self.filling[ru.index()];
            filling.pages += 1;
            filling.received += 1;
            filling.host += u32::from(work == Work::HostProgram);
            let is_full = filling.received == self.shape.pages_per_ru;
            if is_full {
                filling.received = 0;
            }
            if is_full || u64::from(filling.pages) == stripe {
                self.program(ru, work, false);
            }
        }
    }

    /// Programs what a reclaim unit has received: in the time of its pages, or padded in that of a whole program.
    pub(super) fn program(&mut self, ru: RuId, work: Work, is_filled_up: bool) {
        let Filling { pages, host, programs, .. } = self.filling[ru.index()];
        let filling = &mut self.filling[ru.index()];
        (filling.pages, filling.host, filling.programs) = (0, 0, programs + 1);
        let die = self.die_of(ru, programs + mix(u64::from(ru.0)) % (1 << 32));
        let relocated = if self.config.gc_buffered { pages - host } else { 0 };
        let (stripe, whole) =
            (self.config.program_bytes() / self.shape.page_bytes, ns(self.config.program_us));
        let length = if is_filled_up { whole } else { whole * u64::from(pages) / stripe };
        self.send_to(die, pages, length, work, [u64::from(host), u64::from(relocated)]);
    }

    /// Sends pages over the channel of a die to a program of the given length.
    pub(super) fn send_to(
        &mut self,
        die: usize,
        pages: u32,
        length: Time,
        work: Work,
        frees: [u64; 2],
    ) {
        let bytes = u64::from(pages) * self.shape.page_bytes;
        let line = die % self.channels.len();
        let ready = pass(self.channels[line][0], self.now, bytes, self.config.channel_rate.0);
        self.channels[line][0] = ready;
        self.counts.channel_bytes += bytes;
        self.programs += 1;
        self.queue(die, work, ready, length, frees);
    }

    pub(super) fn write_metadata(&mut self, ru: Option<RuId>, pages: u32) {
        let stripe = self.config.program_bytes() / self.shape.page_bytes;
        let (dies, place) = self.beside(ru);
        self.metadata[place] += u64::from(pages) * (self.config.metadata * 4_294_967_296.0) as u64;
        while self.metadata[place] >= stripe << 32 {
            self.metadata[place] -= stripe << 32;
            self.counts.metadata_bytes += stripe * self.shape.page_bytes;
            self.program_whole(&dies, place);
        }
    }

    pub(super) fn erase(&mut self, ru: RuId) {
        let dies = self.dies_of(ru);
        let ru_bytes = u64::from(self.shape.pages_per_ru) * self.shape.page_bytes;
        let blocks = ru_bytes as f64 / dies.len() as f64 / self.config.block.0 as f64;
        let share = (blocks * self.config.erase_us * 1e3).round() as Time;
        let whole = ns(self.config.erase_us);
        for die in dies {
            self.erase_owed[die] += share;
            while whole > 0 && self.erase_owed[die] >= whole {
                self.erase_owed[die] -= whole;
                self.counts.erases += 1;
                self.queue(die, Work::Erase, self.now, whole, [0, 0]);
            }
        }
    }
}
