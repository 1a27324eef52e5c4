//! Errors against measured curves: which experiments are checked, at which volumes, within which
//! tolerance, and how it came out.
//!
//! An experiment file that names a reference (`compare`) and has a `[validate]` table takes part.
//! Misses are results like any other: nothing here hides them.

mod markdown;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::config::did_you_mean;
use crate::{Experiment, LabError, Options, Reference, ResultRecord};

/// The `schema` of a validation.
pub const VALIDATE_SCHEMA: &str = "wafer.validate/1";

/// Where an experiment is held against its reference: `[validate]` of an experiment file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checks {
    /// What the parameters owe to this curve: `"predicted"`, nothing; `"calibrated"`, some were
    /// chosen from it, so that agreement shows the form of the curve, not its height.
    pub standing: Standing,
    /// Volumes in multiples of the logical capacity.
    pub volumes: Vec<f64>,
    /// Largest difference at each volume, percent.
    pub tolerance_percent: Vec<f64>,
}

/// What the parameters of an experiment owe to the curve it is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// No parameter was chosen from this curve.
    Predicted,
    /// Some parameters were chosen from this curve.
    Calibrated,
}

/// All curves.
#[derive(Clone, Debug, Serialize)]
pub struct Validation {
    /// [`VALIDATE_SCHEMA`].
    pub schema: &'static str,
    /// Version of wafer.
    pub version: String,
    /// Commit that the binary was built from, or "unknown".
    pub git: String,
    /// One for each experiment.
    pub curves: Vec<Curve>,
}

/// One measured curve beside ours.
#[derive(Clone, Debug, Serialize)]
pub struct Curve {
    /// Name of the experiment.
    pub name: String,
    /// Device of the experiment.
    pub device: String,
    /// Where the measured figures come from.
    pub source: Option<String>,
    /// What the parameters owe to this curve.
    pub standing: Standing,
    /// Seeds that were run.
    pub seeds: Vec<u64>,
    /// Seconds that the runs took together.
    pub wall_seconds: f64,
    /// One for each volume.
    pub rows: Vec<CheckRow>,
}

/// Ours beside the measured figure at one volume.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckRow {
    /// Multiples of the logical capacity.
    pub volume: f64,
    /// Measured cumulative WAF.
    pub measured: f64,
    /// Ours, the mean over the seeds.
    pub ours: f64,
    /// Least over the seeds.
    pub least: f64,
    /// Most over the seeds.
    pub most: f64,
    /// (ours - measured) / measured, percent.
    pub difference_percent: f64,
    /// Largest difference that is taken for agreement, percent.
    pub tolerance_percent: f64,
    /// Whether the difference is within the tolerance.
    pub ok: bool,
}

impl Checks {
    /// Pairs of volume and tolerance; an error names the key that cannot work.
    pub(crate) fn check(&self) -> Result<(), (&'static str, String)> {
        if self.volumes.is_empty() || self.volumes.len() != self.tolerance_percent.len() {
            let reason = format!(
                "{} volumes but {} tolerances",
                self.volumes.len(),
                self.tolerance_percent.len()
            );
            return Err(("validate.tolerance_percent", reason));
        }
        let positive = |n: &f64| *n > 0.0 && n.is_finite();
        if !self.volumes.iter().all(positive) {
            return Err(("validate.volumes", "volumes must be above 0".to_owned()));
        }
        if !self.tolerance_percent.iter().all(positive) {
            return Err(("validate.tolerance_percent", "tolerances must be above 0".to_owned()));
        }
        Ok(())
    }
}

/// The experiments of a folder that can be validated, in order of name; with names, only those, in
/// the order given.
pub fn experiments(folder: &Path, names: &[String]) -> Result<Vec<Experiment>, LabError> {
    let place = || format!("--experiments {}", folder.display());
    let broken = |e: std::io::Error| LabError::config(place(), format!("{}", e.kind()));
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(broken)?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<Result<_, _>>()
        .map_err(broken)?;
    files.retain(|path| path.extension().is_some_and(|e| e == "toml"));
    files.sort();
    let mut known = Vec::new();
    for path in files {
        let experiment = Experiment::from_file(&path, &Options::default())?;
        if experiment.checks.is_some() && experiment.compare.is_some() {
            known.push(experiment);
        }
    }
    if names.is_empty() {
        if known.is_empty() {
            return Err(LabError::config(place(), "no experiment with a reference to validate"));
        }
        return Ok(known);
    }
    let find = |name: &String| {
        known.iter().find(|e| e.name == *name).cloned().ok_or_else(|| {
            let all: Vec<&str> = known.iter().map(|e| e.name.as_str()).collect();
            let reason = format!("no experiment to validate{}", did_you_mean(name, &all));
            LabError::config(name.as_str(), reason)
        })
    };
    names.iter().map(find).collect()
}

