//! Hot and cold data through one handle.

use std::sync::Arc;

use wafer_lab::{Experiment, Workload};

use super::{AVOIDABLE, Case, Counterfactual, Measure};
use crate::streams::{Change, Changed};
use crate::temperature::CLASSES;

/// Maximum number of handles given to the classes.
const MOST: usize = 32;

pub(super) fn plan(case: &Case<'_>) -> Vec<Counterfactual> {
    let Some(temperature) = &case.temperature else { return Vec::new() };
    let needed = temperature.handles.len() * usize::from(CLASSES);
    if !case.is_plain() || needed > MOST {
        return Vec::new();
    }
    let handles = case.base.device.config.handles.max(needed as u16);
    let Some(changed) = case.with_device(&[
        "fdp=true".to_owned(),
        format!("handles={handles}"),
        "isolation=persistently".to_owned(),
    ]) else {
        return Vec::new();
    };
    let workload = Workload::new(Changed {
        inner: case.base.workload.clone(),
        change: Change::ByTemperature(Arc::clone(temperature)),
        geometry: Arc::new(case.base.device.geometry.clone()),
    });
    vec![Counterfactual {
        cause: "hot_and_cold",
        experiment: Experiment { workload, ..changed.clone() },
        measure: Measure::Beside(Box::new(changed)),
        what: format!(
            "With {CLASSES} persistently isolated handles for each, by how often data is overwritten,"
        ),
        advice: "long-lived data shares reclaim units with short-lived data; place data by lifetime.",
        // This also removes the effects of other faults.
        weight: 0.8 * AVOIDABLE,
    }]
}
