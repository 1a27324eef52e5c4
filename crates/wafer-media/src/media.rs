//! The drive in time: commands arrive with the work that they cause, and complete.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use wafer_interface::{Cause, GcPacing, MediaWork, RuId, TimingConfig};

use crate::die::{Die, Slices, Work};
use crate::directory::{Directory, mix};
use crate::pacing::{Due, Move, Pacing};
use crate::time::{Rate, Server, Time, from_us};
use crate::work::{MediaCounts, Part, Parts};

/// Sizes of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Pages of a reclaim unit.
    pub pages_per_ru: u32,
    /// Reclaim units in all groups.
    pub ru_count: u32,
    /// Reclaim groups; each has its part of the dies.
    pub groups: u16,
}

/// What a request asks of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Data goes to the host.
    Read,
    /// Data comes from the host.
    Write,
    /// Everything written before becomes durable.
    Flush,
    /// No data moves.
    Other,
}

/// A command on its way to the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Chosen by the caller.
    pub ticket: u64,
    /// When the host submits it.
    pub submitted: Time,
    /// What it asks.
    pub kind: Kind,
    /// First page, numbered over all namespaces.
    pub page: u64,
    /// Pages that it touches.
    pub pages: u32,
    /// Bytes over the link.
    pub bytes: u64,
}

/// A command that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The request.
    pub request: Request,
    /// When it completes.
    pub time: Time,
    /// What its time consists of.
    pub parts: Parts,
}

/// A request between its submission and its completion.
#[derive(Debug)]
struct Flight {
    request: Request,
    parts: Parts,
    work: Vec<MediaWork>,
    /// Reads of cells that are not there yet.
    missing: u32,
    /// When the last of them was, and what its time consists of.
    last: (Time, Parts),
}

/// What happens to a flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The controller hands it to the media.
    Arrive,
    /// A read of cells has ended; the data goes over a channel.
    Transfer { die: u32, pages: u32 },
    /// A channel has brought data of a read.
    Brought,
    /// All data of a read is there and goes over the link.
    Send,
}

/// Order of what happens at the same time: as it was found out.
type Next = Reverse<(Time, u64, u32, Event)>;

/// Times of a configuration, in model time.
#[derive(Clone, Debug)]
struct Times {
    read: Vec<Time>,
    program: Time,
    erase: Time,
    slices: Slices,
    /// Share of missed points, of 2^32.
    missed: u64,
    channel: Rate,
    link_read: Rate,
    link_write: Rate,
    read_overhead: Time,
    write_overhead: Time,
    read_interval: Time,
    write_interval: Time,
    host_cap: Option<Rate>,
    /// Pages that hosts may be ahead of garbage collection.
    credit: Option<u64>,
    /// Time of all dies for a page of the host, and for one that is moved, with 16 bits of fraction.
    page: Time,
    moved_page: Time,
    /// Share of the rate of the dies, of 2^32.
    knee: u64,
}

/// What a reclaim unit has received since it was opened.
#[derive(Clone, Copy, Debug, Default)]
struct Filling {
    received: u32,
    /// Pages that are not part of a program yet, and how many of them take room in the write buffer.
    pages: u32,
    buffered: u32,
    /// Programs so far: they go from die to die.
    programs: u32,
}

/// Relocated pages for each page of a host from which on `gc_host_rate` holds, with 32 bits of fraction: garbage
/// collection that moves nearly nothing holds nobody back.
const CAPPED: u64 = (1 << 32) / 50;

/// How far hosts must be ahead of the knee's rate for garbage collection to hold them back, nanoseconds.
const KNEE_WINDOW: Time = 10_000_000;

/// The media, channels, link and buffer of a drive.
#[derive(Debug)]
pub struct Media {
    shape: Shape,
    times: Times,
    /// Pages of a one-shot program, and of one read of the cells.
    stripe: u32,
    unit: u32,
    dies_per_group: u32,
    rus_per_group: u32,
    dies: Vec<Die>,
    /// Program data and read data over each channel.
    channels: Vec<[Server; 2]>,
    controller: Server,
    link: [Server; 2],
    cap: Server,
    paced_until: Time,
    knee_until: Time,
    buffer_bytes: u64,
    protected: bool,
    /// Whether relocated pages take room too.
    gc_buffered: bool,
    occupied: u64,
    directory: Directory,
    /// What each reclaim unit has received.
    filling: Vec<Filling>,
    events: BinaryHeap<Next>,
    flights: Vec<Flight>,
    free_flights: Vec<u32>,
    /// Writes that wait for room, and since when.
    parked: VecDeque<(u32, Time)>,
    pacing: Pacing,
    /// Pages to relocate less those that were read, times 256: a read brings pages for later moves too.
    to_read: i64,
    /// Nanoseconds of erases that each die owes.
    erase_owed: Vec<Time>,
    erase_share: Time,
    /// Pages of metadata owed, with 32 bits of fraction.
    metadata: u64,
    metadata_share: u64,
    next_metadata_die: usize,
    number: u64,
    draws: u64,
    counts: MediaCounts,
}

