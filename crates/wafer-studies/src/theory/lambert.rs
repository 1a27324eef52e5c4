//! The equation behind T1 and T2: Lambert's function, and a form without cancellation.

/// Maximum number of Newton steps. Convergence is quadratic except near a double root, where each step
/// halves the error.
const STEPS: usize = 200;

/// Returns Lambert's W0: the solution w >= -1 of `w * exp(w) = x`. `None` unless `x` is finite and at least
/// `-1/e`. Near `-1/e` only about 8 digits are determined by `x`.
pub fn lambert_w0(x: f64) -> Option<f64> {
    if !x.is_finite() || x < -(-1f64).exp() {
        return None;
    }
    // The start is the series at the branch point for negative x, else the logarithm: both are right of
    // the root or close to it.
    let mut w = if x < 0.0 {
        -1.0 + (2.0 * (1.0 + std::f64::consts::E * x)).max(0.0).sqrt()
    } else {
        x.ln_1p()
    };
    for _ in 0..STEPS {
        let e = w.exp();
        let (f, slope) = (w * e - x, e * (w + 1.0));
        if f == 0.0 || slope <= 0.0 {
            break;
        }
        // Halley's step.
        let step = f / (slope - (w + 2.0) * f / (2.0 * (w + 1.0)));
        w -= step;
        if step.abs() <= f64::EPSILON * w.abs() {
            break;
        }
    }
    Some(w.max(-1.0))
}

/// Returns the positive solution y <= 1 of `y = 1 - exp(-c * y)` for `c > 1`: the share of a reclaim
/// unit's pages that are overwritten before it is collected.
///
/// In terms of Lambert's function, `y = 1 + W0(-c * exp(-c)) / c`. That form loses half of the digits near
/// c = 1; this one does not. Newton's method starts at y = 1. The function is convex and grows there, so
/// every step stays right of the solution.
pub(super) fn overwritten(c: f64) -> Option<f64> {
    if !(c > 1.0 && c.is_finite()) {
        return None;
    }
    let mut y = 1.0f64;
    for _ in 0..STEPS {
        let f = y + (-c * y).exp_m1();
        let slope = 1.0 - c * (-c * y).exp();
        if slope <= 0.0 {
            break;
        }
        let step = f / slope;
        y -= step;
        if step <= f64::EPSILON * y {
            break;
        }
    }
    (y > 0.0).then_some(y.min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lambert_solves_its_equation() {
        for x in [-0.367, -0.3, -0.1, -1e-9, 0.0, 1e-6, 0.5, 1.0, 10.0, 1e6] {
            let w = lambert_w0(x).unwrap();
            assert!((w * w.exp() - x).abs() <= 1e-13 * x.abs().max(1e-3), "{x}");
        }
        assert_eq!(lambert_w0(-(-1f64).exp()), Some(-1.0));
        assert_eq!(lambert_w0(-0.4), None);
        assert_eq!(lambert_w0(f64::NAN), None);
        assert_eq!(lambert_w0(f64::INFINITY), None);
    }

    #[test]
    fn both_forms_agree() {
        for c in [1.01, 1.07, 1.28, 2.0, 5.0, 30.0] {
            let y = overwritten(c).unwrap();
            let w = lambert_w0(-c * (-c).exp()).unwrap();
            assert!((y - (1.0 + w / c)).abs() < 1e-12, "{c}");
        }
        assert_eq!(overwritten(1.0), None);
        assert_eq!(overwritten(f64::NAN), None);
        assert_eq!(overwritten(1000.0), Some(1.0));
        // y is 2 (c - 1) to first order.
        assert!((overwritten(1.0 + 1e-6).unwrap() / 2e-6 - 1.0).abs() < 1e-5);
    }
}
