//! A run that its caller performs piece by piece.

use std::time::Duration;

use wafer_record::{Record, Snapshot};

use super::underway::Underway;
use crate::control::Control;
use wafer_experiment::Experiment;
use wafer_experiment::LabError;

/// A run that its caller performs piece by piece, such as a page in a browser, whose only thread must remain
/// responsive. The result is that of [`run`](super::run), whatever the pieces.
pub struct Steps(Underway);

impl Steps {
    /// Prepares a run.
    ///
    /// # Errors
    /// The workload does not fit the device, or the experiment has a clock: such a run cannot be interrupted.
    pub fn new(experiment: &Experiment) -> Result<Self, LabError> {
        if experiment.timed {
            return Err(LabError::config("time", "a run with a clock cannot be made in pieces"));
        }
        let built = experiment.build()?;
        Ok(Steps(Underway::new(experiment.clone(), built, None, None)?))
    }

    /// Continues the run for about `most`. Returns whether anything is left to do.
    ///
    /// # Errors
    /// Like [`run`](super::run).
    pub fn advance(&mut self, most: Duration) -> Result<bool, LabError> {
        self.0.advance(Control::unattended(), Some(most))
    }

    /// Returns a snapshot of the device. Visits all reclaim units.
    pub fn snapshot(&mut self) -> Snapshot {
        self.0.snapshot()
    }

    /// Returns the record of the run so far, with its metrics and findings.
    pub fn record(&self) -> Record {
        self.0.record()
    }

    /// Reports whether the precondition, which is not counted, is being written.
    pub fn is_preparing(&self) -> bool {
        self.0.is_preparing()
    }

    /// Returns the bytes that the run will write, if known.
    pub fn total(&self) -> Option<u64> {
        self.0.total()
    }
}