impl Media {
    /// Makes the idle media of a drive. The configuration must be [checked](TimingConfig::check).
    ///
    /// # Errors
    /// A key that does not fit the device, and why.
    pub fn new(config: &TimingConfig, shape: Shape) -> Result<Self, (&'static str, String)> {
        config.check(shape.page_bytes)?;
        let groups = u32::from(shape.groups);
        if !config.dies.is_multiple_of(groups) {
            let reason = format!("must be a multiple of the {groups} reclaim groups");
            return Err(("timing.dies", reason));
        }
        let us = from_us;
        let interval = |iops: Option<f64>| iops.map_or(0, |iops| (1e9 / iops).round() as Time);
        let rate = |bytes: wafer_interface::Bytes| Rate::new(bytes.0 as f64);
        let dies_per_group = config.dies / groups;
        let ru_bytes = u64::from(shape.pages_per_ru) * shape.page_bytes;
        let blocks = ru_bytes as f64 / f64::from(dies_per_group) / config.block.0 as f64;
        let stripe = config.program_bytes() as f64 / shape.page_bytes as f64;
        let unit = (u64::from(config.planes) * config.plane_page.0) as f64 / shape.page_bytes as f64;
        let reads = config.read_us.as_slice();
        let mean_read = reads.iter().sum::<f64>() / reads.len() as f64;
        let per_page = |us: f64| (us / f64::from(config.dies) * 1e3 * 65_536.0).round() as Time;
        let burst = match config.gc_pacing {
            GcPacing::Smooth => 1,
            GcPacing::Burst => config.gc_burst.0 / shape.page_bytes,
        };
        Ok(Media {
            times: Times {
                read: config.read_us.as_slice().iter().map(|t| us(*t)).collect(),
                program: us(config.program_us),
                erase: us(config.erase_us),
                slices: Slices {
                    program: us(config.slice_us),
                    erase: us(config.erase_slice_us),
                    resume: us(config.resume_us),
                },
                missed: (config.missed_slices * 4_294_967_296.0) as u64,
                channel: rate(config.channel_rate),
                link_read: rate(config.link_read),
                link_write: rate(config.link_write),
                read_overhead: us(config.read_overhead_us),
                write_overhead: us(config.write_overhead_us),
                read_interval: interval(config.read_iops),
                write_interval: interval(config.write_iops),
                host_cap: config.gc_host_rate.map(rate),
                credit: config.gc_credit.map(|credit| credit.0 / shape.page_bytes),
                page: per_page(config.program_us / stripe),
                // A victim is valid for the most part: nearly every read of its cells brings whole units.
                knee: (config.gc_knee * 4_294_967_296.0) as u64,
                moved_page: per_page(config.program_us / stripe + mean_read / unit),
            },
            stripe: (config.program_bytes() / shape.page_bytes) as u32,
            unit: (u64::from(config.planes) * config.plane_page.0 / shape.page_bytes) as u32,
            dies_per_group,
            rus_per_group: (shape.ru_count / groups).max(1),
            dies: vec![Die::default(); config.dies as usize],
            channels: vec![Default::default(); config.channels as usize],
            controller: Server::default(),
            link: Default::default(),
            cap: Server::default(),
            paced_until: 0,
            knee_until: 0,
            buffer_bytes: config.write_buffer.0,
            protected: config.buffer_protected,
            gc_buffered: config.gc_buffered,
            occupied: 0,
            directory: Directory::new(config.write_buffer.0 / shape.page_bytes),
            filling: vec![Filling::default(); shape.ru_count as usize],
            events: BinaryHeap::new(),
            flights: Vec::new(),
            free_flights: Vec::new(),
            parked: VecDeque::new(),
            pacing: Pacing::new(burst),
            to_read: 0,
            erase_owed: vec![0; config.dies as usize],
            erase_share: (blocks * config.erase_us * 1e3).round() as Time,
            metadata: 0,
            metadata_share: (config.metadata * 4_294_967_296.0) as u64,
            next_metadata_die: 0,
            number: 0,
            draws: 0,
            counts: MediaCounts::default(),
            shape,
        })
    }

