//! Published figures beside ours: studies, what they run, and the table that comes out.
//!
//! # What it is
//! A *study* is a file `study.toml` of a folder of `configs/experiments`. It names *experiments*, each an
//! experiment file with overrides, and *rows*, each one published figure with what it is
//! compared with. All files are in the binary ([`shipped`]), so that a study runs anywhere.
//!
//! - `study.rs`: the file and its checks. `plan.rs`: which runs the chosen rows need.
//! - `scale.rs`: the same experiment on a device with smaller reclaim units.
//! - `metric.rs`: from the records of one seed to a number.
//! - `table.rs`: rows with the mean over seeds and their spread, `wafer.reproduce/1`; `markdown.rs` and
//!   `html.rs` show them.
//!
//! Misses are results like any other: nothing here hides them.

mod html;
mod markdown;
mod metric;
mod plan;
mod scale;
pub mod shipped;
mod study;
mod table;

pub use markdown::Cells;
pub use metric::{Effect, Metric};
pub use plan::{Choice, Plan, PlannedRun};
pub use scale::Scale;
pub use study::{Class, Row, Study, StudyExperiment, Sweep};
pub use table::{
    ExperimentRecord, Outcomes, ReproducedRow, Reproduction, SCHEMA, Sensitivity, SensitivityPoint,
    StudyRecord, result_file,
};
