//! T1 to T4: independent uniform writes of single pages over a whole device in steady state.
//!
//! Over-provisioning is a fraction of the logical pages and counts only physical pages that can hold data
//! when a victim is chosen ([`super::spare`]). The forms hold for about 1000 reclaim units and more.

use super::lambert::overwritten;
use super::positive;

/// Returns T1: FIFO (oldest RU first), any RU size. Also greedy in the limit of large RUs.
///
/// `A = α / (α + W0(-α e^-α))`, the same as `1/A = 1 - e^(-α/A)`: a page is in the log for T / A host
/// writes, each of which overwrites it with probability 1 / U. Sources: \[X\], \[D\]. `None` unless
/// `op` is positive and finite.
pub fn fifo(op: f64) -> Option<f64> {
    if !positive(op) {
        return None;
    }
    Some(1.0 / overwritten(1.0 + op)?)
}

/// Returns T2: greedy with RUs of `b` pages.
///
/// `X0 = 1/2 - (b/α) W0(-k α e^(-k α))` with `k = 1 + 1/(2b)` is one more than the valid pages of a
/// victim, and `A = b / (b - (X0 - 1))`; source \[D\], re-derived for the project. With T1 this
/// is `A = T1(k α - 1) / k`, the form computed here.
///
/// The form treats the number of valid pages of a victim as continuous. It is within 0.3 % of the mean
/// field (T5 with many choices) while a victim has 7 invalid pages or more, `b / A >= 7`: for b >= 64 at
/// an OP of 7 % and above. Below that it errs to either side, mostly too low: by 1.1 % for b = 16 at OP
/// 0.14, by 2 % for b = 64 at 0.02. Use T5 there.
///
/// The form falls below 1 for OP above about ln(2b) - 1, where no page survives; 1 is returned.
/// `None` unless `op` is positive and finite and `b` at least 1.
pub fn greedy(op: f64, pages_per_ru: u32) -> Option<f64> {
    if !positive(op) || pages_per_ru == 0 {
        return None;
    }
    let k = 1.0 + 0.5 / f64::from(pages_per_ru);
    Some((1.0 / (k * overwritten(k * (1.0 + op))?)).max(1.0))
}

/// Returns T3: `A = (1 + OP) / (2 OP)`. It assumes that the valid share of RUs is distributed evenly from 0
/// to that of the whole device. Rough and too low: a check of magnitude only. Source: \[Ag\].
///
/// Below 1 for OP above 1, where 1 is returned. `None` unless `op` is positive and finite.
pub fn agarwal_marrow(op: f64) -> Option<f64> {
    positive(op).then(|| ((1.0 + op) / (2.0 * op)).max(1.0))
}

/// Returns T4: random victims, any traffic. `A = 1 / (1 - ρ) = (1 + OP) / OP`: a victim is as full as the
/// device. `None` unless `op` is positive and finite.
pub fn random(op: f64) -> Option<f64> {
    positive(op).then(|| (1.0 + op) / op)
}

/// The victim rule of a log of uniform writes: selects T1 or T2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// The oldest: T1.
    Fifo,
    /// The one with the fewest valid pages: T2.
    Greedy {
        /// Pages of a reclaim unit.
        pages_per_ru: u32,
    },
}

impl Victim {
    /// Returns A at this over-provisioning.
    pub fn waf(self, op: f64) -> Option<f64> {
        match self {
            Victim::Fifo => fifo(op),
            Victim::Greedy { pages_per_ru } => greedy(op, pages_per_ru),
        }
    }

