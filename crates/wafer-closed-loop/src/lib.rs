//! The jobs of a workload as a stream that reacts to completions: fio's closed loop on a clock.
//!
//! A job keeps `iodepth` commands in flight. It submits the next one when a command completes or when `rate`,
//! `rate_iops` or `thinktime` permit, whichever is later. With `iodepth_low` or `iodepth_batch_complete_min` it submits
//! several together once several have completed (`reaper.rs`). `latency_target` adapts the depth to the latency
//! (`depth.rs`), and `steadystate` ends jobs that run steadily (`steady.rs`). A phase begins when every command of the
//! previous one has completed. Other streams keep a fixed number of commands in flight (`fixed_depth.rs`), or submit
//! theirs at their times next to streams that wait (`open_loop.rs`).
//!
//! # Invariants
//! The same jobs, seed and completions give the same commands at the same times.
//!
//! # Error model
//! As for [`JobStream`]: everything is checked when the loop is created.

mod depth;
mod fixed_depth;
mod job;
mod open_loop;
mod reaper;
mod steady;

pub use fixed_depth::FixedDepth;
use job::RunningJob;
pub use open_loop::OpenLoop;
use steady::Watch;
use wafer_fio::{Exit, Flows, JobSpec, JobStream, WorkloadError, prepare};
use wafer_interface::{
    Batch, CommandStream, Completion, Figure, StreamDescription, StreamState, stream,
};

/// All jobs of a workload in closed loop.
#[derive(Clone, Debug)]
pub struct ClosedLoop {
    specs: Vec<JobSpec>,
    seed: u64,
    phases: Vec<u32>,
    current: usize,
    running: Vec<RunningJob>,
    /// Which jobs their flow holds back.
    flows: Flows,
    /// Positions of the running jobs that may have a free slot.
    ready: Vec<usize>,
    memory: u64,
    queue_depth: u32,
    /// When the last command completed.
    now: u64,
    /// The latest deadline of the jobs that reached theirs.
    up: u64,
    /// Depths found by jobs of earlier phases, with their names, and whether the search was still running.
    found: Vec<(String, u32, bool)>,
    /// What `steadystate` watches, and the watch of each job.
    watches: Vec<Watch>,
    watched: Vec<Option<usize>>,
}

