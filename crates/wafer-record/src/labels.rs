//! Labels of runs shown together, from the settings in which they differ.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::Record;
use crate::settings::keys;

/// Maximum number of settings in a label.
const MOST: usize = 6;
/// Less informative settings, used only if nothing else distinguishes the runs.
const LAST: [&str; 2] = ["workload.volume", "seed"];
/// Settings that follow from others.
const DERIVED: [&str; 2] = ["reclaim_unit.count", "overprovisioning"];

/// Returns a different label for each record: its name if no other record has it, otherwise the settings that
/// distinguish the runs (`gc.policy = fifo`), otherwise a number.
pub fn labels(records: &[Record]) -> Vec<String> {
    let names: Vec<String> = records.iter().map(|record| record.name.clone()).collect();
    let same_name = names.iter().collect::<BTreeSet<_>>().len() == 1 && names.len() > 1;
    let mut labels = if same_name { vec![String::new(); names.len()] } else { names.clone() };
    if distinct(&labels) == labels.len() {
        return labels;
    }
    let settings: Vec<BTreeMap<String, String>> = records.iter().map(of_run).collect();
    let count = |name: &String| names.iter().filter(|other| *other == name).count();
    for key in telling(&labels, &settings) {
        let several = labels.iter_mut().zip(&settings).zip(&names);
        for ((label, settings), _) in several.filter(|(_, name)| count(name) > 1) {
            let value = settings.get(&key).map_or("none", String::as_str);
            let comma = if label.is_empty() { "" } else { ", " };
            *label = format!("{label}{comma}{key} = {value}");
        }
    }
    // No recorded setting distinguishes them.
    for (label, name) in labels.iter_mut().zip(&names).filter(|(label, _)| label.is_empty()) {
        label.clone_from(name);
    }
    let mut seen = BTreeSet::new();
    let repeated: BTreeSet<String> =
        labels.iter().filter(|label| !seen.insert((*label).clone())).cloned().collect();
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    for label in labels.iter_mut().filter(|label| repeated.contains(*label)) {
        let number = numbers.entry(label.clone()).or_default();
        *number += 1;
        *label = format!("{label} ({number})");
    }
    labels
}

/// Returns the settings of a record, with those of the run itself.
fn of_run(record: &Record) -> BTreeMap<String, String> {
    let mut settings = keys(record);
    let clock = if record.time.is_some() { "yes" } else { "no" };
    settings.insert("clock".to_owned(), clock.to_owned());
    if let Some(seed) = record.provenance.seed {
        settings.insert("seed".to_owned(), seed.to_string());
    }
    settings
}

fn distinct<T: Ord>(values: &[T]) -> usize {
    values.iter().collect::<BTreeSet<_>>().len()
}

/// Returns a few settings that distinguish the labels, greedily adding the most distinctive one.
fn telling(labels: &[String], settings: &[BTreeMap<String, String>]) -> Vec<String> {
    let all: BTreeSet<&String> = settings.iter().flat_map(BTreeMap::keys).collect();
    let mut parts: Vec<Vec<&str>> = labels.iter().map(|label| vec![label.as_str()]).collect();
    let mut chosen = Vec::new();
    while chosen.len() < MOST && distinct(&parts) < parts.len() {
        let with = |key: &String| -> Vec<Vec<&str>> {
            parts
                .iter()
                .zip(settings)
                .map(|(part, settings)| {
                    let value = settings.get(key).map_or("", String::as_str);
                    part.iter().copied().chain([value]).collect()
                })
                .collect()
        };
        // Of two settings that distinguish equally many, prefer one that was set to a derived one, then the shorter.
        let rank = |key: &String| {
            let apart = distinct(&with(key));
            let (last, derived) = (LAST.contains(&key.as_str()), DERIVED.contains(&key.as_str()));
            let order = (!last, apart, !derived);
            (apart > distinct(&parts), order, Reverse(key.len()), Reverse(key.clone()))
        };
        let Some(key) = all.iter().copied().max_by_key(|key| rank(key)) else { break };
        let next = with(key);
        if distinct(&next) == distinct(&parts) {
            break;
        }
        parts = next;
        chosen.push(key.clone());
    }
    chosen
}

#[cfg(test)]
mod tests;
