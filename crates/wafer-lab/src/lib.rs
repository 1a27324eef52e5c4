//! Experiments: a device, a workload and a seed give a result record.
//!
//! # What it is
//! - [`load_device`]: profiles and TOML files with overrides, to a checked configuration;
//! - [`Experiment`]: what to run, from a file or from options;
//! - [`run`] and [`Batch`]: one run, or many over all cores and within the memory there is;
//! - [`ResultRecord`]: `wafer.result/1` with its provenance;
//! - [`Reference`]: published curves to stand beside ours;
//! - [`reproduce`]: published studies beside ours;
//! - [`validate`]: the table of errors against measured curves;
//! - [`metrics`]: cumulative, instantaneous and clamped WAF over samples of counters;
//! - [`measure`]: counters of a real drive, read through nvme-cli;
//! - [`theory`]: closed forms of write amplification, the oracle of the device.
//!
//! # Architecture
//! - `config/`: layers of TOML with the place that set each key; profiles; suggestions.
//! - `experiment.rs`, `precondition.rs`, `volume.rs`: from a file to what can run. `source/`: what is
//!   written, one kind a file.
//! - `run.rs` moves commands from the stream to the device in batches; `timeline.rs` takes the points.
//! - `record.rs` and `host.rs`: what is kept. `compare.rs`: what it is compared with.
//!
//! # Invariants
//! - The same configuration, seed and version give the same [`Timeline`], bit by bit, whatever the
//!   number of threads; [`Timeline::digest`] tells.
//! - A run stops at exactly the volume asked for, in logical blocks.
//! - A result file is whole or not there.
//!
//! # Error model
//! [`LabError`], one line each. [`LabError::is_usage`] tells what the user gave wrongly (with file,
//! line and key) from what failed later. Nothing that a file says panics.
//!
//! # What it does not implement
//! - Time. `performance` is the simulator's own; the model counts bytes, not seconds.
//! - Moving a run's state to a file and back.

pub mod advise;
mod attribution;
mod batch;
mod compare;
pub mod config;
mod drive;
mod error;
mod experiment;
mod explain;
mod files;
mod generated;
pub mod host;
pub mod measure;
pub mod metrics;
mod precondition;
pub mod ranking;
mod read;
mod reclaim_units;
pub mod record;
pub mod reproduce;
mod run;
pub mod source;
pub mod theory;
mod timeline;
pub mod validate;
mod volume;

pub use attribution::{AttributionRecord, CollectedRecord};
pub use batch::Batch;
pub use compare::{Comparison, ComparisonRow, Published, Reference, VOLUMES};
pub use config::{ResolvedDevice, device_from_text, load_device};
pub use drive::{Events, Wear};
pub use error::LabError;
pub use experiment::{Checked, DEFAULT_SAMPLES, Experiment, Options};
pub use explain::{Added, Explanation, Finding, HandleCost};
pub use precondition::{Precondition, PreconditionStream};
pub use read::read_records;
pub use reclaim_units::{MOST_RECLAIM_UNITS, ReclaimUnits};
pub use record::{ResultRecord, write_json};
pub use run::{Control, Progress, Stage, View, run, run_with_policy};
pub use source::{
    CommandsSource, FioSource, Source, TraceFile, TraceSource, Workload, find_model, models,
};
pub use timeline::{HandleKey, Series, Timeline};
pub use volume::Volume;
pub use wafer_workload::model::ModelInfo;
