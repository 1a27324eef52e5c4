//! Why a WAF is high: findings from the counters of a record, and from its attribution if it has one.
//!
//! They are computed once, when a record is created; `wafer explain`, pages and Python show them. To add a finding, add
//! a variant of [`Cause`] with its sentence in `sentence.rs`, and a rule in `counted.rs`, `attributed.rs` or
//! `timed.rs`.

mod attributed;
mod compared;
mod counted;
mod sentence;
mod timed;

pub use compared::comparison;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::metrics::{Part, Written};
use crate::text::ratio;
use crate::{AttributionRecord, CollectedRecord, HandleKey, Record, Timeline};

/// A finding: a cause with its numbers, and the sentence about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The cause and its numbers.
    #[serde(flatten)]
    pub cause: Cause,
    /// The finding in one sentence.
    pub title: String,
    /// The reason, or a remedy; may be empty.
    pub text: String,
}

/// How much of what a drive relocates is for maintenance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Maintenance {
    /// Nothing.
    #[default]
    None,
    /// A part.
    Some,
    /// All of it.
    All,
}

impl Maintenance {
    fn is_none(&self) -> bool {
        *self == Maintenance::None
    }
}

/// A cause of write amplification, or of its absence. Shares lie between 0 and 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Cause {
    /// Hosts wrote nothing.
    NothingWritten,
    /// More than half of the commands were rejected.
    MostlyRejected {
        /// Rejected commands.
        rejected: u64,
        /// All commands.
        commands: u64,
    },
    /// Writes named placement identifiers that their namespaces do not define.
    UnknownPlacement {
        /// Their number.
        writes: u64,
    },
    /// The drive reached the end of its life and accepted no more writes.
    ReadOnly {
        /// Bytes that hosts wrote in the run.
        host_bytes: u64,
        /// The same in logical capacities.
        device_writes: f64,
    },
    /// The media wrote less than a tenth more than hosts.
    Clean {
        /// WAF of the device.
        waf: f64,
    },
    /// The media wrote more than hosts.
    AddedWrites {
        /// WAF of the device.
        waf: f64,
        /// Share of the media bytes that hosts did not write.
        share: f64,
        /// Bytes that hosts did not write.
        bytes: u64,
        /// The parts of these bytes, largest first; empty if the source does not count them.
        #[serde(default)]
        parts: Vec<Part>,
    },
    /// Collected reclaim units still held valid pages.
    Victims {
        /// Share of valid pages.
        valid_share: f64,
    },
    /// All data went through one handle.
    OneStream {
        /// The handle.
        handle: String,
        /// Whether FDP is enabled.
        fdp: bool,
        /// Jobs that share the handle.
        jobs: Vec<String>,
    },
    /// The handle whose data was relocated most; without attribution, the handle out of whose reclaim units most was
    /// relocated.
    CostliestHandle {
        /// The handle.
        handle: String,
        /// Whether attribution shows whose data it was.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        attributed: bool,
        /// Share of all relocated bytes, or with `partial` of all media bytes in excess of the host bytes.
        moved_share: f64,
        /// Whether hosts wrote pages in part, which also adds to the bytes of a handle.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        partial: bool,
        /// Share of the host writes.
        host_share: f64,
        /// WAF of the handle.
        waf: f64,
        /// Jobs that write through the handle.
        jobs: Vec<String>,
    },
    /// Relocated data that was relocated again.
    RelocatedAgain {
        /// Share of all relocated bytes.
        share: f64,
        /// Number of initially isolated handles whose relocated data shares reclaim units; 0 if that is unknown.
        handles: u64,
    },
    /// The arrangement that the adaptive policy follows at the end.
    Adaptive {
        /// Policy, destination and separation.
        arrangement: String,
        /// Share of the host writes since it began.
        share: f64,
        /// Number of changes in the run.
        changes: u64,
    },
    /// The WAF at the end is higher than over the whole run.
    Rising {
        /// WAF of the last tenth of the run.
        waf: f64,
    },
    /// Hosts wrote many pages only in part.
    PartialWrites {
        /// Share of the host's pages.
        share: f64,
    },
    /// Writes went to reclaim groups other than those that hosts named, which had too little to reclaim.
    Spilled {
        /// Number of segments of reclaim units written this way.
        segments: u64,
    },
    /// Writes of the drive other than host data and relocation by garbage collection.
    Beside {
        /// Purpose of the writes.
        what: Beside,
        /// Bytes per host byte.
        waf: f64,
    },
    /// Writes of the drive for a map that is only partly in memory.
    MappingTable {
        /// Bytes per host byte.
        waf: f64,
        /// Translation pages read per page of the host.
        reads: f64,
        /// Bytes of the map.
        map_bytes: u64,
        /// Bytes of the map that fit in memory.
        cache_bytes: u64,
    },
    /// Reclaim units that are worn out and no longer in use.
    Retired {
        /// Their number.
        units: u64,
        /// Reclaim units of the device.
        of: u64,
    },
    /// Noisy RUH: a handle whose invalidations cause relocations of other handles' data.
    NoisyRuh {
        /// The handle.
        handle: String,
        /// Bytes of other handles relocated per host byte of this one.
        per_host_byte: f64,
        /// The affected handles, and what this one adds to their WAF.
        inflates: Vec<Added>,
    },
    /// Save Sequential: a sequential stream that was collected too early.
    SaveSequential {
        /// The handle.
        handle: String,
        /// Share of its bytes that are sequential.
        sequential_share: f64,
        /// Share of all relocated bytes that is its data.
        moved_share: f64,
        /// Share of all relocated bytes that its invalidations caused.
        caused_share: f64,
        /// Its reclaim units collected.
        collected: u64,
        /// Of those, reclaim units without a valid page.
        empty: u64,
        /// Of the bytes invalidated in its reclaim units, the share that other handles invalidated.
        punched_by_others: f64,
    },
    /// A handle that itself causes nearly all of its cost.
    OwnCost {
        /// The handle.
        handle: String,
        /// WAF of its data.
        waf: f64,
        /// Share of its relocations that its own invalidations caused.
        own_cause: f64,
    },
    /// The part that dominates the latency of the slowest requests of a run with a clock.
    Tail {
        /// "read" or "write".
        direction: String,
        /// The percentile beyond which requests are slow.
        percentile: f64,
        /// Latency at the percentile, microseconds.
        us: f64,
        /// Median latency, microseconds.
        median_us: f64,
        /// The part that takes most of the time of requests beyond the percentile.
        part: String,
        /// Its share of their time.
        share: f64,
    },
    /// A served drive completed commands later than its media model.
    Late {
        /// Median, microseconds.
        median_us: f64,
        /// 99th percentile, microseconds.
        p99_us: f64,
    },
    /// The share of the dies' time that the drive uses for itself, in a run with a clock.
    BusyDies {
        /// Share of the time in which a die works.
        busy: f64,
        /// Share of the time in which it programs or erases for garbage collection and maintenance, including their reads
        /// unless `reads` counts them.
        gc: f64,
        /// Whether some of that, or all, is for wear levelling, refresh and read disturb.
        #[serde(default, skip_serializing_if = "Maintenance::is_none")]
        maintenance: Maintenance,
        /// Share of the time in which it reads for the drive itself, if not only for garbage collection.
        #[serde(default, skip_serializing_if = "is_zero")]
        reads: f64,
        /// The purposes of these reads.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        reads_for: Vec<Written>,
    },
    /// A comparison of the runs with the lowest and the highest WAF.
    Comparison {
        /// The run with the lower WAF.
        best: String,
        /// The run with the higher WAF.
        worst: String,
        /// WAF of the first.
        best_waf: f64,
        /// WAF of the second.
        worst_waf: f64,
        /// Host writes at which they are compared, capacities; null if runs of the same length are compared at their
        /// end.
        #[serde(default)]
        volume: Option<f64>,
        /// Keys of the provenance in which they differ, with both values.
        differences: Vec<String>,
    },
    /// Runs whose WAF differs by less than 1 %.
    SameWaf {
        /// As in a comparison.
        #[serde(default)]
        volume: Option<f64>,
    },
}

