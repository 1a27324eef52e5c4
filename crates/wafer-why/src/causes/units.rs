//! Reclaim units that are too large: so few that the open ones take the spare space, or larger than the data written
//! and invalidated together.

use wafer_lab::Experiment;

use super::{Case, Counterfactual, GENERAL, Measure};

/// Factors by which they shrink, if the device can have such units.
const SMALLER: [(u64, &str); 2] = [(4, "a quarter"), (2, "half")];
/// Share of spare units that are open above which there are too few.
const OPEN: f64 = 0.2;

pub(super) fn plan(case: &Case<'_>) -> Vec<Counterfactual> {
    // Each handle has an open unit, and collection at least one.
    let open = f64::from(case.base.device.config.handles) + 1.0;
    let are_few = open > OPEN * case.spare_units();
    let (cause, advice) = match are_few {
        true => (
            "few_units",
            "open reclaim units take much of the spare space; use fewer handles or smaller units.",
        ),
        false => (
            "large_units",
            "data in a unit is invalidated at different times; use units the size of data deleted together.",
        ),
    };
    let smaller = SMALLER.into_iter().find_map(|(times, share)| {
        Some((smaller(case, times)?, format!("With reclaim units of {share} the size")))
    });
    let changed = smaller.or_else(|| are_few.then(|| fewer_handles(case))?);
    let counterfactual = |(experiment, what)| Counterfactual {
        cause,
        experiment,
        measure: Measure::Waf,
        what,
        advice,
        weight: GENERAL,
    };
    changed.map(counterfactual).into_iter().collect()
}

/// Returns the experiment with the same amount of flash in smaller units.
fn smaller(case: &Case<'_>, times: u64) -> Option<Experiment> {
    let geometry = &case.base.device.geometry;
    let pages = u64::from(geometry.pages_per_ru);
    if !pages.is_multiple_of(times) || pages / times < 16 {
        return None;
    }
    let size = pages / times * geometry.page_bytes;
    let count = u64::from(geometry.ru_count) * times;
    let overrides = [format!("reclaim_unit.size={size}B"), format!("reclaim_unit.count={count}")];
    case.with_device(&overrides)
}

/// Returns the experiment without the unused handles.
fn fewer_handles(case: &Case<'_>) -> Option<(Experiment, String)> {
    let needed = case.handles().iter().max()? + 1;
    let experiment = case.with_device(&[format!("handles={needed}")])?;
    let all = case.base.device.config.handles;
    (needed < all).then(|| (experiment, format!("With {needed} instead of {all} handles")))
}