impl ClosedLoop {
    /// Checks all jobs and starts the first phase. With `until_volume`, jobs of the last phase that are limited by
    /// time, or only by `size`, continue until the caller stops.
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
            flows: Flows::default(),
            ready: Vec::new(),
            memory,
            queue_depth: 0,
            now: 0,
            up: 0,
            found: Vec::new(),
            watches: Vec::new(),
            watched: Vec::new(),
        };
        jobs.watch();
        jobs.start()?;
        jobs.queue_depth = jobs.running.iter().map(RunningJob::depth).sum::<u32>().max(1);
        Ok(jobs)
    }

    /// Returns the jobs as they run; a ticket names one by its position. Positions from `specs().len()` on stand for
    /// the results after a search for the depth (`latency_target`), which replace those of the search.
    pub fn specs(&self) -> &[JobSpec] {
        &self.specs
    }

    /// Returns the bytes of memory of random maps and tables.
    pub fn memory_bytes(&self) -> u64 {
        self.memory
    }

    fn watch(&mut self) {
        for (number, spec) in self.specs.iter().enumerate() {
            let watch = spec.steady_state.map(|steady| {
                let together = |watch: &Watch| {
                    let first = &self.specs[watch.jobs()[0]];
                    first.group == spec.group && first.group_reporting && spec.group_reporting
                };
                if let Some(at) = self.watches.iter().position(together) {
                    self.watches[at].join(number);
                    return at;
                }
                self.watches.push(Watch::new(steady, number));
                self.watches.len() - 1
            });
            self.watched.push(watch);
        }
    }

    /// Ends the jobs that are to end together with a running one, if that has ended.
    fn exit(&mut self, at: usize) {
        let ended = &self.specs[self.running[at].number()];
        let Some(exit) = ended.exit.filter(|_| self.running[at].has_ended()) else { return };
        if exit == Exit::All {
            self.current = self.phases.len() - 1;
        }
        let time = self.running[at].ended_at(self.now);
        for job in &mut self.running {
            if exit.ends(ended, &self.specs[job.number()], job.runs_at(time)) {
                job.end_at(time);
            }
        }
    }

    fn start(&mut self) -> Result<(), WorkloadError> {
        let found = self.running.iter().filter_map(RunningJob::found);
        self.found.extend(found.map(|(job, depth, searches)| (job.to_owned(), depth, searches)));
        self.running.clear();
        let phase = self.phases[self.current];
        for (number, spec) in self.specs.iter().enumerate().filter(|(_, s)| s.phase == phase) {
            let first = [number, self.specs.len() + number].map(stream::first_ticket);
            let start = self.now.max(self.up);
            self.running.push(RunningJob::new(spec, self.seed, number as u32, first, start)?);
        }
        self.ready = (0..self.running.len()).rev().collect();
        self.flows = Flows::start(self.running.iter().map(|job| self.specs[job.number()].flow));
        Ok(())
    }

    /// Finds the jobs that their flow held back and that may continue.
    fn release(&mut self) {
        if self.flows.is_empty() {
            return;
        }
        let mut ended: Vec<(u64, usize)> = (0..self.running.len())
            .filter(|at| self.running[*at].has_ended() && self.flows.has(*at))
            .map(|at| (self.running[at].ended_at(self.now), at))
            .collect();
        ended.sort_unstable();
        let is_idle = self.running.iter().all(RunningJob::is_idle);
        self.ready = self.released();
        for (time, at) in ended {
            // A job belongs to its group until its deadline. If all jobs wait for that, the deadline is the next event.
            if time <= self.now || is_idle && self.ready.is_empty() {
                self.flows.leave(at, time);
                self.ready = self.released();
            }
        }
    }

    fn released(&self) -> Vec<usize> {
        let released = |at: &usize| self.running[*at].is_held() && !self.flows.holds(*at);
        (0..self.running.len()).rev().filter(released).collect()
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
            while let Some(&job) = self.ready.last() {
                let (running, from) = (&mut self.running[job], batch.len());
                running.submit(batch, end, &mut self.flows, job);
                self.up = batch.ended.iter().fold(self.up, |up, (_, end)| up.max(*end));
                if let Some(watch) = self.watched[running.number()] {
                    for at in from..batch.len() {
                        let bytes = batch.commands[at].bytes();
                        self.watches[watch].submitted(batch.tickets[at], batch.times[at], bytes);
                    }
                }
                if batch.len() >= end {
                    return StreamState::Ready;
                }
                if let Some(at) = self.ready.pop() {
                    self.exit(at);
                }
                if self.ready.is_empty() {
                    self.release();
                }
            }
            if self.running.iter().any(|job| !job.is_over()) {
                return StreamState::Waiting;
            }
            self.current += 1;
            // `new` created every job once, so none can fail now.
            if self.current == self.phases.len() || self.start().is_err() {
                self.current = self.phases.len() - 1;
                return StreamState::Ended;
            }
        }
    }

    fn completed(&mut self, completions: &[Completion]) {
        for completion in completions {
            let (number, jobs) = (stream::job_of(completion.ticket), self.specs.len());
            let number = if number < jobs { number } else { number - jobs };
            let time = completion.time_ns.unwrap_or(self.now);
            self.now = self.now.max(time);
            if let Ok(at) = self.running.binary_search_by_key(&number, RunningJob::number) {
                self.running[at].completed(completion.ticket, time);
                self.ready.push(at);
            }
            if let Some(watch) = self.watched[number]
                && self.watches[watch].completed(completion.ticket, time)
            {
                for number in self.watches[watch].jobs() {
                    let at = self.running.binary_search_by_key(number, RunningJob::number);
                    at.into_iter().for_each(|at| self.running[at].end());
                }
            }
        }
    }

    fn figures(&self) -> Vec<Figure> {
        let meaning = "queue depth that latency_target allows; 0: not even one command at a time";
        let unfinished = "the job ended before the search for the queue depth did; its results are those of the search";
        let found =
            self.found.iter().map(|(job, depth, searches)| (job.as_str(), *depth, *searches));
        let depths = found.chain(self.running.iter().filter_map(RunningJob::found));
        let of = |job: &str, figure| Figure { tenant: job.to_owned(), ..figure };
        let mut figures = Vec::new();
        for (job, depth, searches) in depths {
            figures.push(of(job, Figure::new("latency_depth", f64::from(depth), "", meaning)));
            if searches {
                figures
                    .push(of(job, Figure::new("latency_search_unfinished", 1.0, "", unfinished)));
            }
        }
        for watch in &self.watches {
            let job = &self.specs[watch.jobs()[0]].name;
            figures.extend(watch.outcome().figures().map(|figure| of(job, figure)));
        }
        figures
    }
}

#[cfg(test)]
mod tests;
