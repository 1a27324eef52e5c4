//! Policies ranked on the same workloads and seeds, with paired confidence intervals.

mod bound;
mod markdown;

use std::path::{Path, PathBuf};

pub use bound::bound;
use serde::de::value::StrDeserializer;
use serde::{Deserialize as _, Serialize};
use wafer_device::Destination;
use wafer_lab::{Experiment, LabError, Options};
use wafer_record::Record;
use wafer_record::statistics::{Mean, mean};
use wafer_record::text::count;

/// The `schema` of a ranking.
pub const COMPARE_SCHEMA: &str = "wafer.compare/1";

/// Policies ranked over several workloads.
#[derive(Clone, Debug, Serialize)]
pub struct Ranking {
    /// [`COMPARE_SCHEMA`].
    pub schema: &'static str,
    /// Version of wafer.
    pub version: String,
    /// Commit that the binary was built from, or "unknown".
    pub git: String,
    /// The policy that the others are compared with.
    pub baseline: String,
    /// The ranking for each workload.
    pub workloads: Vec<WorkloadRanking>,
    /// Every policy over all workloads, best first.
    pub overall: Vec<Overall>,
}

/// Policies under one workload, best first.
#[derive(Clone, Debug, Serialize)]
pub struct WorkloadRanking {
    /// Name of the experiment or job file.
    pub name: String,
    /// Device.
    pub device: String,
    /// Host bytes of each run.
    pub host_bytes: u64,
    /// Seeds, the same for every policy.
    pub seeds: Vec<u64>,
    /// Policies in order of WAF.
    pub rows: Vec<PolicyRow>,
    /// The WAF with future knowledge, and the proven lower bound, on request.
    pub bound: Option<BoundRow>,
}

/// One policy under one workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyRow {
    /// Value of `gc.policy`, then `+` and that of `gc.separation` or `gc.destination`.
    pub policy: String,
    /// WAF of the whole run, mean over the seeds.
    pub waf: f64,
    /// WAF of each seed.
    pub wafs: Vec<f64>,
    /// WAF of the last tenth of each run, mean over the seeds: close to the steady state.
    pub waf_at_end: f64,
    /// WAF minus the baseline's WAF with the same seed, mean over the seeds.
    pub difference: f64,
    /// Half the width of the 95 % interval of `difference` (Student's t over the seeds, paired); none
    /// for a single seed.
    pub half_width: Option<f64>,
    /// 1 - (WAF - 1) / (baseline's WAF - 1), percent: the share of extra writes that the policy saves.
    pub saved_percent: Option<f64>,
    /// WAF over the lowest WAF of the table, minus 1, in percent.
    pub above_best_percent: f64,
    /// Total duration of the runs in seconds.
    pub wall_seconds: f64,
}

/// The WAF with future knowledge, and a lower bound of WAF (see [`crate::bound`]).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BoundRow {
    /// Maximum number of open reclaim units allowed.
    pub classes: usize,
    /// WAF of the first seed with future knowledge, for the best grouping.
    pub waf: f64,
    /// Number of open reclaim units of the best grouping.
    pub open_units: usize,
    /// Whether the best grouping keeps handles apart.
    pub by_handle: bool,
    /// Proven lower bound of WAF for the first seed, for drives that do not separate a host's data; none if the
    /// device does, or the workload has reclaim unit updates.
    pub lower_bound: Option<f64>,
}

/// One policy over all workloads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overall {
    /// Value of `gc.policy`.
    pub policy: String,
    /// Mean of `above_best_percent` over the workloads.
    pub mean_above_best_percent: f64,
    /// Maximum of `above_best_percent` over the workloads.
    pub worst_above_best_percent: f64,
    /// The workload with that maximum.
    pub worst: String,
}

/// Reads a workload: an experiment file, or a fio job file for the device of the options.
///
/// # Errors
/// If the file cannot be read or is invalid.
pub fn workload(path: &Path, options: &Options) -> Result<Experiment, LabError> {
    if path.extension().is_some_and(|e| e == "toml") {
        return Experiment::from_file(path, options);
    }
    Experiment::from_options(&Options { fio: Some(path.to_owned()), ..options.clone() })
}

/// Returns the settings of a policy to compare: its name, followed by `+` and the names of any
/// separation or destination, as in `cost-benefit+dac`.
fn settings(policy: &str) -> Vec<String> {
    let mut parts = policy.split('+');
    let name = parts.next().unwrap_or_default();
    let mut settings = vec![format!("gc.policy={name}")];
    settings.extend(parts.map(|part| {
        let name = StrDeserializer::<serde::de::value::Error>::new(part);
        let key = if Destination::deserialize(name).is_ok() { "destination" } else { "separation" };
        format!("gc.{key}={part}")
    }));
    settings
}

/// Returns all runs: every workload with every policy and every seed, in this order of nesting.
///
/// # Errors
/// Like [`workload`].
pub fn experiments(
    policies: &[String],
    workloads: &[PathBuf],
    seeds: u64,
    options: &Options,
) -> Result<Vec<Experiment>, LabError> {
    let mut runs = Vec::new();
    for path in workloads {
        for policy in policies {
            let mut options = options.clone();
            options.set.extend(settings(policy));
            let experiment = workload(path, &options)?;
            runs.extend(experiment.with_seeds(seeds));
        }
    }
    Ok(runs)
}

impl BoundRow {
    /// Returns the rows of a table: a label and the WAF.
    pub fn lines(&self) -> Vec<(String, f64)> {
        let how = if self.by_handle { ", by handle" } else { "" };
        let open = count(self.open_units, "open RU");
        let mut lines = vec![(format!("with future knowledge, {open}{how}"), self.waf)];
        lines.extend(
            self.lower_bound
                .map(|waf| ("proven lower bound without separation of host data".to_owned(), waf)),
        );
        lines
    }
}

