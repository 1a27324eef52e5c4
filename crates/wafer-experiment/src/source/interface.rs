//! The interface of sources of commands.

use std::fmt::Debug;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::{Schema, SchemaGenerator};
use wafer_interface::CommandStream;
use wafer_record::record::{IgnoredOption, JobRecord};

use crate::error::LabError;
use wafer_closed_loop::{FixedDepth, OpenLoop};
use wafer_config::Place;
use wafer_config::{Files, Layers, ResolvedDevice};

/// A source of commands: a job file, an application model, a trace, or arrays in memory.
///
/// [`Source::build`] creates its stream, always the same one for the same target.
pub trait Source: Debug + Send + Sync {
    /// Returns the kind of workload in the result record, such as "fio".
    fn kind(&self) -> &'static str;

    /// Returns the path of its file, as given, or another name for messages.
    fn path(&self) -> String;

    /// Returns the files that it reads.
    fn files(&self) -> Vec<PathBuf> {
        vec![self.path().into()]
    }

    /// Returns the text from which it can be repeated; empty if there is none.
    fn text(&self) -> String {
        String::new()
    }

    /// Returns details that determine its commands on this device and are not in its text, jobs or files: for a job
    /// file, every option of its jobs. They distinguish the run from others.
    ///
    /// # Errors
    /// Like [`Source::build`].
    fn details(&self, _target: &SourceTarget<'_>) -> Result<String, LabError> {
        Ok(String::new())
    }

    /// Returns the bytes of memory that it takes on this device, as far as known before it is built; 0 if unknown. A
    /// workload that cannot fit is thus refused before it is built.
    ///
    /// # Errors
    /// Like [`Source::build`].
    fn memory_bytes(&self, _target: &SourceTarget<'_>) -> Result<u64, LabError> {
        Ok(0)
    }

    /// Returns the jobs of the workload, resolved for the device; empty for a source without jobs.
    ///
    /// # Errors
    /// Like [`Source::build`].
    fn jobs(&self, _target: &SourceTarget<'_>) -> Result<Vec<JobRecord>, LabError> {
        Ok(Vec::new())
    }

    /// Prepares the stream of commands.
    ///
    /// # Errors
    /// The workload does not fit this device; one line with file, line and key.
    fn build(&self, target: &SourceTarget<'_>) -> Result<Built, LabError>;
}

/// The run that a source is built for.
#[derive(Clone, Copy, Debug)]
pub struct SourceTarget<'a> {
    /// The device.
    pub device: &'a ResolvedDevice,
    /// Random seed.
    pub seed: u64,
    /// Whether the run ends at a volume. A workload limited by time then continues until the volume is reached.
    pub until_volume: bool,
    /// Whether the run has a clock. Jobs then wait for completions.
    pub timed: bool,
    /// Whether the caller skips reads, so that they need not be generated.
    pub without_reads: bool,
    /// Shares of the written bytes for concurrent jobs, `JOB=SHARE,...`.
    pub pace: Option<&'a str>,
    /// CSV file whose columns `pace` may name.
    pub pace_from: Option<&'a Path>,
    /// Where an experiment file sets `pace`, or `pace_from` alone; `None` for an argument.
    pub pace_place: Option<&'a Place>,
}

impl SourceTarget<'_> {
    /// Returns an error about the shares of the jobs.
    pub(super) fn pace_error(&self, reason: impl Into<String>) -> LabError {
        let argument = if self.pace.is_some() { "pace" } else { "pace_from" };
        LabError::config(self.pace_place.cloned().unwrap_or(Place::Argument(argument)), reason)
    }

    /// Refuses `pace` and `pace_from` for a workload without jobs to share bytes among.
    pub(super) fn refuse_pace(&self, reason: &str) -> Result<(), LabError> {
        match (self.pace, self.pace_from) {
            (None, None) => Ok(()),
            _ => Err(self.pace_error(reason)),
        }
    }
}

