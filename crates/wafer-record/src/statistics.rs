//! Means with confidence intervals, and paired comparisons.
//!
//! A run is repeatable, so the only randomness is its seed. Runs of one experiment with several seeds give a mean with
//! a 95 % interval (Student's t). Two experiments with the same seeds are compared seed by seed, which removes the
//! variation that the seeds share.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::RecordError;

/// Confidence of the intervals in records, tables and figures.
pub const CONFIDENCE: f64 = 0.95;

/// Degrees of freedom from which on the quantile of Student's t is an expansion about that of the normal distribution,
/// accurate to 1e-11. A search for the quantile becomes ever less accurate and finally does not terminate.
const MANY: usize = 1000;

/// A mean with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The arithmetic mean.
    pub value: f64,
    /// Half the width of the interval; `None` for a single value.
    pub half_width: Option<f64>,
    /// Number of values.
    pub count: usize,
}

/// The relative change from one experiment to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// (B - A) / A, from the geometric mean of the ratios B / A.
    pub share: f64,
    /// Bounds of its confidence interval; `None` for a single pair.
    pub bounds: Option<(f64, f64)>,
    /// Number of pairs.
    pub count: usize,
}

impl Mean {
    /// Returns the mean of independent values and its [`CONFIDENCE`] interval; `None` without values.
    pub fn of(values: &[f64]) -> Option<Self> {
        let half_width = standard_deviation(values).map(|deviation| {
            student(values.len() - 1, CONFIDENCE) * deviation / (values.len() as f64).sqrt()
        });
        let count = values.len();
        (count > 0).then(|| Mean { value: mean(values), half_width, count })
    }
}

impl Change {
    /// Compares pairs of positive values (A, B), one for each seed. The interval is that of the mean of
    /// ln(B / A).
    ///
    /// # Errors
    /// There is no pair, or a value is not positive.
    pub fn of(pairs: &[(f64, f64)]) -> Result<Self, RecordError> {
        if pairs.iter().any(|(a, b)| !(*a > 0.0 && *b > 0.0)) {
            return Err(RecordError::input("compare", "values must be positive"));
        }
        let logarithms: Vec<f64> = pairs.iter().map(|(a, b)| (b / a).ln()).collect();
        let Some(Mean { value, half_width, count }) = Mean::of(&logarithms) else {
            return Err(RecordError::input("compare", "no seed in common"));
        };
        let bounds = half_width.map(|half| ((value - half).exp_m1(), (value + half).exp_m1()));
        Ok(Change { share: value.exp_m1(), bounds, count })
    }
}

/// Returns the arithmetic mean; NaN without values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the sample standard deviation (n - 1 degrees of freedom); `None` for fewer than two values.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    let freedom = values.len().checked_sub(1).filter(|freedom| *freedom > 0)?;
    let mean = mean(values);
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    Some((squares / freedom as f64).sqrt())
}

/// Returns the value at `at`, interpolated linearly between points in ascending order; `None` outside them.
pub fn interpolate(points: &[(f64, f64)], at: f64) -> Option<f64> {
    let right = points.partition_point(|(x, _)| *x < at);
    let (x1, y1) = *points.get(right)?;
    if x1 == at {
        return Some(y1);
    }
    let (x0, y0) = *points.get(right.checked_sub(1)?)?;
    Some(y0 + (y1 - y0) * (at - x0) / (x1 - x0))
}

/// Returns the two-sided quantile of Student's t: half the width of an interval in standard errors; NaN
/// without a degree of freedom.
pub fn student(freedom: usize, confidence: f64) -> f64 {
    if freedom == 0 {
        return f64::NAN;
    }
    let (freedom, share) = (freedom as f64, 0.5 + confidence / 2.0);
    if freedom < MANY as f64 {
        let t = StudentsT::new(0.0, 1.0, freedom);
        return t.map_or(f64::NAN, |t| t.inverse_cdf(share));
    }
    // Abramowitz and Stegun, 26.7.5.
    let z = Normal::standard().inverse_cdf(share);
    let q = z * z;
    let terms = [
        z * (q + 1.0) / 4.0,
        z * ((5.0 * q + 16.0) * q + 3.0) / 96.0,
        z * (((3.0 * q + 19.0) * q + 17.0) * q - 15.0) / 384.0,
        z * ((((79.0 * q + 776.0) * q + 1482.0) * q - 1920.0) * q - 945.0) / 92160.0,
    ];
    z + terms.into_iter().rev().fold(0.0, |sum, term| (sum + term) / freedom)
}

#[cfg(test)]
mod tests;