    /// Returns what was done since the counts were reset.
    pub fn counts(&self) -> MediaCounts {
        self.counts
    }

    /// Begins to count anew.
    pub fn reset_counts(&mut self) {
        self.counts = MediaCounts::default();
    }

    /// Returns the number of dies.
    pub fn die_count(&self) -> usize {
        self.dies.len()
    }

    /// Submits a request with the work that it causes. Requests come in the order of time.
    pub fn submit(&mut self, request: Request, work: &[MediaWork]) {
        let now = request.submitted;
        let mut parts = Parts::default();
        let (interval, overhead) = match request.kind {
            Kind::Read => (self.times.read_interval, self.times.read_overhead),
            _ => (self.times.write_interval, self.times.write_overhead),
        };
        let taken = self.controller.serve(now, interval).max(now);
        parts.add(Part::Controller, taken - now + overhead);
        let mut time = taken;
        if request.kind == Kind::Write {
            let length = self.times.link_write.time(request.bytes);
            time = self.link[1].serve(taken, length);
            parts.add(Part::Link, time - taken);
            self.counts.link_bytes += request.bytes;
            if let Some(cap) = self.times.host_cap.filter(|_| self.pacing.ratio() >= CAPPED) {
                let paced = self.cap.serve(time, cap.time(request.bytes));
                parts.add(Part::Pacing, paced - time);
                time = paced;
            }
            let paced = self.throttle(time, u64::from(request.pages));
            parts.add(Part::Pacing, paced - time);
            time = paced;
        }
        let flight = self.begin(request, parts, work);
        self.schedule(time, flight, Event::Arrive);
    }

    /// Returns when garbage collection lets a write of so many pages go (the generic cell rate algorithm).
    fn throttle(&mut self, now: Time, pages: u64) -> Time {
        let Some(credit) = self.times.credit.filter(|_| self.pacing.is_active()) else { return now };
        let page = self.times.page;
        let moved = (u128::from(self.times.moved_page) * u128::from(self.pacing.ratio())) >> 32;
        let each = page + u64::try_from(moved).unwrap_or(u64::MAX);
        let (cost, ahead) = ((pages * each) >> 16, (credit * each) >> 16);
        if self.times.knee > 0 {
            // A queue that is served at the knee's rate grows only above it.
            let slower = (u128::from(cost) << 32) / u128::from(self.times.knee);
            let end = self.knee_until.max(now) + slower as u64;
            self.knee_until = end.min(now + 2 * KNEE_WINDOW);
            if end - now < KNEE_WINDOW {
                return now;
            }
        }
        self.paced_until = self.paced_until.max(now) + cost;
        now.max(self.paced_until.saturating_sub(ahead))
    }

    fn begin(&mut self, request: Request, parts: Parts, work: &[MediaWork]) -> u32 {
        let last = (0, Parts::default());
        match self.free_flights.pop() {
            Some(flight) => {
                let old = &mut self.flights[flight as usize];
                old.work.extend_from_slice(work);
                (old.request, old.parts, old.missing, old.last) = (request, parts, 0, last);
                flight
            }
            None => {
                let work = work.to_vec();
                self.flights.push(Flight { request, parts, work, missing: 0, last });
                self.flights.len() as u32 - 1
            }
        }
    }

    fn schedule(&mut self, time: Time, flight: u32, event: Event) {
        self.number += 1;
        self.events.push(Reverse((time, self.number, flight, event)));
    }

    /// Returns when something happens next without another request.
    pub fn next_event(&self) -> Option<Time> {
        let event = self.events.peek().map(|Reverse((time, ..))| *time);
        let release = match self.parked.is_empty() {
            true => None,
            false => self.dies.iter().filter_map(Die::next_free).min(),
        };
        event.into_iter().chain(release).min()
    }

    /// Lets everything happen up to and including `until` and appends the requests whose completion is known.
    pub fn advance(&mut self, until: Time, done: &mut Vec<Done>) {
        while let Some(at) = self.next_event().filter(|at| *at <= until) {
            if !self.parked.is_empty() {
                self.release(at, done);
            }
            while let Some(Reverse((time, _, flight, event))) = self.events.peek().copied() {
                if time > at {
                    break;
                }
                self.events.pop();
                self.happen(at, flight, event, done);
            }
        }
    }

