//! Latency and bandwidth of timed commands.
//!
//! # What it is
//! [`Statistics`] counts every command that the media report as done, and produces the `time` of a record, both for a
//! run with a clock and for a served drive.
//!
//! # Architecture
//! - `statistics.rs`: commands by direction, job, handle and namespace. `record.rs`: their sums, as a record.
//! - `latencies.rs`: percentiles, and the parts of latencies between percentiles. `series.rs`: reads and writes over
//!   time.
//!
//! # Invariants
//! Every command is counted once. Memory does not grow with their number: latencies are exact within 1 %, and time is
//! divided into at most a thousand intervals.
//!
//! # Error model
//! Nothing fails. Counters saturate.

mod latencies;
mod record;
mod series;
mod statistics;

pub use latencies::Latencies;
pub use statistics::{Job, Statistics};
