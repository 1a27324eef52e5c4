//! Several records beside each other.

use std::collections::BTreeMap;

use super::{Cause, Finding};
use crate::Record;
use crate::settings::keys;

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
