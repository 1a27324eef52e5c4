//! A reserve of free reclaim units that uses up the spare space.

use super::{AVOIDABLE, Case, Counterfactual, Measure};

pub(super) fn plan(case: &Case<'_>) -> Vec<Counterfactual> {
    let Some(geometry) = case.record.provenance.geometry.as_ref() else { return Vec::new() };
    if geometry.forced_free <= 2 {
        return Vec::new();
    }
    let least = 1.5 / f64::from(geometry.ru_count);
    let overrides = [format!("gc.forced_free={least}")];
    let counterfactual = |experiment| Counterfactual {
        cause: "reserve",
        experiment,
        measure: Measure::Waf,
        what: format!("With one free reclaim unit in reserve instead of {}", geometry.forced_free),
        advice: "collect later: lower `gc.forced_free`.",
        weight: AVOIDABLE,
    };
    case.with_device(&overrides).map(counterfactual).into_iter().collect()
}
