//! One job: which commands it may submit, and when.

use std::collections::VecDeque;

use wafer_interface::{Batch, Command, NsId, Op};
use wafer_random::{Purpose, Rng};

use super::depth::Depth;
use super::reaper::Reaper;
use wafer_fio::job::{JobSpec, READ, Reaping, Submission, TRIM, WRITE};
use wafer_fio::{Flows, JobStream, Rates, WorkloadError};

/// Commands generated at a time.
const AHEAD: usize = 256;
/// How far ahead of the submitted command the announced one is, in commands.
const LATER: usize = 32;

#[derive(Clone, Debug)]
pub(crate) struct RunningJob {
    number: usize,
    spec: JobSpec,
    stream: JobStream,
    ready: Vec<Command>,
    at: usize,
    /// When each slot of the queue becomes free, in order of completion.
    free: VecDeque<u64>,
    /// `None`: a slot becomes free as soon as its command completes.
    reaper: Option<Reaper>,
    in_flight: u32,
    depth: Depth,
    ticket: u64,
    /// First ticket of the results, once `latency_target` has found the depth.
    found_ticket: u64,
    /// When the job begins, until that has been reported.
    begins: Option<u64>,
    /// When its `ramp_time` is over, and whether the counts have yet to begin anew because of that.
    ramped: u64,
    is_ramping: bool,
    last: u64,
    /// When the last command completed.
    completed: u64,
    deadline: u64,
    /// Number of commands issued, or reaped, after which the next pause follows.
    thinks_at: u64,
    thinks: bool,
    /// Whether the thread works after the last command: not after a Flush.
    works: bool,
    issued: u64,
    /// Writes since the last Flush, in a job that sends any.
    unflushed: u32,
    /// Whether a final Flush is due.
    flushes_at_end: bool,
    /// Whether its flow holds it back.
    is_held: bool,
    rates: Rates,
    ended: bool,
    /// Whether it has ended because its next command would have missed the deadline.
    is_up: bool,
}

fn direction_of(command: &Command) -> Option<usize> {
    match command.op {
        Op::Read => Some(READ),
        Op::Write => Some(WRITE),
        Op::Deallocate => Some(TRIM),
        Op::Flush | Op::Update => None,
    }
}

fn nanoseconds(seconds: f64) -> u64 {
    // The cast saturates.
    (seconds * 1e9).round() as u64
}

impl RunningJob {
    pub(crate) fn new(
        spec: &JobSpec,
        seed: u64,
        number: u32,
        [first_ticket, found_ticket]: [u64; 2],
        now: u64,
    ) -> Result<Self, WorkloadError> {
        // As in fio, the delay counts from the start of the run, also after a `stonewall`.
        let start = now.max(nanoseconds(spec.start_delay));
        let ramped = start.saturating_add(nanoseconds(spec.ramp_time));
        let deadline =
            spec.runtime.map_or(u64::MAX, |runtime| ramped.saturating_add(nanoseconds(runtime)));
        let depth = Depth::new(spec, ramped);
        // Reap one at a time where only the count matters.
        let one = Reaping { low: spec.iodepth, least: 1 };
        let counts = spec.thinktime_us > 0 && !spec.thinktime_issued;
        let reaping = spec.reaping.or(counts.then_some(one));
        let random = Rng::new(spec.seed.unwrap_or(seed), number, Purpose::Arrival, 0);
        Ok(RunningJob {
            number: number as usize,
            stream: JobStream::new(spec, seed, number)?,
            ready: Vec::with_capacity(AHEAD + LATER),
            at: 0,
            free: vec![start; depth.most() as usize].into(),
            reaper: reaping.map(Reaper::new),
            in_flight: 0,
            depth,
            ticket: first_ticket,
            found_ticket,
            begins: Some(start),
            ramped,
            is_ramping: ramped > start,
            last: start,
            completed: start,
            deadline,
            thinks_at: spec.thinktime_blocks.max(1),
            thinks: false,
            works: false,
            issued: 0,
            unflushed: 0,
            flushes_at_end: spec.end_fsync && spec.direction.used().contains(&WRITE),
            is_held: false,
            rates: Rates::new(spec, start, 1_000_000_000, Some(random)),
            ended: false,
            is_up: false,
            spec: spec.clone(),
        })
    }

