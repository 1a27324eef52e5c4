//! What `wafer serve` serves: one subsystem of the command line, or those of a `--subsystems` file.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;
use wafer_lab::LabError;
use wafer_storage::DataSpec;

use super::tables::{self, Wrong, wrong_nqn};
use crate::args::{InvalidPlacement, ServeArgs};

/// A subsystem to serve.
pub(crate) struct Spec {
    /// Where it is described, unless on the command line: file and line.
    place: Option<String>,
    pub(crate) device: String,
    pub(crate) set: Vec<String>,
    pub(crate) data: DataSpec,
    pub(crate) record: Option<PathBuf>,
    pub(crate) lba: Option<u32>,
    pub(crate) refuse_invalid_placement: bool,
    pub(crate) fdp_events: bool,
    pub(crate) nqn: Option<String>,
    pub(crate) serial: Option<String>,
    pub(crate) hosts: Option<PathBuf>,
    pub(crate) seed: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    subsystem: Vec<Spanned<Table>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    device: Spanned<String>,
    #[serde(default)]
    set: Vec<String>,
    data: Option<Spanned<String>>,
    record: Option<PathBuf>,
    lba: Option<Spanned<u32>>,
    #[serde(default)]
    invalid_placement: Placement,
    #[serde(default)]
    fdp_events: bool,
    nqn: Option<Spanned<String>>,
    serial: Option<Spanned<String>>,
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
    /// Returns an error of this subsystem: on the command line as it is, otherwise with the place in its file.
    pub(crate) fn error(&self, error: LabError) -> LabError {
        match &self.place {
            None => error,
            Some(place) => LabError::config(place.clone(), error.to_string()),
        }
    }
}

/// Returns what the arguments ask for, checked.
///
/// # Errors
/// An argument is wrong, or a file cannot be read or is wrong in a line.
pub(crate) fn of(args: &ServeArgs) -> Result<Vec<Spec>, LabError> {
    if let Some(file) = &args.subsystems {
        return read(file);
    }
    // The parser of the command line asks for one or the other.
    let device = args.device.device.clone().unwrap_or_default();
    if let Some(reason) = args.nqn.as_deref().and_then(wrong_nqn) {
        return Err(LabError::config("--nqn", reason));
    }
    if let Some(reason) = args.serial.as_deref().and_then(wrong_serial) {
        return Err(LabError::config("--serial", reason));
    }
    Ok(vec![Spec {
        place: None,
        device,
        set: args.device.set.clone(),
        data: args.data.clone(),
        record: args.record.clone(),
        lba: args.lba,
        refuse_invalid_placement: args.invalid_placement == InvalidPlacement::Error,
        fdp_events: args.fdp_events,
        nqn: args.nqn.clone(),
        serial: args.serial.clone(),
        hosts: args.hosts.clone(),
        seed: args.seed,
    }])
}

fn read(path: &Path) -> Result<Vec<Spec>, LabError> {
    let name = path.display();
    tables::read(path, |text| parse(text, |at| format!("{name}:{}", tables::line(text, at))))
}

fn parse(text: &str, place: impl Fn(usize) -> String) -> Result<Vec<Spec>, Wrong> {
    let file: File = tables::toml(text)?;
    if file.subsystem.is_empty() {
        return Err((0, "no subsystems; write [[subsystem]] tables with a device".to_owned()));
    }
    let mut specs: Vec<Spec> = Vec::new();
    for table in file.subsystem {
        let table = table.into_inner();
        let nqn = checked(table.nqn, "nqn", wrong_nqn)?;
        let data = match table.data {
            None => DataSpec::Memory,
            Some(data) => {
                let at = data.span().start;
                data.into_inner().parse().map_err(|reason| (at, format!("`data`: {reason}")))?
            }
        };
        let lba = match table.lba {
            Some(lba) if ![512, 4096].contains(lba.get_ref()) => {
                return Err((lba.span().start, "`lba`: expected 512 or 4096".to_owned()));
            }
            lba => lba.map(Spanned::into_inner),
        };
        specs.push(Spec {
            place: Some(place(table.device.span().start)),
            device: table.device.into_inner(),
            set: table.set,
            data,
            record: table.record,
            lba,
            refuse_invalid_placement: table.invalid_placement == Placement::Error,
            fdp_events: table.fdp_events,
            nqn,
            serial: checked(table.serial, "serial", wrong_serial)?,
            hosts: table.hosts,
            seed: table.seed,
        });
    }
    Ok(specs)
}

fn checked(
    value: Option<Spanned<String>>,
    key: &str,
    wrong: fn(&str) -> Option<&'static str>,
) -> Result<Option<String>, Wrong> {
    let Some(value) = value else { return Ok(None) };
    match wrong(value.get_ref()) {
        Some(reason) => Err((value.span().start, format!("`{key}`: {reason}"))),
        None => Ok(Some(value.into_inner())),
    }
}

fn wrong_serial(serial: &str) -> Option<&'static str> {
    let printable = |c: char| (' '..='~').contains(&c);
    let holds = (1..=20).contains(&serial.len()) && serial.chars().all(printable);
    (!holds).then_some("expected 1 to 20 ASCII characters")
}

#[cfg(test)]
mod tests;
