//! Background collection that is too eager.

use super::{AVOIDABLE, Case, Counterfactual, Measure};

pub(super) fn plan(case: &Case<'_>) -> Vec<Counterfactual> {
    if case.base.device.config.gc.background_free <= 0.0 {
        return Vec::new();
    }
    let counterfactual = |experiment| Counterfactual {
        cause: "eager_background_gc",
        experiment,
        measure: Measure::Waf,
        what: "Without background collection".to_owned(),
        advice: "it moves data that would have been invalidated; lower `gc.background_free` or \
                 `gc.background_max_valid`.",
        weight: AVOIDABLE,
    };
    case.with_device(&["gc.background_free=0".to_owned()]).map(counterfactual).into_iter().collect()
}
