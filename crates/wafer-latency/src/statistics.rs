//! The statistics of commands, by direction, job, handle and namespace.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;
use wafer_interface::{Command, NsId, Op, Placement, stream};
use wafer_media::{Done, Time};
use wafer_record::time::Direction;

use crate::latencies::Latencies;
use crate::series::Series;

/// Returns the direction of an operation, if its latency is recorded.
fn direction_of(op: Op) -> Option<Direction> {
    match op {
        Op::Read => Some(Direction::Read),
        Op::Write => Some(Direction::Write),
        Op::Deallocate => Some(Direction::Trim),
        Op::Flush => Some(Direction::Flush),
        Op::Update => None,
    }
}

/// Requests whose latencies are recorded together.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Group {
    /// `None` for a stream without jobs.
    pub(crate) job: Option<usize>,
    pub(crate) direction: Direction,
    pub(crate) namespace: NsId,
    /// Their placement index.
    pub(crate) placement: Placement,
}

/// The period in which something is measured.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    pub(crate) from: Time,
    pub(crate) to: Time,
}

impl Span {
    const NONE: Span = Span { from: Time::MAX, to: 0 };

    pub(crate) fn join(&mut self, other: Span) {
        self.from = self.from.min(other.from);
        self.to = self.to.max(other.to);
    }

    /// Returns its length in seconds.
    pub(crate) fn seconds(self) -> f64 {
        self.to.saturating_sub(self.from) as f64 / 1e9
    }
}

/// A job and the period in which it is measured.
pub struct Job {
    pub(crate) name: String,
    ramp: Time,
    replaces: Option<usize>,
    /// From the end of its ramp to its last completion.
    pub(crate) span: Span,
    /// The end of its run time, if known.
    until: Time,
}

impl Job {
    /// Creates a job whose commands do not count until `ramp` nanoseconds after its first. Clones share a name.
    /// `replaces` is the job whose results the results of this one replace, if it has any: they follow a search for the
    /// queue depth.
    pub fn new(name: String, ramp: Time, replaces: Option<usize>) -> Self {
        Job { name, ramp, replaces, span: Span::NONE, until: 0 }
    }

    /// Returns the period in which it was measured in a run that ended at `end`. If the job's run time was up, the
    /// period extends to then, past its last completion.
    pub(crate) fn measured(&self, end: Time) -> Span {
        Span { to: self.span.to.max(self.until.min(end)), ..self.span }
    }
}

/// Latency and bandwidth of the commands of a run or a served drive.
pub struct Statistics {
    pub(crate) jobs: Vec<Job>,
    /// Number of namespaces: those of the run, and all that received commands.
    pub(crate) namespaces: usize,
    /// Each request is counted once; the record sums the groups.
    pub(crate) groups: Vec<(Group, Latencies)>,
    /// The position of each group in `groups`.
    places: HashMap<Group, usize, FxBuildHasher>,
    /// The groups of the last read, write, trim and flush: nearly always the next ones belong to them too.
    last: [Option<(Group, usize)>; Direction::ALL.len()],
    pub(crate) series: Series,
    /// Whether a command has counted yet.
    measures: bool,
}

impl Statistics {
    /// Creates empty statistics. Tickets number the jobs; if there are no jobs, every command counts. The record
    /// includes all `namespaces` of the run, with commands or not.
    pub fn new(jobs: Vec<Job>, namespaces: usize) -> Self {
        Statistics {
            measures: jobs.is_empty(),
            jobs,
            namespaces,
            groups: Vec::new(),
            places: HashMap::default(),
            last: [None; Direction::ALL.len()],
            series: Series::default(),
        }
    }

    /// Notes that a command is submitted. If it is the first that counts, returns the end of its job's ramp.
    pub fn submitted(&mut self, ticket: u64, time: Time) -> Option<Time> {
        let job = self.jobs.get_mut(stream::job_of(ticket))?;
        if job.span.from == Time::MAX {
            job.span.from = time.saturating_add(job.ramp);
        }
        let is_first = time >= job.span.from && !std::mem::replace(&mut self.measures, true);
        is_first.then_some(job.span.from)
    }

    /// Notes when the run time of a job begins.
    pub fn begins(&mut self, ticket: u64, time: Time) {
        if let Some(job) = self.jobs.get_mut(stream::job_of(ticket)) {
            job.span.from = time.saturating_add(job.ramp);
        }
    }

    /// Notes when the run time of a job is up.
    pub fn ends(&mut self, ticket: u64, time: Time) {
        if let Some(job) = self.jobs.get_mut(stream::job_of(ticket)) {
            job.until = time;
        }
    }

    /// Returns the latest known end of a run time among the jobs with results.
    pub fn end(&self) -> Time {
        self.results().map(|(_, job)| job.until).max().unwrap_or(0)
    }

    /// Returns the jobs whose results count, which are those not replaced by another's.
    pub(crate) fn results(&self) -> impl Iterator<Item = (usize, &Job)> {
        let replaced =
            |at: usize| self.jobs.iter().any(|job| job.replaces == Some(at) && job.span.to > 0);
        let all = self.jobs.iter().enumerate();
        all.filter(move |(at, job)| match job.replaces {
            Some(_) => job.span.to > 0,
            None => !replaced(*at),
        })
    }

    /// Returns whether a job has results after a search for its queue depth.
    pub fn searches(&self) -> bool {
        self.jobs.iter().any(|job| job.replaces.is_some() && job.span.to > 0)
    }

    /// Counts a completed command; `ticket` is that of its job.
    #[inline]
    pub fn add(&mut self, done: &Done, (command, ticket): (Command, u64)) {
        let Some(direction) = direction_of(command.op) else { return };
        let latency = done.time - done.request.submitted;
        let bytes = match direction {
            // These move no bytes over the link. The bytes of many ranges need not fit into one command.
            Direction::Trim | Direction::Flush => command.bytes().max(done.request.bytes),
            Direction::Read | Direction::Write => {
                let bytes = done.request.bytes;
                self.series.add(done.time, direction == Direction::Read, latency, bytes);
                bytes
            }
        };
        let number = stream::job_of(ticket);
        let mut job = None;
        if let Some(of) = self.jobs.get_mut(number) {
            if done.request.submitted < of.span.from {
                return;
            }
            of.span.to = of.span.to.max(done.time);
            job = Some(number);
        }
        let Command { namespace, placement, .. } = command;
        let group = Group { job, direction, namespace, placement };
        let last = &mut self.last[direction as usize];
        let at = match *last {
            Some((same, at)) if same == group => at,
            _ => *self.places.entry(group).or_insert_with(|| {
                self.namespaces = self.namespaces.max(namespace.index() + 1);
                self.groups.push((group, Latencies::default()));
                self.groups.len() - 1
            }),
        };
        *last = Some((group, at));
        self.groups[at].1.add(latency, bytes, &done.parts);
    }
}
