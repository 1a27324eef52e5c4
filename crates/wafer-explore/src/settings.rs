//! The values of the page's controls.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::streams::Stream;

/// The values of the page's controls: an experiment, except for the files it may name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Name of a shipped device profile; none if `set` has the whole device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Dotted keys of the device that differ from the profile.
    #[serde(default)]
    pub set: BTreeMap<String, Value>,
    /// The workload.
    pub workload: WorkloadSettings,
    /// Host bytes to write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    /// Shares of the jobs, `JOB=SHARE,...`; none if the streams have them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<String>,
    /// State of the device at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precondition: Option<String>,
    /// Random seed, at most 2^53 - 1: JavaScript rounds larger ones.
    #[serde(default, deserialize_with = "seed")]
    pub seed: u64,
    /// Maximum number of timeline samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<usize>,
    /// Whether to record which handles' invalidations cause which relocations.
    #[serde(default)]
    pub attribution: bool,
}

/// The largest seed of a page: JavaScript represents whole numbers exactly up to it.
pub(crate) const LARGEST_SEED: u64 = (1 << 53) - 1;

fn seed<'de, D: Deserializer<'de>>(settings: D) -> Result<u64, D::Error> {
    let seed = Value::deserialize(settings)?;
    let is_exact = |seed: &u64| *seed <= LARGEST_SEED;
    seed.as_u64().filter(is_exact).ok_or_else(|| {
        D::Error::custom(format!("{seed}: expected a whole number, at most {LARGEST_SEED}"))
    })
}

/// A workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkloadSettings {
    /// Streams that write concurrently, each a job.
    Streams(Vec<Stream>),
    /// The text of a fio job file.
    Fio(String),
    /// The `[workload]` table or the `[[tenants]]` of an experiment, as TOML.
    Toml(String),
}

impl Settings {
    /// Returns the text of the fio job file, if there is one.
    pub(crate) fn job_file(&self) -> Option<String> {
        match &self.workload {
            WorkloadSettings::Streams(streams) => Some(crate::streams::job_file(streams)),
            WorkloadSettings::Fio(text) => Some(text.clone()),
            WorkloadSettings::Toml(_) => None,
        }
    }

    /// Returns the shares of the jobs: those of the streams, if all have one.
    pub(crate) fn pace(&self) -> Option<String> {
        match &self.workload {
            WorkloadSettings::Streams(streams) => crate::streams::pace(streams),
            _ => self.pace.clone(),
        }
    }
}
