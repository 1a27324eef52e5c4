//! The event loop of a run with a clock: the next event is a submission, a completion, or one of the media.

use wafer_interface::{
    Batch, Command, CommandStream, Completion, LBA_BYTES, StreamDescription, StreamState,
    TimingConfig, stream,
};
use wafer_latency::{Job, Statistics};
use wafer_media::{Agenda, Done, Kind, Media, Request, Shape, Time};
use wafer_record::time::LifeRecord;
use wafer_record::{Recorder, TimeRecord, endurance};

use crate::drive::Drive;
use wafer_experiment::LabError;
use wafer_experiment::Placements;
use wafer_experiment::source::TimedJob;

/// Number of commands requested from a stream at once.
const BATCH: usize = 64;
/// Number of commands whose map memory is prefetched at once, so that the accesses overlap.
const GROUP: usize = 8;

/// Hosts and media of a run with a clock.
pub(crate) struct TimedRun<'a> {
    device: &'a mut Drive,
    stream: &'a mut dyn CommandStream,
    description: StreamDescription,
    placements: Placements,
    media: Media,
    statistics: Statistics,
    now: Time,
    /// When the measurement started, and the bytes that hosts had written by then.
    measured_from: Time,
    measured_from_bytes: u64,
    /// Submissions, as slots of commands, with a FIFO for immediate ones and one for later ones.
    due: Agenda<u64, 2>,
    commands: Slots,
    /// Completions, as slots of commands, with a FIFO for reads and one for all others.
    flying: Agenda<u64, 2>,
    done: Vec<Done>,
    in_flight: u32,
    number: u64,
    ended: bool,
    limit: u64,
    /// The batch that the stream appends to.
    batch: Batch,
    /// Later commands: those of the first group have had their map memory prefetched.
    ahead: Vec<Command>,
    /// First page of each namespace, numbered over all namespaces.
    first_pages: Vec<u64>,
    /// Logarithm of the logical blocks per page.
    page_shift: u32,
    /// For each job, whether its writes complete only when they are durable; empty if no job's do.
    durable: Vec<bool>,
    /// Commands in the order in which the device executed them.
    #[cfg(test)]
    pub(super) applied: Vec<Command>,
}

/// Returns a job for the statistics.
fn measured(job: &TimedJob) -> Job {
    Job::new(job.name.clone(), job.ramp, job.replaces)
}

/// Commands with their tickets, by slot number; slots are reused.
#[derive(Default)]
struct Slots {
    commands: Vec<(Command, u64)>,
    free: Vec<u32>,
}

impl Slots {
    fn put(&mut self, command: Command, ticket: u64) -> u64 {
        match self.free.pop() {
            Some(slot) => {
                self.commands[slot as usize] = (command, ticket);
                u64::from(slot)
            }
            None => {
                self.commands.push((command, ticket));
                self.commands.len() as u64 - 1
            }
        }
    }

    fn get(&self, slot: u64) -> (Command, u64) {
        self.commands[slot as usize]
    }

    fn take(&mut self, slot: u64) -> (Command, u64) {
        self.free.push(slot as u32);
        self.commands[slot as usize]
    }
}

impl<'a> TimedRun<'a> {
    /// Prepares a run. `jobs` are the jobs that the tickets of the stream number.
    ///
    /// # Errors
    /// A key of the timing does not fit the device; the error has the key and the reason.
    pub(crate) fn new(
        device: &'a mut Drive,
        stream: &'a mut dyn CommandStream,
        timing: &TimingConfig,
        jobs: &[TimedJob],
        limit: Option<u64>,
    ) -> Result<Self, (&'static str, String)> {
        let geometry = device.geometry();
        let shape = Shape {
            page_bytes: geometry.page_bytes,
            pages_per_ru: geometry.pages_per_ru,
            ru_count: geometry.ru_count,
            groups: geometry.groups,
        };
        let mut media = Media::new(timing, shape)?;
        if jobs.is_empty() {
            // Without jobs, everything counts.
            media.reset_counts(0);
        }
        let mut first_pages = Vec::new();
        let mut pages = 0;
        for bytes in geometry.namespace_bytes() {
            first_pages.push(pages);
            pages += bytes / geometry.page_bytes;
        }
        let description = stream.description();
        let placements = Placements::of(geometry, description);
        let page_shift = (geometry.page_bytes / LBA_BYTES).trailing_zeros();
        device.observer_mut().wants_work = true;
        Ok(TimedRun {
            placements,
            statistics: Statistics::new(jobs.iter().map(measured).collect(), first_pages.len()),
            page_shift,
            durable: if jobs.iter().any(|job| job.sync) {
                jobs.iter().map(|job| job.sync).collect()
            } else {
                Vec::new()
            },
            device,
            stream,
            description,
            media,
            now: 0,
            measured_from: 0,
            measured_from_bytes: 0,
            due: Agenda::default(),
            commands: Slots::default(),
            flying: Agenda::default(),
            done: Vec::new(),
            in_flight: 0,
            number: 0,
            ended: false,
            limit: limit.unwrap_or(u64::MAX),
            batch: Batch::default(),
            ahead: Vec::with_capacity(2 * GROUP),
            first_pages,
            #[cfg(test)]
            applied: Vec::new(),
        })
    }

