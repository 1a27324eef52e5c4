//! The jobs that run at the same time, merged by their clocks.

use wafer_interface::{Command, Op};

use super::clock::{Clock, Time, kind, time};
use super::lanes::{LANES, Lane, merge, take};
use super::options::MixerOptions;
use super::pace::Pace;
use crate::error::WorkloadError;
use crate::flow::Flows;
use crate::job::{Direction, Exit, JobSpec};
use crate::job_stream::JobStream;

/// Number of commands generated ahead per job: enough to amortise a refill, few enough for the cache.
const BATCH: usize = 512;
/// Approximate bytes of a runner's own memory.
pub(crate) const RUNNER_BYTES: u64 = BATCH as u64 * 16 + 2048;
/// The time of a job that has ended.
const ENDED: Time = Time::MAX;

/// One job of a running phase.
#[derive(Clone, Debug)]
struct Runner {
    /// Position among all jobs of the run.
    job: usize,
    stream: JobStream,
    ready: Vec<Command>,
    at: usize,
    /// Whether all of `ready` are of one kind.
    uniform: bool,
    clock: Clock,
    /// When its `startdelay` and `ramp_time` are over.
    ramped: Time,
    /// No command is issued at or after this.
    deadline: Time,
    /// Whether others end with it, which makes the end of its run time matter.
    ends_others: bool,
    /// Entry of the pace.
    entry: Option<usize>,
    /// Bytes per second, counted for shares, at its own pace.
    own_rate: f64,
}

#[derive(Clone, Debug)]
pub(crate) struct Phase {
    runners: Vec<Runner>,
    flows: Flows,
    /// Issue time of each runner's next command, then [`ENDED`]. For a runner that others wait for, the end of its run
    /// time comes in between.
    times: Vec<Time>,
    /// Byte of the run at which shares change.
    boundary: u64,
    paced: bool,
    /// Whether to take the fast path for a few regular jobs; off only in tests.
    short_cut: bool,
    /// Issue time of the last command.
    now: Time,
    /// Whether a job has ended that ends all others, including those of later phases.
    ends_all: bool,
}

impl Runner {
    /// Returns whether its run time is up before its next command.
    fn is_up(&self) -> bool {
        self.clock.next >= self.deadline
    }
}

impl Phase {
    /// Starts the jobs of phase `number`. `now` is the model time, and `written` the bytes written before it.
    pub(crate) fn start(
        number: u32,
        jobs: &[JobSpec],
        options: &MixerOptions,
        now: Time,
        written: u64,
    ) -> Result<Self, WorkloadError> {
        let mut runners = Vec::new();
        let running = || jobs.iter().filter(|spec| spec.phase == number);
        // A flow couples jobs: those that only read delay others.
        let without_reads = options.without_reads && running().all(|spec| spec.flow.is_none());
        let runs = |spec: &JobSpec| {
            spec.phase == number && !(without_reads && spec.direction == Direction::Read)
        };
        for (job, spec) in jobs.iter().enumerate().filter(|(_, spec)| runs(spec)) {
            let stream = JobStream::new(spec, options.seed, job as u32)?;
            let clock = Clock::new(spec, &options.service, now);
            let ramped = clock.next.saturating_add(time(spec.ramp_time));
            let deadline =
                spec.runtime.map_or(ENDED, |runtime| ramped.saturating_add(time(runtime)));
            let writes = match spec.direction {
                Direction::ReadWrite => f64::from(100 - spec.read_percent) / 100.0,
                Direction::TrimWrite => 0.5,
                _ => 1.0,
            };
            runners.push(Runner {
                job,
                own_rate: clock.own_rate(stream.mean_command(), writes).max(1.0),
                entry: options.pace.entry(&spec.name),
                ready: Vec::with_capacity(BATCH),
                at: 0,
                uniform: false,
                stream,
                clock,
                ramped,
                deadline,
                ends_others: spec.exit.is_some(),
            });
        }
        let mut phase = Phase {
            times: runners.iter().map(|r| r.clock.next).collect(),
            paced: runners.len() > 1 && runners.iter().any(|r| r.entry.is_some()),
            flows: Flows::start(runners.iter().map(|runner| jobs[runner.job].flow)),
            runners,
            boundary: u64::MAX,
            short_cut: true,
            now,
            ends_all: false,
        };
        for i in 0..phase.runners.len() {
            phase.refresh(i);
        }
        if phase.paced {
            phase.repace(&options.pace, written);
        }
        Ok(phase)
    }

