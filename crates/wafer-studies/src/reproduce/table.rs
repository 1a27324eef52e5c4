//! The table with a row for each published figure: `wafer.reproduce/1`.

use std::collections::BTreeMap;

use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use wafer_record::Record;
use wafer_record::statistics::mean;

use super::plan::{Plan, sweep_metric};
use super::row::{Class, Row};
use super::scale::Scale;
use super::study::Study;

/// Returns the JSON Schema of [`Reproduction`].
pub fn schema() -> serde_json::Value {
    schema_for!(Reproduction).into()
}

/// The `schema` of a reproduction.
pub const SCHEMA: &str = "wafer.reproduce/1";

/// All rows.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Reproduction {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Version of wafer.
    pub version: String,
    /// Commit that the binary was built from, or "unknown".
    pub git: String,
    /// `default`, `full`, or the pages of a scaled reclaim unit.
    pub scale: String,
    /// Seeds of each experiment.
    pub seed_count: u64,
    /// Seconds from the first run's start to the last one's end.
    pub wall_seconds: f64,
    /// The studies that took part.
    pub studies: Vec<StudyRecord>,
    /// A row for each published figure.
    pub rows: Vec<ReproducedRow>,
    /// How calibrated figures depend on assumptions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sensitivity: Vec<Sensitivity>,
    /// The experiments that were run.
    pub experiments: Vec<ExperimentRecord>,
}

/// A study.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StudyRecord {
    /// Name.
    pub name: String,
    /// One-line title.
    pub title: String,
    /// Where it was published.
    pub source: String,
}

/// One published figure next to ours.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReproducedRow {
    /// `STUDY/ROW`.
    pub id: String,
    /// Description of the compared figure.
    pub what: String,
    /// Unit of the figures: `us`, `MB/s`, or `1/s`; none for WAF, shares and ratios.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<&'static str>,
    /// How much agreement proves.
    pub class: Class,
    /// The published figure.
    pub published: f64,
    /// Our figure, the mean over the seeds; null if there is none.
    pub ours: Option<f64>,
    /// (ours - published) / published.
    pub difference: Option<f64>,
    /// Largest relative difference that counts as agreement.
    pub tolerance: f64,
    /// Whether the difference is within the tolerance.
    pub within: bool,
    /// Our figure for each seed, in the order of `seed_numbers`.
    pub seeds: Vec<f64>,
    /// The seeds.
    pub seed_numbers: Vec<u64>,
    /// Maximum minus minimum over the seeds.
    pub spread: Option<f64>,
    /// Total duration of the runs of this row, in seconds.
    pub wall_seconds: f64,
    /// Record of the first seed, relative to the folder of the table.
    pub result: Option<String>,
    /// Records of all runs of this row.
    pub results: Vec<String>,
    /// Figure, table or file of the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Why it misses, or on which assumptions it rests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why our figure is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// How a figure depends on one parameter.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Sensitivity {
    /// The row.
    pub id: String,
    /// The varied parameter.
    pub vary: String,
    /// The published figure.
    pub published: f64,
    /// A point for each value, with one seed.
    pub points: Vec<SensitivityPoint>,
}

/// One point of a sweep.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SensitivityPoint {
    /// The value, as labelled.
    pub value: String,
    /// Our figure.
    pub ours: Option<f64>,
}

/// One experiment with all its seeds.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ExperimentRecord {
    /// `STUDY/EXPERIMENT`.
    pub name: String,
    /// Device.
    pub device: String,
    /// Logical capacity in bytes.
    pub logical_bytes: u64,
    /// Number of reclaim units.
    pub ru_count: u32,
    /// Number of pages in each reclaim unit.
    pub pages_per_ru: u32,
    /// (physical - logical) / logical.
    pub overprovisioning: f64,
    /// Host bytes in multiples of the logical capacity.
    pub volume: f64,
    /// State of the device at the start.
    pub precondition: String,
    /// WAF at the end for each seed.
    pub waf: Vec<f64>,
    /// Total duration of the runs in seconds.
    pub wall_seconds: f64,
    /// Records, relative to the folder of the table.
    pub results: Vec<String>,
}

