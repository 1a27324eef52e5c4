//! The possible causes, each with the experiments that remove it.

mod alignment;
mod background;
mod handles;
mod isolation;
mod jobs;
mod reserve;
mod spare_space;
mod steadiness;
mod temperature;
mod trim;
mod units;

use std::sync::Arc;

use serde_json::Value;
use wafer_lab::{Experiment, Workload};
use wafer_record::Record;
use wafer_record::record::{JobRecord, WorkloadRecord};

use crate::error::WhyError;
use crate::rebuild;
use crate::streams::{Change, Changed};
use crate::temperature::Temperature;

const CAUSES: &[fn(&Case<'_>) -> Vec<Counterfactual>] = &[
    alignment::plan,
    background::plan,
    handles::plan,
    isolation::plan,
    jobs::plan,
    reserve::plan,
    spare_space::plan,
    steadiness::plan,
    temperature::plan,
    trim::plan,
    units::plan,
];

/// How to evaluate the record of a counterfactual.
#[derive(Clone, Debug)]
pub(crate) enum Measure {
    /// Its WAF is the WAF without the cause.
    Waf,
    /// Like `Waf`, compared with this control: the unchanged commands on the same changed device.
    Beside(Box<Experiment>),
    /// This handle costs the relocations of all other handles' data that disappear.
    Others(String),
    /// The other handles cost the relocations of this handle's data that disappear.
    Alone(String),
    /// The WAF of the last quarter of the writes, which shows whether a run is steady.
    LastPart,
}

/// The experiment without one cause.
pub(crate) struct Counterfactual {
    pub(crate) cause: &'static str,
    pub(crate) experiment: Experiment,
    pub(crate) measure: Measure,
    /// The change, as the beginning of a sentence.
    pub(crate) what: String,
    /// The remedy.
    pub(crate) advice: &'static str,
    /// Weight of the cause relative to others of equal cost. A remedy that costs capacity, or helps against anything,
    /// counts less than a fault of the placement or of the configuration.
    pub(crate) weight: f64,
}

/// Weight of causes that serve no purpose.
pub(crate) const AVOIDABLE: f64 = 2.0;
/// Weight of causes whose removal costs capacity or memory.
pub(crate) const GENERAL: f64 = 1.0;

/// The run to explain.
pub(crate) struct Case<'a> {
    pub(crate) record: &'a Record,
    pub(crate) base: &'a Experiment,
    pub(crate) config: &'a Value,
    pub(crate) workload: &'a WorkloadRecord,
    pub(crate) temperature: Option<Arc<Temperature>>,
}

impl<'a> Case<'a> {
    pub(crate) fn new(record: &'a Record, base: &'a Experiment) -> Result<Self, WhyError> {
        let missing = || WhyError::NotRepeatable("the record is not of a simulated run".to_owned());
        Ok(Case {
            record,
            base,
            config: record.provenance.config.as_ref().ok_or_else(missing)?,
            workload: record.provenance.workload.as_ref().ok_or_else(missing)?,
            temperature: Temperature::of(base)?.map(Arc::new),
        })
    }

    /// Returns the experiment with device overrides, if they are valid.
    pub(crate) fn with_device(&self, overrides: &[String]) -> Option<Experiment> {
        let device = rebuild::device(&self.base.device.name, self.config, overrides).ok()?;
        Some(Experiment { device, ..self.base.clone() })
    }

    /// Returns the experiment with changed commands.
    pub(crate) fn with_change(&self, change: Change) -> Experiment {
        let geometry = Arc::new(self.base.device.geometry.clone());
        let workload =
            Workload::new(Changed { inner: self.base.workload.clone(), change, geometry });
        Experiment { workload, ..self.base.clone() }
    }

    /// Returns the number of reclaim units beyond the logical capacity.
    pub(crate) fn spare_units(&self) -> f64 {
        let geometry = &self.base.device.geometry;
        let logical = geometry.logical_pages as f64 / f64::from(geometry.pages_per_ru);
        f64::from(geometry.ru_count) - logical
    }

    /// Returns the written handles.
    pub(crate) fn handles(&self) -> &[u16] {
        self.temperature.as_ref().map(|t| t.handles.as_slice()).unwrap_or_default()
    }

    /// Returns the share of a handle's bytes in commands that began where the previous one ended.
    pub(crate) fn sequential_share(&self, handle: u16) -> f64 {
        self.temperature.as_ref().map_or(0.0, |temperature| temperature.sequential_share(handle))
    }

    /// Returns whether the device is one namespace with all handles, in one reclaim group.
    pub(crate) fn is_plain(&self) -> bool {
        let none = |list: &Value| list.as_array().is_none_or(Vec::is_empty);
        self.config.get("namespaces").is_none_or(none) && self.base.device.config.groups == 1
    }

    /// Returns the jobs that write.
    pub(crate) fn writers(&self) -> Vec<&JobRecord> {
        let writes = |job: &&JobRecord| {
            !matches!(job.rw.as_str(), "read" | "randread" | "trim" | "randtrim")
        };
        self.workload.jobs.iter().filter(writes).collect()
    }
}

impl Counterfactual {
    /// Returns the control it is compared with, unless that is the run itself.
    pub(crate) fn control(&self) -> Option<&Experiment> {
        if let Measure::Beside(control) = &self.measure { Some(control) } else { None }
    }
}

/// Returns the counterfactuals of all causes.
pub(crate) fn all(case: &Case<'_>) -> Vec<Counterfactual> {
    CAUSES.iter().flat_map(|plan| plan(case)).collect()
}
