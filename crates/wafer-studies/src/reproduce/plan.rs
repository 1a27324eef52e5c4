//! The plan of a reproduction: the runs that the chosen rows need.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use wafer_config::ConfigError;

use toml::{Table, Value};
use wafer_config::did_you_mean;
use wafer_lab::{Experiment, LabError, Options};
use wafer_record::files::read_text;

use super::metric::Metric;
use super::row::Row;
use super::scale::Scale;
use super::study::{Study, StudyExperiment, Sweep, starts_with};

/// Number of timeline samples: enough to resolve a quarter of the capacity in runs of up to x25.
const SAMPLES: usize = 500;

/// One run.
#[derive(Clone, Debug)]
pub struct PlannedRun {
    /// `STUDY/EXPERIMENT`, followed by `/sweep/N` for a point of a sweep.
    pub name: String,
    /// The experiment, named [`Self::name`] with `-` for `/`.
    pub experiment: Experiment,
}

/// Rows and the runs they need.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Studies, reduced to their chosen rows and sweeps.
    pub studies: Vec<Study>,
    /// Every experiment with every seed.
    pub runs: Vec<PlannedRun>,
    /// Experiments whose data is missing, with the reason.
    pub missing: Vec<(String, String)>,
    /// The requested scale, or `default`.
    pub scale: String,
    /// Number of seeds for each experiment.
    pub seeds: u64,
}

/// The rows and runs to plan.
#[derive(Clone, Debug)]
pub struct Choice {
    /// `STUDY`, `STUDY/EXPERIMENT` or `STUDY/ROW`; empty for everything.
    pub names: Vec<String>,
    /// Scale; none for each experiment's default.
    pub scale: Option<Scale>,
    /// Number of seeds for each experiment.
    pub seeds: u64,
    /// Whether to run the sweeps too.
    pub sensitivity: bool,
    /// Folder with traces and other data, searched first.
    pub data_dir: Option<PathBuf>,
}

impl Plan {
    /// Plans the runs that a choice needs. Scaled tables are written to `folder`.
    ///
    /// # Errors
    /// If a name matches nothing, or an experiment cannot be run.
    pub fn new(studies: &[Study], choice: &Choice, folder: &Path) -> Result<Self, LabError> {
        for name in &choice.names {
            check_name(studies, name)?;
        }
        let chosen = |id: &str| {
            choice.names.is_empty() || choice.names.iter().any(|name| starts_with(id, name))
        };
        let mut plan = Plan {
            studies: Vec::new(),
            runs: Vec::new(),
            missing: Vec::new(),
            scale: choice.scale.map_or_else(|| "default".to_owned(), |s| s.to_string()),
            seeds: choice.seeds,
        };
        for study in studies {
            let full = |id: &str| format!("{}/{id}", study.name);
            let mut part = study.clone();
            part.rows.retain(|row| chosen(&full(&row.id)));
            part.sweeps.retain(|s| choice.sensitivity && part.rows.iter().any(|r| r.id == s.row));
            let mut needed: BTreeSet<&str> = BTreeSet::new();
            needed.extend(part.rows.iter().flat_map(|row| row.metric.experiments()));
            let by_name = study.experiments.iter().filter(|e| chosen(&full(&e.name)));
            needed.extend(by_name.map(|e| e.name.as_str()));
            for experiment in study.experiments.iter().filter(|e| needed.contains(e.name.as_str()))
            {
                let wants = |row: &&Row| {
                    row.metric.needs_attribution()
                        && row.metric.experiments().contains(&experiment.name.as_str())
                };
                let attribution = experiment.attribution || part.rows.iter().any(|r| wants(&r));
                let name = full(&experiment.name);
                match load(study, experiment, attribution, choice, folder) {
                    Ok(one) => {
                        one.with_seeds(choice.seeds)
                            .for_each(|experiment| plan.push(name.clone(), experiment));
                    }
                    Err(error @ LabError::Config(ConfigError::MissingData { .. })) => {
                        plan.missing.push((name, error.to_string()));
                    }
                    Err(error) => return Err(error),
                }
            }
            for sweep in &part.sweeps {
                for (name, experiment) in sweep_experiments(study, sweep) {
                    match load(study, &experiment, false, choice, folder) {
                        Ok(one) => plan.push(full(&name), one),
                        Err(LabError::Config(ConfigError::MissingData { .. })) => {}
                        Err(error) => return Err(error),
                    }
                }
            }
            let any = !part.rows.is_empty() || !needed.is_empty();
            if any {
                plan.studies.push(part);
            }
        }
        Ok(plan)
    }

