//! Why no causes can be found.

use wafer_lab::LabError;

/// Why no causes can be found.
#[derive(Debug, thiserror::Error)]
pub enum WhyError {
    /// The record is not of a run that can be repeated.
    #[error("{0}")]
    NotRepeatable(String),
    /// The experiment of the record does not work any more.
    #[error(transparent)]
    Lab(#[from] LabError),
}
