//! What an experiment writes. Each kind of source is a file of this folder.
//!
//! To add a kind: copy `fio.rs`, implement [`Source`], and name the file twice here: in a `mod` line
//! and in `KINDS`, with the keys of an experiment's `[workload]` table that choose it.

mod commands;
mod fio;
mod fio_jobs;
mod model;
mod tenants;
mod trace;

use std::fmt::Debug;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

pub use commands::CommandsSource;
pub use fio::FioSource;
pub use model::{ModelSource, find_model, models};
use schemars::{Schema, SchemaGenerator, json_schema};
pub use tenants::TenantsSource;
pub(crate) use tenants::schema as tenant_schema;
pub use trace::{TraceFile, TraceSource};
use wafer_interface::CommandStream;
use wafer_record::record::{IgnoredOption, JobRecord};

use crate::config::{Files, Layers, ResolvedDevice};
use crate::error::{LabError, Place};

/// Something that commands come from: job file, application model, trace, arrays in memory.
///
/// A source is a description; [`Source::build`] makes a stream of it, as often as it is asked and
/// always the same one for the same target.
pub trait Source: Debug + Send + Sync {
    /// Kind of workload in the result record, such as "fio".
    fn kind(&self) -> &'static str;

    /// The file it was read from, as given, or what stands for one in messages.
    fn path(&self) -> String;

    /// Text that repeats it: the file's, for a file of text.
    fn text(&self) -> String {
        String::new()
    }

    /// Bytes of memory that it is known to take before it is built, on this device; 0 where only building it
    /// tells. What cannot fit is then refused at once, and not when most of it has been made.
    ///
    /// # Errors
    /// As [`Source::build`].
    fn memory_bytes(&self, _target: &SourceTarget<'_>) -> Result<u64, LabError> {
        Ok(0)
    }

    /// Returns the jobs of the workload, resolved for the device; empty for a source without jobs.
    ///
    /// # Errors
    /// As [`Source::build`].
    fn jobs(&self, _target: &SourceTarget<'_>) -> Result<Vec<JobRecord>, LabError> {
        Ok(Vec::new())
    }

    /// Prepares the stream of commands.
    ///
    /// # Errors
    /// What cannot work on this device, in one line with file, line and key.
    fn build(&self, target: &SourceTarget<'_>) -> Result<Built, LabError>;
}

/// What a source is built for.
#[derive(Clone, Copy, Debug)]
pub struct SourceTarget<'a> {
    /// The device.
    pub device: &'a ResolvedDevice,
    /// Random seed.
    pub seed: u64,
    /// Whether the run ends at a volume. A workload limited by time then continues until the volume.
    pub until_volume: bool,
    /// Shares of the bytes of jobs that run at the same time, `JOB=SHARE,...`.
    pub pace: Option<&'a str>,
    /// CSV file whose columns `pace` may name.
    pub pace_from: Option<&'a Path>,
    /// Where an experiment file sets `pace`; none for an argument.
    pub pace_place: Option<&'a Place>,
}

impl SourceTarget<'_> {
    /// Refuses `pace`, for a workload that has no jobs to share bytes among.
    fn refuse_pace(&self, reason: &str) -> Result<(), LabError> {
        let place = || self.pace_place.cloned().unwrap_or(Place::Argument("pace"));
        match self.pace {
            Some(_) => Err(LabError::config(place(), reason)),
            None => Ok(()),
        }
    }
}

/// A workload, ready to be written.
pub struct Built {
    /// The commands.
    pub stream: Box<dyn CommandStream>,
    /// Bytes that it will write, if it ends by itself.
    pub total_bytes: Option<u64>,
    /// Bytes of memory that it takes.
    pub memory_bytes: u64,
    /// Options of a job file without effect on what is written.
    pub ignored: Vec<IgnoredOption>,
    /// What is worth telling before the run, a line each.
    pub notices: Vec<String>,
}

/// The source of an experiment, shared between its runs.
#[derive(Clone, Debug)]
pub struct Workload(Arc<dyn Source>);

impl Workload {
    /// A source as a workload.
    pub fn new(source: impl Source + 'static) -> Self {
        Workload(Arc::new(source))
    }

    /// A fio job file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn fio(path: &Path) -> Result<Self, LabError> {
        Ok(Workload::new(FioSource::read(path)?))
    }

    /// The `[workload]` table or the `[[tenants]]` of an experiment, from the text of a TOML document.
    /// `label` names the text in messages; relative paths start at `folder`.
    ///
    /// # Errors
    /// As for an experiment file.
    pub fn from_text(label: &str, text: &str, folder: &Path) -> Result<Self, LabError> {
        let mut layers = Layers::from_text(label, text)?;
        of_file(&mut layers, &Files::new(folder, None), Path::new(label))
    }
}

impl Deref for Workload {
    type Target = dyn Source;

    fn deref(&self) -> &Self::Target {
        self.0.as_ref()
    }
}

/// A kind of source that an experiment's `[workload]` table can choose.
struct Kind {
    /// The keys that choose it; a table has exactly one of all kinds' keys.
    keys: &'static [&'static str],
    /// Reads the table of the experiment file `path`.
    parse: fn(table: Layers, files: &Files, path: &Path) -> Result<Workload, LabError>,
    /// Defines the tables that it reads, and returns their schemas.
    schema: fn(&mut SchemaGenerator) -> Vec<Schema>,
}

/// All kinds.
const KINDS: &[Kind] = &[fio::KIND, model::KIND, trace::KIND];

/// Returns the schema of a `[workload]` table: one of the tables of all kinds.
pub(crate) fn schema(generator: &mut SchemaGenerator) -> Schema {
    let tables: Vec<Schema> = KINDS.iter().flat_map(|kind| (kind.schema)(generator)).collect();
    json_schema!({ "description": "What is written.", "anyOf": tables })
}

/// Reads a `[workload]` table, found at `key` of the experiment file `path`.
pub(crate) fn parse(
    file: &mut Layers,
    key: &str,
    files: &Files,
    path: &Path,
) -> Result<Workload, LabError> {
    let keys = || KINDS.iter().flat_map(|kind| kind.keys);
    let choices = || keys().copied().collect::<Vec<_>>().join(", ");
    let place = file.clone();
    let missing = || place.error(key, &format!("missing; give one of {}", choices()));
    let table = match file.split_off(key) {
        None => return Err(missing()),
        Some(Err(_)) => return Err(place.error(key, "expected a table")),
        Some(Ok(table)) => table,
    };
    let mut given = keys().filter(|k| table.has(k));
    let Some(chosen) = given.next() else {
        // Most likely a misspelt key: the reader of fio's keys says which.
        if table.is_empty() {
            return Err(missing());
        }
        return (fio::KIND.parse)(table, files, path);
    };
    if let Some(second) = given.next() {
        let reason = format!("give {chosen} or {second}, not both");
        return Err(place.error(&format!("{key}.{second}"), &reason));
    }
    let kind = KINDS.iter().find(|kind| kind.keys.contains(chosen)).unwrap_or(&fio::KIND);
    (kind.parse)(table, files, path)
}

/// Reads what an experiment file writes: `[workload]`, or `[[tenants]]`.
pub(crate) fn of_file(file: &mut Layers, files: &Files, path: &Path) -> Result<Workload, LabError> {
    if !file.has("tenants") {
        return parse(file, "workload", files, path);
    }
    if file.has("workload") {
        return Err(file.error("tenants", "give [workload] or [[tenants]], not both"));
    }
    tenants::parse(file, files, path)
}
