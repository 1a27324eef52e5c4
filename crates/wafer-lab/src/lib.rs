//! Runs experiments: a device, a workload and a seed give a result record.
//!
//! # What it is
//! - [`run`] and [`Batch`]: run one [`Experiment`], or many on all cores and within the available memory.
//!   `wafer-experiment` defines experiments.
//!
//! # Architecture
//! - `run.rs` moves commands from the stream to the device in batches; `time/` runs with a clock; `assemble.rs` creates
//!   the record. `precondition.rs`: writes before the run. `steady.rs` and `filled.rs`: drives saved for later runs.
//!
//! # Invariants
//! - The same configuration, seed and version give the same timeline, bit by bit, with any number of threads.
//! - A run stops at exactly the requested volume, in logical blocks.
//! - A result file is complete or absent.
//!
//! # Error model
//! [`LabError`], as in `wafer-experiment`. A run stops at the first error.
//!
//! # What it does not implement
//! - Saving and restoring the state of a run. However, a caller may save steady-state drives ([`SteadyStates`]), and
//!   several runs may begin with the same filled drive ([`FilledDrives`]).

mod assemble;
#[cfg(not(target_arch = "wasm32"))]
mod batch;
mod clock;
mod control;
mod drive;
mod filled;
mod precondition;
mod remarks;
mod run;
mod steady;
mod time;

#[cfg(not(target_arch = "wasm32"))]
pub use batch::Batch;
pub use control::{Control, Progress, Stage, SteadyStates};
pub use filled::FilledDrives;
pub use precondition::PreconditionStream;
pub use remarks::{early_end, warnings};
pub use run::{Steps, run, run_with_policy};
pub use wafer_experiment::memory::available_memory;
pub use wafer_experiment::{
    Checked, Checks, CommandsSource, Comparison, ComparisonRow, DEFAULT_SAMPLES, Experiment,
    FioSource, GIT, LabError, ModelInfo, NOT_SIMULATED, Options, Reference, SAMPLES, Source,
    Standing, Workload, experiment_schema, find_model, model_defaults, models, provenance,
    refuse_if_short, source,
};
#[cfg(not(target_arch = "wasm32"))]
pub use wafer_experiment::{TraceFile, TraceSource};
