//! Published figures next to ours: studies, their runs, and the resulting table.
//!
//! # What it is
//! A *study* is a folder of `configs/experiments` with a file `study.toml`. It names *experiments*, each an
//! experiment file with overrides, and *rows*, each one published figure and the metric compared with it.
//! All configurations are in the binary, so a study runs anywhere. Traces are data and are not: a study
//! whose trace is missing says so in its rows.
//!
//! - `study.rs`: the file and its checks. `row.rs`: one figure. `plan.rs`: the runs that the chosen rows need.
//! - `scale.rs`: the same experiment on a device with smaller reclaim units.
//! - `grid.rs`: tables of published figures in which each cell is a row.
//! - `metric.rs`: from the records of one seed to a number. `measure.rs`: numbers of runs with a clock.
//! - `table.rs`: rows with the mean over seeds and their spread, `wafer.reproduce/1`; `markdown.rs` and
//!   `html.rs` show them.
//!
//! Misses are results like any other and are not hidden.

mod grid;
mod html;
mod markdown;
mod measure;
mod metric;
mod plan;
mod row;
mod scale;
mod study;
mod table;

pub(crate) use markdown::figures;
pub use markdown::{COLUMNS, Column, cells};
pub use measure::{Measure, Window};
pub use metric::{Effect, Metric};
pub use plan::{Choice, Plan, PlannedRun};
pub use row::{Class, Row};
pub use scale::Scale;
pub use study::{Study, StudyExperiment, Sweep};
pub use table::{
    ExperimentRecord, Outcomes, ReproducedRow, Reproduction, SCHEMA, Sensitivity, SensitivityPoint,
    StudyRecord, result_file, result_name, schema,
};
