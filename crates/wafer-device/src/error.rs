//! Why a configuration is refused.

/// A configuration that cannot work, with the key to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {message}")]
pub struct ConfigError {
    /// Dotted key as in configuration files, e.g. `reclaim_unit.count`.
    pub key: String,
    /// What is wrong with its value and, where there is one, the nearest value that works.
    pub message: String,
}

impl ConfigError {
    /// Creates an error about `key`.
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        ConfigError { key: key.into(), message: message.into() }
    }
}

/// Returns an error about `key` unless `holds`.
pub(crate) fn ensure(
    holds: bool,
    key: &str,
    message: impl FnOnce() -> String,
) -> Result<(), ConfigError> {
    if holds { Ok(()) } else { Err(ConfigError::new(key, message())) }
}
