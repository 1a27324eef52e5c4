//! The result record, `wafer.result/1`.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use wafer_core::{Counters, DeviceConfig};
use wafer_workload::Figure;

use crate::attribution::AttributionRecord;
use crate::host::{Host, peak_rss_bytes};
use crate::reclaim_units::ReclaimUnits;
use crate::{
    Events, Experiment, LabError, Precondition, Published, ResolvedDevice, Timeline, Volume, Wear,
};

/// The `schema` of a result record.
pub const SCHEMA: &str = "wafer.result/1";

/// One run with everything needed to repeat it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ResultRecord {
    /// [`SCHEMA`].
    pub schema: String,
    /// Name of the experiment.
    pub name: String,
    /// What was run, by what, where and when.
    pub provenance: Provenance,
    /// Totals.
    pub summary: Summary,
    /// What the application counted of itself, such as hit ratios; only where there is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub application: Vec<FigureRecord>,
    /// Whose invalidations caused relocations of whose data; only where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribution: Option<AttributionRecord>,
    /// Counters on the way.
    pub timeline: Timeline,
    /// The reclaim units as the run left them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reclaim_units: Option<ReclaimUnits>,
    /// Published or measured curves that the run was compared with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Published>,
    /// How fast it went.
    pub performance: Performance,
    /// FNV-1a over the timeline: equal for equal configuration and seed, on any machine.
    pub digest: String,
}

/// What was run, by what, where and when.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Provenance {
    /// Version of wafer.
    pub version: String,
    /// Commit that the binary was built from, or "unknown".
    pub git: String,
    /// The device, every key resolved.
    pub config: DeviceConfig,
    /// Sizes that follow from it.
    pub geometry: GeometryRecord,
    /// Profile name or file.
    pub device: String,
    /// What was written.
    pub workload: WorkloadRecord,
    /// Seed.
    pub seed: u64,
    /// When the run started, RFC 3339, UTC.
    pub started: String,
    /// The machine.
    pub host: Host,
}

/// Sizes of the device.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GeometryRecord {
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Logical pages.
    pub logical_pages: u64,
    /// Pages of a reclaim unit.
    pub pages_per_ru: u32,
    /// Physical reclaim units.
    pub ru_count: u32,
    /// Reclaim groups.
    pub groups: u16,
    /// Forced GC runs in a group (the first) while at most this many of its units are free.
    pub forced_free: u32,
    /// Background GC runs in a group (the first) while at most this many are free.
    pub background_free: u32,
    /// (physical - logical) / logical.
    pub overprovisioning: f64,
}

/// What was written.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkloadRecord {
    /// Kind of workload: "fio".
    pub kind: String,
    /// The file, as given.
    pub path: String,
    /// The file's text, for a file of text.
    pub text: String,
    /// Host bytes that were asked for, as given.
    pub volume: Option<Volume>,
    /// Shares of the jobs, as given.
    pub pace: Option<String>,
    /// CSV file with shares, as given.
    pub pace_from: Option<String>,
    /// State of the device at the start.
    pub precondition: Precondition,
    /// Options of the job file without effect on what is written.
    pub ignored: Vec<IgnoredOption>,
}

/// An option of a job file without effect on what is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IgnoredOption {
    /// The option, by fio's first name for it.
    pub option: String,
    /// The file that sets it.
    pub file: String,
    /// Line there, from 1.
    pub line: u32,
    /// Why it has no effect.
    pub reason: String,
}

/// A figure that an application counts of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FigureRecord {
    /// Whose, where several applications share the device; empty for the only one.
    pub tenant: String,
    /// Name, such as "hit_ratio".
    pub name: String,
    /// Value at the end of the run.
    pub value: f64,
    /// Unit; empty for a ratio.
    pub unit: String,
    /// One line on what it means.
    pub meaning: String,
}

impl From<Figure> for FigureRecord {
    fn from(figure: Figure) -> Self {
        let Figure { tenant, name, value, unit, meaning } = figure;
        FigureRecord { tenant, name, value, unit, meaning }
    }
}

/// Totals of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// HBMW.
    pub host_bytes: u64,
    /// MBMW.
    pub media_bytes: u64,
    /// MBE.
    pub erased_bytes: u64,
    /// media / host.
    pub waf: f64,
    /// Pages that hosts wrote.
    pub host_pages: u64,
    /// Pages that GC moved.
    pub relocated_pages: u64,
    /// Pages that hosts wrote only in part.
    pub rmw_pages: u64,
    /// Pages that deallocate unmapped.
    pub deallocated_pages: u64,
    /// Bytes that hosts read.
    pub read_bytes: u64,
    /// Reclaim units collected because free ones were few.
    pub forced_gc: u64,
    /// Reclaim units collected in the background.
    pub background_gc: u64,
    /// FDP events by type.
    pub events: Events,
    /// Erases per reclaim unit.
    pub wear: Wear,
}

/// How fast a run went.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Performance {
    /// Time of the run without preconditioning, seconds.
    pub wall_seconds: f64,
    /// Time of preconditioning, with making the device, seconds.
    pub precondition_seconds: f64,
    /// Pages of hosts per second of `wall_seconds`.
    pub host_pages_per_second: f64,
    /// Pages programmed per second of `wall_seconds`.
    pub media_pages_per_second: f64,
    /// Largest resident set of the process so far (of all runs, when several share it).
    pub peak_rss_bytes: u64,
}