    fn happen(&mut self, now: Time, flight: u32, event: Event, done: &mut Vec<Done>) {
        match event {
            Event::Arrive => self.arrive(now, flight, done),
            Event::Transfer { die, pages } => {
                let bytes = u64::from(pages) * self.shape.page_bytes;
                let channel = die as usize % self.channels.len();
                let end = self.channels[channel][1].serve(now, self.times.channel.time(bytes));
                self.counts.channel_bytes += bytes;
                self.schedule(end, flight, Event::Brought);
            }
            Event::Brought => {
                let flight_data = &mut self.flights[flight as usize];
                flight_data.missing -= 1;
                if flight_data.missing == 0 {
                    // What is not told by the slowest read was the channel.
                    let (end, mut parts) = flight_data.last;
                    parts.add(Part::Channel, now - end);
                    flight_data.parts.join(&parts);
                    self.send(now, flight, done);
                }
            }
            Event::Send => self.send(now, flight, done),
        }
    }

    fn send(&mut self, now: Time, flight: u32, done: &mut Vec<Done>) {
        let bytes = self.flights[flight as usize].request.bytes;
        let sent = self.link[0].serve(now, self.times.link_read.time(bytes));
        self.counts.link_bytes += bytes;
        self.flights[flight as usize].parts.add(Part::Link, sent - now);
        self.finish(flight, done);
    }

    fn arrive(&mut self, now: Time, flight: u32, done: &mut Vec<Done>) {
        match self.flights[flight as usize].request.kind {
            Kind::Read => self.read(now, flight),
            Kind::Write => {
                if !self.parked.is_empty() || !self.has_room(now, flight) {
                    self.parked.push_back((flight, now));
                    self.unblock(now);
                } else {
                    self.admit(now, flight, now, done);
                }
            }
            Kind::Flush if !self.protected => {
                self.program_partials(now);
                let end = self.dies.iter().map(Die::tail).max().unwrap_or(now).max(now);
                self.flights[flight as usize].parts.add(Part::HostProgram, end - now);
                self.finish(flight, done);
            }
            Kind::Flush | Kind::Other => {
                self.background(now, flight);
                self.finish(flight, done);
            }
        }
    }

    fn finish(&mut self, flight: u32, done: &mut Vec<Done>) {
        let Flight { request, parts, work, .. } = &mut self.flights[flight as usize];
        work.clear();
        done.push(Done { request: *request, time: request.submitted + parts.total(), parts: *parts });
        self.free_flights.push(flight);
    }

    /// Returns whether what a write programs fits into the buffer.
    fn has_room(&mut self, now: Time, flight: u32) -> bool {
        let need = self.buffered(flight);
        if self.occupied + need > self.buffer_bytes {
            self.occupied -= self.dies.iter_mut().map(|die| die.finish(now)).sum::<u64>();
        }
        // A write larger than the buffer goes through it when it is empty.
        self.occupied + need <= self.buffer_bytes.max(need)
    }

    fn buffered(&self, flight: u32) -> u64 {
        let pages = self.flights[flight as usize].work.iter().map(|work| match work {
            MediaWork::Program { pages, cause: Cause::HostWrite(_) | Cause::ReadModifyWrite(_), .. } => {
                u64::from(*pages)
            }
            _ => 0,
        });
        pages.sum::<u64>() * self.shape.page_bytes
    }

    /// Admits parked writes, as far as there is room at `now`.
    fn release(&mut self, now: Time, done: &mut Vec<Done>) {
        self.occupied -= self.dies.iter_mut().map(|die| die.finish(now)).sum::<u64>();
        while let Some((flight, since)) = self.parked.front().copied() {
            if !self.has_room(now, flight) {
                break;
            }
            self.parked.pop_front();
            self.admit(now, flight, since, done);
        }
        self.unblock(now);
    }

    /// Programs what waits for a whole stripe, if only that could make room.
    fn unblock(&mut self, now: Time) {
        if !self.parked.is_empty() && self.dies.iter().all(|die| die.next_free().is_none()) {
            self.program_partials(now);
        }
    }

    fn program_partials(&mut self, now: Time) {
        for ru in 0..self.filling.len() {
            if self.filling[ru].pages > 0 {
                self.program_filling(RuId(ru as u32), now, Work::HostProgram);
            }
        }
    }

    /// Takes a write into the buffer that has waited since `since`.
    fn admit(&mut self, now: Time, flight: u32, since: Time, done: &mut Vec<Done>) {
        let Flight { request, parts, .. } = &mut self.flights[flight as usize];
        parts.add(Part::Buffer, now - since);
        self.directory.write(request.page, u64::from(request.pages), self.shape.page_bytes);
        self.background(now, flight);
        self.finish(flight, done);
    }