    #[cfg(test)]
    pub(crate) fn without_short_cut(&mut self) {
        self.short_cut = false;
    }

    /// Returns the issue time of the last command.
    pub(crate) fn now(&self) -> Time {
        self.now
    }

    /// Returns the positions of the jobs still running.
    pub(crate) fn running(&self) -> impl Iterator<Item = usize> {
        self.runners.iter().zip(&self.times).filter(|(_, t)| **t != ENDED).map(|(r, _)| r.job)
    }

    /// Refills runner `i` and updates `times[i]`.
    fn refresh(&mut self, i: usize) {
        let runner = &mut self.runners[i];
        if runner.at == runner.ready.len() {
            runner.ready.clear();
            runner.at = 0;
            if runner.clock.chooses() {
                let Runner { stream, clock, .. } = runner;
                runner.ready.extend(stream.next_as(|direction| clock.choose(direction)));
            } else {
                runner.stream.fill(&mut runner.ready, BATCH);
            }
            runner.uniform = runner.clock.steady()
                && runner.ready.first().is_some_and(|first| {
                    let first = kind(first);
                    runner.ready.iter().all(|c| kind(c) == first)
                });
        }
        let waits = runner.is_up() && (runner.ends_others || self.flows.has(i));
        if runner.ready.is_empty() || runner.is_up() && !waits {
            self.end(i, self.now);
        } else {
            self.times[i] = runner.clock.next.min(runner.deadline).min(ENDED - 1);
        }
    }

    /// Ends runner `i`.
    fn end(&mut self, i: usize, time: Time) {
        self.times[i] = ENDED;
        self.flows.leave(i, time);
    }

    /// Ends the jobs that end with runner `i`, if that has ended.
    fn exit(&mut self, i: usize, jobs: &[JobSpec]) {
        let ended = &jobs[self.runners[i].job];
        let Some(exit) = ended.exit.filter(|_| self.times[i] == ENDED) else { return };
        self.ends_all |= exit == Exit::All;
        let time = if self.runners[i].is_up() { self.runners[i].deadline } else { self.now };
        for other in 0..self.runners.len() {
            let runner = &mut self.runners[other];
            let ends = exit.ends(ended, &jobs[runner.job], runner.ramped <= time);
            if self.times[other] != ENDED && ends {
                runner.deadline = runner.deadline.min(time);
                self.refresh(other);
            }
        }
    }

    /// Returns whether a job has ended that ends all others.
    pub(crate) fn ends_all(&self) -> bool {
        self.ends_all
    }

    /// Updates the pace of each running job at byte `written` of the run.
    fn repace(&mut self, pace: &Pace, written: u64) {
        // A slower pace can move a job's next command past its deadline. That ends the job, and the others take over
        // its share.
        while self.repace_once(pace, written) {}
    }

    /// Updates the paces once; returns whether that ended a job.
    fn repace_once(&mut self, pace: &Pace, written: u64) -> bool {
        let live: Vec<usize> =
            (0..self.runners.len()).filter(|&i| self.times[i] != ENDED).collect();
        let named: Vec<usize> = live.iter().filter_map(|&i| self.runners[i].entry).collect();
        let mut entries = named.clone();
        entries.sort_unstable();
        entries.dedup();
        let (shares, boundary) = pace.shares(written, &entries);
        self.boundary = boundary.unwrap_or(u64::MAX);
        let share_of = |entry: usize| entries.binary_search(&entry).map_or(0.0, |at| shares[at]);
        let clones = |entry: usize| named.iter().filter(|e| **e == entry).count() as f64;
        let sum: f64 = shares.iter().sum();
        let own = |of: &dyn Fn(&Runner) -> bool| -> f64 {
            let runners = live.iter().map(|&i| &self.runners[i]);
            runners.filter(|r| of(r)).map(|r| r.own_rate).sum()
        };
        // Bytes per second that correspond to a share of 1.
        let whole = if named.len() == live.len() {
            own(&|_| true) / sum
        } else {
            own(&|r| r.entry.is_none()) / (1.0 - sum).max(1e-6)
        };
        let mut ended = false;
        for &i in &live {
            let runner = &mut self.runners[i];
            if let Some(entry) = runner.entry {
                runner.clock.pace(self.now, whole * share_of(entry) / clones(entry));
                self.refresh(i);
                ended |= self.times[i] == ENDED;
            }
        }
        ended
    }

