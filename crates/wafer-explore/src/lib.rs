//! The device and its experiments in a browser: the settings of a page, and the module that runs them.
//!
//! # What it is
//! - [`Settings`]: what the controls of a page set; read from an experiment file, written as one and as a command.
//! - [`Session`]: a run that a page makes piece by piece, by requests and answers in JSON. On `wasm32` the crate exports
//!   it as functions (`exports.rs`), and `scripts/build-wasm` makes the module that `wafer-web` puts into the page.
//!
//! # Architecture
//! The page holds no rule of the device: it sends settings, and draws what it gets. Settings become the text of an
//! experiment file before they run, so that a run in the page and one of the file are the same by construction.
//! The record is that of `wafer-record`, so that the page draws with the panels of a report.
//!
//! # Invariants
//! - A run gives the timeline and the summary of `wafer run` with the same experiment, bit by bit.
//! - Settings that were read from an experiment file and written again are the same experiment.
//!
//! # Error model
//! Answers are results or errors of one line, in the words of `wafer-lab`, with the key at fault. A panic is a defect;
//! the module reports it and stops, and the page loads it anew.
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
pub use session::Session;
pub use settings::{Settings, WorkloadSettings};
pub use streams::{Pattern, Stream};