    /// Begins the work that a command causes.
    fn background(&mut self, now: Time, flight: u32) {
        let work = std::mem::take(&mut self.flights[flight as usize].work);
        // Valid pages of the victim whose collection is told, and how many of them a read of the cells brings.
        let (mut moved, mut per_read) = (0, 256);
        for work in &work {
            match *work {
                MediaWork::Read { pages, cause: Cause::Relocation { .. }, .. } => {
                    moved = pages;
                    per_read = self.pages_per_read(pages);
                }
                MediaWork::Program { ru, pages, cause: Cause::Relocation { .. }, .. } => {
                    self.pacing.add(Move { to: ru, pages, per_read });
                }
                MediaWork::Erase { ru } => {
                    self.pacing.freed(ru, u64::from(self.shape.pages_per_ru - moved));
                    moved = 0;
                }
                MediaWork::Read { ru, cause: Cause::ReadModifyWrite(_), .. } => {
                    self.draws += 1;
                    let die = self.group_die(ru, mix(self.draws));
                    self.background_read(die, now);
                }
                MediaWork::Read { .. } => {}
                MediaWork::Program { ru, pages, .. } => {
                    self.occupied += u64::from(pages) * self.shape.page_bytes;
                    self.fill(ru, pages, now, Work::HostProgram);
                    self.pacing.host_wrote(u64::from(pages));
                    self.write_metadata(now, pages);
                }
            }
        }
        self.flights[flight as usize].work = work;
        while let Some(due) = self.pacing.next() {
            match due {
                Due::Move(part) => self.relocate(part, now),
                Due::Erase(ru) => self.erase(ru, now),
            }
        }
    }

    /// Returns how many valid pages one read of a victim's cells brings, times 256, if `valid` of its pages are
    /// valid at random places.
    fn pages_per_read(&self, valid: u32) -> u32 {
        let share = f64::from(valid) / f64::from(self.shape.pages_per_ru);
        let unit = f64::from(self.unit);
        let read = 1.0 - (1.0 - share).powi(self.unit as i32);
        (unit * share / read.max(1e-9) * 256.0).round().max(256.0) as u32
    }

    fn relocate(&mut self, part: Move, now: Time) {
        self.to_read += i64::from(part.pages) * 256;
        while self.to_read > 0 {
            self.draws += 1;
            let die = self.group_die(part.to, mix(self.draws));
            self.background_read(die, now);
            self.to_read -= i64::from(part.per_read);
        }
        if self.gc_buffered {
            self.occupied += u64::from(part.pages) * self.shape.page_bytes;
        }
        // What is programmed was read ahead: a die does not stand still for a read of another.
        self.fill(part.to, part.pages, now, Work::GcProgram);
    }

    fn background_read(&mut self, die: usize, now: Time) {
        self.draws += 1;
        let length = self.read_time(mix(self.draws));
        self.counts.dies.add(Work::BackgroundRead, length);
        self.occupied -= self.dies[die].finish(now);
        self.dies[die].push(Work::BackgroundRead, now, length, 0);
    }

    fn read_time(&self, draw: u64) -> Time {
        self.times.read[(draw % self.times.read.len() as u64) as usize]
    }

    /// Adds pages to the programs of a reclaim unit, and starts those that are whole.
    fn fill(&mut self, ru: RuId, pages: u32, now: Time, work: Work) {
        let mut left = pages;
        while left > 0 {
            let filling = &mut self.filling[ru.index()];
            let rest = self.shape.pages_per_ru - filling.received;
            let count = left.min(self.stripe - filling.pages).min(rest);
            left -= count;
            filling.pages += count;
            let buffered = work == Work::HostProgram || self.gc_buffered;
            filling.buffered += if buffered { count } else { 0 };
            filling.received += count;
            if filling.received == self.shape.pages_per_ru {
                filling.received = 0;
            } else if filling.pages < self.stripe {
                break;
            }
            self.program_filling(ru, now, work);
        }
    }

    /// Programs what a reclaim unit has received, all of a program or not.
    fn program_filling(&mut self, ru: RuId, now: Time, work: Work) {
        let filling = &mut self.filling[ru.index()];
        let pages = std::mem::take(&mut filling.pages);
        let buffered = u64::from(std::mem::take(&mut filling.buffered));
        let number = u64::from(filling.programs) + mix(u64::from(ru.0)) % (1 << 32);
        filling.programs = filling.programs.wrapping_add(1);
        let die = self.group_die(ru, number);
        self.program(die, now, pages, work, buffered * self.shape.page_bytes);
    }

