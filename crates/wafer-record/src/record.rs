//! The record, `wafer.result/1`: what wafer records about a run, a measurement or a drive.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wafer_device::DeviceConfig;
use wafer_interface::{Counters, Figure};

use crate::host::Host;
use crate::{
    ArrangementRecord, AttributionRecord, Events, Finding, Live, Measured, Metrics, Precondition,
    Published, ReclaimUnits, Snapshot, TimeRecord, Timeline, Volume, Wear,
};

/// The `schema` of a record.
pub const SCHEMA: &str = "wafer.result/1";

/// The writes of a device, and everything needed to repeat them.
///
/// Simulated runs, measurements of real drives, live drives and mounted drives share this type. A field unknown to a
/// source is absent; [`Provenance::kind`] names the source.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// Always `wafer.result/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// Name of the experiment, measurement or drive.
    pub name: String,
    /// What was run, by which version, where and when.
    pub provenance: Provenance,
    /// Totals.
    pub summary: Summary,
    /// Figures that the application counts itself, such as hit ratios.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub application: Vec<FigureRecord>,
    /// Which handle's invalidations caused relocations of which handle's data; only with `--attribution`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribution: Option<AttributionRecord>,
    /// Why the WAF is what it is. Records of version 0.1.0 have none; readers compute them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub findings: Option<Vec<Finding>>,
    /// Counters over the run.
    pub timeline: Timeline,
    /// WAF over the timeline. Records of version 0.1.0 have none; readers compute it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Metrics>,
    /// Bandwidth, latency and energy; only for runs with a clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeRecord>,
    /// The arrangements that the adaptive policy chose, oldest first; only for simulated runs with that policy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arrangements: Vec<ArrangementRecord>,
    /// How the precondition `steady` ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyRecord>,
    /// The reclaim units at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reclaim_units: Option<ReclaimUnits>,
    /// Published or measured curves to compare with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Published>,
    /// Connections and events of a drive in use; only for live and mounted drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<Live>,
    /// Speed of the run.
    #[serde(default)]
    pub performance: Performance,
    /// FNV-1a over the timeline. Equal configuration and seed give equal digests on any machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// The source of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A run of the model. The default for records of version 0.1.0, which do not name it.
    #[default]
    Simulated,
    /// Counters of a real drive, read by `wafer measure`.
    Measured,
    /// A running simulation or a served drive, read through its live page.
    Live,
    /// A drive at the end of its use, such as `wafer mount --json`.
    Drive,
}

/// What was run, by which version, where and when.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// The source of the record.
    #[serde(default)]
    pub kind: Kind,
    /// Version of wafer.
    #[serde(default)]
    pub version: String,
    /// Commit the binary was built from, or "unknown".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<String>,
    /// The device configuration with every key resolved; null for a real drive.
    // A `Value` and not the type, so that a record remains readable when keys of the configuration change.
    #[serde(default)]
    #[schemars(with = "Option<DeviceConfig>")]
    pub config: Option<Value>,
    /// Sizes that follow from the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub geometry: Option<GeometryRecord>,
    /// Profile name, file, or path of the drive.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub device: String,
    /// The workload; absent if it was up to hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadRecord>,
    /// Random seed; null where nothing was random.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Start time, RFC 3339, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// The machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
    /// The real drive and how its counters were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
}

/// Sizes of the device.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GeometryRecord {
    /// Page size, bytes.
    pub page_bytes: u64,
    /// Logical capacity, pages.
    pub logical_pages: u64,
    /// Size of a reclaim unit, pages.
    pub pages_per_ru: u32,
    /// Number of physical reclaim units.
    pub ru_count: u32,
    /// Number of reclaim groups.
    pub groups: u16,
    /// Forced GC runs in the first group while at most this many of its reclaim units are free.
    pub forced_free: u32,
    /// Background GC runs in the first group while at most this many of its reclaim units are free.
    pub background_free: u32,
    /// (physical - logical) / logical capacity.
    pub overprovisioning: f64,
}

impl GeometryRecord {
    /// Checks that the sizes are possible and their products do not overflow. An error is the key and the reason.
    pub(crate) fn check(&self) -> Result<(), (&'static str, &'static str)> {
        if self.page_bytes == 0 {
            return Err(("page_bytes", "must be above 0"));
        }
        if self.logical_pages == 0 {
            return Err(("logical_pages", "must be above 0"));
        }
        let physical = u64::from(self.ru_count) * u64::from(self.pages_per_ru);
        for (key, pages) in [("logical_pages", self.logical_pages), ("ru_count", physical)] {
            if pages.checked_mul(self.page_bytes).is_none_or(|bytes| bytes > i64::MAX as u64) {
                return Err((key, "more than 8 EiB"));
            }
        }
        Ok(())
    }
}

