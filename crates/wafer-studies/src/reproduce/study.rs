//! The file of a study.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wafer_config::Layers;
use wafer_lab::{LabError, Reference};
use wafer_record::Volume;
use wafer_record::files::{read_text, unreadable};

use super::grid::TableFile;
use super::measure::Measure;
use super::metric::{Effect, Metric};
use super::row::{Class, Row};

/// A study: experiments and the published figures they are compared with.
#[derive(Clone, Debug)]
pub struct Study {
    /// Name: that of the folder.
    pub name: String,
    /// The folder, to which paths in the file are relative.
    pub folder: PathBuf,
    /// One-line title.
    pub title: String,
    /// Where the figures were published.
    pub source: String,
    /// Pages of a reclaim unit at the default scale.
    pub ru_pages: u32,
    /// The experiments to run.
    pub experiments: Vec<StudyExperiment>,
    /// Published figures.
    pub rows: Vec<Row>,
    /// How calibrated figures depend on assumptions.
    pub sweeps: Vec<Sweep>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StudyFile {
    title: String,
    source: String,
    ru_pages: u32,
    #[serde(default)]
    experiment: Vec<StudyExperiment>,
    #[serde(default)]
    row: Vec<RowFile>,
    #[serde(default)]
    table: Vec<TableFile>,
    #[serde(default)]
    sweep: Vec<Sweep>,
}

/// An experiment of a study: a file, and the differences from it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyExperiment {
    /// Name within the study, such as `three-stream/zoned-fdp`.
    pub name: String,
    /// The experiment file.
    pub file: PathBuf,
    /// `KEY=VALUE` for the device.
    #[serde(default)]
    pub set: Vec<String>,
    /// `KEY=VALUE` at full scale only, for the device, or for the workload if it begins with `workload.`: real sizes
    /// where the file has scaled ones.
    #[serde(default)]
    pub full: Vec<String>,
    /// `KEY=VALUE` for the experiment file, dotted; `tenants.*` stands for every tenant.
    #[serde(default)]
    pub edit: Vec<String>,
    /// Device, replacing the file's.
    pub device: Option<String>,
    /// fio job file, replacing the file's.
    pub fio: Option<PathBuf>,
    /// Volume, replacing the file's.
    pub volume: Option<Volume>,
    /// Shares of jobs, replacing the file's; "" for none.
    pub pace: Option<String>,
    /// Table of shares, replacing the file's.
    pub pace_from: Option<PathBuf>,
    /// Whether attribution is recorded.
    #[serde(default)]
    pub attribution: bool,
    /// Pages of a reclaim unit at the default scale, if different from the study's.
    pub ru_pages: Option<u32>,
    /// Whether to keep the file's device at every scale except full, because parts of its workload would not fit.
    #[serde(default)]
    pub fixed: bool,
}

/// How a figure depends on one parameter: the same experiment with other values.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// The row whose metric is computed.
    pub row: String,
    /// The varied parameter, in words and with its unit.
    pub vary: String,
    /// Label of each point.
    pub values: Vec<String>,
    /// `KEY=VALUE` for the device, one list per point.
    #[serde(default)]
    pub set: Vec<Vec<String>>,
    /// `KEY=VALUE` for the experiment file, one list per point.
    #[serde(default)]
    pub edit: Vec<Vec<String>>,
    /// Shares of jobs, one per point.
    #[serde(default)]
    pub pace: Vec<String>,
    /// Experiment files, one per point, replacing the row's.
    #[serde(default)]
    pub file: Vec<PathBuf>,
    /// Volumes at which the metric is computed, one per point.
    #[serde(default)]
    pub at: Vec<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowFile {
    id: String,
    metric: String,
    experiment: Option<String>,
    #[serde(default)]
    experiments: Vec<String>,
    #[serde(default)]
    against: Vec<String>,
    #[serde(default)]
    over: Vec<f64>,
    at: Option<f64>,
    handle: Option<String>,
    figure: Option<String>,
    tenant: Option<String>,
    measure: Option<String>,
    job: Option<String>,
    published: Option<f64>,
    reference: Option<PathBuf>,
    reference_bytes: Option<u64>,
    class: Class,
    tolerance: f64,
    source: Option<String>,
    reason: Option<String>,
}

impl Study {
    /// Reads the studies of a folder of experiments, ordered by name.
    ///
    /// # Errors
    /// If the folder cannot be read or has no study, or a study is invalid.
    pub fn all(experiments: &Path) -> Result<Vec<Self>, LabError> {
        let place = || experiments.display().to_string();
        let broken = |e: std::io::Error| LabError::config(place(), unreadable(e.kind()));
        let mut files: Vec<PathBuf> = Vec::new();
        for entry in std::fs::read_dir(experiments).map_err(broken)? {
            let path = entry.map_err(broken)?.path().join("study.toml");
            if path.is_file() {
                files.push(path);
            }
        }
        files.sort();
        if files.is_empty() {
            return Err(LabError::config(place(), "no folder with a study.toml"));
        }
        files.iter().map(|path| Study::read(path)).collect()
    }

