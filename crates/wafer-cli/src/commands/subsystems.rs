//! The subsystems of `wafer serve`: one from the command line, or those of a `--subsystems` file.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use wafer_config::{ConfigError, Layers, tables};
use wafer_controller::wrong_nqn;
use wafer_lab::LabError;
use wafer_record::Precondition;
use wafer_storage::DataSpec;

use crate::args::{InvalidPlacement, ServeArgs};

/// A subsystem to serve.
pub(crate) struct Spec {
    /// Its table in the file, unless it comes from the command line.
    table: Option<Layers>,
    pub(crate) device: String,
    pub(crate) set: Vec<String>,
    pub(crate) data: DataSpec,
    pub(crate) record: Option<PathBuf>,
    pub(crate) lba: Option<u32>,
    pub(crate) refuse_invalid_placement: bool,
    pub(crate) fdp_events: bool,
    pub(crate) time: bool,
    pub(crate) precondition: Option<Precondition>,
    pub(crate) nqn: Option<String>,
    pub(crate) serial: Option<String>,
    pub(crate) hosts: Option<PathBuf>,
    pub(crate) seed: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    device: String,
    #[serde(default)]
    set: Vec<String>,
    data: Option<String>,
    record: Option<PathBuf>,
    lba: Option<u32>,
    #[serde(default)]
    invalid_placement: Placement,
    #[serde(default)]
    fdp_events: bool,
    #[serde(default)]
    time: bool,
    precondition: Option<Precondition>,
    nqn: Option<String>,
    serial: Option<String>,
    hosts: Option<PathBuf>,
    seed: Option<u64>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Placement {
    #[default]
    Default,
    Error,
}

impl Spec {
    /// Returns an error caused by a key: unchanged for the command line, otherwise with the key's line.
    pub(crate) fn error(&self, key: &str, error: LabError) -> LabError {
        match &self.table {
            None => error,
            Some(table) => {
                let text = error.to_string();
                let reason = text.strip_prefix(&format!("--{key}: ")).unwrap_or(&text);
                LabError::config(table.place(key), reason)
            }
        }
    }
}

/// Returns the subsystems requested by the arguments, checked.
///
/// # Errors
/// If an argument is invalid, or a file cannot be read or has an invalid line.
pub(crate) fn of(args: &ServeArgs) -> Result<Vec<Spec>, LabError> {
    if let Some(file) = &args.subsystems {
        return read(file);
    }
    let Some(device) = args.device.device.clone() else {
        return Err(LabError::config("--device", "missing; or give --subsystems"));
    };
    if let Some(reason) = args.nqn.as_deref().and_then(wrong_nqn) {
        return Err(LabError::config("--nqn", reason));
    }
    if let Some(reason) = args.serial.as_deref().and_then(wrong_serial) {
        return Err(LabError::config("--serial", reason));
    }
    Ok(vec![Spec {
        table: None,
        device,
        set: args.device.set.clone(),
        data: args.data.clone(),
        record: args.record.clone(),
        lba: args.lba,
        refuse_invalid_placement: args.invalid_placement == InvalidPlacement::Error,
        fdp_events: args.fdp_events,
        time: args.time,
        precondition: args.precondition,
        nqn: args.nqn.clone(),
        serial: args.serial.clone(),
        hosts: args.hosts.clone(),
        seed: args.seed,
    }])
}

const NONE: &str = "no subsystems; write [[subsystem]] tables with a device";

fn read(path: &Path) -> Result<Vec<Spec>, LabError> {
    let tables = tables::read(path, "subsystem", NONE)?;
    Ok(of_tables(&tables)?)
}

fn of_tables(tables: &[Layers]) -> Result<Vec<Spec>, ConfigError> {
    let mut specs: Vec<Spec> = Vec::new();
    for table in tables {
        let spec = described(table)?;
        // Checked before any file is created. Names derived from a drive's UUID are compared later.
        if let Some(nqn) =
            spec.nqn.as_ref().filter(|nqn| specs.iter().any(|s| s.nqn.as_ref() == Some(nqn)))
        {
            return Err(table.error("nqn", &format!("another subsystem has `{nqn}`")));
        }
        specs.push(spec);
    }
    Ok(specs)
}

/// Returns the subsystem described by a table.
fn described(layers: &Layers) -> Result<Spec, ConfigError> {
    let table: Table = layers.read()?;
    let check = |key, wrong: Option<&str>| match wrong {
        Some(reason) => Err(layers.error(key, reason)),
        None => Ok(()),
    };
    check("nqn", table.nqn.as_deref().and_then(wrong_nqn))?;
    check("serial", table.serial.as_deref().and_then(wrong_serial))?;
    let size = table.lba.filter(|lba| ![512, 4096].contains(lba));
    check("lba", size.map(|_| "expected 512 or 4096"))?;
    let data = match table.data.as_deref().map(str::parse) {
        None => DataSpec::Memory,
        Some(Ok(data)) => data,
        Some(Err(reason)) => return Err(layers.error("data", &reason)),
    };
    Ok(Spec {
        table: Some(layers.clone()),
        device: table.device,
        set: table.set,
        data,
        record: table.record,
        lba: table.lba,
        refuse_invalid_placement: table.invalid_placement == Placement::Error,
        fdp_events: table.fdp_events,
        time: table.time,
        precondition: table.precondition,
        nqn: table.nqn,
        serial: table.serial,
        hosts: table.hosts,
        seed: table.seed,
    })
}

fn wrong_serial(serial: &str) -> Option<&'static str> {
    let printable = |c: char| (' '..='~').contains(&c);
    let holds = (1..=20).contains(&serial.len()) && serial.chars().all(printable);
    (!holds).then_some("expected 1 to 20 ASCII characters")
}

#[cfg(test)]
mod tests;
