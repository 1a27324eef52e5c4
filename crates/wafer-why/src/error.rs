//! Errors of the search for causes.

use wafer_lab::LabError;

/// The reason why no causes can be found.
#[derive(Debug, thiserror::Error)]
pub enum WhyError {
    /// The record is not that of a repeatable run.
    #[error("{0}")]
    NotRepeatable(String),
    /// The experiment of the record no longer works.
    #[error(transparent)]
    Lab(#[from] LabError),
}
