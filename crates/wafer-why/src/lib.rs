//! Finds the causes of a WAF by experiment.
//!
//! # What it is
//! [`Plan::of`] takes a result record and plans reruns: the same experiment, and for each possible cause the
//! experiment without it, for example with more spare space, smaller reclaim units, the jobs apart, or one handle
//! left out. The caller runs them and passes the records to [`Plan::judge`], which ranks the causes by their cost.
//!
//! # Architecture
//! - `causes/`: one file per cause. To add a cause, add its file and a line in `causes/mod.rs`.
//! - `rebuild.rs`: the experiment of a record; `streams.rs`: changed workloads; `temperature.rs`: how often each part
//!   of the drive is written.
//!
//! # Invariants
//! Every rerun is deterministic, so the same record gives the same causes.
//!
//! # Error model
//! [`WhyError`]: the record has no repeatable experiment.
//!
//! # What it does not implement
//! Combinations of causes: removing two may save more or less than the sum.

mod causes;
mod error;
mod judge;
mod rebuild;
mod streams;
mod temperature;

use schemars::JsonSchema;
use serde::Serialize;
use wafer_lab::{Experiment, LabError};
use wafer_record::{Record, Timeline, Volume};

use crate::causes::{Case, Counterfactual};
pub use crate::error::WhyError;

/// Maximum host writes of a rerun, in logical capacities.
const MOST_CAPACITIES: f64 = 10.0;
/// Maximum relative difference from the record's WAF, which is interpolated.
const MOST_DIFFERENCE: f64 = 0.01;

/// A cause, and the effect of removing it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Cause {
    /// Name, such as `shared_handle`.
    pub cause: String,
    /// WAF without the cause.
    pub waf_without: f64,
    /// The change, its effect and the remedy, in one or two sentences.
    pub text: String,
}

/// The causes of a WAF.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Why {
    /// WAF of the experiment, rerun to the volume of the reruns.
    pub waf: f64,
    /// Host bytes written by each rerun, in multiples of the logical capacity, if fewer than the record's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacities: Option<f64>,
    /// The causes, most costly first.
    pub causes: Vec<Cause>,
}

/// Reruns of an experiment: unchanged, and without each possible cause.
pub struct Plan {
    base: Experiment,
    /// The timeline of the record, unless its commands followed a clock.
    recorded: Option<Timeline>,
    shortened: bool,
    counterfactuals: Vec<Counterfactual>,
}

impl Plan {
    /// Plans the reruns for a record.
    ///
    /// # Errors
    /// If the record is not that of a simulated run, or lacks its workload.
    pub fn of(record: &Record) -> Result<Self, WhyError> {
        let mut base = rebuild::experiment(record)?;
        base.attribution = true;
        let most = Volume::Multiple(MOST_CAPACITIES);
        let logical = base.device.logical_bytes();
        let shortened =
            base.volume.is_some_and(|volume| volume.bytes(logical) > most.bytes(logical));
        if shortened {
            base.volume = Some(most);
        }
        let case = Case::new(record, &base)?;
        let mut counterfactuals: Vec<_> = causes::all(&case);
        // Experiments that do not fit this device or this machine are omitted.
        counterfactuals.retain(|c| c.experiment.clone().check().is_ok());
        let recorded = record.time.is_none().then(|| record.timeline.clone());
        Ok(Plan { base, recorded, shortened, counterfactuals })
    }

    /// Returns the experiments to run, the unchanged one first.
    pub fn experiments(&self) -> Vec<Experiment> {
        let of = |c: &Counterfactual| {
            std::iter::once(c.experiment.clone()).chain(c.control().cloned()).collect::<Vec<_>>()
        };
        std::iter::once(self.base.clone()).chain(self.counterfactuals.iter().flat_map(of)).collect()
    }

    /// Ranks the causes by the records of [`Self::experiments`], given in the same order.
    ///
    /// # Errors
    /// If the unchanged run failed, or differs from the record's.
    pub fn judge(&self, records: Vec<Result<Record, LabError>>) -> Result<Why, WhyError> {
        // Without some of the runs, what is left says nothing of the causes.
        let is_cancelled =
            |run: &Result<_, LabError>| run.as_ref().is_err_and(LabError::is_cancelled);
        if records.iter().any(is_cancelled) {
            return Err(LabError::Cancelled.into());
        }
        let mut records = records.into_iter();
        let base = records.next().unwrap_or_else(|| Err(LabError::Run("no run".to_owned())))?;
        self.check_repeated(&base)?;
        let changed = self.counterfactuals.iter().filter_map(|c| {
            let (record, control) = (records.next()?, c.control().map(|_| records.next()));
            let control = control.map(|control| control?.ok().map(|control| control.summary.waf));
            Some((c, record.ok()?, control.unwrap_or(Some(base.summary.waf))?))
        });
        Ok(Why {
            waf: base.summary.waf,
            capacities: self.shortened.then_some(MOST_CAPACITIES),
            causes: judge::rank(&base, changed),
        })
    }

    /// Refuses to explain a run other than the record's, which lacks the files that its workload names.
    fn check_repeated(&self, base: &Record) -> Result<(), WhyError> {
        let host = base.summary.host_bytes;
        let Some(waf) = self.recorded.as_ref().and_then(|recorded| recorded.waf_at(host)) else {
            return Ok(());
        };
        let now = base.summary.waf;
        if (now / waf - 1.0).abs() <= MOST_DIFFERENCE {
            return Ok(());
        }
        Err(WhyError::NotRepeatable(format!(
            "the run comes out differently now: WAF {now:.3} instead of {waf:.3} in the record; a file that its workload \
             names has changed, or the record is of another version of wafer"
        )))
    }
}
