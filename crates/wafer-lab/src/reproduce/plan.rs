//! Which runs the chosen rows need.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::metric::Metric;
use super::scale::Scale;
use super::study::{Row, Study, StudyExperiment, Sweep, starts_with};
use crate::config::did_you_mean;
use crate::{Experiment, LabError, Options, Precondition};

/// Points of a run's timeline: volumes of a quarter of the capacity up to x25 fall on them or near.
const SAMPLES: usize = 500;

/// One run.
#[derive(Clone, Debug)]
pub struct PlannedRun {
    /// `STUDY/EXPERIMENT`, and for a point of a sweep `/sweep/N`.
    pub name: String,
    /// What is run; its name is [`Self::name`] with `-` for `/`.
    pub experiment: Experiment,
}

/// Rows and the runs that they need.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The studies that take part, with their chosen rows and sweeps only.
    pub studies: Vec<Study>,
    /// Every experiment with every seed.
    pub runs: Vec<PlannedRun>,
    /// Scale that was asked for, or `default`.
    pub scale: String,
    /// Seeds of each experiment.
    pub seeds: u64,
}

/// What is chosen.
#[derive(Clone, Debug)]
pub struct Choice {
    /// `STUDY`, `STUDY/EXPERIMENT` or `STUDY/ROW`; none: everything.
    pub names: Vec<String>,
    /// None: each experiment's default.
    pub scale: Option<Scale>,
    /// Seeds of each experiment.
    pub seeds: u64,
    /// Whether sweeps are run too.
    pub sensitivity: bool,
}

impl Plan {
    /// The runs that a choice needs. `folder` takes scaled tables.
    ///
    /// # Errors
    /// A name that fits nothing; an experiment that cannot work.
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
                let one = load(study, experiment, attribution, choice.scale, folder)?;
                for more in 0..choice.seeds {
                    plan.push(name.clone(), one.with_seed(one.seed.wrapping_add(more)));
                }
            }
            for sweep in &part.sweeps {
                for (name, experiment) in sweep_experiments(study, sweep) {
                    let one = load(study, &experiment, false, choice.scale, folder)?;
                    plan.push(full(&name), one);
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

/// The experiments of a sweep whose points need runs of their own.
fn sweep_experiments(study: &Study, sweep: &Sweep) -> Vec<(String, StudyExperiment)> {
    if sweep.set.is_empty() && sweep.file.is_empty() {
        return Vec::new();
    }
    let row = study.rows.iter().find(|r| r.id == sweep.row);
    let base = row.and_then(|r| study.experiment(r.metric.experiments().first()?));
    let Some(base) = base else { return Vec::new() };
    let point = |at: usize| {
        let mut experiment = base.clone();
        experiment.set.extend(sweep.set.get(at).into_iter().flatten().cloned());
        if let Some(file) = sweep.file.get(at) {
            experiment.file.clone_from(file);
        }
        (sweep_name(sweep, at), experiment)
    };
    (0..sweep.values.len()).map(point).collect()
}

/// Name of the run of a point of a sweep.
pub(super) fn sweep_name(sweep: &Sweep, at: usize) -> String {
    let vary: String =
        sweep.vary.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
    format!("{}/sweep/{vary}/{at}", sweep.row)
}

/// The metric of a sweep's row at one of its points.
pub(super) fn sweep_metric(row: &Row, sweep: &Sweep, at: usize) -> Metric {
    let own = !(sweep.set.is_empty() && sweep.file.is_empty());
    let name = own.then(|| sweep_name(sweep, at));
    row.metric.on(name.as_deref(), sweep.at.get(at).copied())
}

fn load(
    study: &Study,
    experiment: &StudyExperiment,
    attribution: bool,
    scale: Option<Scale>,
    folder: &Path,
) -> Result<Experiment, LabError> {
    let beside = |path: &PathBuf| study.folder.join(path);
    let options = Options {
        device: experiment.device.clone(),
        set: experiment.set.clone(),
        fio: experiment.fio.as_ref().map(beside),
        volume: experiment.volume,
        pace: experiment.pace.clone(),
        pace_from: experiment.pace_from.as_ref().map(beside),
        samples: Some(SAMPLES),
        attribution,
        ..Options::default()
    };
    let mut loaded = Experiment::from_file(&beside(&experiment.file), &options)?;
    if experiment.pace.as_deref() == Some("") {
        (loaded.pace, loaded.pace_from) = (None, None);
    }
    let scale = scale.unwrap_or(Scale::Pages(experiment.ru_pages.unwrap_or(study.ru_pages)));
    scale.apply(loaded, folder)
}

/// Refuses a name that no row and no experiment has or begins with.
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
    let reason = format!("no such study or experiment{}", did_you_mean(name, &known));
    Err(LabError::config(name, reason))
}

/// What a plan says of the state of a device before a run, for the document.
pub(super) fn state(precondition: Precondition) -> String {
    precondition.to_string()
}
