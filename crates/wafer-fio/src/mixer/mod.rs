//! All jobs of a workload as one stream of commands.
//!
//! Phases follow each other: the next starts when every job of the one before has ended. The jobs of
//! a phase run at the same time, on a virtual clock: each has the model time of its next command,
//! and the earliest goes first, ties in the order of the job file.
//!
//! With a volume (`until_volume`) the caller stops pulling when enough is written, and jobs of the
//! last phase with `time_based` or `runtime` never end. If there is none, the volume says how long:
//! jobs of that phase whose file says nothing but `size` go on as if `time_based`. Everywhere else
//! `runtime` counts model seconds, and a `time_based` job without `runtime` ends by its bytes, as in
//! fio.

mod clock;
mod lanes;
mod pace;
mod pace_file;
mod phase;

use clock::SECOND;
pub use pace::Pace;
use phase::{Phase, Start};
use wafer_interface::{
    Batch, Command, CommandStream, Completion, Figure, ServiceConfig, StreamDescription,
    StreamState,
};

use crate::error::WorkloadError;
use crate::job::{Direction, JobSpec};
use crate::job_stream::JobStream;

/// Sees to it that the last phase can reach any volume.
fn go_on_until_volume(jobs: &mut [JobSpec], last: u32) -> Result<(), WorkloadError> {
    let is_last = |job: &&mut JobSpec| job.phase == last;
    let writes = |job: &JobSpec| {
        let mixed = job.direction == Direction::ReadWrite && job.read_percent < 100;
        mixed || matches!(job.direction, Direction::Write | Direction::TrimWrite)
    };
    let mut phase: Vec<&mut JobSpec> = jobs.iter_mut().filter(is_last).collect();
    let endless = phase.iter().any(|job| job.time_based);
    if !endless {
        for job in &mut phase {
            let once = job.loops <= 1 && job.io_size == job.size && job.number_ios.is_none();
            job.time_based = once && writes(job);
        }
    } else if !phase.iter().any(|job| job.time_based && writes(job)) {
        // Endless, but only reading or trimming.
        let first = &phase[0];
        let (file, line) = first.source.clone();
        return Err(WorkloadError::NeverWrites { file, line, job: first.name.clone() });
    }
    Ok(())
}

/// How a [`Mixer`] runs its jobs.
#[derive(Clone, Debug, Default)]
pub struct MixerOptions {
    /// Seed of the run; every job derives its own from it.
    pub seed: u64,
    /// Service times of the closed loop.
    pub service: ServiceConfig,
    /// Shares of the bytes.
    pub pace: Pace,
    /// The run ends by volume: jobs of the last phase that are limited by time, or by nothing but
    /// `size`, go on until then.
    pub until_volume: bool,
}

/// The commands of all jobs.
#[derive(Clone, Debug)]
pub struct Mixer {
    jobs: Vec<JobSpec>,
    options: MixerOptions,
    /// Phase numbers, ascending.
    phases: Vec<u32>,
    /// Position in `phases` of the one that runs.
    current: usize,
    phase: Phase,
    written: u64,
    total: Option<u64>,
    memory: u64,
    queue_depth: u32,
}

impl Mixer {
    /// Checks all jobs and starts the first phase.
    pub fn new(mut jobs: Vec<JobSpec>, options: &MixerOptions) -> Result<Self, WorkloadError> {
        let mut phases: Vec<u32> = jobs.iter().map(|j| j.phase).collect();
        phases.sort_unstable();
        phases.dedup();
        let last = *phases.last().ok_or(WorkloadError::Empty)?;
        let names: Vec<&str> = jobs.iter().map(|j| j.name.as_str()).collect();
        options.pace.check(&names)?;
        for &phase in &phases {
            check_shares(&jobs, phase, &options.pace)?;
        }
        for job in &mut jobs {
            if options.until_volume && job.phase == last {
                job.time_based |= job.runtime.is_some();
                job.runtime = None;
            } else {
                job.time_based &= job.runtime.is_some();
            }
        }
        if options.until_volume {
            go_on_until_volume(&mut jobs, last)?;
        }
        let mut total = Some(0u64);
        let mut memory = 0;
        for &phase in &phases {
            let mut bytes = 0;
            for (i, job) in jobs.iter().enumerate().filter(|(_, j)| j.phase == phase) {
                let stream = JobStream::new(job, options.seed, i as u32)?;
                let written = stream.total_bytes().filter(|_| job.runtime.is_none());
                total = total.zip(written).map(|(a, b)| a.saturating_add(b));
                bytes += stream.memory_bytes() + phase::RUNNER_BYTES;
            }
            memory = memory.max(bytes);
        }
        let start = Start {
            jobs: &jobs,
            seed: options.seed,
            service: &options.service,
            pace: &options.pace,
            now: 0,
            written: 0,
        };
        let phase = Phase::start(phases[0], &start)?;
        let queue_depth = phase.running().map(|job| jobs[job].iodepth).sum::<u32>().max(1);
        let options = options.clone();
        Ok(Mixer {
            jobs,
            options,
            phases,
            current: 0,
            phase,
            written: 0,
            total,
            memory,
            queue_depth,
        })
    }

