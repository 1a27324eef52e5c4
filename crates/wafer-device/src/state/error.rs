//! Errors of restoring a state.

use wafer_interface::InvalidKey;

/// Why a device cannot be restored.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The configuration is invalid.
    #[error(transparent)]
    Config(#[from] InvalidKey),
    /// The state is that of a device with other sizes.
    #[error("the state is of a device with {0}")]
    Sizes(String),
    /// The map cannot be read.
    #[error("the map: {0}")]
    Map(String),
    /// The state has a value that no device can have.
    #[error("damaged: `{field}`: {message}")]
    Damaged {
        /// Path of the value within the state.
        field: &'static str,
        /// What is wrong with it.
        message: String,
    },
}

impl StateError {
    pub(super) fn damaged(field: &'static str, message: impl Into<String>) -> Self {
        StateError::Damaged { field, message: message.into() }
    }
}
