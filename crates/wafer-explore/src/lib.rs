//! Runs experiments in a browser: the settings of a page, and the module that runs them.
//!
//! # What it is
//! - [`Settings`]: the controls of a page; read from an experiment file, written as one and as a command line.
//! - [`Session`]: runs an experiment for a page piece by piece, by requests and answers in JSON. On `wasm32` the crate
//!   exports it as functions (`exports.rs`), and `scripts/build-wasm` builds the module that `wafer-web` embeds in the
//!   page.
//!
//! # Architecture
//! The page contains no rule of the device: it sends settings, and draws what it receives. Settings become the
//! text of an experiment file before they run, so a run in the page and one of the file are the same by
//! construction. The record is that of `wafer-record`, so the page draws it with the panels of a report.
//!
//! # Invariants
//! - A run has the same timeline and summary as `wafer run` with the same experiment, bit by bit.
//! - Settings read from an experiment file and written again describe the same experiment.
//!
//! # Error model
//! Answers are results, or errors of one line worded by `wafer-lab` with the invalid key. A panic is a defect; the
//! module reports it and stops, and the page reloads it.
//!
//! # What it does not implement
//! Runs with a clock, traces, and anything else that reads a file.

#[cfg(target_arch = "wasm32")]
mod exports;
mod presets;
mod read;
mod session;
mod settings;
mod streams;
mod text;

pub use presets::{Preset, presets};
pub use session::{Session, WITHOUT_VOLUME};
pub use settings::{Settings, WorkloadSettings};
pub use streams::{Pattern, Stream};
