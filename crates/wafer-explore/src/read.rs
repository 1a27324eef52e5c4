//! Reads settings from an experiment file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use wafer_config::{Layers, profile};
use wafer_config::{ResolvedDevice, load_device};
use wafer_lab::{Experiment, LabError, Options};
use wafer_record::Precondition;

use crate::settings::{LARGEST_SEED, Settings, WorkloadSettings};
use crate::streams;

/// Keys of a device that are used only in runs with a clock.
const CLOCK: &str = "timing";

impl Settings {
    /// Returns the settings of an experiment file. `path` names it in messages; relative paths in it start at its
    /// folder.
    ///
    /// # Errors
    /// If the text is invalid, or a page cannot run the experiment because it reads a trace or a table, or has a
    /// clock. The message names line and key.
    pub fn read(path: &Path, text: &str) -> Result<Self, LabError> {
        let experiment = Experiment::from_text(path, text, &Options::default())?;
        let layers = Layers::from_text(&path.display().to_string(), text)?;
        if experiment.timed {
            return Err(layers.error("time", "a page has no clock; `wafer run` has").into());
        }
        if experiment.pace_from.is_some() {
            let reason = "a page reads no files: give `pace` numbers";
            return Err(layers.error("pace_from", reason).into());
        }
        let key = if layers.has("tenants") { "tenants" } else { "workload" };
        let workload = match experiment.workload.kind() {
            "fio" => {
                let text = experiment.workload.text();
                match streams::of_job_file(&text, experiment.pace.as_deref()) {
                    Some(streams) => WorkloadSettings::Streams(streams),
                    None => WorkloadSettings::Fio(text),
                }
            }
            _ if reads_files(&experiment, path) => {
                return Err(layers
                    .error(key, "a page reads no files, and the workload does")
                    .into());
            }
            "tenants" => WorkloadSettings::Toml(tenants(&layers)),
            _ => WorkloadSettings::Toml(format!("[workload]\n{}", experiment.workload.text())),
        };
        let shared = !matches!(workload, WorkloadSettings::Streams(_));
        let (device, set) = device(&experiment.device)?;
        if experiment.seed > LARGEST_SEED {
            let reason = format!("a page has seeds up to {LARGEST_SEED}");
            return Err(layers.error("seed", &reason).into());
        }
        Ok(Settings {
            device,
            set,
            workload,
            volume: experiment.volume.map(|volume| volume.to_string()),
            pace: experiment.pace.clone().filter(|_| shared),
            precondition: Some(experiment.precondition)
                .filter(|state| *state != Precondition::default())
                .map(|state| state.to_string()),
            seed: experiment.seed,
            samples: Some(experiment.samples).filter(|n| *n != wafer_lab::DEFAULT_SAMPLES),
            attribution: experiment.attribution,
        })
    }
}

/// Returns the tenants of an experiment as written in its file. The text of their workload is meant for readers
/// of a record.
fn tenants(layers: &Layers) -> String {
    let tenants = layers.get("tenants").map(|tenants| ("tenants".to_owned(), tenants.clone()));
    tenants.into_iter().collect::<toml::Table>().to_string()
}

/// Returns whether the workload reads any other file than the experiment file.
fn reads_files(experiment: &Experiment, path: &Path) -> bool {
    let own = |file: &PathBuf| file == path;
    experiment.workload.kind().contains("trace")
        || experiment.workload.files().iter().any(|file| !own(file))
}

/// Returns the profile of a device and the keys that differ from it; without a profile, all keys.
fn device(device: &ResolvedDevice) -> Result<(Option<String>, BTreeMap<String, Value>), LabError> {
    let mut keys = flat(device);
    let profile = profile(&device.name).map(|profile| profile.name);
    if let Some(name) = &profile {
        let base = flat(&load_device(name, &[])?);
        keys.retain(|key, value| base.get(key) != Some(value));
    } else {
        keys.retain(|key, _| !key.starts_with(CLOCK));
    }
    Ok((profile, keys))
}

/// Returns the resolved configuration by dotted key.
fn flat(device: &ResolvedDevice) -> BTreeMap<String, Value> {
    let mut keys = BTreeMap::new();
    let config = serde_json::to_value(&device.config).unwrap_or_default();
    flatten("", config, &mut keys);
    keys
}

fn flatten(prefix: &str, value: Value, keys: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let dot = if prefix.is_empty() { "" } else { "." };
                flatten(&format!("{prefix}{dot}{key}"), value, keys);
            }
        }
        Value::Null => {}
        value => {
            keys.insert(prefix.to_owned(), value);
        }
    }
}