/// Runs by name and seed, each with its record or the reason for its absence.
pub type Outcomes = BTreeMap<(String, u64), Result<Record, String>>;

/// Returns the name of a run: `STUDY/EXPERIMENT`.
pub fn result_name(study: &str, experiment: &str) -> String {
    format!("{study}/{experiment}")
}

/// Returns the path of a record's file within the folder of the table.
pub fn result_file(name: &str, seed: u64) -> String {
    format!("results/{}-seed{seed}.json", name.replace('/', "-"))
}

impl Reproduction {
    /// Returns the table of a plan whose runs have finished.
    pub fn new(plan: &Plan, outcomes: &Outcomes, wall_seconds: f64) -> Self {
        let studies = &plan.studies;
        let rows = studies
            .iter()
            .flat_map(|study| study.rows.iter().map(move |row| (study, row)))
            .map(|(study, row)| reproduced(plan, study, row, outcomes))
            .collect();
        let sensitivity =
            studies.iter().flat_map(|study| sensitivity(study, outcomes)).collect::<Vec<_>>();
        Reproduction {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            git: wafer_lab::GIT.to_owned(),
            scale: plan.scale.clone(),
            seed_count: plan.seeds,
            wall_seconds,
            studies: studies
                .iter()
                .map(|s| StudyRecord {
                    name: s.name.clone(),
                    title: s.title.clone(),
                    source: s.source.clone(),
                })
                .collect(),
            rows,
            sensitivity,
            experiments: experiments(outcomes),
        }
    }

    /// Returns the number of rows outside their tolerance, and the number of all rows.
    pub fn misses(&self) -> (usize, usize) {
        (self.rows.iter().filter(|row| !row.within).count(), self.rows.len())
    }
}

/// Returns the runs of an experiment, in order of their seeds.
fn runs_of<'a>(outcomes: &'a Outcomes, name: &str) -> Vec<(u64, &'a Result<Record, String>)> {
    let runs = outcomes.iter().filter(|((n, _), _)| n == name);
    runs.map(|((_, seed), outcome)| (*seed, outcome)).collect()
}

fn reproduced(plan: &Plan, study: &Study, row: &Row, outcomes: &Outcomes) -> ReproducedRow {
    let names: Vec<String> =
        row.metric.experiments().iter().map(|name| format!("{}/{name}", study.name)).collect();
    let of = |name: &str| runs_of(outcomes, name);
    // Experiments of one row may start at different seeds, so they are matched by position.
    let nth = |name: &str, n: usize| of(&format!("{}/{name}", study.name)).get(n).copied();
    let mut ours = Vec::new();
    let mut numbers = Vec::new();
    let missing = plan.missing.iter().find(|(name, _)| names.contains(name));
    let mut failure = missing.map(|(_, reason)| reason.clone());
    for n in 0..plan.seeds as usize {
        let record = |name: &str| nth(name, n).and_then(|(_, outcome)| outcome.as_ref().ok());
        let failed = names.iter().find_map(|name| match of(name).get(n) {
            Some((_, Err(reason))) => Some(reason.clone()),
            _ => None,
        });
        match failed.map_or_else(|| row.metric.value(&record), Err) {
            // Curves that do not cross have no figure, but that is not a failure.
            Ok(value) if value.is_nan() => {}
            Ok(value) => {
                ours.push(value);
                numbers.extend(of(&names[0]).get(n).map(|(seed, _)| *seed));
            }
            Err(reason) => failure = failure.or(Some(reason)),
        }
    }
    let results: Vec<String> = names
        .iter()
        .flat_map(|name| of(name).into_iter().map(move |(seed, _)| result_file(name, seed)))
        .collect();
    let seconds = names.iter().flat_map(|name| of(name)).filter_map(|(_, o)| o.as_ref().ok());
    let compared = ReproducedRow::of(&study.name, row, ours, numbers);
    let is_small = matches!(plan.scale.parse(), Ok(Scale::Pages(n)) if n < study.ru_pages);
    let too_small = || format!("A scale below the study's {} was chosen.", study.ru_pages);
    ReproducedRow {
        within: compared.within && failure.is_none(),
        wall_seconds: seconds.map(|r| r.performance.wall_seconds).sum(),
        result: results.first().cloned(),
        results,
        failure,
        reason: match compared.reason.clone() {
            Some(reason) if is_small => Some(format!("{} {reason}", too_small())),
            reason => reason.or_else(|| is_small.then(too_small)),
        },
        ..compared
    }
}

