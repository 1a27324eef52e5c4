//! All jobs of a workload as one stream of commands.
//!
//! Phases follow each other: the next one starts when all jobs of the previous one have ended. The jobs of a phase run
//! at the same time on a virtual clock: each has the model time of its next command, and the earliest goes first, ties
//! in the order of the job file.
//!
//! With a volume (`until_volume`), the caller stops pulling when enough is written, and jobs of the last phase with
//! `time_based` or `runtime` never end. If no such job writes, jobs of that phase limited only by `size` continue as if
//! `time_based`. Everywhere else, `runtime` counts model seconds, and a `time_based` job without `runtime` ends by its
//! bytes, as in fio.

mod clock;
mod lanes;
mod options;
mod pace;
mod pace_table;
mod phase;

use clock::SECOND;
pub use options::MixerOptions;
pub use pace::Pace;
pub use pace_table::PaceTable;
use phase::Phase;
use wafer_interface::{
    Batch, Command, CommandStream, Completion, Figure, StreamDescription, StreamState,
};

use crate::error::WorkloadError;
use crate::job::{Direction, JobSpec};
use crate::job_stream::JobStream;

/// Lets the last phase continue until any volume is reached.
fn continue_until_volume(jobs: &mut [JobSpec], last: u32) -> Result<(), WorkloadError> {
    let writes = |job: &JobSpec| {
        let mixed = job.direction == Direction::ReadWrite && job.read_percent < 100;
        mixed || matches!(job.direction, Direction::Write | Direction::TrimWrite)
    };
    let mut phase: Vec<&mut JobSpec> = jobs.iter_mut().filter(|job| job.phase == last).collect();
    let endless = phase.iter().any(|job| job.time_based);
    if !phase.iter().any(|job| job.time_based && writes(job)) {
        for job in &mut phase {
            let once = job.loops <= 1 && job.io_size == job.size && job.number_ios.is_none();
            job.time_based |= once && writes(job);
        }
    }
    if endless && !phase.iter().any(|job| job.time_based && writes(job)) {
        // These jobs are endless, but only read or trim.
        let first = &phase[0];
        let (file, line) = first.source.clone();
        return Err(WorkloadError::NeverWrites { file, line, job: first.name.clone() });
    }
    Ok(())
}

/// Returns the phase numbers in order, and decides which jobs end by time, by volume or by bytes. With `until_volume`,
/// jobs of the last phase that are limited by time, or only by `size`, continue until the caller stops.
///
/// # Errors
/// There is no job, or the last phase has endless jobs of which none writes.
pub fn prepare(jobs: &mut [JobSpec], until_volume: bool) -> Result<Vec<u32>, WorkloadError> {
    let mut phases: Vec<u32> = jobs.iter().map(|j| j.phase).collect();
    phases.sort_unstable();
    phases.dedup();
    let last = *phases.last().ok_or(WorkloadError::Empty)?;
    for job in &mut *jobs {
        if until_volume && job.phase == last {
            job.time_based |= job.runtime.is_some();
            job.runtime = None;
        } else {
            job.time_based &= job.runtime.is_some();
        }
    }
    if until_volume {
        continue_until_volume(jobs, last)?;
    }
    Ok(phases)
}

/// The commands of all jobs.
#[derive(Clone, Debug)]
pub struct Mixer {
    jobs: Vec<JobSpec>,
    options: MixerOptions,
    /// Phase numbers, ascending.
    phases: Vec<u32>,
    /// Position of the running phase in `phases`.
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
        let phases = prepare(&mut jobs, options.until_volume)?;
        let names: Vec<&str> = jobs.iter().map(|j| j.name.as_str()).collect();
        options.pace.check(&names)?;
        if let Some(job) =
            jobs.iter().find(|j| j.flow.is_some() && options.pace.entry(&j.name).is_some())
        {
            let name = &job.name;
            return Err(WorkloadError::Pace(format!(
                "job `{name}` has `flow`: it cannot have a share, too"
            )));
        }
        for &phase in &phases {
            check_shares(&jobs, phase, &options.pace)?;
        }
        let mut total = Some(0u64);
        let mut memory = 0;
        for &phase in &phases {
            let mut bytes = 0;
            for (i, job) in jobs.iter().enumerate().filter(|(_, j)| j.phase == phase) {
                let stream = JobStream::new(job, options.seed, i as u32)?;
                let written =
                    stream.total_bytes().filter(|_| job.runtime.is_none() && job.exit.is_none());
                total = total.zip(written).map(|(a, b)| a.saturating_add(b));
                bytes += stream.memory_bytes() + phase::RUNNER_BYTES;
            }
            memory = memory.max(bytes);
        }
        let phase = Phase::start(phases[0], &jobs, options, 0, 0)?;
        let queue_depth = phase.running().map(|job| jobs[job].iodepth).sum::<u32>().max(1);
        Ok(Mixer {
            jobs,
            options: options.clone(),
            phases,
            current: 0,
            phase,
            written: 0,
            total,
            memory,
            queue_depth,
        })
    }

    /// Appends up to `max` commands; fewer only when all jobs have ended.
    pub fn fill(&mut self, out: &mut Vec<Command>, max: usize) {
        let end = out.len() + max;
        out.reserve(max);
        while !self.phase.fill(out, end, &self.jobs, &self.options.pace, &mut self.written) {
            if !self.next_phase() {
                return;
            }
        }
    }

    /// Returns the bytes that will be written if every job ends by its bytes, else `None`. Mixed reads and writes count
    /// by their expected value.
    pub fn total_bytes(&self) -> Option<u64> {
        self.total
    }

    /// Returns the bytes written by the commands generated so far.
    pub fn written_bytes(&self) -> u64 {
        self.written
    }

    /// Returns the memory in bytes that the jobs of the largest phase take.
    pub fn memory_bytes(&self) -> u64 {
        self.memory
    }

    /// Returns the model time of the last command, in seconds.
    pub fn model_seconds(&self) -> f64 {
        self.phase.now() as f64 / SECOND
    }

    /// Returns the current phase, from 0, and the number of phases.
    pub fn phase(&self) -> (usize, usize) {
        (self.current, self.phases.len())
    }

    /// Returns the names of the running jobs, in the order of the job file; clones appear once.
    pub fn running(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.phase.running().map(|job| self.jobs[job].name.as_str()).collect();
        names.dedup();
        names
    }

    /// Returns the jobs as they run.
    pub fn jobs(&self) -> &[JobSpec] {
        &self.jobs
    }

    /// Starts the next phase; returns false if there is none.
    fn next_phase(&mut self) -> bool {
        let next = self.phases.get(self.current + 1).filter(|_| !self.phase.ends_all());
        let Some(&number) = next else { return false };
        // Cannot fail: `new` has already created every job.
        let Ok(phase) =
            Phase::start(number, &self.jobs, &self.options, self.phase.now(), self.written)
        else {
            return false;
        };
        self.phase = phase;
        self.current += 1;
        true
    }
}

/// Checks that the fixed shares of a phase's named jobs leave something for its other jobs.
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
    /// Describes the stream; its queue depth is that of all jobs of the first phase.
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

    /// Does nothing: the closed loop is modelled with constant service times.
    fn completed(&mut self, _: &[Completion]) {}

    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests;
