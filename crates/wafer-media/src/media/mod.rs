//! The timing of the whole drive: commands arrive with the work that they cause, and complete.
//!
//! This file has the controller, the link and the order of events. `reads.rs`: host reads. `writes.rs`: pacing, the
//! write buffer and flushes. `background.rs`: programs, relocation, erases and metadata. `cache.rs`: the SLC cache.
//! `times.rs`: the configuration.

mod background;
mod cache;
mod reads;
mod times;
mod writes;

use std::collections::VecDeque;

use wafer_interface::{Cause, GcPacing, MediaWork, RuId, TimingConfig};

use self::cache::Cache;
use self::times::Times;
use self::writes::Flush;
use crate::agenda::Agenda;
use crate::arbiter::Arbiter;
use crate::die::{DieRead, Room};
use crate::dies::Dies;
use crate::directory::Directory;
use crate::group::{Beside, Group};
use crate::request::{Kind, Request};
use crate::time::{Server, Time};
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
    /// Reclaim groups; each has its share of the dies.
    pub groups: u16,
}

/// A command whose completion time is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The request.
    pub request: Request,
    /// When it completes.
    pub time: Time,
    /// The parts of its latency.
    pub parts: Parts,
}

/// A request between its submission and its completion.
#[derive(Debug)]
struct Flight {
    /// Requests are numbered in the order of their submission.
    number: u64,
    request: Request,
    parts: Parts,
    work: Vec<MediaWork>,
    /// Bytes of the write buffer that a write takes.
    room: u64,
    /// Reads of cells that have not finished yet.
    missing: u32,
    /// When it began to wait for a part of the map.
    mapping: Option<Time>,
    /// The read of cells that ends last.
    last: DieRead,
}

/// What happens to a flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// It enters a submission queue, from which the controller takes it.
    Submit,
    /// The data of a write is in the drive, which may hold it back for garbage collection.
    Pace,
    /// The controller hands it to the media.
    Arrive,
    /// A read of cells has ended; the data goes over a channel.
    Transfer { die: u32, bytes: u32 },
    /// A channel has brought data of a read.
    Brought,
    /// All data of a read has arrived and goes over the link.
    Send,
}

/// Number of FIFOs for events that come in order.
const FIFOS: usize = 4;

impl Event {
    /// The first FIFO of events that lead to the dies.
    const PACED: usize = 1;

    /// Returns the FIFO of an event for a kind of request; `None` for events that come from many dies and channels.
    fn fifo(self, kind: Kind) -> Option<usize> {
        match self {
            Event::Submit => Some(0),
            Event::Pace => Some(Self::PACED),
            Event::Arrive => Some(2 + usize::from(kind == Kind::Write)),
            Event::Transfer { .. } | Event::Brought | Event::Send => None,
        }
    }
}

/// What a reclaim unit has received since it was opened.
#[derive(Clone, Copy, Debug, Default)]
struct Filling {
    received: u32,
    /// Pages that are not part of a program yet, and how many of them hosts wrote.
    pages: u32,
    host: u32,
    /// Programs so far: they go from die to die.
    programs: u32,
    /// Where the next page goes; 0 if unknown, as before the first program.
    end: u32,
}

/// The size of recent host writes.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    pages: u64,
    writes: u64,
}

impl Recent {
    /// Counts a write. Each time two reclaim units have been written, the weight of all writes so far is halved.
    fn add(&mut self, pages: u32, pages_per_ru: u32) {
        self.pages += u64::from(pages);
        self.writes += 1;
        if self.pages >= 2 * u64::from(pages_per_ru) {
            (self.pages, self.writes) = (self.pages / 2, self.writes.div_ceil(2));
        }
    }

    /// Returns the mean size of a write in pages, at least one.
    fn mean(self) -> u32 {
        (self.pages / self.writes.max(1)).clamp(1, u64::from(u32::MAX)) as u32
    }
}

