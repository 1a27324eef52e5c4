//! Latency and bandwidth of timed commands.
//!
//! # What it is
//! [`Statistics`] counts every command that the media report as done, and makes the `time` of a record: for a run with a
//! clock and for a served drive alike.
//!
//! # Architecture
//! - `statistics.rs`: commands by direction, job, handle and namespace. `record.rs`: sums of these, as a record.
//! - `latencies.rs`: percentiles, and the parts of the latencies in a band of percentiles. `series.rs`: over time.
//!
//! # Invariants
//! Every command is counted once. Memory does not grow with their number: latencies are kept within 1 %, and time in at
//! most a thousand intervals.
//!
//! # Error model
//! Nothing fails. Counters saturate.

mod latencies;
mod record;
mod series;
mod statistics;

pub use latencies::Latencies;
pub use statistics::{Job, Statistics};
