//! Rebuilds the experiment of a record.

use std::path::Path;

use serde_json::Value;
use wafer_config::{ResolvedDevice, device_from_text};
use wafer_interface::Bytes;
use wafer_lab::{Experiment, FioSource, LabError, Options, Workload};
use wafer_record::record::WorkloadRecord;
use wafer_record::{Record, Volume};

use crate::error::WhyError;

/// Returns the experiment of a record, without a clock.
pub(crate) fn experiment(record: &Record) -> Result<Experiment, WhyError> {
    let missing = |what: &str| {
        WhyError::NotRepeatable(format!("the record has no {what}; `wafer run` writes one"))
    };
    let config =
        record.provenance.config.as_ref().ok_or_else(|| missing("device configuration"))?;
    let recorded = record.provenance.workload.as_ref().ok_or_else(|| missing("workload"))?;
    let device = device(&record.provenance.device, config, &[])?;
    let options = Options {
        volume: recorded.volume,
        pace: recorded.pace.clone(),
        pace_from: recorded.pace_from.clone().map(Into::into),
        seed: record.provenance.seed,
        precondition: Some(recorded.precondition),
        ..Options::default()
    };
    let mut experiment = Experiment::of(device, workload(recorded)?, &options);
    if experiment.volume.is_none() && record.time.is_some() {
        // Without its clock, a workload limited by time has no end.
        experiment.volume = Some(Volume::Bytes(Bytes(record.summary.host_bytes)));
    }
    Ok(experiment)
}

/// Returns the device of a recorded configuration with `KEY=VALUE` overrides.
pub(crate) fn device(
    name: &str,
    config: &Value,
    overrides: &[String],
) -> Result<ResolvedDevice, WhyError> {
    let mut config = config.clone();
    remove_nulls(&mut config);
    let text = toml::to_string(&config).map_err(|e| {
        WhyError::NotRepeatable(format!("the device configuration of the record: {e}"))
    })?;
    Ok(device_from_text(name, &text, overrides).map_err(LabError::from)?)
}

/// Removes nulls, which TOML cannot represent.
fn remove_nulls(value: &mut Value) {
    if let Value::Object(table) = value {
        table.retain(|_, value| !value.is_null());
        table.values_mut().for_each(remove_nulls);
    }
}

fn workload(recorded: &WorkloadRecord) -> Result<Workload, WhyError> {
    let path = Path::new(&recorded.path);
    let folder = path.parent().unwrap_or(Path::new(""));
    let nested = |label: &str, folder: &Path| -> Result<Workload, WhyError> {
        let table: toml::Table = (recorded.text.parse())
            .map_err(|e| WhyError::NotRepeatable(format!("the workload of the record: {e}")))?;
        let file = toml::Table::from_iter([("workload".to_owned(), toml::Value::Table(table))]);
        Ok(Workload::from_text(label, &file.to_string(), folder)?)
    };
    match recorded.kind.as_str() {
        "fio" => Ok(Workload::new(FioSource { path: path.into(), text: recorded.text.clone() })),
        "model" => nested(&recorded.path, folder),
        // The record names traces by their paths relative to the working directory.
        "trace" => nested("traces", Path::new("")),
        kind => Err(WhyError::NotRepeatable(format!(
            "a record of a workload of kind `{kind}` does not hold all that a rerun needs; job files, models and \
             traces can be run again"
        ))),
    }
}