/// Causes of media writes other than hosts and garbage collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Beside {
    /// Parity within reclaim units.
    Parity,
    /// The SLC cache, which takes host writes first.
    SlcCache,
    /// Wear levelling, refresh and read disturb.
    Maintenance,
}

/// A contribution to the WAF of a handle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Added {
    /// The handle.
    pub handle: String,
    /// Relocated bytes per host byte of that handle.
    pub waf: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref)] // serde's form
fn is_zero(share: &f64) -> bool {
    *share == 0.0
}

impl From<Cause> for Finding {
    fn from(cause: Cause) -> Self {
        let (title, text) = sentence::of(&cause);
        Finding { cause, title, text }
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.title)?;
        if self.text.is_empty() { Ok(()) } else { write!(f, " {}", self.text) }
    }
}

impl Finding {
    /// Computes the findings of a record: from its counters, then from its attribution.
    pub fn all(record: &Record) -> Vec<Finding> {
        let attribution = attribution(record);
        let mut causes = counted::causes(record, attribution);
        if let (true, Some(attribution)) = (record.summary.host_bytes > 0, attribution) {
            causes.extend(attributed::causes(
                record.summary.host_bytes,
                attribution,
                &record.timeline,
            ));
        }
        causes.extend(record.time.iter().flat_map(|time| timed::causes(time, &record.summary)));
        causes.into_iter().map(Finding::from).collect()
    }
}