impl WorkloadRanking {
    /// Ranks the records of one workload: equally many for each of `policies`, in their order.
    pub fn of(policies: &[String], records: &[Record], baseline: &str) -> Option<Self> {
        let first = records.first()?;
        let seeds = records.len() / policies.len().max(1);
        let runs: Vec<&[Record]> = records.chunks(seeds.max(1)).collect();
        let base = &runs[policies.iter().position(|p| p == baseline)?];
        let mut rows: Vec<PolicyRow> = policies
            .iter()
            .zip(&runs)
            .map(|(policy, runs)| PolicyRow::of(policy, runs, base))
            .collect();
        let least = rows.iter().map(|row| row.waf).fold(f64::INFINITY, f64::min);
        for row in &mut rows {
            row.above_best_percent = 100.0 * (row.waf / least - 1.0);
        }
        rows.sort_by(|a, b| a.waf.total_cmp(&b.waf));
        Some(WorkloadRanking {
            name: first.name.clone(),
            device: first.provenance.device.clone(),
            host_bytes: first.summary.host_bytes,
            seeds: runs[0].iter().map(|r| r.seed()).collect(),
            rows,
            bound: None,
        })
    }
}

impl PolicyRow {
    fn of(policy: &str, runs: &[Record], base: &[Record]) -> Self {
        let wafs: Vec<f64> = runs.iter().map(|r| r.summary.waf).collect();
        let differences: Vec<f64> =
            wafs.iter().zip(base).map(|(waf, base)| waf - base.summary.waf).collect();
        let extra =
            |runs: &[Record]| mean(&runs.iter().map(|r| r.summary.waf - 1.0).collect::<Vec<_>>());
        let base_extra = extra(base);
        let waf = mean(&wafs);
        PolicyRow {
            policy: policy.to_owned(),
            waf,
            waf_at_end: mean(&runs.iter().map(at_end).collect::<Vec<_>>()),
            difference: mean(&differences),
            half_width: Mean::of(&differences).and_then(|mean| mean.half_width),
            saved_percent: (base_extra > 1e-6).then(|| 100.0 * (1.0 - extra(runs) / base_extra)),
            above_best_percent: 0.0,
            wall_seconds: runs.iter().map(|r| r.performance.wall_seconds).sum(),
            wafs,
        }
    }
}

/// Returns the WAF of the last tenth of a run, to the nearest sample of its timeline.
fn at_end(record: &Record) -> f64 {
    let (host, media) = (&record.timeline.host_bytes, &record.timeline.media_bytes);
    let (Some(last), Some(all)) = (host.last(), media.last()) else { return f64::NAN };
    let from = host.partition_point(|bytes| (*bytes as f64) < 0.9 * *last as f64);
    match host.get(from.saturating_sub(1)) {
        Some(before) if before < last => {
            (all - media[from.saturating_sub(1)]) as f64 / (last - before) as f64
        }
        _ => record.summary.waf,
    }
}

impl Ranking {
    /// Combines the rankings of workloads.
    pub fn new(baseline: &str, workloads: Vec<WorkloadRanking>) -> Self {
        let mut overall: Vec<Overall> = Vec::new();
        for row in workloads.first().map_or(&[][..], |w| &w.rows) {
            let of = |w: &WorkloadRanking| {
                let row = w.rows.iter().find(|r| r.policy == row.policy)?;
                Some((row.above_best_percent, w.name.clone()))
            };
            let all: Vec<(f64, String)> = workloads.iter().filter_map(of).collect();
            let worst = all.iter().max_by(|a, b| a.0.total_cmp(&b.0));
            overall.push(Overall {
                policy: row.policy.clone(),
                mean_above_best_percent: mean(&all.iter().map(|(p, _)| *p).collect::<Vec<_>>()),
                worst_above_best_percent: worst.map_or(f64::NAN, |w| w.0),
                worst: worst.map_or_else(String::new, |w| w.1.clone()),
            });
        }
        overall.sort_by(|a, b| a.mean_above_best_percent.total_cmp(&b.mean_above_best_percent));
        Ranking {
            schema: COMPARE_SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            git: wafer_lab::GIT.to_owned(),
            baseline: baseline.to_owned(),
            workloads,
            overall,
        }
    }
}

#[cfg(test)]
mod tests {
    use wafer_record::record::Provenance;
    use wafer_record::{Summary, Timeline};

    use super::*;

    #[test]
    fn the_baseline_saves_nothing_to_the_last_bit() {
        let run = |waf: f64| {
            let summary = Summary { waf, ..Summary::default() };
            Record::new("r".into(), Provenance::default(), summary, Timeline::default())
        };
        for wafs in [[1.1, 1.3, 1.7], [2.2, 2.3, 2.5], [1.01, 1.02, 1.07]] {
            let runs = wafs.map(run);
            let saved = PolicyRow::of("greedy", &runs, &runs).saved_percent.unwrap();
            assert!(saved == 0.0 && saved.is_sign_positive(), "{wafs:?}: {saved}");
        }
    }

    #[test]
    fn a_policy_is_compared_with_its_separation_or_destination() {
        assert_eq!(settings("fifo"), ["gc.policy=fifo"]);
        assert_eq!(settings("cost-benefit+dac"), ["gc.policy=cost-benefit", "gc.separation=dac"]);
        assert_eq!(settings("greedy+handle"), ["gc.policy=greedy", "gc.destination=handle"]);
    }
}
