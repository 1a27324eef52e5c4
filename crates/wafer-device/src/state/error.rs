//! Why a state is refused.

use wafer_interface::InvalidKey;

/// Why a device cannot be restored.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The configuration cannot work.
    #[error(transparent)]
    Config(#[from] InvalidKey),
    /// The state is of a device of other sizes.
    #[error("the state is of a device with {0}")]
    Sizes(String),
    /// The map cannot be read.
    #[error("the map: {0}")]
    Map(String),
    /// A value of the state that no device can have.
    #[error("damaged: `{field}`: {message}")]
    Damaged {
        /// The value's path within the state.
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
