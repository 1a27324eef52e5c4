//! Saving preconditioned drives, and continuing from a saved one. `run/underway.rs` creates them.

use std::io::{self, Read};

use serde_json::{Value, json};
use wafer_device::Device;
use wafer_record::Precondition;
use wafer_record::record::{SteadyRecord, WorkloadRecord};

use crate::control::SteadyStates;
use crate::drive::{Drive, Watch};
use wafer_experiment::Experiment;

/// Minimum logical bytes of a drive worth saving: a smaller one becomes steady within a second.
const WORTH_KEEPING: u64 = 1 << 30;
/// A field that only the key of a filled drive has.
const FILLED: &str = "filled";
/// Maximum bytes of the device's state, without its map, that are trusted.
const MOST_STATE: u64 = 4 << 30;

/// The progress of a precondition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reached {
    /// Its sequential and random writes, which do not depend on the workload.
    Filled,
    /// The whole precondition: the drive is steady.
    Steady,
}

impl Reached {
    /// Returns whether a key is that of a drive with this progress.
    pub(crate) fn is_of(self, key: &Value) -> bool {
        key.get(FILLED).is_some() == (self == Reached::Filled)
    }
}

/// Returns the key of a drive that the precondition of an experiment has brought this far; `None` if it is not saved.
///
/// Timing does not change bytes, and the volume starts afterwards, so neither is part of the key.
pub(crate) fn key(experiment: &Experiment, reached: Reached) -> Option<Value> {
    if experiment.attribution {
        return None;
    }
    let precondition = experiment.precondition;
    let config = experiment.device.config.of_bytes();
    if reached == Reached::Filled {
        // A sequential fill takes no time worth saving.
        let precondition = Precondition { load: false, steady: false, ..precondition };
        return (precondition.random > 0.0).then(|| {
            json!({ "config": config, "seed": experiment.seed, FILLED: precondition.to_string() })
        });
    }
    if !precondition.steady || experiment.device.logical_bytes() < WORTH_KEEPING {
        return None;
    }
    // Commands in memory have no name that identifies them.
    if experiment.workload.kind() == "commands" {
        return None;
    }
    let workload = experiment.provenance(std::time::UNIX_EPOCH, Vec::new()).workload?;
    let workload = WorkloadRecord { volume: None, ..workload };
    let details = experiment.workload.details(&experiment.target()).ok()?;
    let files = experiment.workload.files().into_iter().chain(experiment.pace_from.clone());
    let known: Option<Vec<Value>> = files.map(|path| identity(&path)).collect();
    Some(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "git": wafer_experiment::GIT,
        "device": experiment.device.name,
        "config": config,
        "seed": experiment.seed,
        "workload": workload,
        "details": details,
        "files": known?,
    }))
}

/// Returns properties that distinguish a file from its later versions.
fn identity(path: &std::path::Path) -> Option<Value> {
    let Ok(file) = std::fs::metadata(path) else {
        // The text of a workload may exist only in the experiment; it is part of the key.
        return Some(json!({ "path": path }));
    };
    let age = file.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(json!({ "path": path, "bytes": file.len(), "modified": age.as_nanos().to_string() }))
}

/// Returns the drive saved by an earlier run with the same key and, if it is steady, how it became so.
pub(crate) fn find(
    experiment: &Experiment,
    states: Option<&dyn SteadyStates>,
) -> Option<(Drive, Option<SteadyRecord>)> {
    let states = states?;
    let of = |reached| {
        let key = key(experiment, reached)?;
        let found = read(experiment, states.find(&key)?);
        if found.is_err() {
            states.remove(&key);
        }
        found.ok()
    };
    of(Reached::Steady).or_else(|| states.saves_filled().then(|| of(Reached::Filled)).flatten())
}

fn read(
    experiment: &Experiment,
    mut from: Box<dyn Read>,
) -> io::Result<(Drive, Option<SteadyRecord>)> {
    let damaged = |_| io::ErrorKind::InvalidData;
    let mut part = || -> io::Result<Vec<u8>> {
        let mut length = [0; 8];
        from.read_exact(&mut length)?;
        let length = u64::from_le_bytes(length);
        if length > MOST_STATE {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut bytes = Vec::new();
        (&mut from).take(length).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let steady: Option<SteadyRecord> = serde_json::from_slice(&part()?)?;
    let steady = steady.map(|steady| SteadyRecord { kept: true, ..steady });
    let state = postcard::from_bytes(&part()?).map_err(damaged)?;
    let watch = Watch::new(experiment.attribution);
    let device = Device::restore(&experiment.device.config, watch, state, |map| {
        from.read_exact(map).map_err(|error| error.to_string())?;
        // The reader verifies its checksum at the end, after the last byte.
        match from.read(&mut [0]) {
            Ok(0) => Ok(()),
            Ok(_) => Err("longer than its map".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    });
    Ok((device.map_err(io::Error::other)?, steady))
}

/// Saves a drive for later runs with the same key, a steady one with how it became so.
pub(crate) fn keep(
    experiment: &Experiment,
    device: &Drive,
    steady: Option<&SteadyRecord>,
    states: Option<&dyn SteadyStates>,
) {
    let reached = if steady.is_some() { Reached::Steady } else { Reached::Filled };
    let Some(states) = states.filter(|it| steady.is_some() || it.saves_filled()) else { return };
    let Some(key) = key(experiment, reached) else { return };
    states.keep(&key, &mut |to| {
        let state = postcard::to_allocvec(&device.state()).map_err(io::Error::other)?;
        for part in [serde_json::to_vec(&steady)?, state] {
            to.write_all(&(part.len() as u64).to_le_bytes())?;
            to.write_all(&part)?;
        }
        to.write_all(device.map_bytes())
    });
}