    /// Returns the names of the shipped studies, in order.
    pub fn shipped_names() -> Vec<String> {
        let name = |path: String| {
            let folder = path.strip_suffix("/study.toml")?;
            Some(folder.strip_prefix("experiments/")?.to_owned())
        };
        wafer_config::shipped_files().filter_map(name).collect()
    }

    /// Reads a study.
    ///
    /// # Errors
    /// One line with file, line and key.
    pub fn read(path: &Path) -> Result<Self, LabError> {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let layers = Layers::from_text(&path.display().to_string(), &read_text(path)?)?;
        let file: StudyFile = layers.read()?;
        let named = |at: usize, name: &str| {
            let twice = file.experiment[..at].iter().any(|e| e.name == name);
            if twice {
                let key = format!("experiment[{at}].name");
                return Err(layers.error(&key, &format!("another experiment is named `{name}`")));
            }
            Ok(())
        };
        for (at, experiment) in file.experiment.iter().enumerate() {
            named(at, &experiment.name)?;
        }
        let names: Vec<&str> = file.experiment.iter().map(|e| e.name.as_str()).collect();
        let mut rows: Vec<Row> = Vec::new();
        for (at, row) in file.row.into_iter().enumerate() {
            let wrong = |key: &str, reason: &str| {
                LabError::from(layers.error(&format!("row[{at}].{key}"), reason))
            };
            if rows.iter().any(|r| r.id == row.id) {
                return Err(wrong("id", &format!("another row has the id `{}`", row.id)));
            }
            rows.push(row.check(&folder, &names, &wrong)?);
        }
        for (at, table) in file.table.into_iter().enumerate() {
            let wrong = |key: &str, reason: &str| {
                LabError::from(layers.error(&format!("table[{at}].{key}"), reason))
            };
            let more = table.rows(&folder, &names).map_err(|(key, reason)| wrong(key, &reason))?;
            if let Some(row) = more.iter().find(|row| rows.iter().any(|r| r.id == row.id)) {
                return Err(wrong("name", &format!("another row has the id `{}`", row.id)));
            }
            rows.extend(more);
        }
        for (at, sweep) in file.sweep.iter().enumerate() {
            let wrong = |key: &str, reason: &str| {
                LabError::from(layers.error(&format!("sweep[{at}].{key}"), reason))
            };
            if !rows.iter().any(|r| r.id == sweep.row) {
                return Err(wrong("row", &format!("no row `{}`", sweep.row)));
            }
            let counts = [
                ("set", sweep.set.len()),
                ("edit", sweep.edit.len()),
                ("pace", sweep.pace.len()),
                ("file", sweep.file.len()),
                ("at", sweep.at.len()),
            ];
            for (key, count) in counts {
                if count != 0 && count != sweep.values.len() {
                    let reason = format!("{count} entries for {} values", sweep.values.len());
                    return Err(wrong(key, &reason));
                }
            }
        }
        Ok(Study {
            name: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            folder,
            title: file.title,
            source: file.source,
            ru_pages: file.ru_pages,
            experiments: file.experiment,
            rows,
            sweeps: file.sweep,
        })
    }

    /// Returns the experiment with a name.
    pub fn experiment(&self, name: &str) -> Option<&StudyExperiment> {
        self.experiments.iter().find(|e| e.name == name)
    }
}

impl Sweep {
    /// Returns whether its points need their own runs; else they are volumes of the row's run.
    pub(super) fn has_runs(&self) -> bool {
        let counts = [self.set.len(), self.edit.len(), self.pace.len(), self.file.len()];
        counts.iter().any(|count| *count > 0)
    }
}