/// Returns the attribution of a record, if it has a consistent one.
fn attribution(record: &Record) -> Option<&AttributionRecord> {
    record.attribution.as_ref().filter(|a| attributed::check(a).is_ok())
}

/// The explanation of one record: its handles and its findings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// Name of the run.
    pub name: String,
    /// WAF of the device.
    pub waf: f64,
    /// Bytes relocated.
    pub relocated_bytes: u64,
    /// Cost of each handle.
    pub handles: Vec<HandleCost>,
    /// Collections of reclaim units with relocated data of several handles; needs `wafer run --attribution`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<CollectedRecord>,
    /// Findings, from the whole device to single handles.
    pub findings: Vec<Finding>,
}

/// Cost of one handle. Fields without a value need `wafer run --attribution`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HandleCost {
    /// The handle.
    pub handle: String,
    /// Bytes that hosts wrote through it.
    pub host_bytes: u64,
    /// Share of these bytes in commands that begin where the last command of the handle ended.
    pub sequential_share: Option<f64>,
    /// With attribution, 1 plus the relocated bytes of its data, wherever they were, per host byte; otherwise its media
    /// bytes over its host bytes. None without host bytes.
    pub waf: Option<f64>,
    /// Its data's share of all relocated bytes; without attribution, its share of the media bytes in excess of the host
    /// bytes, as in [`HandleMetrics`](crate::metrics::HandleMetrics).
    pub moved_share: f64,
    /// Share of all relocated bytes that its invalidations caused.
    pub caused_share: Option<f64>,
    /// Of its relocated data, the share that its own invalidations caused.
    pub own_cause: Option<f64>,
    /// Number of its reclaim units that were collected.
    pub collected: Option<u64>,
    /// Of those, reclaim units without a valid page.
    pub empty: Option<u64>,
    /// Bytes relocated out of its reclaim units.
    pub moved_bytes: u64,
}

/// Returns the relocated bytes and the cost of each handle.
fn costs(record: &Record, attribution: Option<&AttributionRecord>) -> (u64, Vec<HandleCost>) {
    attribution.map_or_else(|| counted::costs(record), |a| attributed::costs(a, &record.timeline))
}

impl Explanation {
    /// Explains a record.
    pub fn of(record: &Record) -> Self {
        let attribution = attribution(record);
        let (relocated_bytes, handles) = costs(record, attribution);
        Explanation {
            name: record.name.clone(),
            waf: record.summary.waf,
            relocated_bytes,
            handles,
            shared: attribution.and_then(attributed::shared).cloned(),
            findings: record.findings.clone().unwrap_or_else(|| Finding::all(record)),
        }
    }

    /// Reports whether a Noisy RUH was found.
    pub fn noisy_ruh(&self) -> bool {
        self.findings.iter().any(|f| matches!(f.cause, Cause::NoisyRuh { .. }))
    }

    /// Reports whether Save Sequential was found.
    pub fn save_sequential(&self) -> bool {
        self.findings.iter().any(|f| matches!(f.cause, Cause::SaveSequential { .. }))
    }
}

pub(crate) use attributed::check as check_attribution;

#[cfg(test)]
mod tests;
