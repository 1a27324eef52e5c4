//! Write amplification of a real drive: counters read through nvme-cli while something runs.
//!
//! [`NvmeCli`] reads the counters as JSON. [`Tracker`] adds up their growth across wraps, resets and missed
//! samples. [`record`] makes a record with `timeline.seconds` and `provenance.measured`.
//!
//! The procedure is that of KIOXIA's performance brief on FDP (2025): read HBMW and MBMW at even intervals,
//! show cumulative, instantaneous and clamped WAF; see [`wafer_record::metrics`].

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
    /// As the log has it: a counter wraps in its units.
    pub units: u128,
    /// Bytes of a unit.
    pub unit_bytes: u64,
}

/// Counters of a drive at one moment, since it was made or last reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Host bytes written.
    pub host: Counter,
    /// Media bytes written.
    pub media: Counter,
    /// Media bytes erased, if the source reports them.
    pub erased: Option<Counter>,
    /// Whether one log has all of them, which is reset as one.
    pub one_log: bool,
}