/// The workload of a run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadRecord {
    /// Kind of workload, such as "fio".
    pub kind: String,
    /// Path of the file, as given.
    pub path: String,
    /// Contents of a text file.
    pub text: String,
    /// Host bytes to write, as given.
    pub volume: Option<Volume>,
    /// Shares of the jobs, as given.
    pub pace: Option<String>,
    /// CSV file with shares, as given.
    pub pace_from: Option<String>,
    /// State of the device at the start.
    pub precondition: Precondition,
    /// Options of the job file that do not affect what is written.
    pub ignored: Vec<IgnoredOption>,
    /// The jobs of a fio file as resolved for the device, clones of `numjobs` counted together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobRecord>,
}

/// An option of a job file that does not affect what is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IgnoredOption {
    /// fio's primary name of the option.
    pub option: String,
    /// The file that sets it.
    pub file: String,
    /// Line in the file, from 1.
    pub line: u32,
    /// Why it has no effect.
    pub reason: String,
}

/// A job of a fio file with its options resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobRecord {
    /// Name of the section.
    pub name: String,
    /// Number of clones (`numjobs`).
    pub count: u32,
    /// fio's number of its group, from 0; `stonewall` and `new_group` begin a new one.
    #[serde(default)]
    pub group: u32,
    /// Direction and order, as in fio's `rw`.
    pub rw: String,
    /// Write block size, such as "4KiB", "4KiB-64KiB" or "4KiB/60:64KiB/40"; the read block size for a job that only
    /// reads.
    pub bs: String,
    /// First byte of the region of the first clone.
    pub offset: u64,
    /// Size of the region, bytes.
    pub size: u64,
    /// Commands in flight.
    pub iodepth: u32,
    /// Namespace, from 1.
    pub namespace: u32,
    /// Its size, bytes; 0 in records of older versions.
    #[serde(default)]
    pub namespace_bytes: u64,
    /// Placement indices of its writes, in fio's order; empty without a placement directive.
    pub placement_indices: Vec<u16>,
    /// Reclaim unit handles of its writes; empty for a job that does not write.
    pub handles: Vec<u16>,
    /// The criterion that ends the job (`steadystate`), such as "iops_slope:0.3%".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady_state: Option<String>,
    /// Seconds for which the criterion must hold (`steadystate_duration`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady_state_seconds: Option<u64>,
    /// Other options that determine which commands arrive and when, such as `rate_iops`, as fio spells them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
}

/// A figure that an application counts itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FigureRecord {
    /// The tenant, if several applications share the device; otherwise empty.
    pub tenant: String,
    /// Name, such as "hit_ratio".
    pub name: String,
    /// Value at the end of the run.
    pub value: f64,
    /// Unit; empty for a ratio.
    pub unit: String,
    /// Meaning, in one line.
    pub meaning: String,
}

impl From<Figure> for FigureRecord {
    fn from(figure: Figure) -> Self {
        let Figure { tenant, name, value, unit, meaning } = figure;
        FigureRecord { tenant, name, value, unit, meaning }
    }
}

/// Totals.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Host bytes written (HBMW).
    pub host_bytes: u64,
    /// Media bytes written (MBMW).
    pub media_bytes: u64,
    /// Media bytes erased (MBE); null if the drive does not report it.
    #[serde(default)]
    pub erased_bytes: Option<u64>,
    /// Media bytes over host bytes; 1 before the first write.
    pub waf: f64,
    /// Pages written by hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_pages: Option<u64>,
    /// Pages relocated by GC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relocated_pages: Option<u64>,
    /// Pages that hosts wrote only in part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rmw_pages: Option<u64>,
    /// Pages unmapped by deallocate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deallocated_pages: Option<u64>,
    /// Bytes read by hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u64>,
    /// Commands that reached the device, including rejected ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commands: Option<u64>,
    /// Commands without effect, because they exceed their namespace or name a nonexistent one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<u64>,
    /// Reclaim units collected because too few were free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forced_gc: Option<u64>,
    /// Reclaim units collected in the background.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background_gc: Option<u64>,
    /// Reclaim units whose data was moved for wear levelling, refresh or read disturb.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintained_rus: Option<u64>,
    /// Pages moved for that; part of `relocated_pages`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintained_pages: Option<u64>,
    /// Pages of parity programmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parity_pages: Option<u64>,
    /// Pages programmed into the SLC cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_pages: Option<u64>,
    /// Translation pages programmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map_pages: Option<u64>,
    /// Translation pages read because they were not in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map_reads: Option<u64>,
    /// FDP events by type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Events>,
    /// Erases per reclaim unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wear: Option<Wear>,
}

/// Returns a count that is 0 for most devices; `None` if it is.
fn counted(count: u64) -> Option<u64> {
    (count > 0).then_some(count)
}

impl From<&Counters> for Summary {
    fn from(c: &Counters) -> Self {
        Summary {
            host_bytes: c.host_bytes,
            media_bytes: c.media_bytes,
            erased_bytes: Some(c.erased_bytes),
            waf: c.waf(),
            host_pages: Some(c.host_pages),
            relocated_pages: Some(c.relocated_pages),
            rmw_pages: Some(c.rmw_pages),
            deallocated_pages: Some(c.deallocated_pages),
            read_bytes: Some(c.read_bytes),
            commands: Some(c.commands),
            rejected: Some(c.rejected),
            forced_gc: Some(c.forced_gc),
            background_gc: Some(c.background_gc),
            maintained_rus: counted(c.maintained_rus),
            maintained_pages: counted(c.maintained_rus).map(|_| c.maintained_pages),
            parity_pages: counted(c.parity_pages),
            cache_pages: counted(c.cache_pages),
            map_pages: counted(c.map_pages),
            map_reads: counted(c.map_reads),
            events: None,
            wear: None,
        }
    }
}

