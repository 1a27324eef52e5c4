//! Comparison of several records.

use std::collections::BTreeMap;

use super::{Cause, Finding};
use crate::Record;
use crate::metrics::AtVolume;
use crate::settings::keys;

/// Runs whose WAFs differ by less than this factor count as equal.
const SAME: f64 = 1.01;
/// Runs are not compared below this volume, in capacities: one of them has hardly begun.
const LEAST: f64 = 0.01;
/// Maximum number of differences named in a sentence.
const NAMED: usize = 4;

/// Compares the records with the lowest and the highest WAF at the volume that all reach; `labels` name them. Returns
/// nothing for fewer than two records with host writes, or if one has hardly begun.
pub fn comparison(records: &[Record], labels: &[String]) -> Vec<Finding> {
    let written: Vec<(&Record, &String)> =
        records.iter().zip(labels).filter(|(r, _)| r.summary.host_bytes > 0).collect();
    if written.len() < 2 {
        return Vec::new();
    }
    let volumes = || written.iter().map(|(record, _)| record.volume());
    let least = volumes().fold(f64::INFINITY, f64::min);
    let differ = volumes().any(|volume| volume > SAME * least);
    if differ && least < LEAST {
        return Vec::new();
    }
    let (volume, wafs) = if differ { at_volume(&written, least) } else { at_end(&written) };
    let ranked = || written.iter().zip(wafs.iter().copied());
    let by_waf =
        |a: &(&(&Record, &String), f64), b: &(&(&Record, &String), f64)| a.1.total_cmp(&b.1);
    let (Some((best, best_waf)), Some((worst, worst_waf))) =
        (ranked().min_by(by_waf), ranked().max_by(by_waf))
    else {
        return Vec::new();
    };
    let cause = if worst_waf < SAME * best_waf {
        Cause::SameWaf { volume }
    } else {
        Cause::Comparison {
            best: best.1.clone(),
            worst: worst.1.clone(),
            best_waf,
            worst_waf,
            volume,
            differences: differences(best.0, worst.0),
        }
    };
    vec![cause.into()]
}

/// Returns the WAF of each record at a volume, in capacities, that all reach; the WAF at the end if a capacity or
/// history is unknown.
fn at_volume(written: &[(&Record, &String)], volume: f64) -> (Option<f64>, Vec<f64>) {
    let at = |(record, _): &(&Record, &String)| Some(AtVolume::of(record, volume)?.waf);
    let wafs: Option<Vec<f64>> = written.iter().map(at).collect();
    wafs.map_or_else(|| at_end(written), |wafs| (Some(volume), wafs))
}

/// Returns the WAF of each record at its end.
fn at_end(written: &[(&Record, &String)]) -> (Option<f64>, Vec<f64>) {
    (None, written.iter().map(|(record, _)| record.summary.waf).collect())
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
