//! Sources of workloads. Each kind is a file in this folder.
//!
//! To add a kind, copy `fio.rs`, implement [`Source`], and name the file twice here: in a `mod` line and in `KINDS`.
//! Its `KIND` has the keys of an experiment's `[workload]` table that choose it.

mod commands;
mod fio;
mod fio_jobs;
mod interface;
mod model;
mod pace_table;
#[cfg(not(target_arch = "wasm32"))]
mod scans;
mod tenants;
#[cfg(not(target_arch = "wasm32"))]
mod trace;

use std::path::{Path, PathBuf};

pub use commands::CommandsSource;
pub use fio::FioSource;
use interface::Kind;
pub use interface::{Built, Host, Source, SourceTarget, TimedJob, Workload};
pub use model::{ModelSource, find_model, model_defaults, models};
use schemars::{Schema, SchemaGenerator, json_schema};
pub use tenants::TenantsSource;
pub(crate) use tenants::schema as tenant_schema;
#[cfg(not(target_arch = "wasm32"))]
pub use trace::{TraceFile, TraceSource};

use crate::error::LabError;
use wafer_config::{Files, Layers};

impl Workload {
    /// Reads a fio job file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn fio(path: &Path) -> Result<Self, LabError> {
        Ok(Workload::new(FioSource::read(path)?))
    }

    /// Returns traces with the same `KEY=VALUE` options.
    ///
    /// # Errors
    /// An option is unknown or its value is invalid.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn traces(files: &[PathBuf], assignments: &[String]) -> Result<Self, LabError> {
        Ok(Workload::new(TraceSource::from_options(files, assignments)?))
    }

    /// Refuses traces, because a browser has no files.
    #[cfg(target_arch = "wasm32")]
    pub(crate) fn traces(_: &[PathBuf], _: &[String]) -> Result<Self, LabError> {
        Err(LabError::argument("trace", "a browser has no files"))
    }

    /// Reads the `[workload]` table or the `[[tenants]]` of an experiment from the text of a TOML document.
    /// `label` names the text in messages; relative paths start at `folder`.
    ///
    /// # Errors
    /// As with an experiment file.
    pub fn from_text(label: &str, text: &str, folder: &Path) -> Result<Self, LabError> {
        let mut layers = Layers::from_text(label, text)?;
        of_file(&mut layers, &Files::new(folder, None), Path::new(label))
    }
}

const KINDS: &[Kind] = &[
    fio::KIND,
    model::KIND,
    #[cfg(not(target_arch = "wasm32"))]
    trace::KIND,
];

/// Returns the schema of a `[workload]` table, which is any table of any kind.
pub(crate) fn schema(generator: &mut SchemaGenerator) -> Schema {
    let tables: Vec<Schema> = KINDS.iter().flat_map(|kind| (kind.schema)(generator)).collect();
    json_schema!({ "description": "What is written.", "anyOf": tables })
}

/// Reads a `[workload]` table, found at `key` of the experiment file `path`.
fn parse(file: &mut Layers, key: &str, files: &Files, path: &Path) -> Result<Workload, LabError> {
    let keys = || KINDS.iter().flat_map(|kind| kind.keys);
    let choices = || keys().copied().collect::<Vec<_>>().join(", ");
    let place = file.clone();
    let missing = || place.error(key, &format!("missing; give one of {}", choices()));
    let table = match file.split_off(key) {
        None => return Err(missing().into()),
        Some(Err(_)) => return Err(place.error(key, "expected a table").into()),
        Some(Ok(table)) => table,
    };
    let mut given = keys().filter(|k| table.has(k));
    let Some(chosen) = given.next() else {
        // Most likely a key is misspelt; the reader of fio's keys names it.
        if table.is_empty() {
            return Err(missing().into());
        }
        return (fio::KIND.parse)(table, files, path);
    };
    let kind = KINDS.iter().find(|kind| kind.keys.contains(chosen)).unwrap_or(&fio::KIND);
    if let Some(second) = given.find(|key| !kind.beside.contains(key)) {
        let reason = format!("give {chosen} or {second}, not both");
        return Err(place.error(&format!("{key}.{second}"), &reason).into());
    }
    (kind.parse)(table, files, path)
}

/// Reads the workload of an experiment file: `[workload]`, or `[[tenants]]`.
pub(crate) fn of_file(file: &mut Layers, files: &Files, path: &Path) -> Result<Workload, LabError> {
    if !file.has("tenants") {
        return parse(file, "workload", files, path);
    }
    if file.has("workload") {
        return Err(file.error("tenants", "give [workload] or [[tenants]], not both").into());
    }
    tenants::parse(file, files, path, parse)
}