impl Summary {
    /// Returns the share of the commands that were rejected, if more than half were.
    pub fn mostly_rejected(&self) -> Option<f64> {
        let (rejected, commands) = (self.rejected?, self.commands?);
        (rejected > commands - rejected.min(commands))
            .then(|| rejected as f64 / commands.max(1) as f64)
    }
}

/// Speed of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Performance {
    /// Duration excluding preconditioning, seconds.
    pub wall_seconds: f64,
    /// Duration of preconditioning, including device creation, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precondition_seconds: Option<f64>,
    /// Host pages per second of `wall_seconds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_pages_per_second: Option<f64>,
    /// Media pages programmed per second of `wall_seconds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_pages_per_second: Option<f64>,
    /// Peak resident set size of the process so far, which all runs of a batch share, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_rss_bytes: Option<u64>,
}

impl Record {
    /// Returns a record without optional fields; [`Record::complete`] computes metrics and findings.
    pub fn new(name: String, provenance: Provenance, summary: Summary, timeline: Timeline) -> Self {
        Record {
            schema: SCHEMA.to_owned(),
            name,
            provenance,
            summary,
            application: Vec::new(),
            attribution: None,
            findings: None,
            timeline,
            metrics: None,
            time: None,
            steady: None,
            arrangements: Vec::new(),
            reclaim_units: None,
            published: Vec::new(),
            live: None,
            performance: Performance::default(),
            digest: None,
        }
    }

    /// Returns a record of a drive at one moment; `timeline` is the known part of its history.
    pub fn of_snapshot(
        name: String,
        provenance: Provenance,
        snapshot: Snapshot,
        timeline: Timeline,
    ) -> Self {
        let summary = Summary { wear: snapshot.wear, ..Summary::from(&snapshot.counters) };
        let mut record = Record {
            reclaim_units: snapshot.reclaim_units,
            time: snapshot.time,
            live: Some(snapshot.live),
            performance: Performance { wall_seconds: snapshot.seconds, ..Default::default() },
            ..Record::new(name, provenance, summary, timeline)
        };
        record.complete();
        record
    }

    /// Computes metrics and findings if the record has none, and sets the source of a record of version 0.1.0.
    pub fn complete(&mut self) {
        if self.provenance.measured.is_some() {
            self.provenance.kind = Kind::Measured;
        } else if self.live.is_some() && self.provenance.kind == Kind::Simulated {
            self.provenance.kind = Kind::Live;
        }
        if let (true, Some(measured)) =
            (self.provenance.device.is_empty(), &self.provenance.measured)
        {
            self.provenance.device = measured.device.clone();
        }
        if self.metrics.is_none() {
            self.metrics = Some(Metrics::of(self));
        }
        if self.findings.is_none() {
            self.findings = Some(Finding::all(self));
        }
    }

    /// Returns the random seed; 0 if nothing was random.
    pub fn seed(&self) -> u64 {
        self.provenance.seed.unwrap_or(0)
    }

    /// Returns the FDP events by type: those of a run, or those that a drive in use has logged.
    pub fn events(&self) -> Events {
        let logged = || self.live.as_ref().map(|live| Events::of_names(&live.event_counts));
        self.summary.events.or_else(logged).unwrap_or_default()
    }

    /// Returns the logical capacity, bytes; 0 if it is unknown.
    pub fn logical_bytes(&self) -> u64 {
        match (&self.provenance.geometry, &self.provenance.measured) {
            (Some(geometry), _) => geometry.logical_pages * geometry.page_bytes,
            (None, Some(measured)) => measured.capacity_bytes.unwrap_or(0),
            (None, None) => 0,
        }
    }

    /// Returns the host bytes in multiples of the logical capacity.
    pub fn volume(&self) -> f64 {
        self.summary.host_bytes as f64 / self.logical_bytes().max(1) as f64
    }
}

/// How the precondition `steady` ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SteadyRecord {
    /// Logical capacities written by the workload.
    pub capacities: u64,
    /// WAF over the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waf: Option<f64>,
    /// Relative change of the WAF from the previous capacity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<f64>,
    /// Whether the WAF changed by less than 1 %.
    pub reached: bool,
    /// Whether the drive was kept from an earlier run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
}

/// Formats a time as RFC 3339 in UTC, in whole seconds.
pub fn rfc3339(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Converts days to a civil date with years that start in March, so that leap days come last.
    let z = days + 719_468;
    let era = z / 146_097;
    let day_of_era = z % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_rfc_3339() {
        let at = |seconds| rfc3339(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(1_709_251_200), "2024-03-01T00:00:00Z");
        assert_eq!(at(4_102_444_799), "2099-12-31T23:59:59Z");
    }
}
