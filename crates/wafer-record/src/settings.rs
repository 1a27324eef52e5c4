//! The settings of a run as dotted keys and values, to compare and distinguish runs.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::Record;

/// Returns the settings of device and workload as dotted keys and values, without the contents of files.
pub(crate) fn keys(record: &Record) -> BTreeMap<String, String> {
    let p = &record.provenance;
    let mut found = BTreeMap::from([("device".to_owned(), p.device.clone())]);
    if let Some(config) = &p.config {
        leaves(config, "", &mut found);
    }
    if let Some(workload) = &p.workload {
        let mut value = serde_json::to_value(workload).unwrap_or_default();
        if let Some(object) = value.as_object_mut() {
            for key in ["text", "ignored", "path", "jobs"] {
                object.shift_remove(key);
            }
        }
        leaves(&value, "workload", &mut found);
        for job in &workload.jobs {
            let handles: Vec<String> = job.handles.iter().map(u16::to_string).collect();
            let handles =
                if handles.is_empty() { "no handle".to_owned() } else { handles.join(" ") };
            found.insert(format!("handles of job {}", job.name), handles);
        }
    }
    found
}

fn leaves(value: &Value, prefix: &str, found: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let key = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                leaves(value, &key, found);
            }
        }
        Value::Null => {}
        Value::String(text) => {
            found.insert(prefix.to_owned(), text.clone());
        }
        other => {
            found.insert(prefix.to_owned(), other.to_string());
        }
    }
}