    /// Programs pages on a die.
    fn program(&mut self, die: usize, now: Time, pages: u32, work: Work, frees: u64) {
        let bytes = u64::from(pages) * self.shape.page_bytes;
        let channel = die % self.channels.len();
        let ready = self.channels[channel][0].serve(now, self.times.channel.time(bytes));
        self.counts.channel_bytes += bytes;
        // A program of fewer pages takes its share of the time: reclaim units need not hold whole programs.
        let length = self.times.program * u64::from(pages) / u64::from(self.stripe);
        self.counts.dies.add(work, length);
        self.occupied -= self.dies[die].finish(now);
        self.dies[die].push(work, ready, length, frees);
    }

    fn write_metadata(&mut self, now: Time, pages: u32) {
        self.metadata += u64::from(pages) * self.metadata_share;
        while self.metadata >> 32 >= u64::from(self.stripe) {
            self.metadata -= u64::from(self.stripe) << 32;
            let die = self.next_metadata_die;
            self.next_metadata_die = (die + 1) % self.dies.len();
            self.counts.metadata_bytes += u64::from(self.stripe) * self.shape.page_bytes;
            self.program(die, now, self.stripe, Work::MetadataProgram, 0);
        }
    }

    /// Erases a reclaim unit: its part of a block on every die.
    fn erase(&mut self, ru: RuId, now: Time) {
        let first = self.group_of(ru) * self.dies_per_group;
        for die in first as usize..(first + self.dies_per_group) as usize {
            self.erase_owed[die] += self.erase_share;
            while self.times.erase > 0 && self.erase_owed[die] >= self.times.erase {
                self.erase_owed[die] -= self.times.erase;
                self.counts.erases += 1;
                self.counts.dies.add(Work::Erase, self.times.erase);
                self.occupied -= self.dies[die].finish(now);
                self.dies[die].push(Work::Erase, now, self.times.erase, 0);
            }
        }
    }

    fn group_of(&self, ru: RuId) -> u32 {
        (ru.0 / self.rus_per_group).min(u32::from(self.shape.groups) - 1)
    }

    /// Returns a die of the group of a reclaim unit.
    fn group_die(&self, ru: RuId, number: u64) -> usize {
        let within = number % u64::from(self.dies_per_group);
        (self.group_of(ru) * self.dies_per_group) as usize + within as usize
    }

    /// Reads what a host asks for: from the buffer, from the cells, or nothing where nothing was written.
    fn read(&mut self, now: Time, flight: u32) {
        let work = std::mem::take(&mut self.flights[flight as usize].work);
        let mut at = self.flights[flight as usize].request.page;
        let reads = work.iter().filter_map(|work| match *work {
            MediaWork::Read { ru, pages, cause: Cause::HostRead } => Some((ru, pages)),
            _ => None,
        });
        for (ru, mut left) in reads {
            // Pages that one read of the cells brings lie on one die.
            let unit = u64::from(self.unit);
            while left > 0 {
                let count = (unit - at % unit).min(u64::from(left)) as u32;
                let mut pages = at..at + u64::from(count);
                if pages.all(|page| self.directory.holds(page, self.occupied)) {
                    self.counts.buffer_reads += 1;
                } else {
                    self.read_cells(now, flight, ru, at / unit, count);
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

    /// Reads `pages` pages of one unit from the cells.
    fn read_cells(&mut self, now: Time, flight: u32, ru: RuId, unit: u64, pages: u32) {
        let place = mix(unit ^ u64::from(ru.0) << 40);
        let die = self.group_die(ru, place);
        let length = self.read_time(place >> 32);
        self.occupied -= self.dies[die].finish(now);
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
        let read = self.dies[die].read(now, length, &self.times.slices, misses);
        self.counts.dies.add(Work::HostRead, length);
        let mut parts = Parts::default();
        parts.add(Part::Reads, read.behind_reads);
        parts.add(Part::Cells, length);
        if let Some((work, wait)) = read.behind {
            parts.wait_for(work, wait);
        }
        let flight_data = &mut self.flights[flight as usize];
        flight_data.missing += 1;
        if read.end >= flight_data.last.0 {
            flight_data.last = (read.end, parts);
        }
        self.schedule(read.end, flight, Event::Transfer { die: die as u32, pages });
    }
}