    /// Returns the next runner, the first of several at a tie, and the time of the runner after it.
    #[inline]
    fn pick(&self) -> (usize, Time) {
        let (mut best, mut first, mut second) = (0, ENDED, ENDED);
        for (i, &time) in self.times.iter().enumerate() {
            if self.flows.holds(i) && !self.runners[i].is_up() {
                continue;
            }
            if time < first {
                (best, first, second) = (i, time, first);
            } else {
                second = second.min(time);
            }
        }
        (best, second)
    }

    /// Appends commands until `out` has `end`, and adds their bytes to `written`; returns false when all jobs have
    /// ended.
    pub(crate) fn fill(
        &mut self,
        out: &mut Vec<Command>,
        end: usize,
        jobs: &[JobSpec],
        pace: &Pace,
        written: &mut u64,
    ) -> bool {
        while out.len() < end {
            if self.short_cut && self.flows.is_empty() && self.fill_lanes(out, end, written) {
                continue;
            }
            let (i, until) = self.pick();
            if self.times.get(i).is_none_or(|time| *time == ENDED) {
                return false;
            }
            let runner = &mut self.runners[i];
            if runner.is_up() {
                self.end(i, self.times[i]);
                self.exit(i, jobs);
                self.change_pace(pace, jobs, *written);
                continue;
            }
            if !self.flows.is_empty() && self.flows.time(i) > runner.clock.next {
                // The job was held back until now.
                runner.clock.next = self.flows.time(i);
                self.refresh(i);
                self.exit(i, jobs);
                continue;
            }
            loop {
                let command = runner.ready[runner.at];
                runner.at += 1;
                out.push(command);
                self.now = runner.clock.next;
                self.flows.issued(i, self.now);
                let next = runner.clock.advance(&command);
                *written += if command.op == Op::Write { command.bytes() } else { 0 };
                if runner.at == runner.ready.len()
                    || next >= runner.deadline
                    || next >= until
                    || out.len() == end
                    || *written >= self.boundary
                    || !self.flows.is_empty()
                {
                    break;
                }
            }
            self.refresh(i);
            self.exit(i, jobs);
            if self.times[i] == ENDED || *written >= self.boundary {
                self.change_pace(pace, jobs, *written);
            }
        }
        true
    }

    /// Updates the paces at byte `written` of the run, and ends the jobs that end as a result.
    fn change_pace(&mut self, pace: &Pace, jobs: &[JobSpec], written: u64) {
        if self.paced {
            self.repace(pace, written);
            (0..self.runners.len()).for_each(|i| self.exit(i, jobs));
        }
    }

    /// Merges a few jobs with one kind of command each, up to a refill or deadline of one of them; returns false if
    /// that is not possible.
    fn fill_lanes(&mut self, out: &mut Vec<Command>, end: usize, written: &mut u64) -> bool {
        let mut lanes = [Lane::EMPTY; LANES];
        let mut of = [0; LANES];
        let (mut used, mut largest) = (0, 1);
        for (i, runner) in self.runners.iter_mut().enumerate() {
            if self.times[i] == ENDED {
                continue;
            }
            if !runner.uniform || used == LANES || runner.is_up() {
                return false;
            }
            let ready = &runner.ready[runner.at..];
            let step = runner.clock.step(&ready[0]);
            let before = (runner.deadline - runner.clock.next).div_ceil(step.max(1));
            // The last command before a refill or a deadline is left to the general loop.
            let n = (ready.len() as u64).min(before) as usize - 1;
            lanes[used] = Lane { time: runner.clock.next, step, ready: &ready[..n], at: 0 };
            of[used] = i;
            used += 1;
            largest = largest.max(ready[0].bytes());
        }
        let room = (end - out.len()) as u64;
        let n = room.min((self.boundary - *written).saturating_sub(1) / largest);
        if n == 0 || used == 0 {
            return false;
        }
        let now = match used {
            1 => take(&mut lanes[0], n as usize, out),
            _ => merge(&mut lanes, n as usize, out),
        };
        let Some(now) = now else { return false };
        self.now = now;
        let taken = lanes.map(|lane| (lane.at, lane.time));
        for ((n, time), i) in taken.into_iter().zip(of).take(used) {
            let runner = &mut self.runners[i];
            let command = runner.ready[runner.at];
            *written += if command.op == Op::Write { n as u64 * command.bytes() } else { 0 };
            runner.at += n;
            runner.clock.next = time;
            self.times[i] = time;
        }
        true
    }
}
