//! The drive around the dies: a list of events, searched for the next one.

mod background;
mod reads;

use std::collections::BTreeMap;

use wafer_interface::{Cause, GcPacing, MediaWork, RuId, TimingConfig};
use wafer_media::{Done, Kind, MediaCounts, Part, Parts, Request, Shape, Time, Work};

use super::die::{Die, Ended};
use super::pacing::Pacing;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Submit,
    Pace,
    Arrive,
    Read { die: usize, bytes: u64 },
    Brought,
    Send,
}

/// A request in flight.
struct Flight<'a> {
    request: Request,
    work: &'a [MediaWork],
    parts: Parts,
    /// Reads of cells so far, those whose data has not arrived yet, and the last that ended: when, and which.
    units: u32,
    missing: u32,
    /// When it began to wait for its part of the map.
    waits_for_map: Option<Time>,
    last: (Time, u32, Parts),
}

/// Data of a reclaim unit that no program holds yet.
#[derive(Clone, Copy, Default)]
struct Filling {
    received: u32,
    pages: u32,
    /// The part of `pages` that a host wrote.
    host: u32,
    programs: u64,
}

struct Drive<'a> {
    config: &'a TimingConfig,
    shape: Shape,
    now: Time,
    events: Vec<(Time, usize, Event)>,
    flights: Vec<Flight<'a>>,
    dies: Vec<Die>,
    controller: Time,
    /// Number of requests that the controller works on, and those that wait for a command slot.
    slots_used: u32,
    queued: Vec<usize>,
    /// For each queue, the number of the event at which it began to wait for its turn.
    since: BTreeMap<u16, usize>,
    turn_events: usize,
    taken_in_turn: u32,
    link_read: Time,
    link_write: Time,
    /// For each channel, the end of its program data and of its read data.
    channels: Vec<[Time; 2]>,
    cap: Time,
    /// By group.
    paced: Vec<Time>,
    knee: Vec<Time>,
    /// Pages of hosts and of garbage collection in the buffer.
    occupied: [u64; 2],
    written: Vec<u64>,
    parked: Vec<(usize, Time)>,
    entering: Option<(usize, Time)>,
    flushes: Vec<(usize, Time, u64)>,
    filling: Vec<Filling>,
    /// Used pages of each reclaim unit, as far as programs have shown.
    used: BTreeMap<RuId, u32>,
    /// By group.
    pacing: Vec<Pacing>,
    to_read: Vec<i64>,
    /// Pages and number of recent writes.
    sizes: [u64; 2],
    erase_owed: Vec<Time>,
    /// By group, and last for the whole drive if that has several groups: metadata and other pages not programmed yet,
    /// and programs.
    metadata: Vec<u64>,
    beside: Vec<u64>,
    beside_programs: Vec<usize>,
    /// The SLC cache: pages that wait for a program, programs so far, pages of each die since its last erase, and pages
    /// that leave and have not been read.
    cached: u64,
    cache_programs: usize,
    cache_blocks: Vec<u64>,
    folded: u64,
    programs: u64,
    draws: u64,
    counts: MediaCounts,
    done: Vec<Done>,
}

fn ns(us: f64) -> Time {
    (us * 1e3).round() as Time
}

/// Returns when bytes that arrive at `now` have passed a line that is busy until `free`.
fn pass(free: Time, now: Time, bytes: u64, rate: u64) -> Time {
    let per_byte = (1e9 / rate as f64 * 4_294_967_296.0).round() as u128;
    free.max(now) + (u128::from(bytes) * per_byte).div_ceil(1 << 32) as Time
}

fn add(parts: &mut Parts, part: Part, time: Time) {
    parts.0[part as usize] += time;
}