    fn push(&mut self, name: String, mut experiment: Experiment) {
        experiment.name = name.replace('/', "-");
        self.runs.push(PlannedRun { name, experiment });
    }
}

/// Returns the experiments for the points of a sweep that need runs of their own.
fn sweep_experiments(study: &Study, sweep: &Sweep) -> Vec<(String, StudyExperiment)> {
    if !sweep.has_runs() {
        return Vec::new();
    }
    let row = study.rows.iter().find(|r| r.id == sweep.row);
    let base = row.and_then(|r| study.experiment(r.metric.experiments().first()?));
    let Some(base) = base else { return Vec::new() };
    let point = |at: usize| {
        let mut experiment = base.clone();
        experiment.set.extend(sweep.set.get(at).into_iter().flatten().cloned());
        experiment.edit.extend(sweep.edit.get(at).into_iter().flatten().cloned());
        if let Some(pace) = sweep.pace.get(at) {
            experiment.pace = Some(pace.clone());
        }
        if let Some(file) = sweep.file.get(at) {
            experiment.file.clone_from(file);
        }
        (sweep_name(sweep, at), experiment)
    };
    (0..sweep.values.len()).map(point).collect()
}

/// Returns the name of the run for a point of a sweep.
pub(super) fn sweep_name(sweep: &Sweep, at: usize) -> String {
    let vary: String =
        sweep.vary.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
    format!("{}/sweep/{vary}/{at}", sweep.row)
}

/// Returns the metric of a sweep's row at one of its points.
pub(super) fn sweep_metric(row: &Row, sweep: &Sweep, at: usize) -> Metric {
    let name = sweep.has_runs().then(|| sweep_name(sweep, at));
    row.metric.on(name.as_deref(), sweep.at.get(at).copied())
}

fn load(
    study: &Study,
    experiment: &StudyExperiment,
    attribution: bool,
    choice: &Choice,
    folder: &Path,
) -> Result<Experiment, LabError> {
    let scale = choice.scale;
    let beside = |path: &PathBuf| study.folder.join(path);
    let full = experiment.full.iter().filter(|_| scale == Some(Scale::Full));
    let (edit, full): (Vec<&String>, Vec<&String>) =
        full.partition(|assignment| assignment.starts_with("workload."));
    let edit: Vec<&String> = experiment.edit.iter().chain(edit).collect();
    let options = Options {
        device: experiment.device.clone(),
        set: full.into_iter().chain(&experiment.set).cloned().collect(),
        fio: experiment.fio.as_ref().map(beside),
        volume: experiment.volume,
        pace: experiment.pace.clone(),
        pace_from: experiment.pace_from.as_ref().map(beside),
        samples: Some(SAMPLES),
        attribution,
        data_dir: choice.data_dir.clone(),
        ..Options::default()
    };
    let file = beside(&experiment.file);
    let mut loaded = match edit.is_empty() {
        true => Experiment::from_file(&file, &options)?,
        false => {
            let text = edited(&file, &edit)?;
            // Line numbers in messages refer to the edited text.
            let name = format!("{} (edited)", file.file_name().unwrap_or_default().display());
            Experiment::from_text(&file.with_file_name(name), &text, &options)?
        }
    };
    // Numeric shares need no table. With a table, jobs that it does not name would not be paced.
    if experiment.pace.is_some() && experiment.pace_from.is_none() {
        loaded.pace_from = None;
    }
    if experiment.pace.as_deref() == Some("") {
        loaded.pace = None;
    }
    let scale = scale.unwrap_or(Scale::Pages(experiment.ru_pages.unwrap_or(study.ru_pages)));
    if experiment.fixed { Ok(loaded) } else { scale.apply(loaded, folder) }
}

