//! Isolation: data mixed by collection, or reclaim units that each handle keeps to itself.

use super::{AVOIDABLE, Case, Counterfactual, Measure};

pub(super) fn plan(case: &Case<'_>) -> Vec<Counterfactual> {
    let config = &case.base.device.config;
    if !config.fdp && !config.gc.separate {
        let counterfactual = |experiment| Counterfactual {
            cause: "mixing_in_gc",
            experiment,
            measure: Measure::Waf,
            what: "With separate reclaim units for relocated data".to_owned(),
            advice: "collection mixes moved data with host writes; `gc.separate` keeps it apart.",
            weight: AVOIDABLE,
        };
        let separate = case.with_device(&["gc.separate=true".to_owned()]);
        return separate.map(counterfactual).into_iter().collect();
    }
    if !config.fdp || case.handles().len() < 2 {
        return Vec::new();
    }
    let persistent =
        case.config.get("isolation").and_then(|value| value.as_str()) == Some("persistently");
    let (other, cause, what, advice) = if persistent {
        (
            "initially",
            "pi_spare_units",
            "With initially isolated handles",
            "persistent isolation keeps one more unit open per handle than the spare space allows.",
        )
    } else {
        (
            "persistently",
            "mixing_in_gc",
            "With persistently isolated handles",
            "collection mixes the data of handles in one unit; persistent isolation keeps it apart.",
        )
    };
    let counterfactual = |experiment| Counterfactual {
        cause,
        experiment,
        measure: Measure::Waf,
        what: what.to_owned(),
        advice,
        weight: AVOIDABLE,
    };
    case.with_device(&[format!("isolation={other}")]).map(counterfactual).into_iter().collect()
}