/// A workload that is ready to run.
pub struct Built {
    /// The commands.
    pub stream: Box<dyn CommandStream>,
    /// Bytes to write if it ends on its own.
    pub total_bytes: Option<u64>,
    /// Bytes of memory that it takes.
    pub memory_bytes: u64,
    /// The jobs, as numbered by the tickets of the stream.
    pub jobs: Vec<TimedJob>,
    /// How the application waits for the drive, if its stream does not wait itself.
    pub host: Host,
    /// Options of a job file without effect on what is written.
    pub ignored: Vec<IgnoredOption>,
    /// Notes for the user before the run, one line each.
    pub notices: Vec<String>,
}

/// How an application waits for the drive.
#[derive(Clone, Copy, Debug, Default)]
pub struct Host {
    /// Number of commands that it keeps in flight; `None` for the stream's own queue depth.
    pub queue_depth: Option<u32>,
    /// Nanoseconds from the completion of a command to the submission of the one that replaces it, with a clock.
    pub think_time_ns: u64,
}

/// Returns the key and the reason if a `queue_depth` is invalid.
pub(super) fn depth_fault(depth: Option<u32>) -> Option<(&'static str, &'static str)> {
    let is_wrong = depth.is_some_and(|depth| !(1..=65536).contains(&depth));
    is_wrong.then_some(("queue_depth", "expected a number from 1 to 65536"))
}

impl Built {
    /// Returns the number of commands in flight.
    pub fn queue_depth(&self) -> u32 {
        self.host.queue_depth.unwrap_or(self.stream.description().queue_depth)
    }

    /// Returns the workload for a run with a clock: in a closed loop, unless the stream waits itself or submits
    /// commands at its own times.
    pub fn with_clock(self) -> Built {
        let by_time = self.stream.description().timed && self.host.queue_depth.is_none();
        if by_time { self } else { self.in_closed_loop() }
    }

    /// Returns the workload in a closed loop, unless the stream waits itself.
    pub fn in_closed_loop(self) -> Built {
        if self.stream.description().waits {
            return self;
        }
        let (depth, think_time) = (self.queue_depth(), self.host.think_time_ns);
        Built { stream: Box::new(FixedDepth::new(self.stream, depth, think_time)), ..self }
    }

    /// Returns it by its times, next to streams that wait; none if it has no times, or waits itself.
    pub fn in_open_loop(self) -> Option<Built> {
        let description = self.stream.description();
        let is_open = description.timed && !description.waits;
        is_open.then(|| Built { stream: Box::new(OpenLoop::new(self.stream)), ..self })
    }
}

/// A job of a run with a clock.
#[derive(Clone, Debug)]
pub struct TimedJob {
    /// Name of the job; clones share it.
    pub name: String,
    /// Nanoseconds after its first command that do not count.
    pub ramp: u64,
    /// The job whose results this one's replace, if there are any, after a search for its queue depth.
    pub replaces: Option<usize>,
    /// Whether its writes complete only when they are durable.
    pub sync: bool,
}

/// The source of an experiment, shared between its runs.
#[derive(Clone, Debug)]
pub struct Workload(Arc<dyn Source>);

impl Workload {
    /// Wraps a source.
    pub fn new(source: impl Source + 'static) -> Self {
        Workload(Arc::new(source))
    }
}

impl Deref for Workload {
    type Target = dyn Source;

    fn deref(&self) -> &Self::Target {
        self.0.as_ref()
    }
}

/// A kind of source that an experiment's `[workload]` table can choose.
pub(super) struct Kind {
    /// The keys that choose it; a table has exactly one such key of all kinds.
    pub(super) keys: &'static [&'static str],
    /// Keys of other kinds that its table may also have, with a different meaning.
    pub(super) beside: &'static [&'static str],
    /// Reads the table of the experiment file `path`.
    pub(super) parse: fn(table: Layers, files: &Files, path: &Path) -> Result<Workload, LabError>,
    /// Defines the tables that it reads, and returns their schemas.
    pub(super) schema: fn(&mut SchemaGenerator) -> Vec<Schema>,
}
