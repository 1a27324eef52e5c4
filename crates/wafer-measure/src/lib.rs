//! Measures the write amplification of a real drive: reads its counters through nvme-cli at
//! intervals.
//!
//! [`NvmeCli`] reads the counters as JSON. [`Tracker`] sums their growth across wraps, resets and missed
//! samples. [`record`] creates a record with `timeline.seconds` and `provenance.measured`.
//!
//! The procedure is that of KIOXIA's performance brief on FDP (2025): read HBMW and MBMW at regular
//! intervals, and show cumulative, instantaneous and clamped WAF; see [`wafer_record::metrics`].

mod nvme_cli;
mod record;
mod tracker;

pub use nvme_cli::{Identity, NvmeCli};
pub use record::{Session, record};
pub use tracker::{Growth, Tracker};
pub use wafer_record::Source;

/// A counter of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counter {
    /// Value in the units of the log, in which it wraps.
    pub units: u128,
    /// Bytes per unit.
    pub unit_bytes: u64,
}

/// Counters of a drive at one moment, since it was manufactured or last reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Host bytes written.
    pub host: Counter,
    /// Media bytes written.
    pub media: Counter,
    /// Media bytes erased, if the source reports them.
    pub erased: Option<Counter>,
    /// Whether they are all in one log, which is reset as a whole.
    pub one_log: bool,
}