/// The media, channels, link and buffer of a drive.
#[derive(Debug)]
pub struct Media {
    shape: Shape,
    times: Times,
    /// Pages in a one-shot program, and in one page of all planes.
    stripe: u32,
    unit: u32,
    /// Maximum pages that one host read takes from the cells.
    read_unit: u64,
    dies: Dies,
    /// For each channel, its program data and its read data.
    channels: Vec<[Server; 2]>,
    controller: Server,
    /// Number of commands that the controller may work on, number that it works on, number of requests that are
    /// submitted but have not reached their submission time, and those that wait in the submission queues.
    command_slots: usize,
    taken: usize,
    submitted: usize,
    waiting: Arbiter,
    link: [Server; 2],
    cap: Server,
    buffer_bytes: u64,
    protected: bool,
    /// Whether relocated pages occupy the buffer too.
    gc_buffered: bool,
    occupied: Room,
    directory: Directory,
    /// The data that each reclaim unit has received.
    filling: Vec<Filling>,
    /// Events of flights, by time and number of the request.
    events: Agenda<(Event, u32), FIFOS>,
    flights: Vec<Flight>,
    free_flights: Vec<u32>,
    /// How many flights wait for a part of the map.
    mapping: u32,
    /// Writes that wait for room, and since when.
    parked: VecDeque<(u32, Time)>,
    /// A write that has begun to go into the buffer and does not fit yet, and since when.
    entering: Option<(u32, Time)>,
    /// Flushes that wait for programs.
    flushes: Vec<Flush>,
    /// Programs so far.
    programs: u64,
    groups: Vec<Group>,
    recent: Recent,
    /// Nanoseconds of erases that each die owes.
    erase_owed: Vec<Time>,
    erase_share: Time,
    metadata_share: u64,
    /// What each group programs outside its reclaim units. The last entry is that of the whole drive; with a single
    /// group, they are the same.
    beside: Vec<Beside>,
    cache: Cache,
    number: u64,
    draws: u64,
    counts: MediaCounts,
    /// Whether the counts were reset. Until then, work that begins ahead of its time would be counted before the reset.
    counts_begun: bool,
}

impl Media {
    /// Creates the idle media of a drive. The configuration must be [checked](TimingConfig::check).
    ///
    /// # Errors
    /// A key that does not fit the device, and why.
    pub fn new(config: &TimingConfig, shape: Shape) -> Result<Self, (&'static str, String)> {
        config.check(shape.page_bytes, shape.groups)?;
        let dies_per_group = config.dies / u32::from(shape.groups);
        let ru_bytes = u64::from(shape.pages_per_ru) * shape.page_bytes;
        let blocks = ru_bytes as f64 / f64::from(dies_per_group) / config.block.0 as f64;
        let stripe = config.program_bytes() as f64 / shape.page_bytes as f64;
        let unit =
            (u64::from(config.planes) * config.plane_page.0) as f64 / shape.page_bytes as f64;
        let burst = match config.gc_pacing {
            GcPacing::Smooth => 1,
            GcPacing::Burst => config.gc_burst.0 / shape.page_bytes,
        };
        let groups = Group::all(shape.groups, dies_per_group, burst);
        let whole = (groups.len() > 1).then_some(0..config.dies as usize);
        let beside = groups.iter().map(|group| group.dies.clone()).chain(whole).map(Beside::on);
        Ok(Media {
            times: Times::new(config, shape, stripe, unit),
            beside: beside.collect(),
            groups,
            stripe: (config.program_bytes() / shape.page_bytes) as u32,
            unit: (u64::from(config.planes) * config.plane_page.0 / shape.page_bytes) as u32,
            read_unit: config.read_bytes() / shape.page_bytes,
            dies: Dies::new(config.dies as usize, config.reading_planes() as usize),
            channels: vec![Default::default(); config.channels as usize],
            controller: Server::default(),
            command_slots: config.command_slots.map_or(usize::MAX, |slots| slots as usize),
            taken: 0,
            submitted: 0,
            waiting: Arbiter::new(config.arbitration_burst),
            link: Default::default(),
            cap: Server::default(),
            buffer_bytes: config.write_buffer.0,
            protected: config.buffer_protected,
            gc_buffered: config.gc_buffered,
            occupied: Room::default(),
            directory: Directory::default(),
            filling: vec![Filling::default(); shape.ru_count as usize],
            events: Agenda::default(),
            flights: Vec::new(),
            free_flights: Vec::new(),
            mapping: 0,
            parked: VecDeque::new(),
            entering: None,
            flushes: Vec::new(),
            programs: 0,
            recent: Recent::default(),
            erase_owed: vec![0; config.dies as usize],
            erase_share: (blocks * config.erase_us * 1e3).round() as Time,
            metadata_share: (config.metadata * 4_294_967_296.0) as u64,
            cache: Cache::new(
                config.dies,
                config.block.0 / u64::from(config.cell_bits) / shape.page_bytes,
            ),
            number: 0,
            draws: 0,
            counts: MediaCounts::default(),
            counts_begun: false,
            shape,
        })
    }

    /// Returns the counts of all work begun since the reset; the times of dies include work that is still queued.
    pub fn counts(&self) -> MediaCounts {
        self.counts
    }

    /// Returns the counts up to `now`: [`Self::counts`] without the time for which dies work after `now`.
    pub fn counts_until(&self, now: Time) -> MediaCounts {
        MediaCounts { dies: self.counts.dies.less(&self.dies.left(now)), ..self.counts }
    }

    /// Restarts the counts at `now`, with the time for which dies still have to work. From then on, reads may go to the
    /// dies as soon as they are submitted, ahead of their time.
    pub fn reset_counts(&mut self, now: Time) {
        self.counts = MediaCounts { dies: self.dies.left(now), ..MediaCounts::default() };
        self.counts_begun = true;
    }

