//! The result record of a measurement.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::{Identity, Source, Tracker};
use crate::host::Host;
use crate::record::{SCHEMA, rfc3339};

/// A measurement with what is needed to repeat it: schema `wafer.result/1`, like a simulated run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MeasuredRecord {
    /// [`SCHEMA`].
    pub schema: String,
    /// Name of the measurement.
    pub name: String,
    /// What was measured, by what, where and when.
    pub provenance: MeasuredProvenance,
    /// Totals.
    pub summary: MeasuredSummary,
    /// Counters on the way.
    pub timeline: MeasuredTimeline,
    /// How long it took.
    pub performance: MeasuredPerformance,
}

/// What was measured, by what, where and when.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MeasuredProvenance {
    /// Version of wafer.
    pub version: String,
    /// Commit that the binary was built from, or "unknown".
    pub git: String,
    /// Always null: the device is not a model.
    pub config: Option<()>,
    /// Always null.
    pub seed: Option<u64>,
    /// Start of the measurement, RFC 3339, UTC.
    pub started: String,
    /// The machine.
    pub host: Host,
    /// The drive and how it was read.
    pub measured: Measured,
}

/// The drive and how it was read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// The device, such as `/dev/nvme0`.
    pub device: String,
    /// Model number.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// Total NVM capacity, bytes.
    pub capacity_bytes: Option<u64>,
    /// Where the counters come from.
    pub source: Source,
    /// Endurance group.
    pub endurance_group: u16,
    /// Version line of nvme-cli.
    pub nvme_cli: String,
    /// Seconds between two readings, as asked for.
    pub interval_seconds: f64,
    /// What ran; empty: nothing was started.
    pub command: Vec<String>,
    /// How the command ended: its exit status, null when a signal ended it or none was started.
    pub exit_status: Option<i32>,
    /// Readings that failed.
    pub missed: u64,
    /// Counters that wrapped.
    pub wraps: u64,
    /// Seconds at which the counters were found to have been reset.
    pub resets: Vec<f64>,
}

/// Totals of a measurement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MeasuredSummary {
    /// HBMW.
    pub host_bytes: u64,
    /// MBMW.
    pub media_bytes: u64,
    /// MBE; null where the source does not tell.
    pub erased_bytes: Option<u64>,
    /// media / host; 1 when nothing was written.
    pub waf: f64,
}

/// Totals at each reading.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MeasuredTimeline {
    /// Seconds since the first reading.
    pub seconds: Vec<f64>,
    /// HBMW.
    pub host_bytes: Vec<u64>,
    /// MBMW.
    pub media_bytes: Vec<u64>,
    /// MBE; empty where the source does not tell.
    pub erased_bytes: Vec<u64>,
    /// Always empty: the log counts the endurance group as a whole.
    pub handles: std::collections::BTreeMap<String, ()>,
}

/// How long a measurement took.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MeasuredPerformance {
    /// Seconds from the first reading to the last.
    pub wall_seconds: f64,
}

/// What a measurement was, beside its readings.
#[derive(Clone, Debug)]
pub struct Session {
    /// Name of the record.
    pub name: String,
    /// Start.
    pub started: SystemTime,
    /// The drive.
    pub device: String,
    /// What it says of itself.
    pub identity: Identity,
    /// Where the counters come from.
    pub source: Source,
    /// Endurance group.
    pub endurance_group: u16,
    /// Version line of nvme-cli.
    pub nvme_cli: String,
    /// Seconds between two readings.
    pub interval_seconds: f64,
    /// What ran.
    pub command: Vec<String>,
    /// How it ended.
    pub exit_status: Option<i32>,
}

impl MeasuredRecord {
    /// The record of a session.
    pub fn new(session: Session, tracker: &Tracker) -> Self {
        let total = tracker.total();
        let tells_erases = session.source == Source::Fdp;
        let waf = match total.host_bytes {
            0 => 1.0,
            host => total.media_bytes as f64 / host as f64,
        };
        let samples = &tracker.samples;
        MeasuredRecord {
            schema: SCHEMA.to_owned(),
            name: session.name,
            provenance: MeasuredProvenance {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                git: env!("WAFER_GIT").to_owned(),
                config: None,
                seed: None,
                started: rfc3339(session.started),
                host: Host::this(),
                measured: Measured {
                    device: session.device,
                    model: session.identity.model,
                    serial: session.identity.serial,
                    firmware: session.identity.firmware,
                    capacity_bytes: session.identity.capacity_bytes,
                    source: session.source,
                    endurance_group: session.endurance_group,
                    nvme_cli: session.nvme_cli,
                    interval_seconds: session.interval_seconds,
                    command: session.command,
                    exit_status: session.exit_status,
                    missed: tracker.missed,
                    wraps: tracker.wraps,
                    resets: tracker.resets.clone(),
                },
            },
            summary: MeasuredSummary {
                host_bytes: total.host_bytes,
                media_bytes: total.media_bytes,
                erased_bytes: tells_erases.then_some(total.erased_bytes),
                waf,
            },
            timeline: MeasuredTimeline {
                seconds: samples.iter().map(|s| (s.seconds * 1e3).round() / 1e3).collect(),
                host_bytes: samples.iter().map(|s| s.host_bytes).collect(),
                media_bytes: samples.iter().map(|s| s.media_bytes).collect(),
                erased_bytes: match tells_erases {
                    true => samples.iter().map(|s| s.erased_bytes).collect(),
                    false => Vec::new(),
                },
                handles: Default::default(),
            },
            performance: MeasuredPerformance { wall_seconds: total.seconds },
        }
    }
}
