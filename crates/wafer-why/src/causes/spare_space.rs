//! Too little spare space.

use super::{Case, Counterfactual, GENERAL, Measure};

/// Over-provisioning that is considered enough: more always helps.
const ENOUGH: f64 = 0.20;

pub(super) fn plan(case: &Case<'_>) -> Vec<Counterfactual> {
    let geometry = &case.base.device.geometry;
    let logical = geometry.logical_pages as f64 / f64::from(geometry.pages_per_ru);
    let spare = f64::from(geometry.ru_count) / logical - 1.0;
    let more = (2.0 * spare).min(ENOUGH);
    if more < 1.05 * spare {
        return Vec::new();
    }
    let count = (logical * (1.0 + more)).floor();
    let experiment = case.with_device(&[format!("reclaim_unit.count={count}")]);
    let counterfactual = |experiment| Counterfactual {
        cause: "spare_space",
        experiment,
        measure: Measure::Waf,
        what: format!("With {:.1} % spare space instead of {:.1} %", 100.0 * more, 100.0 * spare),
        advice: "leave capacity unused and deallocated, or use a drive with more spare space.",
        weight: GENERAL,
    };
    experiment.map(counterfactual).into_iter().collect()
}
