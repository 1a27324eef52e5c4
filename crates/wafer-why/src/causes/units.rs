//! Reclaim units that are too large: so few that the open ones take the spare space, or larger than what is written and
//! invalidated together.

use super::{Case, Counterfactual, GENERAL, Measure};

/// How many times smaller they become.
const SMALLER: u64 = 4;
/// Share of the spare units that are open, from which on they are too few.
const OPEN: f64 = 0.2;

pub(super) fn plan(case: &Case<'_>) -> Vec<Counterfactual> {
    let geometry = &case.base.device.geometry;
    let pages = u64::from(geometry.pages_per_ru);
    if !pages.is_multiple_of(SMALLER) || pages / SMALLER < 16 {
        return Vec::new();
    }
    let size = pages / SMALLER * geometry.page_bytes;
    let count = u64::from(geometry.ru_count) * SMALLER;
    let overrides = [format!("reclaim_unit.size={size}B"), format!("reclaim_unit.count={count}")];
    // Each handle has one open, and collection at least one.
    let open = f64::from(case.base.device.config.handles) + 1.0;
    let (cause, advice) = if open > OPEN * case.spare_units() {
        (
            "few_units",
            "open reclaim units take much of the spare space; use fewer handles or smaller units.",
        )
    } else {
        (
            "large_units",
            "data in a unit dies at different times; use units of the size of what is deleted together.",
        )
    };
    let counterfactual = |experiment| Counterfactual {
        cause,
        experiment,
        measure: Measure::Waf,
        what: format!("With reclaim units of a {SMALLER}th of the size"),
        advice,
        weight: GENERAL,
    };
    case.with_device(&overrides).map(counterfactual).into_iter().collect()
}
