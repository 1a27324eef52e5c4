//! A run that is too short.

use wafer_interface::Bytes;
use wafer_lab::Experiment;
use wafer_record::Volume;

use super::{Case, Counterfactual, Measure};

pub(super) fn plan(case: &Case<'_>) -> Vec<Counterfactual> {
    let Some(volume) = case.base.volume_bytes() else { return Vec::new() };
    // Whatever still changes after that is due to the workload, not the drive.
    if case.base.precondition.steady {
        return Vec::new();
    }
    let volume = Volume::Bytes(Bytes(2 * volume + 2 * case.base.device.logical_bytes()));
    vec![Counterfactual {
        cause: "not_steady",
        experiment: Experiment { volume: Some(volume), attribution: false, ..case.base.clone() },
        measure: Measure::LastPart,
        what: "After twice the writes and two more capacities".to_owned(),
        advice: "the run is not steady yet; write more, or begin with `--precondition steady`.",
        // Other findings mean little before a run is steady.
        weight: 8.0,
    }]
}
