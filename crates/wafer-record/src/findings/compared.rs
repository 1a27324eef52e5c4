//! Several records beside each other.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Cause, Finding};
use crate::Record;

/// Runs whose WAF differ by less than this factor have the same.
const SAME: f64 = 1.01;
/// Differences named in a sentence.
const NAMED: usize = 4;

/// Compares the records with the lowest and the highest WAF; `labels` name them. Nothing for fewer than
/// two records with host writes.
pub fn comparison(records: &[Record], labels: &[String]) -> Vec<Finding> {
    let written: Vec<(&Record, &String)> =
        records.iter().zip(labels).filter(|(r, _)| r.summary.host_bytes > 0).collect();
    let by_waf = |a: &&(&Record, &String), b: &&(&Record, &String)| {
        a.0.summary.waf.total_cmp(&b.0.summary.waf)
    };
    let (Some(best), Some(worst)) = (written.iter().min_by(by_waf), written.iter().max_by(by_waf))
    else {
        return Vec::new();
    };
    if written.len() < 2 {
        return Vec::new();
    }
    let (best_waf, worst_waf) = (best.0.summary.waf, worst.0.summary.waf);
    let cause = if worst_waf < SAME * best_waf {
        Cause::SameWaf
    } else {
        Cause::Comparison {
            best: best.1.clone(),
            worst: worst.1.clone(),
            best_waf,
            worst_waf,
            differences: differences(best.0, worst.0),
        }
    };
    vec![cause.into()]
}

/// Returns the keys of the provenance in which two records differ, with both values.
fn differences(a: &Record, b: &Record) -> Vec<String> {
    let (left, right) = (keys(a), keys(b));
    let none = "none".to_owned();
    let differing: Vec<&String> = (left.keys().chain(right.keys()))
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .filter(|key| left.get(*key) != right.get(*key))
        .collect();
    let shown = |key: &&String| {
        let of = |map: &BTreeMap<String, String>| map.get(*key).unwrap_or(&none).clone();
        format!("{key} ({}, not {})", of(&left), of(&right))
    };
    let mut named: Vec<String> = differing.iter().take(NAMED).map(shown).collect();
    if differing.len() > NAMED {
        named.push(format!("{} more", differing.len() - NAMED));
    }
    named
}

/// Returns device and workload as dotted keys and values, without the texts of files.
fn keys(record: &Record) -> BTreeMap<String, String> {
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
            found.insert(format!("handles of job {}", job.name), handles.join(" "));
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
