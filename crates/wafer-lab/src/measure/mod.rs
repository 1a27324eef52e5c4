//! Write amplification of a real drive: counters read through nvme-cli while something runs.
//!
//! [`NvmeCli`] reads the counters as JSON, [`Tracker`] makes growth of them (wraps, resets and missed
//! samples included), [`record`] makes a record of it, with
//! `timeline.seconds` and `provenance.measured`.
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
    /// MBE, where the source tells.
    pub erased_bytes: Option<u128>,
}