/// What a run leaves to be recorded.
pub(crate) struct Outcome<'a> {
    pub(crate) experiment: &'a Experiment,
    pub(crate) started: SystemTime,
    pub(crate) counters: Counters,
    pub(crate) events: Events,
    pub(crate) wear: Wear,
    pub(crate) attribution: Option<AttributionRecord>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) timeline: Timeline,
    pub(crate) reclaim_units: ReclaimUnits,
    pub(crate) published: Vec<Published>,
    pub(crate) wall_seconds: f64,
    pub(crate) precondition_seconds: f64,
    pub(crate) ignored: Vec<IgnoredOption>,
}

pub(crate) fn assemble(outcome: Outcome<'_>) -> ResultRecord {
    let Outcome { experiment, counters, .. } = outcome;
    let per_second = |pages: u64| pages as f64 / outcome.wall_seconds.max(1e-9);
    ResultRecord {
        schema: SCHEMA.to_owned(),
        name: experiment.name.clone(),
        provenance: Provenance::of(experiment, outcome.started, outcome.ignored),
        summary: Summary {
            host_bytes: counters.host_bytes,
            media_bytes: counters.media_bytes,
            erased_bytes: counters.erased_bytes,
            waf: counters.waf(),
            host_pages: counters.host_pages,
            relocated_pages: counters.relocated_pages,
            rmw_pages: counters.rmw_pages,
            deallocated_pages: counters.deallocated_pages,
            read_bytes: counters.read_bytes,
            forced_gc: counters.forced_gc,
            background_gc: counters.background_gc,
            events: outcome.events,
            wear: outcome.wear,
        },
        application: outcome.figures.into_iter().map(FigureRecord::from).collect(),
        attribution: outcome.attribution,
        digest: outcome.timeline.digest(),
        timeline: outcome.timeline,
        reclaim_units: Some(outcome.reclaim_units),
        published: outcome.published,
        performance: Performance {
            wall_seconds: outcome.wall_seconds,
            precondition_seconds: outcome.precondition_seconds,
            host_pages_per_second: per_second(counters.host_pages),
            media_pages_per_second: per_second(counters.host_pages + counters.relocated_pages),
            peak_rss_bytes: peak_rss_bytes(),
        },
    }
}

impl GeometryRecord {
    /// The sizes of a device.
    pub fn of(device: &ResolvedDevice) -> Self {
        let geometry = &device.geometry;
        let group = geometry.group_range(0).len() as u32;
        GeometryRecord {
            page_bytes: geometry.page_bytes,
            logical_pages: geometry.logical_pages,
            pages_per_ru: geometry.pages_per_ru,
            ru_count: geometry.ru_count,
            groups: geometry.groups,
            forced_free: geometry.forced_free(group),
            background_free: geometry.background_free(group),
            overprovisioning: device.overprovisioning(),
        }
    }
}

impl Provenance {
    /// What stands in the record of an experiment that started then.
    pub fn of(experiment: &Experiment, started: SystemTime, ignored: Vec<IgnoredOption>) -> Self {
        let device = &experiment.device;
        Provenance {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            git: env!("WAFER_GIT").to_owned(),
            config: device.config.clone(),
            geometry: GeometryRecord::of(device),
            device: device.name.clone(),
            workload: WorkloadRecord {
                kind: experiment.workload.kind().to_owned(),
                path: experiment.workload.path(),
                text: experiment.workload.text(),
                volume: experiment.volume,
                pace: experiment.pace.clone(),
                pace_from: experiment.pace_from.as_deref().map(|path| path.display().to_string()),
                precondition: experiment.precondition,
                ignored,
            },
            seed: experiment.seed,
            started: rfc3339(started),
            host: Host::this(),
        }
    }
}

impl ResultRecord {
    /// Logical capacity of the device, bytes.
    pub fn logical_bytes(&self) -> u64 {
        self.provenance.geometry.logical_pages * self.provenance.geometry.page_bytes
    }

    /// Host bytes in multiples of the logical capacity.
    pub fn volume(&self) -> f64 {
        self.summary.host_bytes as f64 / self.logical_bytes().max(1) as f64
    }
}

/// Writes a value as JSON so that the file is either whole or as it was before. What is not a
/// regular file, such as a pipe, is written to directly.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), LabError> {
    let failed = |source: std::io::Error| LabError::Io { path: path.to_owned(), source };
    let mut text = serde_json::to_vec_pretty(value).map_err(|e| failed(e.into()))?;
    text.push(b'\n');
    if fs::metadata(path).is_ok_and(|m| !m.is_file()) {
        return fs::write(path, text).map_err(failed);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
    let write = || {
        let mut file = fs::File::create(&temporary)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    write().map_err(|e| {
        // The error that counts is the first; what is left of the file may be gone already.
        let _ = fs::remove_file(&temporary);
        failed(e)
    })
}

/// A time as RFC 3339 in UTC, whole seconds.
pub fn rfc3339(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days to a civil date: years start in March, so that leap days come last.
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
    use super::*;
    use std::time::Duration;

    #[test]
    fn times_are_rfc_3339() {
        let at = |seconds| rfc3339(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(1_709_251_200), "2024-03-01T00:00:00Z");
        assert_eq!(at(4_102_444_799), "2099-12-31T23:59:59Z");
    }

    #[test]
    fn a_failed_write_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("missing").join("result.json");
        assert!(write_json(&path, &1).is_err());
        let path = folder.path().join("result.json");
        write_json(&path, &[1, 2]).unwrap();
        let names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["result.json"]);
    }
}