impl RowFile {
    fn check(
        self,
        folder: &Path,
        names: &[&str],
        wrong: &dyn Fn(&str, &str) -> LabError,
    ) -> Result<Row, LabError> {
        let published = match (self.published, &self.reference, self.at) {
            (Some(published), None, _) => published,
            (None, Some(reference), Some(at)) => {
                let logical = self
                    .reference_bytes
                    .ok_or_else(|| wrong("reference_bytes", "missing; the measured capacity"))?;
                Reference::read(&folder.join(reference))?
                    .waf_at(at, logical)
                    .ok_or_else(|| wrong("at", &format!("the reference does not reach x{at}")))?
            }
            _ => {
                let reason = "give a published figure, or a reference and the volume `at`";
                return Err(wrong("published", reason));
            }
        };
        if !(published.is_finite() && self.tolerance >= 0.0 && self.tolerance.is_finite()) {
            return Err(wrong(
                "tolerance",
                "expected a number of at least 0, and a finite published figure",
            ));
        }
        let given = |name: &String| names.contains(&name.as_str());
        let (id, metric) = (&self.id, self.metric.as_str());
        let prefix = || names.iter().filter(|n| starts_with(id, n)).max_by_key(|n| n.len());
        let one = || match self.experiment.clone().or_else(|| prefix().map(|n| (*n).to_owned())) {
            Some(name) if given(&name) => Ok(name),
            Some(name) => Err(wrong("experiment", &format!("no experiment `{name}`"))),
            None => Err(wrong("experiment", "missing; no experiment's name is a prefix of the id")),
        };
        for (key, list) in [("experiments", &self.experiments), ("against", &self.against)] {
            if let Some(unknown) = list.iter().find(|name| !given(name)) {
                return Err(wrong(key, &format!("no experiment `{unknown}`")));
            }
        }
        let handle =
            || self.handle.clone().ok_or_else(|| wrong("handle", "missing for this metric"));
        let at = self.at;
        let metric = match metric {
            "waf" => Metric::Waf { experiment: one()?, at },
            "handle_waf" => Metric::HandleWaf { experiment: one()?, handle: handle()?, at },
            "extra_share" => Metric::ExtraShare { experiment: one()?, handle: handle()?, at },
            "caused_share" => Metric::CausedShare { experiment: one()?, handle: handle()? },
            "noisy_ruh" | "no_noisy_ruh" | "save_sequential" | "no_save_sequential" => {
                let present = !metric.starts_with("no_");
                let effect = match metric.ends_with("noisy_ruh") {
                    true => Effect::NoisyRuh,
                    false => Effect::SaveSequential,
                };
                Metric::Effect { experiment: one()?, effect, present }
            }
            "recent_waf" => Metric::RecentWaf { experiment: one()? },
            "ratio" | "figure_ratio" | "time_ratio" if self.experiments.len() != 2 => {
                return Err(wrong("experiments", "expected two, the first over the second"));
            }
            "time" => Metric::Time {
                experiment: one()?,
                job: self.job.unwrap_or_default(),
                measure: measure(self.measure.as_deref(), wrong)?,
                window: None,
            },
            "time_ratio" => Metric::TimeRatio {
                experiments: self.experiments,
                job: self.job.unwrap_or_default(),
                measure: measure(self.measure.as_deref(), wrong)?,
            },
            "ratio" => Metric::Ratio { experiments: self.experiments, at },
            "figure_ratio" => Metric::FigureRatio {
                experiments: self.experiments,
                figure: self.figure.ok_or_else(|| wrong("figure", "missing for this metric"))?,
            },
            "figure" => Metric::Figure {
                experiment: one()?,
                tenant: self.tenant.unwrap_or_default(),
                figure: self.figure.ok_or_else(|| wrong("figure", "missing for this metric"))?,
            },
            "ascending" if self.experiments.len() >= 2 => {
                Metric::Ascending { experiments: self.experiments, at }
            }
            "ascending" => {
                return Err(wrong("experiments", "expected at least two, in ascending order"));
            }
            "crossover"
                if self.over.len() >= 2
                    && self.over.len() == self.experiments.len()
                    && self.over.len() == self.against.len() =>
            {
                let (experiments, against, over) = (self.experiments, self.against, self.over);
                Metric::Crossover { experiments, against, over, at }
            }
            "crossover" => {
                let reason = "expected as many values as `experiments` and `against`, at least two";
                return Err(wrong("over", reason));
            }
            other => {
                let known = "waf, handle_waf, extra_share, caused_share, noisy_ruh, \
                             no_noisy_ruh, save_sequential, no_save_sequential, figure, \
                             figure_ratio, ratio, recent_waf, ascending, crossover, time, time_ratio";
                return Err(wrong("metric", &format!("no metric `{other}`; known: {known}")));
            }
        };
        let Self { id, class, tolerance, source, reason, .. } = self;
        Ok(Row { id, metric, published, class, tolerance, source, reason })
    }
}

fn measure(
    text: Option<&str>,
    wrong: &dyn Fn(&str, &str) -> LabError,
) -> Result<Measure, LabError> {
    let text = text.ok_or_else(|| wrong("measure", "missing for this metric"))?;
    Measure::parse(text).ok_or_else(|| wrong("measure", &format!("no measure `{text}`")))
}

/// Returns whether `id` is `prefix` or below it.
pub(super) fn starts_with(id: &str, prefix: &str) -> bool {
    id.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
