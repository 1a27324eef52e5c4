//! T5: the best of d random victims.

/// Returns T5, the mean field of the d-choices policy for independent uniform writes \[VH\], re-derived.
///
/// Of `n` closed RUs a share `h_i` has `i` valid pages of `b`; `s_i` is the share with at least
/// `i`. Per collection the host writes `w` pages. Each of them reduces an RU with `i` valid pages
/// to `i - 1` with probability `i h_i n / U = i h_i / (b ρ)`. In steady state that flow equals the
/// RUs that were closed and not collected with `i` or more valid pages. A victim has at least `i`
/// valid pages with probability `s_i^d`, so
///
/// `w i h_i / (b ρ) = 1 - s_i^d` for i = b..1, `h_0 = 1 - s_1`.
///
/// `w` follows from `Σ i h_i = b ρ`, and `A = b / w`. `d` = 1 gives T4. Large `d` tends to greedy,
/// even where victims have so few invalid pages that T2 fails.
///
/// `op` is a fraction; `d` RUs are drawn with replacement, from many more. `None` unless `op` is
/// positive and finite and the others at least 1.
pub fn d_choices(op: f64, pages_per_ru: u32, d: u32) -> Option<f64> {
    if !super::positive(op) || pages_per_ru == 0 || d == 0 {
        return None;
    }
    let b = f64::from(pages_per_ru);
    let rho = 1.0 / (1.0 + op);
    // Σ i h_i = bρ/w Σ (1 - s_i^d) falls as w grows: more host writes per collection leave less.
    let (mut low, mut high) = (0.0, b);
    for _ in 0..60 {
        let w = 0.5 * (low + high);
        let gain = gained((1..=pages_per_ru).rev(), b * rho / w, d);
        if gain > w {
            low = w;
        } else {
            high = w;
        }
    }
    Some((b / (0.5 * (low + high))).max(1.0))
}

/// Returns the invalid pages of a victim, `Σ (1 - s_i^d)` over `i` from b down to 1, where `h_i = flow / i * (1 - s_i^d)`.
fn gained(pages: impl Iterator<Item = u32>, flow: f64, d: u32) -> f64 {
    let d = d.min(i32::MAX as u32) as i32;
    let (mut above, mut sum) = (0.0f64, 0.0);
    for i in pages {
        let rate = flow / f64::from(i);
        // h solves h = rate * (1 - (above + h)^d). The difference of both sides is convex and
        // grows with h: Newton from the right end stays right of the solution.
        let mut h = 1.0 - above;
        for _ in 0..100 {
            let power = (above + h).powi(d - 1);
            let f = h - rate * (1.0 - power * (above + h));
            let step = f / (1.0 + rate * f64::from(d) * power);
            h -= step;
            if step <= 1e-16 {
                break;
            }
        }
        let h = h.max(0.0);
        above = (above + h).min(1.0);
        sum += h / rate;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::uniform::{greedy, random};

    /// OP, d = 2, d = 10; b = 64.
    const WORKED: [(f64, f64, f64); 3] =
        [(0.07, 10.28, 7.32), (0.14, 5.63, 4.15), (0.28, 3.25, 2.47)];

    #[test]
    fn worked_numbers() {
        for (op, two, ten) in WORKED {
            let got = d_choices(op, 64, 2).unwrap();
            assert!((got - two).abs() < 6e-3, "d=2 {op}: {got}");
            let got = d_choices(op, 64, 10).unwrap();
            assert!((got - ten).abs() < 6e-3, "d=10 {op}: {got}");
        }
    }

    #[test]
    fn one_choice_is_random_and_many_are_greedy() {
        for op in [0.03, 0.07, 0.14, 0.28, 1.0] {
            for b in [1, 16, 64, 512] {
                let one = d_choices(op, b, 1).unwrap();
                assert!((one / random(op).unwrap() - 1.0).abs() < 1e-9, "{op} {b}: {one}");
            }
            let many = d_choices(op, 256, 20_000).unwrap();
            assert!((many / greedy(op, 256).unwrap() - 1.0).abs() < 0.001, "{op}: {many}");
        }
    }

    #[test]
    fn monotone() {
        for d in [1, 2, 10, 100] {
            let mut last = f64::INFINITY;
            for i in 0..60 {
                let a = d_choices(0.01 * 1.1f64.powi(i), 64, d).unwrap();
                assert!(a <= last && a >= 1.0, "{d} {i}");
                last = a;
            }
        }
        let mut last = f64::INFINITY;
        for d in [1, 2, 3, 5, 10, 30, 100, 1000] {
            let a = d_choices(0.1, 64, d).unwrap();
            assert!(a < last, "{d}");
            last = a;
        }
    }

    #[test]
    fn domain() {
        assert_eq!(d_choices(0.0, 64, 2), None);
        assert_eq!(d_choices(f64::NAN, 64, 2), None);
        assert_eq!(d_choices(0.1, 0, 2), None);
        assert_eq!(d_choices(0.1, 64, 0), None);
        assert!((d_choices(1e9, 64, 2).unwrap() - 1.0).abs() < 1e-6);
    }
}
