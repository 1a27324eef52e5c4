//! The jobs that run at the same time, merged by their clocks.

use wafer_interface::{Command, Op, ServiceConfig};

use super::clock::{Clock, Time, kind, time};
use super::lanes::{LANES, Lane, merge, take};
use super::pace::Pace;
use crate::error::WorkloadError;
use crate::job::{Direction, JobSpec};
use crate::job_stream::JobStream;

/// Commands generated ahead per job: enough to amortise a refill, small enough for the cache.
const BATCH: usize = 512;
/// Bytes of a runner's own memory, roughly.
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
    /// All of `ready` are of one kind.
    uniform: bool,
    clock: Clock,
    /// No command is issued at or after this.
    deadline: Time,
    /// Entry of the pace, and how many clones share it.
    entry: Option<usize>,
    clones: f64,
    /// Counted bytes per second at its own pace.
    own_rate: f64,
}

/// A running phase.
#[derive(Clone, Debug)]
pub(crate) struct Phase {
    runners: Vec<Runner>,
    /// Issue time of each runner's next command, [`ENDED`] when there is none.
    times: Vec<Time>,
    /// Byte of the run at which shares change.
    boundary: u64,
    paced: bool,
    /// Take the short cut for a few regular jobs; off only in tests.
    short_cut: bool,
    /// Issue time of the last command.
    now: Time,
}

/// What a phase starts with.
pub(crate) struct Start<'a> {
    pub(crate) jobs: &'a [JobSpec],
    pub(crate) seed: u64,
    pub(crate) service: &'a ServiceConfig,
    pub(crate) pace: &'a Pace,
    pub(crate) now: Time,
    pub(crate) written: u64,
}

impl Phase {
    /// Starts the jobs of phase `number`.
    pub(crate) fn start(number: u32, with: &Start<'_>) -> Result<Self, WorkloadError> {
        let mut runners = Vec::new();
        for (job, spec) in with.jobs.iter().enumerate().filter(|(_, s)| s.phase == number) {
            let stream = JobStream::new(spec, with.seed, job as u32)?;
            let clock = Clock::new(spec, with.service, with.now);
            let deadline = spec.runtime.map_or(ENDED, |runtime| {
                clock.next.saturating_add(time(spec.ramp_time)).saturating_add(time(runtime))
            });
            let mean = stream.mean_command(spec);
            let written = match spec.direction {
                Direction::ReadWrite => f64::from(100 - spec.read_percent) / 100.0,
                Direction::TrimWrite => 0.5,
                _ => 1.0,
            };
            let own_rate = clock.own_rate(mean, written).max(1.0);
            let entry = with.pace.entry(&spec.name);
            let (ready, clones) = (Vec::with_capacity(BATCH), 1.0);
            runners.push(Runner {
                job,
                stream,
                ready,
                at: 0,
                uniform: false,
                clock,
                deadline,
                entry,
                clones,
                own_rate,
            });
        }
        let mut phase = Phase {
            times: runners.iter().map(|r| r.clock.next).collect(),
            paced: runners.len() > 1 && runners.iter().any(|r| r.entry.is_some()),
            runners,
            boundary: u64::MAX,
            short_cut: true,
            now: with.now,
        };
        for i in 0..phase.runners.len() {
            phase.settle(i);
        }
        if phase.paced {
            phase.repace(with.pace, with.written);
        }
        Ok(phase)
    }

    #[cfg(test)]
    pub(crate) fn without_short_cut(&mut self) {
        self.short_cut = false;
    }

    /// Issue time of the last command.
    pub(crate) fn now(&self) -> Time {
        self.now
    }

    /// Positions of the jobs still running.
    pub(crate) fn running(&self) -> impl Iterator<Item = usize> {
        self.runners.iter().zip(&self.times).filter(|(_, t)| **t != ENDED).map(|(r, _)| r.job)
    }

    /// Works out `times[i]`: is there a next command, and may it be issued?
    fn settle(&mut self, i: usize) {
        let runner = &mut self.runners[i];
        if runner.at == runner.ready.len() {
            runner.ready.clear();
            runner.at = 0;
            runner.stream.fill(&mut runner.ready, BATCH);
            runner.uniform = runner.clock.steady()
                && runner.ready.first().is_some_and(|first| {
                    let first = kind(first);
                    runner.ready.iter().all(|c| kind(c) == first)
                });
        }
        let over = runner.ready.is_empty() || runner.clock.next >= runner.deadline;
        self.times[i] = if over { ENDED } else { runner.clock.next.min(ENDED - 1) };
    }

