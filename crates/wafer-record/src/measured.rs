//! Measurements of real drives in a record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The real drive and how its counters were read.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// Path of the drive, such as `/dev/nvme0`.
    pub device: String,
    /// Model number.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// Total NVM capacity, bytes.
    pub capacity_bytes: Option<u64>,
    /// The log that holds the counters.
    pub source: Source,
    /// Endurance group.
    pub endurance_group: u16,
    /// Version line of nvme-cli.
    pub nvme_cli: String,
    /// Requested time between two readings, seconds.
    pub interval_seconds: f64,
    /// Command that was measured; empty if none was started.
    pub command: Vec<String>,
    /// Exit status of the command; null if a signal ended it or none was started.
    pub exit_status: Option<i32>,
    /// Number of readings that failed.
    pub missed: u64,
    /// Number of counters that wrapped.
    pub wraps: u64,
    /// Times at which the counters were found reset, seconds since the first reading.
    pub resets: Vec<f64>,
}

/// A log that holds counters of host and media writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// FDP Statistics, log page 0x22 (NVMe Base 2.1, 5.1.12.1.30): HBMW, MBMW and MBE of an endurance
    /// group, in bytes.
    Fdp,
    /// Physical Media Units Written of the SMART Cloud Attributes, log page 0xC0 (OCP Datacenter NVMe SSD 2.0,
    /// SMART-1), in bytes, with Data Units Written of SMART, in units of 512,000 bytes.
    Ocp,
    /// Endurance Group Information, log page 0x09 (NVMe Base 2.1, 5.1.12.1.10): Data and Media Units
    /// Written, in units of 10^9 bytes.
    EnduranceGroup,
}

impl Source {
    /// All sources, those with the finest unit first.
    pub const ALL: [Source; 3] = [Source::Fdp, Source::Ocp, Source::EnduranceGroup];

    /// Returns the unit of the host counter in bytes; WAF over intervals of a few units is coarse.
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