impl ReproducedRow {
    /// Compares our figures, one per seed, with the published one.
    pub(crate) fn of(study: &str, row: &Row, seeds: Vec<f64>, seed_numbers: Vec<u64>) -> Self {
        let mean = (!seeds.is_empty()).then(|| mean(&seeds));
        let difference = mean.map(|mean| (mean - row.published) / row.published);
        let most = seeds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let least = seeds.iter().copied().fold(f64::INFINITY, f64::min);
        ReproducedRow {
            id: format!("{study}/{}", row.id),
            what: row.metric.describe(),
            unit: row.metric.unit(),
            class: row.class,
            published: row.published,
            ours: mean,
            difference,
            tolerance: row.tolerance,
            within: difference.is_some_and(|d| d.abs() <= row.tolerance + 1e-9),
            spread: mean.map(|_| most - least),
            seeds,
            seed_numbers,
            wall_seconds: 0.0,
            result: None,
            results: Vec::new(),
            source: row.source.clone(),
            reason: row.reason.clone(),
            failure: None,
        }
    }
}

fn sensitivity(study: &Study, outcomes: &Outcomes) -> Vec<Sensitivity> {
    let record = |name: &str| {
        let name = format!("{}/{name}", study.name);
        outcomes.iter().find(|((n, _), _)| *n == name).and_then(|(_, o)| o.as_ref().ok())
    };
    let one = |sweep: &super::Sweep| {
        let row = study.rows.iter().find(|r| r.id == sweep.row)?;
        let point = |(at, value): (usize, &String)| SensitivityPoint {
            value: value.clone(),
            ours: sweep_metric(row, sweep, at).value(&record).ok(),
        };
        Some(Sensitivity {
            id: format!("{}/{}", study.name, sweep.row),
            vary: sweep.vary.clone(),
            published: row.published,
            points: sweep.values.iter().enumerate().map(point).collect(),
        })
    };
    study.sweeps.iter().filter_map(one).collect()
}

fn experiments(outcomes: &Outcomes) -> Vec<ExperimentRecord> {
    let mut all: Vec<ExperimentRecord> = Vec::new();
    for ((name, seed), outcome) in outcomes {
        let Ok(record) = outcome else { continue };
        if all.last().is_none_or(|last| last.name != *name) {
            let provenance = &record.provenance;
            let (Some(geometry), Some(workload)) = (&provenance.geometry, &provenance.workload)
            else {
                continue;
            };
            all.push(ExperimentRecord {
                name: name.clone(),
                device: record.provenance.device.clone(),
                logical_bytes: record.logical_bytes(),
                ru_count: geometry.ru_count,
                pages_per_ru: geometry.pages_per_ru,
                overprovisioning: geometry.overprovisioning,
                volume: record.volume(),
                precondition: workload.precondition.to_string(),
                waf: Vec::new(),
                wall_seconds: 0.0,
                results: Vec::new(),
            });
        }
        let Some(last) = all.last_mut() else { continue };
        last.waf.push(record.summary.waf);
        last.wall_seconds += record.performance.wall_seconds;
        last.results.push(result_file(name, *seed));
    }
    all
}