    /// Gives the running jobs the paces that hold from byte `written` of the run on.
    fn repace(&mut self, pace: &Pace, written: u64) {
        // A slower pace can put a job's next command past its deadline: then it has ended, and the
        // others share anew. Each round ends a job or is the last.
        while self.repace_once(pace, written) {}
    }

    /// True if a job has ended by it.
    fn repace_once(&mut self, pace: &Pace, written: u64) -> bool {
        let live: Vec<usize> =
            (0..self.runners.len()).filter(|&i| self.times[i] != ENDED).collect();
        let mut entries: Vec<usize> = live.iter().filter_map(|&i| self.runners[i].entry).collect();
        let named = entries.len();
        entries.sort_unstable();
        entries.dedup();
        let (shares, boundary) = pace.shares(written, &entries);
        self.boundary = boundary.unwrap_or(u64::MAX);
        let share_of = |entry: usize| entries.binary_search(&entry).map_or(0.0, |at| shares[at]);
        for &i in &live {
            let entry = self.runners[i].entry;
            let same = live.iter().filter(|&&j| self.runners[j].entry == entry).count();
            self.runners[i].clones = same as f64;
        }
        let sum: f64 = shares.iter().sum();
        let own = |of: &dyn Fn(&Runner) -> bool| -> f64 {
            let runners = live.iter().map(|&i| &self.runners[i]);
            runners.filter(|r| of(r)).map(|r| r.own_rate).sum()
        };
        // Bytes per second that a share of 1 stands for.
        let whole = if named == live.len() {
            own(&|_| true) / sum
        } else {
            own(&|r| r.entry.is_none()) / (1.0 - sum).max(1e-6)
        };
        let mut ended = false;
        for &i in &live {
            let runner = &mut self.runners[i];
            if let Some(entry) = runner.entry {
                runner.clock.pace(self.now, whole * share_of(entry) / runner.clones);
                self.settle(i);
                ended |= self.times[i] == ENDED;
            }
        }
        ended
    }

    /// The runner that comes next, the first at a tie, and the time at which another may.
    #[inline]
    fn pick(&self) -> (usize, Time) {
        let (mut best, mut first, mut second) = (0, ENDED, ENDED);
        for (i, &time) in self.times.iter().enumerate() {
            if time < first {
                (best, first, second) = (i, time, first);
            } else {
                second = second.min(time);
            }
        }
        (best, second)
    }

    /// Adds commands until `out` has `end`, counting into `written`; false when all jobs have ended.
    pub(crate) fn fill(
        &mut self,
        out: &mut Vec<Command>,
        end: usize,
        pace: &Pace,
        written: &mut u64,
    ) -> bool {
        while out.len() < end {
            if self.short_cut && self.fill_lanes(out, end, written) {
                continue;
            }
            let (i, until) = self.pick();
            if self.times[i] == ENDED {
                return false;
            }
            let runner = &mut self.runners[i];
            loop {
                let command = runner.ready[runner.at];
                runner.at += 1;
                out.push(command);
                self.now = runner.clock.next;
                let next = runner.clock.advance(&command);
                *written += if command.op == Op::Write { command.bytes() } else { 0 };
                if runner.at == runner.ready.len()
                    || next >= runner.deadline
                    || next >= until
                    || out.len() == end
                    || *written >= self.boundary
                {
                    break;
                }
            }
            self.settle(i);
            if self.paced && (self.times[i] == ENDED || *written >= self.boundary) {
                self.repace(pace, *written);
            }
        }
        true
    }

    /// The short cut for a few jobs with one kind of command each, up to where one of them needs
    /// attention; false when there is nothing for it.
    fn fill_lanes(&mut self, out: &mut Vec<Command>, end: usize, written: &mut u64) -> bool {
        let mut lanes = [Lane::EMPTY; LANES];
        let mut of = [0; LANES];
        let (mut used, mut largest) = (0, 1);
        for (i, runner) in self.runners.iter_mut().enumerate() {
            if self.times[i] == ENDED {
                continue;
            }
            if !runner.uniform || used == LANES {
                return false;
            }
            let ready = &runner.ready[runner.at..];
            let step = runner.clock.step(&ready[0]);
            let before = (runner.deadline - runner.clock.next).div_ceil(step.max(1));
            // The last one before a refill or a deadline is left to the general way.
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
