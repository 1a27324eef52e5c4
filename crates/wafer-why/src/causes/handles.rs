//! Handles that cost others: a noisy one, and a sequential one collected before it invalidates
//! itself.

use super::{AVOIDABLE, Case, Counterfactual, Measure};
use crate::streams::Change;

/// Minimum share of a sequential handle's bytes that continue the command before.
const SEQUENTIAL: f64 = 0.8;
/// Maximum number of handles that are omitted one by one.
const MOST: usize = 8;

pub(super) fn plan(case: &Case<'_>) -> Vec<Counterfactual> {
    let handles = case.handles();
    if handles.len() < 2 || handles.len() > MOST || case.base.device.config.groups != 1 {
        return Vec::new();
    }
    let mut counterfactuals = Vec::new();
    for handle in handles {
        counterfactuals.push(Counterfactual {
            cause: "noisy_handle",
            experiment: case.with_change(Change::Quiet(*handle)),
            measure: Measure::Others(handle.to_string()),
            what: format!("If handle {handle} overwrote nothing, other handles' data would be moved less, and"),
            advice: "its writes have the drive collect other handles' data; isolate it persistently, or give it a \
                     drive of its own.",
            weight: AVOIDABLE,
        });
        if case.sequential_share(*handle) > SEQUENTIAL {
            counterfactuals.push(Counterfactual {
                cause: "saved_sequential",
                experiment: case.with_change(Change::OthersQuiet(*handle)),
                measure: Measure::Alone(handle.to_string()),
                what: format!("If the sequential data of handle {handle} were left to invalidate itself,"),
                advice: "collection moves it shortly before it is overwritten; more spare space or another policy \
                         leaves it alone.",
                // The noise that moves its data costs the same.
                weight: 1.1 * AVOIDABLE,
            });
        }
    }
    counterfactuals
}