    /// Runs until nothing is left to do. `each` is called about once in a thousand events; an error from it stops the
    /// run.
    ///
    /// # Errors
    /// That of `each`, or the workload waits forever.
    pub(crate) fn run(
        &mut self,
        recorder: &mut Recorder,
        mut each: impl FnMut(&mut Self) -> Result<(), LabError>,
    ) -> Result<(), LabError> {
        self.pull(recorder)?;
        let mut events = 0u64;
        loop {
            let flying = self.flying.first();
            let host = self.due.first().min(flying);
            if let Some(moment) = self.media.advance_until_done(host, &mut self.done) {
                self.now = self.now.max(moment);
                for done in &self.done {
                    self.number += 1;
                    let slot = done.request.ticket;
                    self.statistics.add(done, self.commands.get(slot));
                    let fifo = usize::from(done.request.kind != Kind::Read);
                    self.flying.push_in(fifo, done.time, self.number, slot);
                }
                self.done.clear();
            } else if host == Time::MAX {
                break;
            } else if flying == host {
                self.now = self.now.max(host);
                self.complete(recorder)?;
            } else {
                let Some((time, slot)) = self.due.pop() else { break };
                self.submit(time, slot, recorder);
                // What arrives by its time does so whether or not anything completes.
                if !self.description.waits && self.due.count() < BATCH / 2 {
                    self.pull(recorder)?;
                }
            }
            events += 1;
            if events.is_multiple_of(1024) {
                each(self)?;
            }
        }
        // A run that ended by itself lasts until the end of its jobs' run times.
        if !self.is_over() {
            self.now = self.now.max(self.statistics.end());
        }
        Ok(())
    }

    pub(crate) fn device(&mut self) -> &mut Drive {
        self.device
    }