impl Curve {
    /// Holds the runs of one experiment, a record per seed, against its reference. `None` if it has
    /// no checks or there are no runs.
    ///
    /// # Errors
    /// The reference or a run does not reach a volume that is to be checked.
    pub fn of(
        experiment: &Experiment,
        reference: &Reference,
        records: &[&ResultRecord],
    ) -> Result<Option<Curve>, LabError> {
        let (Some(checks), Some(first)) = (&experiment.checks, records.first()) else {
            return Ok(None);
        };
        let logical = first.logical_bytes();
        let row = |(&volume, &tolerance): (&f64, &f64)| {
            let lacking = |who: &str| {
                LabError::Run(format!("{}: {who} does not reach x{volume}", experiment.name))
            };
            let measured =
                reference.waf_at(volume, logical).ok_or_else(|| lacking("the reference"))?;
            let at = (volume * logical as f64).round() as u64;
            let wafs = records
                .iter()
                // A run ends in whole logical blocks.
                .map(|r| r.timeline.waf_at(at.min(r.summary.host_bytes.max(at - at % 512))))
                .collect::<Option<Vec<f64>>>()
                .ok_or_else(|| lacking("the run"))?;
            Ok(CheckRow::new(volume, measured, &wafs, tolerance))
        };
        let rows = checks.volumes.iter().zip(&checks.tolerance_percent).map(row);
        Ok(Some(Curve {
            name: experiment.name.clone(),
            device: experiment.device.name.clone(),
            source: reference.source.clone(),
            standing: checks.standing,
            seeds: records.iter().map(|r| r.provenance.seed).collect(),
            wall_seconds: records.iter().map(|r| r.performance.wall_seconds).sum(),
            rows: rows.collect::<Result<_, LabError>>()?,
        }))
    }
}

impl CheckRow {
    /// Ours is the mean of `wafs`, which must not be empty.
    fn new(volume: f64, measured: f64, wafs: &[f64], tolerance_percent: f64) -> Self {
        let ours = wafs.iter().sum::<f64>() / wafs.len() as f64;
        let difference_percent = 100.0 * (ours - measured) / measured;
        CheckRow {
            volume,
            measured,
            ours,
            least: wafs.iter().copied().fold(f64::INFINITY, f64::min),
            most: wafs.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            difference_percent,
            tolerance_percent,
            ok: difference_percent.abs() <= tolerance_percent,
        }
    }
}

impl Validation {
    /// Of these curves, by this version.
    pub fn new(curves: Vec<Curve>) -> Self {
        Validation {
            schema: VALIDATE_SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            git: env!("WAFER_GIT").to_owned(),
            curves,
        }
    }

    /// Rows outside their tolerance, and all rows.
    pub fn misses(&self) -> (usize, usize) {
        let rows = || self.curves.iter().flat_map(|c| &c.rows);
        (rows().filter(|row| !row.ok).count(), rows().count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_the_mean_and_the_spread() {
        let row = CheckRow::new(2.0, 2.0, &[1.9, 2.0], 3.0);
        assert!((row.ours - 1.95).abs() < 1e-12 && (row.difference_percent + 2.5).abs() < 1e-9);
        assert_eq!((row.least, row.most, row.ok), (1.9, 2.0, true));
        assert!(!CheckRow::new(2.0, 2.0, &[1.9], 4.9).ok);
        assert!(!CheckRow::new(2.0, 2.0, &[f64::NAN], 4.9).ok);
    }

    #[test]
    fn checks_pair_volumes_and_tolerances() {
        let checks = |volumes: &[f64], tolerances: &[f64]| {
            let (volumes, tolerance_percent) = (volumes.to_vec(), tolerances.to_vec());
            Checks { standing: Standing::Predicted, volumes, tolerance_percent }.check()
        };
        assert!(checks(&[2.0, 4.0], &[1.0, 2.0]).is_ok());
        assert_eq!(checks(&[2.0], &[]).unwrap_err().1, "1 volumes but 0 tolerances");
        assert_eq!(checks(&[], &[]).unwrap_err().0, "validate.tolerance_percent");
        assert_eq!(checks(&[0.0], &[1.0]).unwrap_err().0, "validate.volumes");
        assert_eq!(checks(&[1.0], &[-1.0]).unwrap_err().0, "validate.tolerance_percent");
    }
}
