//! Experiments: a device, a workload and a seed give a result record.
//!
//! # What it is
//! - [`Experiment`]: what to run, from a file or from options;
//! - [`run`] and [`Batch`]: one run, or many over all cores and within the available memory;
//! - [`experiment_schema`]: JSON Schema of experiment files, from the types that read them.
//!
//! # Architecture
//! - `experiment.rs`, `precondition.rs`: from a file to a runnable experiment. `source/`: workloads, one
//!   kind a file. `reference.rs`: published curves to compare with.
//! - `run.rs` moves commands from the stream to the device in batches; `steady.rs` makes drives steady;
//!   `time/` runs with a clock; `assemble.rs` makes the record.
//!
//! # Invariants
//! - The same configuration, seed and version give the same timeline, bit by bit, whatever the number of
//!   threads.
//! - A run stops at exactly the volume asked for, in logical blocks.
//! - A result file is complete or absent.
//!
//! # Error model
//! [`LabError`], one line each, with its causes as sources. [`LabError::is_usage`] separates errors in the
//! user's input (with file, line and key) from later failures. Errors name arguments by their role; the
//! command line and Python add their own words. No input file causes a panic.
//!
//! # What it does not implement
//! - Saving and restoring the state of a run. A caller may keep drives in steady state ([`SteadyStates`]).

mod assemble;
#[cfg(not(target_arch = "wasm32"))]
mod batch;
mod checks;
mod clock;
mod control;
mod drive;
mod error;
mod experiment;
mod memory;
mod precondition;
mod reference;
mod remarks;
mod run;
mod seed;
pub mod source;
mod steady;
mod time;

/// Commit that the library was built from, or "unknown".
pub const GIT: &str = env!("WAFER_GIT");

pub use assemble::provenance;
#[cfg(not(target_arch = "wasm32"))]
pub use batch::Batch;
pub use checks::{Checks, Standing};
pub use control::{Control, Progress, Stage};
pub use error::LabError;
pub use experiment::{
    Checked, DEFAULT_SAMPLES, Experiment, Options, SAMPLES, schema as experiment_schema,
};
pub use memory::refuse_if_short;
pub use precondition::PreconditionStream;
pub use reference::{Comparison, ComparisonRow, Reference};
pub use remarks::{early_end, warnings};
pub use run::{Steps, run, run_with_policy};
pub use source::{CommandsSource, FioSource, Source, Workload, find_model, model_defaults, models};
#[cfg(not(target_arch = "wasm32"))]
pub use source::{TraceFile, TraceSource};
pub use steady::SteadyStates;
pub use wafer_apps::model::ModelInfo;