    pub(crate) fn number(&self) -> usize {
        self.number
    }

    pub(crate) fn depth(&self) -> u32 {
        self.depth.most()
    }

    /// Returns the name of the job, the depth that `latency_target` has found, and whether it still searches; `None`
    /// without a target.
    pub(crate) fn found(&self) -> Option<(&str, u32, bool)> {
        Some((&self.spec.name, self.depth.found()?, self.depth.is_searching()))
    }

    /// Returns whether the job has ended and all its commands have completed.
    pub(crate) fn is_over(&self) -> bool {
        self.ended && self.in_flight == 0 && !self.flushes_at_end
    }

    /// Returns whether none of its commands is in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight == 0
    }

    /// Returns whether its flow holds it back.
    pub(crate) fn is_held(&self) -> bool {
        self.is_held && !self.ended
    }

    /// Returns whether it submits nothing more.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Returns whether it is past its `startdelay` and `ramp_time` at a time.
    pub(crate) fn runs_at(&self, time: u64) -> bool {
        self.ramped <= time
    }

    /// Stops submitting.
    pub(crate) fn end(&mut self) {
        self.ended = true;
        // With commands in flight, the Flush follows once they have completed.
        self.flushes_at_end &= self.in_flight > 0;
    }

    /// Stops submitting at a time.
    pub(crate) fn end_at(&mut self, time: u64) {
        self.deadline = self.deadline.min(time);
    }

    /// Returns when the job ended: its deadline if that stopped it, otherwise `now`.
    pub(crate) fn ended_at(&self, now: u64) -> u64 {
        if self.is_up { self.deadline } else { now }
    }

    pub(crate) fn completed(&mut self, ticket: u64, time: u64) {
        self.in_flight -= 1;
        if !self.ended {
            let had_found = self.depth.has_found();
            self.ended = self.depth.completed(ticket, time, self.in_flight);
            if self.depth.has_found() && !had_found {
                self.ticket = self.found_ticket;
            }
        }
        self.completed = self.completed.max(time);
        match &mut self.reaper {
            None => self.free.push_back(time),
            Some(reaper) => {
                let waited = reaper.waits();
                reaper.completed();
                self.reap(time, waited);
            }
        }
    }

    /// Reaps completions at `time`. If the host then goes `on`, a pause may be due.
    fn reap(&mut self, time: u64, on: bool) {
        if let Some(reaper) = &mut self.reaper {
            let free = reaper.reap(self.in_flight, self.depth.now());
            self.free.extend(std::iter::repeat_n(time, free as usize));
            if reaper.waits() {
                return;
            }
        }
        let reaped = self.reaper.as_ref().map_or(0, Reaper::reaped);
        let count = if self.spec.thinktime_issued { self.issued } else { reaped };
        if on && self.spec.thinktime_us > 0 && count >= self.thinks_at {
            self.thinks = true;
            self.thinks_at = count + self.spec.thinktime_blocks.max(1);
        }
    }

    /// Submits a command for every free slot until the batch has `end` commands, as far as the flow permits. `at` is
    /// the job's number in the flows.
    pub(crate) fn submit(&mut self, batch: &mut Batch, end: usize, flows: &mut Flows, at: usize) {
        self.is_held = false;
        batch.begun.extend(self.begins.take().map(|start| (self.ticket, start)));
        while !self.ended && batch.len() < end {
            // As in fio, a pause begins once everything in flight has completed.
            if self.thinks && self.in_flight > 0 {
                break;
            }
            if !self.depth.has_room(self.in_flight)
                || self.reaper.as_ref().is_some_and(Reaper::waits)
            {
                break;
            }
            let Some(&free) = self.free.front() else { break };
            self.is_held = flows.holds(at);
            if self.is_held {
                break;
            }
            let from = self.begin(free.max(flows.time(at)));
            if self.is_ramping && self.ramped <= from {
                self.end_ramp(from);
            }
            let flushes = self.spec.fsync > 0 && self.unflushed == self.spec.fsync;
            if flushes && self.at == self.ready.len() && self.stream.ends_at_limit() {
                // fio sends no Flush after the last command.
                self.ended = true;
                break;
            }
            if flushes {
                // A Flush takes a slot of the queue but none of the job's commands.
            } else if self.rates.chooses() && self.at == self.ready.len() {
                let Self { stream, rates, .. } = self;
                self.ready.clear();
                self.at = 0;
                self.ready.extend(stream.next_as(|direction| rates.choose(direction, from)));
            } else if !self.rates.chooses() && self.at + LATER >= self.ready.len() {
                // Refill before the queue is empty: every command announces the one `LATER` places behind it.
                self.ready.drain(..self.at);
                self.at = 0;
                self.stream.fill(&mut self.ready, AHEAD);
            }
            let flush = Command::flush(NsId(self.spec.namespace));
            let command = if flushes { Some(&flush) } else { self.ready.get(self.at) };
            let Some(&command) = command else {
                self.ended = true;
                break;
            };
            if self.sleeps(&command, from) && self.in_flight > 0 {
                break;
            }
            let time = self.time_of(&command, from);
            if time >= self.deadline {
                (self.ended, self.is_up) = (true, true);
                if self.deadline < u64::MAX {
                    batch.ended.push((self.ticket, self.deadline));
                }
                break;
            }
            match command.op {
                Op::Flush => self.unflushed = 0,
                Op::Write if self.spec.fsync > 0 => self.unflushed += 1,
                _ => {}
            }
            self.at += usize::from(!flushes);
            self.free.pop_front();
            self.in_flight += 1;
            self.last = time;
            flows.issued(at, time);
            batch.commands.push(command);
            batch.ahead.extend(self.ready.get(self.at + LATER));
            batch.times.push(time);
            batch.tickets.push(self.ticket);
            self.depth.submitted(self.ticket, time);
            self.ticket += 1;
            self.reap(time, true);
        }
        if self.ended && self.in_flight == 0 && batch.len() < end {
            self.flush_at_end(batch);
        }
    }

    /// Counts anew at the end of `ramp_time`, as fio does (`reset_all_stats`): commands for `number_ios`, those in
    /// flight included, and bytes for rates.
    fn end_ramp(&mut self, now: u64) {
        self.is_ramping = false;
        self.rates.restart(now);
        let waiting = (self.ready.len() - self.at) as u64;
        self.stream.recount(u64::from(self.in_flight) + waiting);
    }

    /// Sends the final Flush unless the last command was a Flush, as in fio.
    fn flush_at_end(&mut self, batch: &mut Batch) {
        let is_flushed = self.spec.fsync > 0 && self.unflushed == 0;
        if std::mem::take(&mut self.flushes_at_end) && !is_flushed {
            self.in_flight += 1;
            batch.commands.push(Command::flush(NsId(self.spec.namespace)));
            batch.times.push(self.completed.max(self.last));
            batch.tickets.push(self.ticket);
        }
    }

    /// Returns whether a command is ahead of its rate at `begin`, so that the host completes all others before it
    /// sleeps.
    fn sleeps(&self, command: &Command, begin: u64) -> bool {
        let ahead = |direction| self.rates.due(direction) > begin;
        self.spec.submission == Submission::Inline && direction_of(command).is_some_and(ahead)
    }

    /// Returns when the next command may be submitted, rate aside, if its slot is free from `free` on.
    fn begin(&self, free: u64) -> u64 {
        let mut time = free.max(self.last);
        if self.works {
            // The thread does so once it has reaped, before it pauses or waits for its rate (`cycles_spin`).
            time = time.saturating_add(self.spec.thinkcycles.into());
        }
        if self.depth.found().is_some() {
            // The slot was free, but the depth was lower.
            time = time.max(self.completed);
        }
        if self.thinks {
            time = time
                .max(self.completed)
                .saturating_add(self.spec.thinktime_us.saturating_mul(1000));
        }
        time
    }

    /// Returns when a command is submitted that is allowed from `begin` on.
    fn time_of(&mut self, command: &Command, begin: u64) -> u64 {
        self.thinks = false;
        self.works = direction_of(command).is_some();
        let Some(direction) = direction_of(command) else { return begin };
        let due = self.rates.due(direction);
        let time = if self.sleeps(command, begin) {
            // It sleeps for as long as it was ahead before it waited for the others, as in fio (`rate_ddir`).
            begin.max(self.completed).saturating_add(due - begin)
        } else {
            begin.max(due)
        };
        self.rates.issued(direction, command.bytes());
        self.issued += 1;
        time
    }
}