    /// Returns dA / dOP, which is not positive.
    ///
    /// With `y = 1/A` of T1: `dy/dα = y (1 - y) / (1 - α (1 - y))`. In T2 the factor k of its
    /// argument and the 1/k before it cancel.
    pub fn slope(self, op: f64) -> Option<f64> {
        if !positive(op) {
            return None;
        }
        let k = match self {
            Victim::Fifo => 1.0,
            Victim::Greedy { pages_per_ru: 0 } => return None,
            Victim::Greedy { pages_per_ru } => 1.0 + 0.5 / f64::from(pages_per_ru),
        };
        let c = k * (1.0 + op);
        let y = overwritten(c)?;
        if k * y >= 1.0 {
            return Some(0.0);
        }
        Some(-(1.0 - y) / (y * (1.0 - c * (1.0 - y))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OP, T3, T1, T2 for b = 64, 256, 1024.
    const WORKED: [(f64, [f64; 5]); 7] = [
        (0.07, [7.643, 7.817, 7.001, 7.595, 7.761]),
        (0.14, [4.071, 4.253, 4.009, 4.189, 4.237]),
        (0.28, [2.286, 2.481, 2.402, 2.461, 2.476]),
        // GiB sold as GB.
        (0.0737, [7.284, 7.459, 6.714, 7.257, 7.407]),
        (0.10, [5.500, 5.677, 5.242, 5.562, 5.648]),
        (0.20, [3.000, 3.188, 3.053, 3.153, 3.179]),
        (0.30, [2.167, 2.364, 2.293, 2.346, 2.360]),
    ];

    #[test]
    fn worked_numbers() {
        for (op, expected) in WORKED {
            let got =
                [agarwal_marrow(op), fifo(op), greedy(op, 64), greedy(op, 256), greedy(op, 1024)];
            for (i, (got, expected)) in got.into_iter().zip(expected).enumerate() {
                let got = got.unwrap();
                assert!((got - expected).abs() < 6e-4, "OP {op}, column {i}: {got} {expected}");
            }
        }
        for (op, expected) in [(0.07, 15.29), (0.14, 8.14), (0.28, 4.57)] {
            assert!((random(op).unwrap() - expected).abs() < 6e-3);
        }
        // As published: arXiv 1110.4245, abstract.
        assert!((fifo(0.3).unwrap() - 2.36).abs() < 5e-3);
        assert!((agarwal_marrow(0.3).unwrap() - 2.17).abs() < 5e-3);
    }

    /// The form as \[D\] writes it, with Lambert's function.
    #[test]
    fn greedy_is_the_published_form() {
        for (op, b) in [(0.07f64, 16.0f64), (0.14, 64.0), (0.28, 256.0), (1.0, 1024.0)] {
            let alpha = 1.0 + op;
            let c = (1.0 + 1.0 / (2.0 * b)) * alpha;
            let x0 = 0.5 - b / alpha * super::super::lambert_w0(-c * (-c).exp()).unwrap();
            let form = b / (b - (x0 - 1.0));
            assert!((greedy(op, b as u32).unwrap() / form - 1.0).abs() < 1e-10);
        }
    }

    #[test]
    fn limits() {
        for op in [50.0, 1e3, 1e300] {
            assert!((fifo(op).unwrap() - 1.0).abs() < 1e-12);
            assert_eq!(greedy(op, 64), Some(1.0));
            assert_eq!(agarwal_marrow(op), Some(1.0));
        }
        assert!((random(1e9).unwrap() - 1.0).abs() < 1e-8);
        // Little spare: T1 tends to 1 / (2 OP), half of T4.
        assert!((fifo(1e-6).unwrap() * 2e-6 - 1.0).abs() < 1e-3);
        // Large reclaim units: greedy tends to FIFO, from below.
        for op in [0.07, 0.14, 0.28] {
            let (large, limit) = (greedy(op, 1 << 20).unwrap(), fifo(op).unwrap());
            assert!(large < limit && large > limit * 0.999_98);
        }
        for op in [0.0, -0.1, f64::NAN, f64::INFINITY] {
            assert_eq!(fifo(op), None);
            assert_eq!(greedy(op, 64), None);
            assert_eq!(agarwal_marrow(op), None);
            assert_eq!(random(op), None);
            assert_eq!(Victim::Fifo.slope(op), None);
        }
        assert_eq!(greedy(0.1, 0), None);
    }

    #[test]
    fn more_spare_less_amplification() {
        let ops: Vec<f64> = (0..400).map(|i| 0.001 * 1.025f64.powi(i)).collect();
        let forms: [&dyn Fn(f64) -> f64; 5] = [
            &|op| fifo(op).unwrap(),
            &|op| greedy(op, 16).unwrap(),
            &|op| greedy(op, 4096).unwrap(),
            &|op| agarwal_marrow(op).unwrap(),
            &|op| random(op).unwrap(),
        ];
        for form in forms {
            for pair in ops.windows(2) {
                assert!(form(pair[1]) <= form(pair[0]) * (1.0 + 1e-12) && form(pair[1]) >= 1.0);
            }
        }
        for op in ops {
            // Better informed choices are never worse.
            assert!(greedy(op, 64).unwrap() <= fifo(op).unwrap());
            assert!(fifo(op).unwrap() <= random(op).unwrap());
        }
    }

    #[test]
    fn slope_is_the_derivative() {
        for victim in [Victim::Fifo, Victim::Greedy { pages_per_ru: 64 }] {
            for op in [0.02, 0.07, 0.28, 1.5] {
                let h = op * 1e-5;
                let numeric =
                    (victim.waf(op + h).unwrap() - victim.waf(op - h).unwrap()) / (2.0 * h);
                assert!((victim.slope(op).unwrap() / numeric - 1.0).abs() < 1e-6, "{op}");
            }
        }
        assert_eq!(Victim::Greedy { pages_per_ru: 64 }.slope(20.0), Some(0.0));
    }
}
