//! Intervals of means over few seeds.

/// Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom; beyond, the normal's.
const T95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// Half the width of the 95 % interval of the mean; none for fewer than two values.
pub(super) fn half_width(values: &[f64]) -> Option<f64> {
    let freedom = values.len().checked_sub(1).filter(|n| *n > 0)?;
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let t = T95.get(freedom - 1).copied().unwrap_or(1.96);
    Some(t * (squares / freedom as f64 / values.len() as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_values_have_a_wide_interval() {
        assert_eq!(half_width(&[1.0]), None);
        assert_eq!(half_width(&[2.0, 2.0, 2.0]), Some(0.0));
        // Standard deviation 1, standard error 1 / sqrt(3).
        let width = half_width(&[1.0, 2.0, 3.0]).unwrap();
        assert!((width - 4.303 / 3.0f64.sqrt()).abs() < 1e-9, "{width}");
        assert!(half_width(&[0.0; 50]).is_some());
    }
}
