//! One job: which of its commands may be submitted, and when.

use std::collections::VecDeque;

use wafer_interface::{Batch, Command, Op};
use wafer_random::{Purpose, Rng};

use super::depth::Depth;
use wafer_fio::job::{DIRECTIONS, JobSpec, READ, RateProcess, TRIM, WRITE};
use wafer_fio::{Flows, JobStream, WorkloadError};

/// Commands generated at once.
const AHEAD: usize = 256;
/// How many commands later one follows that is named ahead.
const LATER: usize = 32;

#[derive(Clone, Debug)]
pub(crate) struct RunningJob {
    number: usize,
    spec: JobSpec,
    stream: JobStream,
    ready: Vec<Command>,
    at: usize,
    /// When each place of the queue becomes free: in order, as completions are.
    free: VecDeque<u64>,
    in_flight: u32,
    depth: Depth,
    ticket: u64,
    /// First ticket of the results, once `latency_target` has found the depth.
    settled_ticket: u64,
    start: u64,
    last: u64,
    /// When the last command completed.
    completed: u64,
    deadline: u64,
    until_think: u64,
    thinks: bool,
    /// Its flow holds it back.
    is_held: bool,
    /// Bytes and commands submitted, by direction.
    issued: [(u64, u64); DIRECTIONS],
    /// When a Poisson process lets the next command of a direction go.
    arrival: [u64; DIRECTIONS],
    random: Rng,
    ended: bool,
}

fn nanoseconds(seconds: f64) -> u64 {
    // Saturates.
    (seconds * 1e9).round() as u64
}

impl RunningJob {
    pub(crate) fn new(
        spec: &JobSpec,
        seed: u64,
        number: u32,
        [first_ticket, settled_ticket]: [u64; 2],
        now: u64,
    ) -> Result<Self, WorkloadError> {
        let start = now.saturating_add(nanoseconds(spec.start_delay));
        let deadline = spec.runtime.map_or(u64::MAX, |runtime| {
            start.saturating_add(nanoseconds(spec.ramp_time)).saturating_add(nanoseconds(runtime))
        });
        let depth = Depth::new(spec, start.saturating_add(nanoseconds(spec.ramp_time)));
        Ok(RunningJob {
            number: number as usize,
            stream: JobStream::new(spec, seed, number)?,
            ready: Vec::with_capacity(AHEAD + LATER),
            at: 0,
            free: vec![start; depth.most() as usize].into(),
            in_flight: 0,
            depth,
            ticket: first_ticket,
            settled_ticket,
            start,
            last: start,
            completed: start,
            deadline,
            until_think: spec.thinktime_blocks.max(1),
            thinks: false,
            is_held: false,
            issued: Default::default(),
            arrival: [start; DIRECTIONS],
            random: Rng::new(spec.seed.unwrap_or(seed), number, Purpose::Arrival, 0),
            ended: false,
            spec: spec.clone(),
        })
    }

    pub(crate) fn number(&self) -> usize {
        self.number
    }

    pub(crate) fn depth(&self) -> u32 {
        self.depth.most()
    }

    /// Returns the name of the job, and the depth that `latency_target` has found; none without a target.
    pub(crate) fn found(&self) -> Option<(&str, u32)> {
        Some((&self.spec.name, self.depth.found()?))
    }

    /// Whether the job has ended and all its commands have completed.
    pub(crate) fn is_over(&self) -> bool {
        self.ended && self.in_flight == 0
    }

    /// Returns whether its flow holds it back.
    pub(crate) fn is_held(&self) -> bool {
        self.is_held && !self.ended
    }

    /// Returns whether nothing more is submitted.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Lets nothing more be submitted.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }

    pub(crate) fn completed(&mut self, ticket: u64, time: u64) {
        self.in_flight -= 1;
        if !self.ended {
            let was_settled = self.depth.is_settled();
            self.ended = self.depth.completed(ticket, time, self.in_flight);
            if self.depth.is_settled() && !was_settled {
                self.ticket = self.settled_ticket;
            }
        }
        self.completed = self.completed.max(time);
        self.free.push_back(time);
    }

    /// Submits a command for every free place, until the batch has `end`, as far as its flow lets it: `at` is its
    /// number there.
    pub(crate) fn submit(&mut self, batch: &mut Batch, end: usize, flows: &mut Flows, at: usize) {
        self.is_held = false;
        while !self.ended && batch.len() < end {
            // A pause begins when everything in flight has completed, as in fio.
            if self.thinks && self.in_flight > 0 {
                break;
            }
            if !self.depth.has_room(self.in_flight) {
                break;
            }
            let Some(&free) = self.free.front() else { break };
            self.is_held = flows.holds(at);
            if self.is_held {
                break;
            }
            // Before the last is submitted: each of them names a later one.
            if self.at + LATER >= self.ready.len() {
                self.ready.drain(..self.at);
                self.at = 0;
                self.stream.fill(&mut self.ready, AHEAD);
            }
            let Some(&command) = self.ready.get(self.at) else {
                self.ended = true;
                break;
            };
            let time = self.time_of(&command, free.max(flows.time(at)));
            if time >= self.deadline {
                self.ended = true;
                break;
            }
            self.at += 1;
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
        }
    }

    /// Returns when a command goes that has a place in the queue from `free` on.
    fn time_of(&mut self, command: &Command, free: u64) -> u64 {
        let mut time = free.max(self.last);
        if self.depth.found().is_some() {
            // The place was free, but the depth was less.
            time = time.max(self.completed);
        }
        if std::mem::take(&mut self.thinks) {
            time = time
                .max(self.completed)
                .saturating_add(self.spec.thinktime_us.saturating_mul(1000));
        }
        let direction = match command.op {
            Op::Read => READ,
            Op::Write => WRITE,
            Op::Deallocate => TRIM,
            Op::Flush | Op::Update => return time,
        };
        time = time.max(self.due(direction));
        let issued = &mut self.issued[direction];
        *issued = (issued.0 + command.bytes(), issued.1 + 1);
        self.until_think -= 1;
        if self.until_think == 0 {
            self.until_think = self.spec.thinktime_blocks.max(1);
            self.thinks = self.spec.thinktime_us > 0;
        }
        time
    }

    /// Returns when the rates let the next command of a direction go. As in fio a steady rate counts from the start
    /// of the job, so a job that has fallen behind catches up.
    fn due(&mut self, direction: usize) -> u64 {
        let (bytes, commands) = self.issued[direction];
        let steady = |count: u64, rate: Option<u64>| {
            let time = u128::from(count) * 1_000_000_000 / u128::from(rate?);
            Some(self.start.saturating_add(u64::try_from(time).unwrap_or(u64::MAX)))
        };
        let rate_iops = self.spec.rate_iops[direction].filter(|rate| *rate > 0);
        let by_bytes = steady(bytes, self.spec.rate[direction].filter(|rate| *rate > 0));
        let by_commands = match (self.spec.rate_process, rate_iops) {
            (RateProcess::Linear, rate) => steady(commands, rate),
            (RateProcess::Poisson, None) => None,
            (RateProcess::Poisson, Some(rate)) => {
                // 53 random bits: the logarithm is finite.
                let draw = ((self.random.next64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
                let wait = -libm::log(draw) / rate as f64;
                let arrival = &mut self.arrival[direction];
                *arrival = arrival.saturating_add(nanoseconds(wait));
                Some(*arrival)
            }
        };
        by_bytes.unwrap_or(0).max(by_commands.unwrap_or(0))
    }
}
