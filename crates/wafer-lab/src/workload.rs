//! From an experiment's workload to a stream of commands.

use wafer_workload::CommandStream;

use crate::{Experiment, LabError};

/// A workload, ready to be written.
pub(crate) struct Built {
    pub(crate) stream: Box<dyn CommandStream>,
    /// Bytes that it will write, if it ends by itself.
    pub(crate) total_bytes: Option<u64>,
    /// Text of the job file.
    pub(crate) text: String,
    /// What its reader passed over, one line each.
    pub(crate) ignored: Vec<String>,
}

/// Reads and prepares the workload of an experiment.
pub(crate) fn build(experiment: &Experiment) -> Result<Built, LabError> {
    let _ = experiment;
    Err(LabError::Run("not wired".into()))
}

/// Reads the workload and answers what its reader passes over, one line each.
pub(crate) fn check(experiment: &Experiment) -> Result<Vec<String>, LabError> {
    let _ = experiment;
    Ok(Vec::new())
}