    /// Returns the model time in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        self.now as f64 / 1e9
    }

    /// Returns the results so far.
    pub(crate) fn record(&self, timing: &TimingConfig, pe_cycles: Option<u32>) -> TimeRecord {
        let handle_of = |namespace, placement| self.device.handle(namespace, placement);
        let (span, done) = ((self.measured_from, self.now), self.media.counts_until(self.now));
        let done = (done, self.media.die_count());
        let record = self.statistics.record(span, done, timing, handle_of);
        TimeRecord { life: self.life(&record, timing, pe_cycles), ..record }
    }

    /// Returns the lifetime of the drive at the run's write rate; `None` without writes.
    fn life(
        &self,
        record: &TimeRecord,
        timing: &TimingConfig,
        pe_cycles: Option<u32>,
    ) -> Option<LifeRecord> {
        let (counters, geometry) = (self.device.counters(), self.device.geometry());
        // Metadata wears the media, too, for each page that is programmed.
        let pages = counters.host_pages as f64 * geometry.page_bytes as f64;
        let media = counters.media_bytes as f64 + timing.metadata * pages;
        let waf = media / counters.host_bytes as f64;
        let (bytes, flash) = (geometry.logical_bytes(), geometry.flash_bytes());
        let drive = endurance::Drive::of_device(bytes, flash, pe_cycles);
        // Writes in later ramps are not results of a job, but they wear the drive during the run. After a search for a
        // queue depth, the lifetime is that at the depth found.
        let written = counters.host_bytes - self.measured_from_bytes;
        let rate = match self.statistics.searches() {
            true => record.write.as_ref()?.bytes_per_second,
            false => written as f64 / record.seconds.max(1e-9),
        };
        let life = drive.life(waf, Some(rate * 86_400.0).filter(|rate| *rate > 0.0)?).ok()?;
        Some(LifeRecord {
            rated_media_bytes: drive.media_bytes(),
            dwpd: life.dwpd,
            years: life.years,
        })
    }

    /// Takes the commands that the stream has ready.
    fn pull(&mut self, recorder: &mut Recorder) -> Result<(), LabError> {
        // After the volume, completions are not reported, so the workload would wait forever.
        self.ended |= self.is_over();
        while !self.ended {
            if !self.description.waits && self.due.count() >= BATCH {
                return Ok(());
            }
            self.batch.clear();
            let state = self.stream.next(&mut self.batch, BATCH);
            for (ticket, time) in &self.batch.begun {
                self.statistics.begins(*ticket, *time);
            }
            self.placements.resolve(&mut self.batch.commands);
            for at in 0..self.batch.len() {
                let time = self.batch.times.get(at).copied().unwrap_or(self.now).max(self.now);
                if time == Time::MAX {
                    let reason = "a command comes after the end of model time, which is 584 years";
                    return Err(LabError::Run(reason.to_owned()));
                }
                let ticket = self.batch.tickets.get(at).copied().unwrap_or(0);
                self.in_flight += 1;
                self.number += 1;
                let slot = self.commands.put(self.batch.commands[at], ticket);
                if self.batch.len() == 1 && self.is_next(time) {
                    self.submit(time, slot, recorder);
                } else {
                    self.due.push_in(usize::from(time > self.now), time, self.number, slot);
                }
            }
            for (ticket, time) in &self.batch.ended {
                self.statistics.ends(*ticket, *time);
            }
            self.expect();
            match state {
                StreamState::Ready => {}
                StreamState::Waiting if self.in_flight == 0 => {
                    let reason = "the workload waits for a completion and no command is in flight";
                    return Err(LabError::Run(reason.to_owned()));
                }
                StreamState::Waiting => return Ok(()),
                StreamState::Ended => self.ended = true,
            }
        }
        Ok(())
    }

    /// Prefetches memory for later commands: first their map entries, then, once these have arrived, the segments.
    fn expect(&mut self) {
        // A stream that does not wait yields commands ahead of their time.
        let Batch { commands, ahead, .. } = &self.batch;
        for command in if self.description.waits { ahead } else { commands } {
            self.ahead.push(*command);
            if self.ahead.len() == 2 * GROUP {
                self.ahead[GROUP..].iter().for_each(|command| self.device.prefetch_map(command));
                self.ahead
                    .drain(..GROUP)
                    .for_each(|command| self.device.prefetch_segments(&command));
            }
        }
    }

    /// Returns whether the volume is reached, or the drive is read-only.
    fn is_over(&self) -> bool {
        self.device.counters().host_bytes >= self.limit || self.device.check_writable().is_err()
    }

    /// Returns whether no other event happens up to a time.
    fn is_next(&mut self, time: Time) -> bool {
        time < self.due.first().min(self.flying.first())
            && self.media.next_event().is_none_or(|next| time < next)
    }

    /// Executes a command in the device and hands its work to the media.
    fn submit(&mut self, time: Time, slot: u64, recorder: &mut Recorder) {
        let (mut command, ticket) = self.commands.get(slot);
        let host = self.device.counters().host_bytes;
        if self.is_over() {
            // The volume is reached, or the drive is read-only: the command is not submitted, and the run does not wait
            // for its time.
            self.commands.take(slot);
            self.in_flight -= 1;
            self.ended = true;
            return;
        }
        self.now = self.now.max(time);
        let over = (host + command.written_bytes()).saturating_sub(self.limit);
        command.blocks -= (over / LBA_BYTES) as u32;
        if let Some(from) = self.statistics.submitted(ticket, time) {
            self.media.reset_counts(time);
            (self.measured_from, self.measured_from_bytes) = (from, host);
        }
        self.device.observer_mut().work.clear();
        self.device.apply(&[command]);
        #[cfg(test)]
        self.applied.push(command);
        let host = self.device.counters().host_bytes;
        if host >= recorder.next() {
            recorder.record(self.device);
        }
        let first = self.first_pages.get(command.namespace.index()).copied().unwrap_or(0);
        let job = stream::job_of(ticket);
        let durable = self.durable.get(job).is_some_and(|durable| *durable);
        let request = Request::of(&command, slot, time, first, self.page_shift, durable);
        let request = Request { queue: job as u16, ..request };
        self.media.submit(request, &self.device.observer().work);
    }

    /// Reports a completion to the stream.
    fn complete(&mut self, recorder: &mut Recorder) -> Result<(), LabError> {
        let Some((time, slot)) = self.flying.pop() else { return Ok(()) };
        let (_, ticket) = self.commands.take(slot);
        self.in_flight -= 1;
        // Once the volume is reached, nothing more is submitted, so the stream need not know of completions.
        self.ended |= self.is_over();
        if self.description.waits && !self.ended {
            self.stream.completed(&[Completion { ticket, time_ns: Some(time) }]);
        }
        self.pull(recorder)
    }
}
