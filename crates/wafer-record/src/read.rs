//! Reads records of this version and of version 0.1.0.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::files::read_text_up_to;
use crate::findings::check_attribution;
use crate::record::SCHEMA;
use crate::{Record, RecordError};

/// Maximum size of a file of records, bytes.
const MOST: u64 = 4 << 30;
/// The schema of the table that `wafer reproduce` writes, which names the files of its records.
const REPRODUCE: &str = "wafer.reproduce/1";

/// Reads the records of a file: one, an array of them, or those that a `reproduce.json` names. For a folder, reads all
/// `*.json` files that contain records.
///
/// Computes metrics and findings if a record has none.
///
/// # Errors
/// A file cannot be read, is not JSON, or does not contain records; the message names file, line and key. In a folder,
/// files of other schemas are skipped; a folder without records is an error.
pub fn read_records(path: &Path) -> Result<Vec<Record>, RecordError> {
    let label = path.display().to_string();
    if !path.is_dir() {
        return of_value(path, parse(&label, &read_text_up_to(path, MOST)?)?);
    }
    let fail = |reason: String| RecordError::input(&label, reason);
    let entries =
        std::fs::read_dir(path).map_err(|e| fail(format!("cannot be read: {}", e.kind())))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    let mut records = Vec::new();
    for file in files {
        let value = parse(&file.display().to_string(), &read_text_up_to(&file, MOST)?)?;
        let first = value.get(0).unwrap_or(&value);
        if first.get("schema").and_then(Value::as_str) == Some(SCHEMA) {
            records.extend(of_value(&file, value)?);
        }
    }
    if records.is_empty() {
        return Err(fail(format!("the folder holds no record ({SCHEMA})")));
    }
    Ok(records)
}

/// Reads the records in a text; `label` names it in messages.
///
/// # Errors
/// Like [`read_records`].
pub fn records_of_text(label: &str, text: &str) -> Result<Vec<Record>, RecordError> {
    of_value(Path::new(label), parse(label, text)?)
}

fn parse(label: &str, text: &str) -> Result<Value, RecordError> {
    serde_json::from_str(text).map_err(|e| {
        let message = e.to_string();
        let reason = message.split(" at line ").next().unwrap_or_default();
        RecordError::input(format!("{label}:{}", e.line()), format!("not JSON: {reason}"))
    })
}

fn of_value(path: &Path, value: Value) -> Result<Vec<Record>, RecordError> {
    let label = path.display().to_string();
    if value.get("schema").and_then(Value::as_str) == Some(REPRODUCE) {
        return named(path, &value);
    }
    let values = match value {
        Value::Array(values) if values.is_empty() => {
            return Err(RecordError::input(label, "an empty array"));
        }
        Value::Array(values) => values,
        one => vec![one],
    };
    let several = values.len() > 1;
    let place = |n: usize| if several { format!("{label}[{n}]") } else { label.clone() };
    values.into_iter().enumerate().map(|(n, value)| record(&place(n), value)).collect()
}

/// Reads the records that the rows of a `reproduce.json` name, each once.
fn named(path: &Path, table: &Value) -> Result<Vec<Record>, RecordError> {
    let rows = table.get("rows").and_then(Value::as_array);
    let files = rows.into_iter().flatten().filter_map(|row| row.get("result")?.as_str());
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut seen = BTreeSet::new();
    let mut records = Vec::new();
    for file in files.filter(|file| seen.insert(file.to_owned())) {
        let file = folder.join(file);
        let label = file.display().to_string();
        let value = parse(&label, &read_text_up_to(&file, MOST)?)?;
        if value.get("schema").and_then(Value::as_str) == Some(REPRODUCE) {
            return Err(RecordError::input(label, "expected a record, found another table"));
        }
        records.extend(of_value(&file, value)?);
    }
    if records.is_empty() {
        return Err(RecordError::input(path.display().to_string(), "no row names a record"));
    }
    Ok(records)
}

fn record(place: &str, value: Value) -> Result<Record, RecordError> {
    let wrong = |key: &str, reason: String| {
        let place = if key.is_empty() { place.to_owned() } else { format!("{place}: {key}") };
        RecordError::input(place, reason)
    };
    match value.get("schema") {
        Some(Value::String(schema)) if schema == SCHEMA => {}
        Some(other) => {
            let ranking = other.as_str().is_some_and(|schema| schema.starts_with("wafer.compare/"));
            let what = if ranking {
                ", a ranking; give records that `wafer run --json` wrote"
            } else {
                ""
            };
            return Err(wrong("schema", format!("expected \"{SCHEMA}\", found {other}{what}")));
        }
        None => return Err(wrong("schema", format!("missing; not a record ({SCHEMA})"))),
    }
    let mut record: Record = serde_path_to_error::deserialize(value).map_err(|e| {
        let key = e.path().to_string();
        wrong(if key == "." { "" } else { &key }, e.inner().to_string())
    })?;
    record.check().map_err(|(key, reason)| wrong(&key, reason))?;
    record.complete();
    Ok(record)
}

impl Record {
    /// Checks what readers rely on: columns of equal length, counters that never decrease, and tables of matching
    /// sizes. An error is the key and the reason.
    pub(crate) fn check(&self) -> Result<(), (String, String)> {
        if let Some(geometry) = &self.provenance.geometry {
            geometry.check().map_err(|(key, reason)| {
                (format!("provenance.geometry.{key}"), reason.to_owned())
            })?;
        }
        let timeline = &self.timeline;
        let points = timeline.host_bytes.len();
        let mut columns = vec![
            ("timeline.host_bytes".to_owned(), &timeline.host_bytes),
            ("timeline.media_bytes".to_owned(), &timeline.media_bytes),
        ];
        for (key, series) in &timeline.handles {
            columns.push((format!("timeline.handles.{key}.host_bytes"), &series.host_bytes));
            columns.push((format!("timeline.handles.{key}.media_bytes"), &series.media_bytes));
        }
        for (key, column) in columns {
            if column.len() != points {
                return Err((key, unequal(column.len(), points)));
            }
            if let Some(at) = column.windows(2).position(|pair| pair[1] < pair[0]) {
                return Err((key, format!("point {} is less than the one before", at + 1)));
            }
        }
        if ![0, points].contains(&timeline.seconds.len()) {
            return Err(("timeline.seconds".to_owned(), unequal(timeline.seconds.len(), points)));
        }
        if let Some(units) = &self.reclaim_units {
            units.check().map_err(|reason| ("reclaim_units".to_owned(), reason))?;
        }
        for (n, curve) in self.published.iter().enumerate() {
            if curve.host_bytes.len() != curve.waf.len() {
                let reason = unequal(curve.waf.len(), curve.host_bytes.len());
                return Err((format!("published[{n}].waf"), reason));
            }
        }
        match &self.attribution {
            Some(attribution) => {
                check_attribution(attribution).map_err(|reason| ("attribution".to_owned(), reason))
            }
            None => Ok(()),
        }
    }
}

fn unequal(points: usize, expected: usize) -> String {
    format!("{points} points, expected {expected} as in host_bytes")
}

#[cfg(test)]
mod tests;