/// Returns the text of an experiment file with some values changed.
fn edited(file: &Path, edits: &[&String]) -> Result<String, LabError> {
    let wrong = |reason: String| LabError::config(file.display().to_string(), reason);
    let mut table: Table =
        toml::from_str(&read_text(file)?).map_err(|e| wrong(e.message().to_owned()))?;
    for edit in edits {
        let parsed = edit.split_once('=').and_then(|(key, value)| {
            let value =
                toml::from_str::<Table>(&format!("value = {value}")).ok()?.remove("value")?;
            Some((key.trim(), value))
        });
        let (key, value) = parsed.ok_or_else(|| wrong(format!("`{edit}` is not KEY=VALUE")))?;
        let path: Vec<&str> = key.split('.').collect();
        if !assign(&mut table, &path, &value) {
            return Err(wrong(format!("no table for the key `{key}`")));
        }
    }
    toml::to_string(&table).map_err(|e| wrong(e.to_string()))
}

/// Sets a dotted key; `*` stands for every element of a list, a number for one of them.
fn assign(table: &mut Table, path: &[&str], value: &Value) -> bool {
    match path {
        [] => false,
        [leaf] => {
            table.insert((*leaf).to_owned(), value.clone());
            true
        }
        [key, rest @ ..] => match (table.get_mut(*key), rest) {
            (Some(Value::Table(below)), rest) => assign(below, rest, value),
            (Some(Value::Array(list)), [which, rest @ ..]) => {
                let chosen = list
                    .iter_mut()
                    .enumerate()
                    .filter(|(at, _)| *which == "*" || which.parse() == Ok(*at));
                let mut done = 0;
                for (_, element) in chosen {
                    let Value::Table(below) = element else { return false };
                    if !assign(below, rest, value) {
                        return false;
                    }
                    done += 1;
                }
                done > 0
            }
            _ => false,
        },
    }
}

/// Refuses a name that is not a prefix of any row or experiment.
fn check_name(studies: &[Study], name: &str) -> Result<(), LabError> {
    let mut known: Vec<String> = Vec::new();
    for study in studies {
        known.push(study.name.clone());
        let names =
            study.experiments.iter().map(|e| &e.name).chain(study.rows.iter().map(|r| &r.id));
        known.extend(names.map(|below| format!("{}/{below}", study.name)));
    }
    if known.iter().any(|id| starts_with(id, name)) {
        return Ok(());
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    // There are over a hundred names: if none is similar, list only the studies.
    let near = did_you_mean(name, &known);
    let studies: Vec<&str> = studies.iter().map(|study| study.name.as_str()).collect();
    let hint = match near.starts_with("; known") {
        true => format!("; studies: {}", studies.join(", ")),
        false => near,
    };
    Err(LabError::config(name, format!("no such study, experiment or figure{hint}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_tenants_are_set_in_one_or_all() {
        let text = "[[tenants]]\nrate = 1.0\n[tenants.workload]\nfill = 0.3\n[[tenants]]\nrate = 2.0\n\
                    [tenants.workload]\nfill = 0.3\n";
        let mut table: Table = toml::from_str(text).unwrap();
        assert!(assign(&mut table, &["tenants", "*", "workload", "fill"], &Value::Float(0.5)));
        assert!(assign(&mut table, &["tenants", "1", "rate"], &Value::Float(4.0)));
        assert!(!assign(&mut table, &["tenants", "2", "rate"], &Value::Float(4.0)));
        assert!(!assign(&mut table, &["absent", "rate"], &Value::Float(4.0)));
        let now = toml::to_string(&table).unwrap();
        assert_eq!(now.matches("fill = 0.5").count(), 2, "{now}");
        assert_eq!((now.matches("rate = 1.0").count(), now.matches("rate = 4.0").count()), (1, 1));
    }
}