    /// Returns the number of dies.
    pub fn die_count(&self) -> usize {
        self.dies.len()
    }

    /// Submits a request with the work that it causes. Requests must be submitted in order of time.
    pub fn submit(&mut self, request: Request, work: &[MediaWork]) {
        let flight = self.begin(request, work);
        // If a slot is free now and no earlier request waits or may have to wait, a slot is free at the time of
        // submission. Otherwise, that is only known then.
        if self.taken < self.command_slots && self.submitted == 0 && self.waiting.is_empty() {
            let (time, event) = self.take(request.submitted, flight);
            if request.kind == Kind::Read && self.is_next_to_arrive(time) {
                return self.read(time, flight);
            }
            return self.schedule(time, flight, event);
        }
        self.submitted += 1;
        self.schedule(request.submitted, flight, Event::Submit);
    }

    /// Lets the controller take a request from its submission queue. Returns what happens to it next, and when.
    #[inline]
    fn take(&mut self, now: Time, flight: u32) -> (Time, Event) {
        let Flight { request, parts, .. } = &mut self.flights[flight as usize];
        self.taken += 1;
        let (interval, overhead) = match request.kind {
            Kind::Read => (self.times.read_interval, self.times.read_overhead),
            _ => (self.times.write_interval, self.times.write_overhead),
        };
        let taken = self.controller.serve(now, interval);
        parts.add(Part::Controller, taken - request.submitted + overhead);
        let mut time = taken;
        if request.kind == Kind::Write {
            let length = self.times.link_write.time(request.bytes);
            time = self.link[1].serve(taken, length);
            parts.add(Part::Link, time - taken);
            self.counts.link_bytes += request.bytes;
        }
        let held = self.times.host_cap.is_some() || self.times.credit.is_some();
        (time, if request.kind == Kind::Write && held { Event::Pace } else { Event::Arrive })
    }

    /// Calls [`Self::take`], and schedules the next event among others at the same time.
    fn take_in_turn(&mut self, now: Time, flight: u32) {
        let (time, event) = self.take(now, flight);
        self.schedule(time, flight, event);
    }

    /// Returns whether nothing reaches the dies before `time`, when a command arrives that the controller has just
    /// taken. Later submissions arrive later, since the controller takes one after another. Data on its way to the host
    /// does not matter to the dies, but a part of the map does: a read of data follows it.
    #[inline]
    fn is_next_to_arrive(&mut self, time: Time) -> bool {
        self.counts_begun
            && self.mapping == 0
            && self.events.is_free(Event::PACED, time)
            && self.next_release() > time
    }

    fn begin(&mut self, request: Request, work: &[MediaWork]) -> u32 {
        let (parts, last) = (Parts::default(), DieRead::default());
        self.number += 1;
        let number = self.number;
        let room = if request.kind == Kind::Write { self.buffered(work) } else { 0 };
        match self.free_flights.pop() {
            Some(flight) => {
                let old = &mut self.flights[flight as usize];
                old.work.extend_from_slice(work);
                (old.number, old.request, old.parts, old.room) = (number, request, parts, room);
                (old.missing, old.last, old.mapping) = (0, last, None);
                flight
            }
            None => {
                let work = work.to_vec();
                let mapping = None;
                self.flights.push(Flight {
                    number,
                    request,
                    parts,
                    work,
                    room,
                    missing: 0,
                    mapping,
                    last,
                });
                self.flights.len() as u32 - 1
            }
        }
    }

    #[inline]
    fn schedule(&mut self, time: Time, flight: u32, event: Event) {
        let Flight { number, request, .. } = &self.flights[flight as usize];
        match event.fifo(request.kind) {
            Some(fifo) => self.events.push_in(fifo, time, *number, (event, flight)),
            None => self.events.push(time, *number, (event, flight)),
        }
    }

    /// Returns when the next event happens without another request.
    pub fn next_event(&mut self) -> Option<Time> {
        Some(self.events.first().min(self.next_release())).filter(|time| *time < Time::MAX)
    }

    /// Returns when the next program ends, if anything waits for that; otherwise the end of time.
    fn next_release(&mut self) -> Time {
        match self.waits_for_room() || !self.flushes.is_empty() {
            true => self.dies.next_free().unwrap_or(Time::MAX),
            false => Time::MAX,
        }
    }

    /// Frees the buffer of the data that dies have programmed by `now`.
    fn free_programmed(&mut self, now: Time) {
        self.occupied -= self.dies.finish(now);
    }

    /// Processes all events up to and including `until`, and appends the requests whose completion is known.
    pub fn advance(&mut self, until: Time, done: &mut Vec<Done>) {
        while self.advance_once(until, done).is_some() {}
    }

