//! Errors of configuration values.

/// An invalid value of a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {message}")]
pub struct InvalidKey {
    /// Dotted key as in configuration files, e.g. `reclaim_unit.count`.
    pub key: String,
    /// What is wrong with the value, and the nearest valid value if there is one.
    pub message: String,
}

impl InvalidKey {
    /// Creates an error about `key`.
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        InvalidKey { key: key.into(), message: message.into() }
    }

    /// Returns an error about `key` unless `holds`.
    ///
    /// # Errors
    /// `holds` is false.
    pub fn unless<M: Into<String>>(
        holds: bool,
        key: &str,
        message: impl FnOnce() -> M,
    ) -> Result<(), InvalidKey> {
        if holds { Ok(()) } else { Err(InvalidKey::new(key, message())) }
    }
}
