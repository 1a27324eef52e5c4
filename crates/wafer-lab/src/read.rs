//! Reading result records back.

use std::path::Path;

use serde::Deserialize;

use crate::files::read_text;
use crate::record::SCHEMA;
use crate::{LabError, ResultRecord};

/// The records of a file: one, or an array as `wafer run` writes for several runs.
///
/// # Errors
/// The file cannot be read, is not JSON, or is not of records; the message names file and line.
pub fn read_records(path: &Path) -> Result<Vec<ResultRecord>, LabError> {
    let label = path.display().to_string();
    let text = read_text(path)?;
    let broken = |e: &serde_json::Error| {
        let message = e.to_string();
        let reason = message.split(" at line ").next().unwrap_or_default();
        LabError::config(format!("{label}:{}", e.line()), reason)
    };
    let value: serde_json::Value = serde_json::from_str(&text).map_err(|e| broken(&e))?;
    let values = match value {
        serde_json::Value::Array(values) => values,
        one => vec![one],
    };
    let record = |value: serde_json::Value| {
        match value.get("schema").and_then(|schema| schema.as_str()) {
            Some(SCHEMA) => {}
            Some(other) => {
                let reason = format!("`{other}`, expected `{SCHEMA}`");
                return Err(LabError::config(format!("{label}: schema"), reason));
            }
            None => {
                return Err(LabError::config(&label, "not a result record: no `schema`"));
            }
        }
        ResultRecord::deserialize(value)
            .map_err(|e| LabError::config(&label, format!("not a result record: {e}")))
    };
    values.into_iter().map(record).collect()
}