    /// Like [`Self::advance`], but stops at the first moment at which the completion of a request is known. Returns the
    /// time of the last event.
    pub fn advance_until_done(&mut self, until: Time, done: &mut Vec<Done>) -> Option<Time> {
        let mut last = None;
        while done.is_empty()
            && let Some(at) = self.advance_once(until, done)
        {
            last = Some(at);
        }
        last
    }

    /// Processes all events of the next moment, if it is not after `until`. Returns that moment.
    #[inline(always)]
    fn advance_once(&mut self, until: Time, done: &mut Vec<Done>) -> Option<Time> {
        let release = self.next_release();
        let at = self.events.first().min(release);
        if at > until || at == Time::MAX {
            return None;
        }
        if release == at {
            self.release(at, done);
        }
        while self.events.first() <= at
            && let Some((_, (event, flight))) = self.events.pop()
        {
            self.happen(at, flight, event, done);
        }
        Some(at)
    }

    #[inline(always)]
    fn happen(&mut self, now: Time, flight: u32, event: Event, done: &mut Vec<Done>) {
        match event {
            Event::Submit => {
                self.submitted -= 1;
                if self.taken < self.command_slots {
                    self.take_in_turn(now, flight);
                } else {
                    let queue = self.flights[flight as usize].request.queue;
                    self.waiting.push(queue, flight);
                }
            }
            Event::Pace => self.pace(now, flight, done),
            Event::Arrive => self.arrive(now, flight, done),
            Event::Transfer { die, bytes } => {
                let bytes = u64::from(bytes);
                let channel = die as usize % self.channels.len();
                let end = self.channels[channel][1].serve(now, self.times.channel.time(bytes));
                self.counts.channel_bytes += bytes;
                self.schedule(end, flight, Event::Brought);
            }
            Event::Brought => {
                let flight_data = &mut self.flights[flight as usize];
                flight_data.missing -= 1;
                if flight_data.missing > 0 {
                    return;
                }
                if let Some(since) = flight_data.mapping.take() {
                    flight_data.parts.add(Part::Map, now - since);
                    self.mapping -= 1;
                    self.read_data(now, flight);
                } else {
                    // The time that the slowest read does not account for was spent on the channel.
                    let (last, parts) = (flight_data.last, &mut flight_data.parts);
                    parts.add(Part::Reads, last.behind_reads);
                    parts.add(Part::Cells, last.length);
                    if let Some((work, wait)) = last.behind {
                        parts.wait_for(work, wait);
                    }
                    parts.add(Part::Channel, now - last.end);
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
        self.finish(now, flight, done);
    }

    #[inline]
    fn arrive(&mut self, now: Time, flight: u32, done: &mut Vec<Done>) {
        match self.flights[flight as usize].request.kind {
            Kind::Read => self.read(now, flight),
            Kind::Write => self.write(now, flight, done),
            Kind::Flush | Kind::Other => {
                self.background(now, flight);
                self.complete(now, flight, done);
            }
        }
    }

    fn finish(&mut self, now: Time, flight: u32, done: &mut Vec<Done>) {
        let Flight { request, parts, work, .. } = &mut self.flights[flight as usize];
        work.clear();
        done.push(Done {
            request: *request,
            time: request.submitted + parts.total(),
            parts: *parts,
        });
        self.free_flights.push(flight);
        self.taken -= 1;
        if let Some(next) = self.waiting.pop() {
            self.take_in_turn(now, next);
        }
    }

    fn read_time(&self, draw: u64) -> Time {
        self.times.read[(draw % self.times.read.len() as u64) as usize]
    }

    /// Returns the group of a reclaim unit: group `g` of `n` begins at `g / n` of all units, rounded down.
    fn group_of(&self, ru: RuId) -> usize {
        if self.shape.groups == 1 {
            return 0;
        }
        let before_next = (u64::from(ru.0) + 1) * u64::from(self.shape.groups) - 1;
        (before_next / u64::from(self.shape.ru_count)) as usize
    }

    /// Returns the group that a command works on: that of the first reclaim unit that it writes or reads for a host.
    fn group_of_flight(&self, flight: u32) -> usize {
        let rus = self.flights[flight as usize].work.iter().filter_map(|work| match *work {
            MediaWork::Program { cause: Cause::Relocation { .. }, .. } => None,
            MediaWork::Program { ru, .. } => Some(ru),
            MediaWork::Read { ru, cause: Cause::HostRead, .. } => Some(ru),
            _ => None,
        });
        if self.groups.len() == 1 { 0 } else { rus.map(|ru| self.group_of(ru)).next().unwrap_or(0) }
    }

    /// Returns a die of the group of a reclaim unit.
    fn group_die(&self, ru: RuId, number: u64) -> usize {
        let dies = &self.groups[self.group_of(ru)].dies;
        dies.start + (number % dies.len() as u64) as usize
    }
}
