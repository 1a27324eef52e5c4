//! Invalid parameters of models, and the checks that several models need.

use wafer_interface::Bytes;

/// An invalid parameter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {message}")]
pub struct ModelError {
    /// The key.
    pub key: String,
    /// The reason, and a value that works, if there is one.
    pub message: String,
}

impl ModelError {
    pub(crate) fn new(key: &str, message: impl Into<String>) -> Self {
        ModelError { key: key.to_owned(), message: message.into() }
    }
}

/// Refuses a parameter unless a condition holds.
pub(super) fn ensure<M: Into<String>>(
    holds: bool,
    key: &str,
    message: impl FnOnce() -> M,
) -> Result<(), ModelError> {
    if holds { Ok(()) } else { Err(ModelError::new(key, message())) }
}

/// Refuses a number outside `low..=high`.
pub(super) fn between(key: &str, value: f64, low: f64, high: f64) -> Result<(), ModelError> {
    ensure(value >= low && value <= high, key, || {
        format!("{value} is not between {low} and {high}")
    })
}

/// Refuses a size outside `low..=high` bytes.
pub(super) fn within(key: &str, value: Bytes, low: u64, high: u64) -> Result<(), ModelError> {
    ensure((low..=high).contains(&value.0), key, || {
        format!("{value} is not between {} and {}", Bytes(low), Bytes(high))
    })
}

/// Refuses a Zipf exponent outside `low..=4`, and 1, for which the inverse of the law does not exist.
pub(super) fn exponent(key: &str, value: f64, low: f64) -> Result<(), ModelError> {
    between(key, value, low, 4.0)?;
    ensure(value != 1.0, key, || "must not be exactly 1; use 0.99 or 1.01")
}