    /// Appends up to `max` commands; fewer only at the end of all jobs.
    pub fn fill(&mut self, out: &mut Vec<Command>, max: usize) {
        let end = out.len() + max;
        out.reserve(max);
        while !self.phase.fill(out, end, &self.options.pace, &mut self.written) {
            if !self.next_phase() {
                return;
            }
        }
    }

    /// Bytes that will be written, when every job ends by its bytes; `None` when one does not.
    /// Mixed reads and writes count by their expectation.
    pub fn total_bytes(&self) -> Option<u64> {
        self.total
    }

    /// Bytes written by the commands handed out so far.
    pub fn written_bytes(&self) -> u64 {
        self.written
    }

    /// Most bytes of memory that the jobs of one phase take.
    pub fn memory_bytes(&self) -> u64 {
        self.memory
    }

    /// Model seconds at the last command handed out.
    pub fn model_seconds(&self) -> f64 {
        self.phase.now() as f64 / SECOND
    }

    /// The phase that runs, from 0, and how many there are.
    pub fn phase(&self) -> (usize, usize) {
        (self.current, self.phases.len())
    }

    /// Names of the jobs that are running, in the order of the job file; clones appear once.
    pub fn running(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.phase.running().map(|job| self.jobs[job].name.as_str()).collect();
        names.dedup();
        names
    }

    /// The jobs as they run.
    pub fn jobs(&self) -> &[JobSpec] {
        &self.jobs
    }

    /// Starts the next phase; false when there is none.
    fn next_phase(&mut self) -> bool {
        let Some(&number) = self.phases.get(self.current + 1) else { return false };
        let start = Start {
            jobs: &self.jobs,
            seed: self.options.seed,
            service: &self.options.service,
            pace: &self.options.pace,
            now: self.phase.now(),
            written: self.written,
        };
        let Ok(phase) = Phase::start(number, &start) else {
            // `new` has built every job once: none can fail now.
            return false;
        };
        self.phase = phase;
        self.current += 1;
        true
    }
}

/// Fixed shares of some jobs of a phase must leave something for the others.
fn check_shares(jobs: &[JobSpec], phase: u32, pace: &Pace) -> Result<(), WorkloadError> {
    let jobs = || jobs.iter().filter(move |j| j.phase == phase);
    let mut entries: Vec<usize> = jobs().filter_map(|j| pace.entry(&j.name)).collect();
    entries.sort_unstable();
    entries.dedup();
    let sum: f64 = entries.iter().filter_map(|&e| pace.fixed(e)).sum();
    match jobs().find(|j| pace.entry(&j.name).is_none()) {
        Some(other) if sum >= 1.0 => Err(WorkloadError::Pace(format!(
            "the shares add up to {sum} and leave nothing for job `{}`, which runs at the same time",
            other.name
        ))),
        _ => Ok(()),
    }
}

impl CommandStream for Mixer {
    /// The queue depth is that of all jobs of the first phase.
    fn description(&self) -> StreamDescription {
        StreamDescription {
            identifiers: false,
            queue_depth: self.queue_depth,
            loads: false,
            timed: false,
            waits: false,
        }
    }

    fn load(&mut self, _: &mut Batch, _: usize) -> StreamState {
        StreamState::Ended
    }

    fn next(&mut self, batch: &mut Batch, max: usize) -> StreamState {
        let end = batch.len() + max;
        self.fill(&mut batch.commands, max);
        batch.state_at(end)
    }

    /// The closed loop is weighed with the device's service times instead.
    fn completed(&mut self, _: &[Completion]) {}

    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests;
