//! Data deleted by its owner but still valid for the drive.

use toml::Value;
use wafer_lab::{Experiment, Workload};
use wafer_record::Precondition;

use super::{AVOIDABLE, Case, Counterfactual, Measure};

pub(super) fn plan(case: &Case<'_>) -> Vec<Counterfactual> {
    [model(case), filled(case)].into_iter().flatten().collect()
}

/// An application that does not deallocate what it deletes.
fn model(case: &Case<'_>) -> Option<Counterfactual> {
    if case.workload.kind != "model" {
        return None;
    }
    let mut table: toml::Table = case.workload.text.parse().ok()?;
    let (key, value) = ["trim", "discard"].iter().find_map(|key| Some((*key, table.get(*key)?)))?;
    let on = match value {
        Value::Boolean(false) => Value::Boolean(true),
        Value::String(unit) if unit == "none" => Value::String("segment".to_owned()),
        _ => return None,
    };
    table.insert(key.to_owned(), on);
    let file = toml::Table::from_iter([("workload".to_owned(), Value::Table(table))]);
    let workload =
        Workload::from_text("model", &file.to_string(), std::path::Path::new("")).ok()?;
    Some(Counterfactual {
        cause: "missing_trim",
        experiment: Experiment { workload, ..case.base.clone() },
        measure: Measure::Waf,
        what: format!("With `{key}` on"),
        advice: "the drive moves deleted data; deallocate it (discard, fstrim).",
        weight: AVOIDABLE,
    })
}

/// Returns the bytes that the workload may write: the regions of its jobs, or the bytes it writes.
fn addressed(case: &Case<'_>) -> Option<u64> {
    let mut regions: Vec<(u32, u64, u64)> = (case.writers().iter())
        .map(|job| (job.namespace, job.offset, job.offset + job.size * u64::from(job.count)))
        .collect();
    if regions.is_empty() {
        return Some(case.temperature.as_ref()?.touched_bytes());
    }
    regions.sort_unstable();
    let (mut sum, mut at) = (0, (0, 0));
    for (namespace, from, to) in regions {
        let from = if namespace == at.0 { from.max(at.1) } else { from };
        sum += to.saturating_sub(from);
        at = (namespace, to.max(from));
    }
    Some(sum)
}

/// A drive full of data that is never overwritten.
fn filled(case: &Case<'_>) -> Option<Counterfactual> {
    let Precondition { sequential, random, load, .. } = case.workload.precondition;
    if (!sequential && random == 0.0) || load {
        return None;
    }
    let written = addressed(case)? as f64;
    if written > 0.95 * case.base.device.logical_bytes() as f64 {
        return None;
    }
    let precondition =
        Precondition { sequential: false, random: 0.0, ..case.workload.precondition };
    Some(Counterfactual {
        cause: "missing_trim",
        experiment: Experiment { precondition, ..case.base.clone() },
        measure: Measure::Waf,
        what: "On a drive whose other data was deallocated".to_owned(),
        advice: "the drive keeps data that is no longer used; deallocate it (blkdiscard, fstrim).",
        weight: AVOIDABLE,
    })
}
