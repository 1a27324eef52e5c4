//! Parameter checks shared by several models.

use wafer_interface::{Bytes, InvalidKey};

/// Refuses a number outside `low..=high`.
pub(super) fn between(key: &str, value: f64, low: f64, high: f64) -> Result<(), InvalidKey> {
    InvalidKey::unless(value >= low && value <= high, key, || {
        format!("{value} is not between {low} and {high}")
    })
}

/// Refuses a size outside `low..=high` bytes.
pub(super) fn within(key: &str, value: Bytes, low: u64, high: u64) -> Result<(), InvalidKey> {
    InvalidKey::unless((low..=high).contains(&value.0), key, || {
        format!("{value} is not between {} and {}", Bytes(low), Bytes(high))
    })
}

/// Refuses a Zipf exponent outside `low..=4`, and 1, where the distribution has no inverse.
pub(super) fn exponent(key: &str, value: f64, low: f64) -> Result<(), InvalidKey> {
    between(key, value, low, 4.0)?;
    InvalidKey::unless(value != 1.0, key, || "must not be exactly 1; use 0.99 or 1.01")
}
