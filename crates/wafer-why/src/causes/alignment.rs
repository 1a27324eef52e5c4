//! Writes shorter than a page, or not aligned to one.

use super::{AVOIDABLE, Case, Counterfactual, Measure};

pub(super) fn plan(case: &Case<'_>) -> Vec<Counterfactual> {
    let geometry = &case.base.device.geometry;
    if case.record.summary.rmw_pages.unwrap_or(0) == 0 {
        return Vec::new();
    }
    let mut counterfactuals = Vec::new();
    for page in [4096, 512] {
        if page >= geometry.page_bytes {
            continue;
        }
        let Some(experiment) = case.with_device(&[format!("page={page}B")]) else { continue };
        counterfactuals.push(Counterfactual {
            cause: "unaligned_writes",
            experiment,
            measure: Measure::Waf,
            what: format!("With a mapping unit of {page} bytes instead of {}", geometry.page_bytes),
            advice: "the drive reads and writes whole pages; write in multiples of them, aligned.",
            weight: AVOIDABLE,
        });
    }
    counterfactuals
}