/// Simulates requests, each submitted at its time; returns completions and counts.
pub(crate) fn simulate(
    config: &TimingConfig,
    shape: Shape,
    requests: &[(Request, Vec<MediaWork>)],
) -> (Vec<Done>, MediaCounts) {
    let burst = match config.gc_pacing {
        GcPacing::Smooth => 1,
        GcPacing::Burst => config.gc_burst.0 / shape.page_bytes,
    };
    let groups = usize::from(shape.groups);
    let mut drive = Drive {
        config,
        shape,
        now: 0,
        events: Vec::new(),
        flights: Vec::new(),
        dies: (0..config.dies).map(|_| Die::new(config.reading_planes())).collect(),
        controller: 0,
        slots_used: 0,
        queued: Vec::new(),
        since: BTreeMap::new(),
        turn_events: 0,
        taken_in_turn: 0,
        link_read: 0,
        link_write: 0,
        channels: vec![[0; 2]; config.channels as usize],
        cap: 0,
        paced: vec![0; groups],
        knee: vec![0; groups],
        occupied: [0, 0],
        written: Vec::new(),
        parked: Vec::new(),
        entering: None,
        flushes: Vec::new(),
        filling: vec![Filling::default(); shape.ru_count as usize],
        used: BTreeMap::new(),
        pacing: (0..groups).map(|_| Pacing::new(burst)).collect(),
        to_read: vec![0; groups],
        sizes: [0; 2],
        erase_owed: vec![0; config.dies as usize],
        metadata: vec![0; groups + 1],
        beside: vec![0; groups + 1],
        beside_programs: vec![0; groups + 1],
        cached: 0,
        cache_programs: 0,
        cache_blocks: vec![0; config.dies as usize],
        folded: 0,
        programs: 0,
        draws: 0,
        counts: MediaCounts::default(),
        done: Vec::new(),
    };
    for (number, (request, work)) in requests.iter().enumerate() {
        let parts = Parts::default();
        drive.flights.push(Flight {
            request: *request,
            work,
            parts,
            units: 0,
            missing: 0,
            waits_for_map: None,
            last: (0, 0, parts),
        });
        drive.events.push((request.submitted, number, Event::Submit));
    }
    while drive.step() {}
    let read_times = drive.dies.iter().map(|die| die.read_time);
    drive.counts.dies.0[Work::HostRead as usize] = read_times.sum();
    for (work, time) in drive.dies.iter().flat_map(|die| &die.resumed) {
        drive.counts.dies.0[*work as usize] += time;
    }
    (drive.done, drive.counts)
}

