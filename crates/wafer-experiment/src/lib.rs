//! Experiments: a device, a workload, a volume and a seed, from a file, from options, or from both.
//!
//! # What it is
//! - [`Experiment`]: the specification of a run; `wafer-lab` runs it;
//! - [`Source`]: a workload of any kind, from which [`Experiment::build`] creates a stream of commands;
//! - [`experiment_schema`]: the JSON Schema of experiment files, generated from the types that read them;
//! - [`Reference`]: a published curve to compare a run with.
//!
//! # Architecture
//! - `experiment.rs` reads files and options, `experiment/file.rs` declares their keys. `source/`: workloads, one file
//!   for each kind.
//! - `placements.rs`: translation of placement indices to identifiers. `provenance.rs`: the provenance of a record.
//!
//! # Invariants
//! - The same file, options and seed give the same stream of commands.
//! - Streams are created here, but implemented in the crates below: this crate is compiled for size, so nothing on the
//!   path of every command is in it.
//!
//! # Error model
//! [`LabError`], one line each, with its causes as sources. [`LabError::is_usage`] separates errors in the user's input
//! (with file, line and key) from later failures. Errors name arguments by their role; the command line and Python
//! spell them in their own way. No input file causes a panic.

mod checks;
mod error;
mod experiment;
pub mod memory;
mod placements;
mod provenance;
mod reference;
mod seed;
pub mod source;

pub use checks::{Checks, Standing};
pub use error::LabError;
pub use experiment::{
    Checked, DEFAULT_SAMPLES, Experiment, Options, SAMPLES, schema as experiment_schema,
};
pub use memory::refuse_if_short;
pub use placements::Placements;
pub use provenance::{GIT, provenance};
pub use reference::{Comparison, ComparisonRow, Reference};
pub use seed::derived as derived_seed;
pub use source::{CommandsSource, FioSource, Source, Workload, find_model, model_defaults, models};
#[cfg(not(target_arch = "wasm32"))]
pub use source::{TraceFile, TraceSource};
pub use wafer_apps::model::ModelInfo;
pub use wafer_fio_file::NOT_SIMULATED;
