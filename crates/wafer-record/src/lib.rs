//! The record of a run, a measurement or a drive, and the metrics and findings that follow from it.
//!
//! # What it is
//! - [`Record`]: `wafer.result/1`. Simulated runs, measurements of real drives, live pages and mounted
//!   drives write it, and every command reads it. [`schema`] is its JSON Schema.
//! - [`Snapshot`]: a device at one moment, for progress, live pages and drives at the end of their use.
//! - [`Metrics`] and [`Finding`]: WAF over the run and why it is high, computed once, when a record is created.
//! - [`Published`]: published curves to compare with.
//! - [`statistics`] and [`endurance`]: confidence intervals over seeds; the life of a drive at a WAF.
//! - [`capture`]: `wafer.capture/1`, the commands that hosts sent to a drive.
//!
//! # Invariants
//! - A file is written completely or not at all.
//! - [`Timeline::digest`] is equal for equal configuration and seed, on any machine.
//! - Every record of version 0.1.0 can be read; [`Record::complete`] adds what is missing.
//!
//! # Error model
//! [`RecordError`], one line that names the file and, if known, the line and key. No file content causes a panic.
//!
//! # What it does not implement
//! - Captures and outputs in a browser (`wasm32`), which has no files.
//! - Running anything: `wafer-lab` does, and fills in the types of this crate.

mod arrangements;
mod attribution;
mod brief;
#[cfg(not(target_arch = "wasm32"))]
pub mod capture;
pub mod endurance;
mod error;
mod events;
pub mod files;
mod findings;
pub mod host;
mod labels;
mod measured;
pub mod metrics;
#[cfg(not(target_arch = "wasm32"))]
pub mod outputs;
mod precondition;
mod published;
mod read;
mod reclaim_units;
pub mod record;
mod schema;
mod settings;
mod snapshot;
pub mod statistics;
pub mod text;
pub mod time;
mod timeline;
mod volume;

pub use arrangements::ArrangementRecord;
pub use attribution::{AttributionRecord, CollectedRecord};
pub use error::RecordError;
pub use events::{Events, Wear, event_name};
pub use findings::{Added, Cause, Explanation, Finding, HandleCost, comparison};
pub use labels::labels;
pub use measured::{Measured, Source};
pub use metrics::{Metrics, volumes};
#[cfg(not(target_arch = "wasm32"))]
pub use outputs::{Outputs, write_file, write_json, write_text};
pub use precondition::Precondition;
pub use published::Published;
pub use read::{read_records, records_of_text};
pub use reclaim_units::{MOST_RECLAIM_UNITS, ReclaimUnits};
pub use record::{Kind, Record, Summary};
pub use schema::schema;
pub use snapshot::{Connection, DriveState, Event, Live, NamespaceState, Snapshot};
pub use time::TimeRecord;
pub use timeline::{HandleKey, Recorder, Series, Timeline, interpolate};
pub use volume::Volume;