impl Drive<'_> {
    /// Advances to the next instant at which anything happens.
    fn step(&mut self) -> bool {
        let of_dies = self.dies.iter().filter_map(|die| die.next(self.now)).min();
        let of_events = self.events.iter().map(|(time, ..)| *time).min();
        let Some(now) = of_dies.into_iter().chain(of_events).min() else { return false };
        self.now = now;
        self.end_of_work();
        while let Some(at) = (0..self.events.len())
            .filter(|at| self.events[*at].0 == now)
            .min_by_key(|at| self.events[*at])
        {
            let (_, number, event) = self.events.remove(at);
            self.happen(number, event);
        }
        let resume = ns(self.config.resume_us);
        self.dies.iter_mut().for_each(|die| die.go_on(now, resume));
        true
    }

    fn end_of_work(&mut self) {
        let mut freed = [0, 0];
        for number in 0..self.dies.len() {
            while let Some(ended) = self.dies[number].end(self.now) {
                match ended {
                    Ended::Job(job) => {
                        freed = [freed[0] + job.frees[0], freed[1] + job.frees[1]];
                    }
                    Ended::Read(read) => self.cells_read(number, &read),
                }
            }
        }
        self.occupied = [self.occupied[0] - freed[0], self.occupied[1] - freed[1]];
        if freed != [0, 0] {
            self.complete_flushes();
            if let Some((number, since)) = self.entering
                && self.fits(0)
            {
                self.entering = None;
                add(&mut self.flights[number].parts, Part::Buffer, self.now - since);
                self.end_of_write(number);
            }
            while let Some((number, since)) = self.parked.first().copied() {
                if self.entering.is_some() || !self.has_room(number) {
                    break;
                }
                self.parked.remove(0);
                self.admit(number, since);
            }
            self.unblock();
        }
    }

    fn happen(&mut self, number: usize, event: Event) {
        let now = self.now;
        let request = self.flights[number].request;
        match event {
            Event::Submit => {
                if !self.has_queued(request.queue) {
                    self.wait_for_turn(request.queue);
                }
                self.queued.push(number);
                self.take();
            }
            Event::Pace => {
                let time = self.pace(&request, self.group_of_request(number));
                add(&mut self.flights[number].parts, Part::Pacing, time - now);
                self.events.push((time, number, Event::Arrive));
            }
            Event::Arrive => self.arrive(number),
            Event::Read { die, bytes } => {
                let line = die % self.channels.len();
                let end = pass(self.channels[line][1], now, bytes, self.config.channel_rate.0);
                self.channels[line][1] = end;
                self.counts.channel_bytes += bytes;
                self.events.push((end, number, Event::Brought));
            }
            Event::Brought => {
                self.flights[number].missing -= 1;
                if self.flights[number].missing > 0 {
                    return;
                }
                if let Some(since) = self.flights[number].waits_for_map {
                    self.flights[number].waits_for_map = None;
                    add(&mut self.flights[number].parts, Part::Map, now - since);
                    self.read_data(number);
                } else {
                    let (end, _, parts) = self.flights[number].last;
                    let flight = &mut self.flights[number];
                    for (own, part) in flight.parts.0.iter_mut().zip(parts.0) {
                        *own += part;
                    }
                    add(&mut flight.parts, Part::Channel, now - end);
                    self.send(number);
                }
            }
            Event::Send => self.send(number),
        }
    }

    /// Gives free command slots to the requests that wait for one.
    fn take(&mut self) {
        let slots = self.config.command_slots.unwrap_or(u32::MAX);
        while self.slots_used < slots && !self.queued.is_empty() {
            self.slots_used += 1;
            let number = match self.config.arbitration_burst {
                None => self.queued.remove(0),
                Some(burst) => self.next_in_turn(burst),
            };
            self.submit(number);
        }
    }

    fn has_queued(&self, queue: u16) -> bool {
        self.queued.iter().any(|number| self.flights[*number].request.queue == queue)
    }

    fn wait_for_turn(&mut self, queue: u16) {
        self.turn_events += 1;
        self.since.insert(queue, self.turn_events);
    }

    /// Removes the first request of the queue whose turn it is.
    fn next_in_turn(&mut self, burst: u32) -> usize {
        let queues = self.queued.iter().map(|number| self.flights[*number].request.queue);
        let queue = queues.min_by_key(|queue| self.since[queue]).unwrap();
        let of_queue = |number: &usize| self.flights[*number].request.queue == queue;
        let number = self.queued.remove(self.queued.iter().position(of_queue).unwrap());
        self.taken_in_turn += 1;
        if self.taken_in_turn == burst || !self.has_queued(queue) {
            self.taken_in_turn = 0;
            self.wait_for_turn(queue);
        }
        number
    }

    fn submit(&mut self, number: usize) {
        let request = self.flights[number].request;
        let (iops, overhead) = match request.kind {
            Kind::Read => (self.config.read_iops, self.config.read_overhead_us),
            _ => (self.config.write_iops, self.config.write_overhead_us),
        };
        let taken =
            self.controller.max(self.now) + iops.map_or(0, |iops| (1e9 / iops).round() as Time);
        self.controller = taken;
        let waited = taken - request.submitted;
        add(&mut self.flights[number].parts, Part::Controller, waited + ns(overhead));
        if request.kind != Kind::Write {
            return self.events.push((taken, number, Event::Arrive));
        }
        let there = pass(self.link_write, taken, request.bytes, self.config.link_write.0);
        self.link_write = there;
        self.counts.link_bytes += request.bytes;
        add(&mut self.flights[number].parts, Part::Link, there - taken);
        self.events.push((there, number, Event::Pace));
    }

    /// Returns when garbage collection lets a write proceed.
    fn pace(&mut self, request: &Request, group: usize) -> Time {
        if self.pacing[group].left() == 0 {
            return self.now;
        }
        let mut time = self.now;
        let share = self.pacing[group].share();
        let is_capped = share >= (1 << 32) / 50;
        if let (Some(rate), true) = (self.config.gc_host_rate, is_capped) {
            time = pass(self.cap, time, request.bytes, rate.0);
            self.cap = time;
        }
        let Some(credit) = self.config.gc_credit else { return time };
        let config = self.config;
        let stripe = config.program_bytes() as f64 / self.shape.page_bytes as f64;
        let unit =
            (u64::from(config.planes) * config.plane_page.0) as f64 / self.shape.page_bytes as f64;
        let reads = config.read_us.as_slice();
        let mean_read = reads.iter().sum::<f64>() / reads.len() as f64;
        let dies = self.dies.len() / self.pacing.len();
        let per_page = |us: f64| (us / dies as f64 * 1e3 * 65_536.0).round() as u128;
        let moved = per_page(config.program_us / stripe + mean_read / unit);
        let each = per_page(config.program_us / stripe) + ((moved * share) >> 32);
        let cost = ((u128::from(request.pages) * each) >> 16) as Time;
        let credit = credit.0.div_ceil(self.shape.page_bytes);
        let ahead = ((u128::from(credit) * each) >> 16) as Time;
        if config.gc_knee > 0.0 {
            let window = 10_000_000;
            let share = (config.gc_knee * 4_294_967_296.0) as u128;
            let end = self.knee[group].max(time) + ((u128::from(cost) << 32) / share) as Time;
            self.knee[group] = end.min(time + 2 * window);
            if end < time + window {
                return time;
            }
        }
        self.paced[group] = self.paced[group].max(time) + cost;
        time.max(self.paced[group].saturating_sub(ahead))
    }

    fn arrive(&mut self, number: usize) {
        match self.flights[number].request.kind {
            Kind::Read => self.read(number),
            Kind::Write => {
                let waits = self.entering.is_some() || !self.parked.is_empty();
                if !waits && self.has_room(number) {
                    self.admit(number, self.now);
                } else {
                    self.parked.push((number, self.now));
                }
                self.unblock();
            }
            Kind::Flush => self.flush(number),
            Kind::Other => {
                self.background(number);
                self.finish(number);
            }
        }
    }

    fn finish(&mut self, number: usize) {
        let Flight { request, parts, .. } = &self.flights[number];
        let time = request.submitted + parts.0.iter().sum::<Time>();
        self.done.push(Done { request: *request, time, parts: *parts });
        self.slots_used -= 1;
        self.take();
    }

    fn send(&mut self, number: usize) {
        let bytes = self.flights[number].request.bytes;
        let sent = pass(self.link_read, self.now, bytes, self.config.link_read.0);
        self.link_read = sent;
        self.counts.link_bytes += bytes;
        add(&mut self.flights[number].parts, Part::Link, sent - self.now);
        self.finish(number);
    }

    fn has_room(&self, number: usize) -> bool {
        let need = self.need(number) * self.shape.page_bytes;
        self.fits(need.min(self.config.write_buffer.0 / 2))
    }

    /// Returns whether `bytes` more fit into the buffer.
    fn fits(&self, bytes: u64) -> bool {
        let occupied = (self.occupied[0] + self.occupied[1]) * self.shape.page_bytes;
        occupied + bytes <= self.config.write_buffer.0
    }

    /// Returns the buffer pages that a write takes.
    fn need(&self, number: usize) -> u64 {
        let mut need = 0;
        let work = self.flights[number].work;
        let is_fold = |work: &MediaWork| matches!(work, MediaWork::Fold { .. });
        for (at, work) in work.iter().enumerate() {
            match work {
                MediaWork::CacheProgram { pages } => need += u64::from(*pages),
                MediaWork::Program { pages, cause, .. }
                    if !matches!(cause, Cause::Relocation { .. })
                        && !self.flights[number].work[..at].iter().any(is_fold) =>
                {
                    need += u64::from(*pages);
                }
                _ => {}
            }
        }
        need
    }

    fn programs_queued(&self) -> Vec<u64> {
        self.dies.iter().flat_map(Die::programs).collect()
    }

    fn unblock(&mut self) {
        let waits = self.entering.is_some() || !self.parked.is_empty();
        if waits && self.programs_queued().is_empty() {
            self.program_incomplete();
        }
    }

    fn program_incomplete(&mut self) {
        for ru in 0..self.shape.ru_count {
            let Filling { pages, host, .. } = self.filling[ru as usize];
            if host > 0 {
                self.program(RuId(ru), Work::HostProgram, true);
            } else if pages > 0 && self.config.gc_buffered {
                self.program(RuId(ru), Work::GcProgram, true);
            }
        }
        if self.cached > 0 {
            self.program_cache();
        }
    }

    fn complete_flushes(&mut self) {
        let queued = self.programs_queued();
        for (number, since, last) in std::mem::take(&mut self.flushes) {
            if queued.iter().any(|program| *program <= last) {
                self.flushes.push((number, since, last));
            } else {
                add(&mut self.flights[number].parts, Part::HostProgram, self.now - since);
                self.finish(number);
            }
        }
    }

    fn admit(&mut self, number: usize, since: Time) {
        let request = self.flights[number].request;
        add(&mut self.flights[number].parts, Part::Buffer, self.now - since);
        self.read_old_pages(number);
        self.written.extend(request.page..request.page + u64::from(request.pages));
        let is_large = self.need(number) * self.shape.page_bytes > self.config.write_buffer.0 / 2;
        self.background(number);
        if is_large && !self.fits(0) {
            self.entering = Some((number, self.now));
        } else {
            self.end_of_write(number);
        }
    }

    fn end_of_write(&mut self, number: usize) {
        if self.flights[number].request.durable {
            self.flush(number);
        } else {
            self.finish(number);
        }
    }

    fn flush(&mut self, number: usize) {
        if self.config.buffer_protected {
            return self.finish(number);
        }
        self.program_incomplete();
        self.flushes.push((number, self.now, self.programs));
        self.complete_flushes();
    }
}
