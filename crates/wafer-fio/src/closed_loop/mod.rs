//! The jobs of a workload as a stream that hears of completions: fio's closed loop on a clock.
//!
//! A job keeps `iodepth` commands in flight. The next one is submitted when one completes, or when `rate`,
//! `rate_iops` or `thinktime` let it, whichever is later. With `latency_target` the depth follows the latency. Phases follow each other when every command of the one
//! before has completed.

mod depth;
mod job;

use job::RunningJob;
use wafer_interface::{
    Batch, CommandStream, Completion, Figure, StreamDescription, StreamState, stream,
};

use crate::error::WorkloadError;
use crate::job::JobSpec;
use crate::job_stream::JobStream;
use crate::mixer::prepare;

/// All jobs of a workload in closed loop.
#[derive(Clone, Debug)]
pub struct ClosedLoop {
    specs: Vec<JobSpec>,
    seed: u64,
    phases: Vec<u32>,
    current: usize,
    running: Vec<RunningJob>,
    /// Positions of the running jobs that may have a free place.
    ready: Vec<usize>,
    memory: u64,
    queue_depth: u32,
    /// Time at which the last command completed.
    now: u64,
    /// Depths that jobs of earlier phases have found, with their names.
    found: Vec<(String, u32)>,
}

impl ClosedLoop {
    /// Checks all jobs and starts the first phase. With `until_volume`, jobs of the last phase that are limited by
    /// time, or by nothing but `size`, continue until the caller stops.
    ///
    /// # Errors
    /// A job that cannot be generated.
    pub fn new(
        mut specs: Vec<JobSpec>,
        seed: u64,
        until_volume: bool,
    ) -> Result<Self, WorkloadError> {
        let phases = prepare(&mut specs, until_volume)?;
        let mut memory = 0;
        for (number, spec) in specs.iter().enumerate() {
            memory += JobStream::new(spec, seed, number as u32)?.memory_bytes();
        }
        let mut jobs = ClosedLoop {
            specs,
            seed,
            phases,
            current: 0,
            running: Vec::new(),
            ready: Vec::new(),
            memory,
            queue_depth: 0,
            now: 0,
            found: Vec::new(),
        };
        jobs.start()?;
        jobs.queue_depth = jobs.running.iter().map(RunningJob::depth).sum::<u32>().max(1);
        Ok(jobs)
    }

    /// Returns the jobs as they run; a ticket names one by its position. As many behind them stand for their results
    /// after a search for the depth (`latency_target`), which replace those before.
    pub fn specs(&self) -> &[JobSpec] {
        &self.specs
    }

    /// Returns the bytes of memory of random maps and tables.
    pub fn memory_bytes(&self) -> u64 {
        self.memory
    }

    fn start(&mut self) -> Result<(), WorkloadError> {
        let found = self.running.iter().filter_map(RunningJob::found);
        self.found.extend(found.map(|(job, depth)| (job.to_owned(), depth)));
        self.running.clear();
        let phase = self.phases[self.current];
        for (number, spec) in self.specs.iter().enumerate().filter(|(_, s)| s.phase == phase) {
            let first = [number, self.specs.len() + number].map(stream::first_ticket);
            self.running.push(RunningJob::new(spec, self.seed, number as u32, first, self.now)?);
        }
        self.ready = (0..self.running.len()).rev().collect();
        Ok(())
    }
}

impl CommandStream for ClosedLoop {
    fn description(&self) -> StreamDescription {
        StreamDescription {
            identifiers: false,
            queue_depth: self.queue_depth,
            loads: false,
            timed: true,
            waits: true,
        }
    }

    fn load(&mut self, _: &mut Batch, _: usize) -> StreamState {
        StreamState::Ended
    }

    fn next(&mut self, batch: &mut Batch, max: usize) -> StreamState {
        let end = batch.len() + max;
        loop {
            while let Some(job) = self.ready.last() {
                self.running[*job].submit(batch, end);
                if batch.len() >= end {
                    return StreamState::Ready;
                }
                self.ready.pop();
            }
            if self.running.iter().any(|job| !job.is_over()) {
                return StreamState::Waiting;
            }
            self.current += 1;
            // Every job was made once before: none can fail now.
            if self.current == self.phases.len() || self.start().is_err() {
                self.current = self.phases.len() - 1;
                return StreamState::Ended;
            }
        }
    }

    fn completed(&mut self, completions: &[Completion]) {
        for completion in completions {
            let number = stream::job_of(completion.ticket) % self.specs.len();
            let time = completion.time_ns.unwrap_or(self.now);
            self.now = self.now.max(time);
            if let Ok(at) = self.running.binary_search_by_key(&number, RunningJob::number) {
                self.running[at].completed(completion.ticket, time);
                self.ready.push(at);
            }
        }
    }

    fn figures(&self) -> Vec<Figure> {
        let meaning = "queue depth that latency_target allows; 0: not even one command at a time";
        let found = self.found.iter().map(|(job, depth)| (job.as_str(), *depth));
        found
            .chain(self.running.iter().filter_map(RunningJob::found))
            .map(|(job, depth)| Figure {
                tenant: job.to_owned(),
                ..Figure::new("latency_depth", f64::from(depth), "", meaning)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
