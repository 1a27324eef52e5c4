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

/// Counters of a drive at one moment, in bytes since it was made or last reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// HBMW.
    pub host_bytes: u128,
    /// MBMW.
    pub media_bytes: u128,
    /// MBE, if the source reports it.
    pub erased_bytes: Option<u128>,
}
