//! Reads result records from files and checks what pages rely on.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A file cannot be read.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A record is not one.
    #[error("{place}: {key}: {reason}")]
    Record {
        /// File, and number where it holds several.
        place: String,
        /// The key, dotted.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The page's own scripts cannot be joined.
    #[error("the page's scripts: {0}")]
    Link(String),
}

/// The records of a file (one, or an array of them), or of all files `*.json` in a folder that hold
/// records.
///
/// # Errors
/// What cannot be read or is no `wafer.result/1`, with file and key. In a folder, files of other
/// schemas are left out; a folder without any record is an error.
pub fn read(path: &Path) -> Result<Vec<Value>, ReportError> {
    if !path.is_dir() {
        return of_file(path);
    }
    let fail = |reason: String| ReportError::File { path: path.to_owned(), reason };
    let entries = std::fs::read_dir(path).map_err(|e| fail(e.to_string()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    let mut records = Vec::new();
    for file in files {
        let value = parse(&file)?;
        let first = value.get(0).unwrap_or(&value);
        if first.get("schema").and_then(Value::as_str) == Some(SCHEMA) {
            records.extend(checked(&file, value)?);
        }
    }
    if records.is_empty() {
        return Err(fail(format!("the folder holds no result record ({SCHEMA})")));
    }
    Ok(records)
}

const SCHEMA: &str = "wafer.result/1";

fn of_file(path: &Path) -> Result<Vec<Value>, ReportError> {
    checked(path, parse(path)?)
}

fn parse(path: &Path) -> Result<Value, ReportError> {
    let fail = |reason: String| ReportError::File { path: path.to_owned(), reason };
    let bytes = std::fs::read(path).map_err(|e| {
        fail(match e.kind() {
            std::io::ErrorKind::NotFound => "no such file".to_owned(),
            std::io::ErrorKind::PermissionDenied => "may not be read".to_owned(),
            kind => format!("cannot be read: {kind}"),
        })
    })?;
    serde_json::from_slice(&bytes).map_err(|e| fail(format!("not JSON: {e}")))
}

fn checked(path: &Path, value: Value) -> Result<Vec<Value>, ReportError> {
    let records = match value {
        Value::Array(records) => records,
        record => vec![record],
    };
    let several = records.len() > 1;
    for (number, record) in records.iter().enumerate() {
        check(record).map_err(|(key, reason)| {
            let nth = if several { format!("[{number}]") } else { String::new() };
            ReportError::Record { place: format!("{}{nth}", path.display()), key, reason }
        })?;
    }
    if records.is_empty() {
        let reason = "an empty array".to_owned();
        return Err(ReportError::File { path: path.to_owned(), reason });
    }
    Ok(records)
}

/// Checks what pages rely on: the schema, and that the columns of the timeline are counters of equal
/// length. Answers the key and the reason.
pub fn check(record: &Value) -> Result<(), (String, String)> {
    let wrong = |key: &str, reason: String| Err((key.to_owned(), reason));
    match record.get("schema") {
        Some(Value::String(schema)) if schema == SCHEMA => {}
        Some(other) => return wrong("schema", format!("expected \"{SCHEMA}\", found {other}")),
        None => return wrong("schema", format!("missing; not a result record ({SCHEMA})")),
    }
    if !record.get("name").is_some_and(Value::is_string) {
        return wrong("name", "expected text".to_owned());
    }
    for key in ["provenance", "summary", "timeline"] {
        if !record.get(key).is_some_and(Value::is_object) {
            return wrong(key, "expected an object".to_owned());
        }
    }
    for key in ["host_bytes", "media_bytes"] {
        if record["summary"].get(key).and_then(Value::as_u64).is_none() {
            return wrong(&format!("summary.{key}"), "expected bytes".to_owned());
        }
    }
    let timeline = &record["timeline"];
    let points = counters(timeline, "timeline", "host_bytes", None)?;
    counters(timeline, "timeline", "media_bytes", Some(points))?;
    match timeline.get("handles") {
        None => Ok(()),
        Some(Value::Object(handles)) => handles.iter().try_for_each(|(name, series)| {
            let place = format!("timeline.handles.{name}");
            counters(series, &place, "host_bytes", Some(points))?;
            counters(series, &place, "media_bytes", Some(points)).map(|_| ())
        }),
        Some(_) => wrong("timeline.handles", "expected an object".to_owned()),
    }
}

/// The length of a column of counters that never step back.
fn counters(
    table: &Value,
    place: &str,
    column: &str,
    length: Option<usize>,
) -> Result<usize, (String, String)> {
    let wrong = |reason: String| Err((format!("{place}.{column}"), reason));
    let Some(Value::Array(values)) = table.get(column) else {
        return wrong("expected an array".to_owned());
    };
    if let Some(length) = length.filter(|length| *length != values.len()) {
        return wrong(format!("{} points, where timeline.host_bytes has {length}", values.len()));
    }
    let mut last = 0;
    for (i, value) in values.iter().enumerate() {
        match value.as_u64() {
            Some(bytes) if bytes >= last => last = bytes,
            Some(_) => return wrong(format!("point {i} is less than the one before")),
            None => return wrong(format!("point {i} is not a number of bytes")),
        }
    }
    Ok(values.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.json");
        std::fs::write(&path, text).unwrap();
        let message = read(&path).unwrap_err().to_string();
        message.replace(&format!("{}/", folder.path().display()), "")
    }

    fn record() -> Value {
        json!({
            "schema": "wafer.result/1", "name": "a", "provenance": {},
            "summary": { "host_bytes": 2, "media_bytes": 4 },
            "timeline": { "host_bytes": [1, 2], "media_bytes": [1, 4],
                "handles": { "0": { "host_bytes": [1, 2], "media_bytes": [1, 4] } } },
        })
    }

    #[test]
    fn what_is_wrong_is_named() {
        let with = |change: &dyn Fn(&mut Value)| {
            let mut record = record();
            change(&mut record);
            message(&record.to_string())
        };
        assert_eq!(
            message("{"),
            "r.json: not JSON: EOF while parsing an object at line 1 column 1"
        );
        assert_eq!(message("{}"), "r.json: schema: missing; not a result record (wafer.result/1)");
        assert_eq!(
            with(&|r| r["schema"] = json!("x/2")),
            "r.json: schema: expected \"wafer.result/1\", found \"x/2\""
        );
        assert_eq!(
            with(&|r| r["timeline"]["media_bytes"] = json!([1])),
            "r.json: timeline.media_bytes: 1 points, where timeline.host_bytes has 2"
        );
        assert_eq!(
            with(&|r| r["timeline"]["handles"]["0"]["host_bytes"] = json!([2, 1])),
            "r.json: timeline.handles.0.host_bytes: point 1 is less than the one before"
        );
        assert_eq!(
            with(&|r| r["summary"]["host_bytes"] = json!(-1)),
            "r.json: summary.host_bytes: expected bytes"
        );
        assert_eq!(message("[]"), "r.json: an empty array");
        assert_eq!(
            read(Path::new("/nonexistent.json")).unwrap_err().to_string(),
            "/nonexistent.json: no such file"
        );
    }

    #[test]
    fn folders_give_their_records_in_order() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read(folder.path()).is_err());
        for name in ["b", "a"] {
            let mut record = record();
            record["name"] = json!(name);
            std::fs::write(folder.path().join(format!("{name}.json")), record.to_string()).unwrap();
        }
        std::fs::write(folder.path().join("other.json"), "{\"schema\": \"x/1\"}").unwrap();
        let records = read(folder.path()).unwrap();
        let names: Vec<_> = records.iter().map(|r| r["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["a", "b"]);
    }
}
