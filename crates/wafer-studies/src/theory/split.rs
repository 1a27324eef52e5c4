//! T8: the division of spare pages among isolated streams.

use super::positive;
use super::streams::Stream;
use super::uniform::Victim;

/// Returns T8, a division of `spare` pages by `s_i ∝ √(p_i U_i)`. After \[St\], derived here.
///
/// It minimises `Σ p_i A(s_i / U_i)` exactly if `A = const + c / OP`, the shape of T3 and T4, where all
/// derivatives `-c p_i U_i / s_i²` are equal. For the streams of the tests and OP 7 to 28 %, its WAF is
/// within 0.2 % of [`optimal_split`] for T1 and within 0.5 % for T2 with 64 pages. For T2 at OP 2 % it is
/// up to 5 % worse. `None` if a share is negative, pages or spare are not positive, or nothing is written.
pub fn sqrt_split(streams: &[Stream], spare: f64) -> Option<Vec<f64>> {
    if !sensible(streams, spare) {
        return None;
    }
    let weights: Vec<f64> = streams.iter().map(|s| (s.share * s.pages).sqrt()).collect();
    let sum: f64 = weights.iter().sum();
    positive(sum).then(|| weights.iter().map(|w| spare * w / sum).collect())
}

/// Returns T8 by optimisation: the division of `spare` pages that minimises T7 for this victim rule.
///
/// A is convex and falls with OP, so at the minimum all slopes `p_i / U_i * A'(s_i / U_i)` equal some
/// `-λ`. Two nested bisections find λ and each s_i. Where T2 has fallen to 1, further pages gain nothing;
/// pages left over are divided by `U_i`. The domain is that of [`sqrt_split`].
pub fn optimal_split(streams: &[Stream], spare: f64, victim: Victim) -> Option<Vec<f64>> {
    if !sensible(streams, spare) || !streams.iter().any(|s| s.share > 0.0) {
        return None;
    }
    victim.slope(1.0)?;
    // The slope's logarithm: λ spans many decades.
    let (mut low, mut high) = (-700.0f64, 700.0f64);
    for _ in 0..200 {
        let log = 0.5 * (low + high);
        let wanted: f64 = streams.iter().map(|s| pages_at(s, spare, victim, log.exp())).sum();
        if wanted > spare {
            low = log;
        } else {
            high = log;
        }
    }
    let mut split: Vec<f64> =
        streams.iter().map(|s| pages_at(s, spare, victim, high.exp())).collect();
    let left = spare - split.iter().sum::<f64>();
    let pages: f64 = streams.iter().map(|s| s.pages).sum();
    for (share, stream) in split.iter_mut().zip(streams) {
        *share += left * stream.pages / pages;
    }
    Some(split)
}

/// Returns the spare pages, up to `most`, at which one more saves the stream `lambda`.
fn pages_at(stream: &Stream, most: f64, victim: Victim, lambda: f64) -> f64 {
    if stream.share == 0.0 {
        return 0.0;
    }
    let gain = |pages: f64| {
        let slope = victim.slope(pages / stream.pages).unwrap_or(f64::NEG_INFINITY);
        -slope * stream.share / stream.pages
    };
    let (mut low, mut high) = (0.0, most);
    for _ in 0..100 {
        let pages = 0.5 * (low + high);
        if gain(pages) > lambda {
            low = pages;
        } else {
            high = pages;
        }
    }
    high
}

/// Returns whether streams and spare are in the domain.
fn sensible(streams: &[Stream], spare: f64) -> bool {
    let each = |s: &Stream| s.share >= 0.0 && s.share.is_finite() && positive(s.pages);
    positive(spare) && streams.iter().all(each)
}

#[cfg(test)]
mod tests {
    use super::super::streams::isolated;
    use super::super::streams::tests::{hot_cold, jesd219};
    use super::*;

    fn very_hot() -> Vec<Stream> {
        vec![Stream::new(0.9, 0.1), Stream::new(0.1, 0.9)]
    }

    #[test]
    fn worked_numbers() {
        let cases: [(Vec<Stream>, &[f64], [f64; 3]); 3] = [
            (hot_cold(), &[0.5, 0.5], [5.25, 2.98, 1.87]),
            (jesd219(), &[0.20, 0.28, 0.52], [4.92, 2.82, 1.79]),
            (very_hot(), &[0.5, 0.5], [3.27, 2.01, 1.41]),
        ];
        for (streams, shares, expected) in cases {
            for (op, expected) in [0.07, 0.14, 0.28].into_iter().zip(expected) {
                let split = sqrt_split(&streams, op).unwrap();
                for (got, share) in split.iter().zip(shares) {
                    assert!((got / op - share).abs() < 6e-3, "{split:?}");
                }
                let got = isolated(&streams, &split, Victim::Fifo).unwrap();
                assert!((got / expected - 1.0).abs() < 3e-3, "{op}: {got} {expected}");
            }
        }
    }

    #[test]
    fn the_root_is_near_the_optimum() {
        for streams in [hot_cold(), jesd219(), very_hot()] {
            for op in [0.07, 0.14, 0.28] {
                for (victim, most) in
                    [(Victim::Fifo, 1.002), (Victim::Greedy { pages_per_ru: 64 }, 1.005)]
                {
                    let best = optimal_split(&streams, op, victim).unwrap();
                    assert!((best.iter().sum::<f64>() / op - 1.0).abs() < 1e-9);
                    let best = isolated(&streams, &best, victim).unwrap();
                    let root = sqrt_split(&streams, op).unwrap();
                    let root = isolated(&streams, &root, victim).unwrap();
                    let ratio = root / best;
                    assert!((1.0 - 1e-12..most).contains(&ratio), "{op} {victim:?}: {ratio}");
                }
            }
        }
    }

    #[test]
    fn no_small_change_improves_the_optimum() {
        let streams = jesd219();
        let best = optimal_split(&streams, 0.14, Victim::Fifo).unwrap();
        let a = isolated(&streams, &best, Victim::Fifo).unwrap();
        for from in 0..3 {
            for to in 0..3 {
                let mut other = best.clone();
                other[from] -= 1e-4;
                other[to] += 1e-4;
                assert!(isolated(&streams, &other, Victim::Fifo).unwrap() >= a - 1e-12);
            }
        }
    }

    #[test]
    fn domain_and_edges() {
        let streams = hot_cold();
        for split in [sqrt_split(&streams, 0.0), sqrt_split(&streams, f64::NAN)] {
            assert_eq!(split, None);
        }
        assert_eq!(optimal_split(&streams, -1.0, Victim::Fifo), None);
        assert_eq!(optimal_split(&streams, 0.1, Victim::Greedy { pages_per_ru: 0 }), None);
        assert_eq!(sqrt_split(&[Stream::new(0.0, 1.0)], 0.1), None);
        assert_eq!(optimal_split(&[Stream::new(0.0, 1.0)], 0.1, Victim::Fifo), None);
        let cold = [Stream::new(1.0, 1.0), Stream::new(0.0, 9.0)];
        let split = optimal_split(&cold, 0.1, Victim::Fifo).unwrap();
        assert!((split[0] - 0.1).abs() < 1e-9 && split[1].abs() < 1e-9, "{split:?}");
        // More than can be used: all of it is still assigned.
        let split = optimal_split(&streams, 50.0, Victim::Greedy { pages_per_ru: 4 }).unwrap();
        assert!((split.iter().sum::<f64>() - 50.0).abs() < 1e-6);
    }
}
