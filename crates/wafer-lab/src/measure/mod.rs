//! Write amplification of a real drive: counters read through nvme-cli while something runs.
//!
//! [`NvmeCli`] reads the counters as JSON, [`Tracker`] makes growth of them (wraps, resets and missed
//! samples included), [`MeasuredRecord`] is what is kept: a record of schema `wafer.result/1` with
//! `timeline.seconds` and `provenance.measured`, which reports draw like any other.
//!
//! The procedure is that of KIOXIA's performance brief on FDP (2025): read HBMW and MBMW at even intervals,
//! show cumulative, instantaneous and clamped WAF; see [`crate::metrics`].

mod nvme_cli;
mod record;
mod tracker;

pub use nvme_cli::{Identity, NvmeCli};
pub use record::{Measured, MeasuredRecord, Session};
pub use tracker::{Growth, Tracker};

use serde::{Deserialize, Serialize};

/// Where counters come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// FDP Statistics, log page 0x22 (NVMe Base 2.1, 5.1.12.1.30): HBMW, MBMW and MBE of an endurance
    /// group, in bytes.
    Fdp,
    /// Physical Media Units Written of the SMART Cloud Attributes, log page 0xC0 (OCP Datacenter NVMe
    /// SSD 2.0, SMART-1), in bytes, beside Data Units Written of SMART, in units of 512,000 bytes.
    Ocp,
    /// Endurance Group Information, log page 0x09 (NVMe Base 2.1, 5.1.12.1.10): Data and Media Units
    /// Written, in units of 10^9 bytes.
    EnduranceGroup,
}

impl Source {
    /// All, the finest first.
    pub const ALL: [Source; 3] = [Source::Fdp, Source::Ocp, Source::EnduranceGroup];

    /// Bytes of the unit in which the host's counter grows: WAF over intervals of few units is
    /// coarse.
    pub fn unit_bytes(self) -> u64 {
        match self {
            Source::Fdp => 1,
            Source::Ocp => 512_000,
            Source::EnduranceGroup => 1_000_000_000,
        }
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Source::Fdp => "FDP statistics",
            Source::Ocp => "OCP SMART and SMART",
            Source::EnduranceGroup => "endurance group log",
        })
    }
}

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
