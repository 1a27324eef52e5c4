//! T6, T7, T9: several streams with different update frequencies.

use super::positive;
use super::uniform::{Victim, greedy};

/// A class of pages with the same update frequency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stream {
    /// Share of the host's page writes to the class, 0 to 1.
    pub share: f64,
    /// Logical pages of the class, written uniformly.
    pub pages: f64,
}

impl Stream {
    /// Returns a class with this share of the writes, over this many pages.
    pub fn new(share: f64, pages: f64) -> Self {
        Stream { share, pages }
    }
}

/// Returns whether all shares are from 0 to 1 and add up to 1, and all streams have pages.
fn consistent(streams: &[Stream]) -> bool {
    let each = |s: &Stream| (0.0..=1.0).contains(&s.share) && positive(s.pages);
    let sum: f64 = streams.iter().map(|s| s.share).sum();
    streams.iter().all(each) && (sum - 1.0).abs() < 1e-6
}

/// Returns T6: all streams in one FIFO log of `T` physical pages. Any independent reference model can be
/// expressed as classes; a Zipf distribution needs many.
///
/// A page of class i survives the time `τ`, in host page writes, that it spends in the log with
/// probability `e^(-p_i τ / U_i)`. A round through the log of T pages takes τ, so that
/// `A = T / τ`, and per host write to class i the log takes `1 / (1 - e^(-p_i τ / U_i))` pages:
///
/// `τ Σ p_i / (1 - e^(-p_i τ / U_i)) = T`.
///
/// One class is T1. A class that is never written is relocated over and over: it takes `U_i` of the log.
/// `None` if shares do not add up to 1, a stream has no pages, or there is no spare page.
pub fn mixed_fifo(streams: &[Stream], physical_pages: f64) -> Option<f64> {
    let logical: f64 = streams.iter().map(|s| s.pages).sum();
    if !(consistent(streams) && physical_pages > logical && physical_pages.is_finite()) {
        return None;
    }
    // U z / (1 - e^-z) with z = p τ / U grows with τ, from U at 0.
    let filled = |tau: f64| -> f64 {
        let class = |s: &Stream| match s.share * tau / s.pages {
            0.0 => s.pages,
            z => s.pages * z / -(-z).exp_m1(),
        };
        streams.iter().map(class).sum()
    };
    // The log takes at least a page per host write.
    let (mut low, mut high) = (0.0, physical_pages);
    for _ in 0..200 {
        let tau = 0.5 * (low + high);
        if filled(tau) < physical_pages {
            low = tau;
        } else {
            high = tau;
        }
    }
    Some((physical_pages / (0.5 * (low + high))).max(1.0))
}

/// Returns T7: isolated streams, stream i with `spare[i]` physical pages beyond its `U_i`:
/// `A = Σ p_i A(s_i / U_i)` with A of T1 or T2.
///
/// `None` if shares do not add up to 1, a stream has no pages, `spare` has another length, or a stream
/// that is written has no spare page. Streams that are not written need no spare pages.
pub fn isolated(streams: &[Stream], spare: &[f64], victim: Victim) -> Option<f64> {
    if !consistent(streams) || spare.len() != streams.len() {
        return None;
    }
    let written = streams.iter().zip(spare).filter(|(s, _)| s.share > 0.0);
    written.map(|(s, spare)| Some(s.share * victim.waf(spare / s.pages)?)).sum()
}

/// Returns T9: persistently isolated streams under one greedy collector. The WAF is that of uniform writes
/// over the whole device, T2, **whatever the streams**.
///
/// Victims have the fewest valid pages of all streams, so all streams are collected at the same valid
/// share. That means the same `α_i`: spare pages divide in proportion to `U_i`, and `Σ p_i A(α) = A(α)`.
/// Placement alone saves the cost of mixing and no more. A better division of the spare pages needs a
/// policy that knows the streams (T8).
///
/// There are two conditions beyond those of T2. Each stream needs many RUs: the device is below the
/// form by 0.8 % if the hottest of three streams has 450. And ties must be broken without regard to
/// heat, as by RU number. If the victim is *drawn* among equals, hot RUs lose another page while
/// they wait more often than cold ones, and A is lower, by up to 5 % for 16 pages per RU.
pub fn global_greedy(op: f64, pages_per_ru: u32) -> Option<f64> {
    greedy(op, pages_per_ru)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::theory::uniform::fifo;

    /// 80 % of the writes to 20 % of the pages.
    pub(in crate::theory) fn hot_cold() -> Vec<Stream> {
        vec![Stream::new(0.8, 0.2), Stream::new(0.2, 0.8)]
    }

    /// JESD219 enterprise: 50 % of the writes to 5 %, 30 % to 15 %, 20 % to the other 80 %.
    pub(in crate::theory) fn jesd219() -> Vec<Stream> {
        vec![Stream::new(0.5, 0.05), Stream::new(0.3, 0.15), Stream::new(0.2, 0.8)]
    }

    #[test]
    fn worked_numbers_of_a_mixed_log() {
        for (streams, expected) in
            [(hot_cold(), [8.18, 4.61, 2.82]), (jesd219(), [8.53, 4.90, 3.03])]
        {
            for (op, expected) in [0.07, 0.14, 0.28].into_iter().zip(expected) {
                let got = mixed_fifo(&streams, 1.0 + op).unwrap();
                assert!((got - expected).abs() < 6e-3, "{op}: {got} {expected}");
            }
        }
    }

    #[test]
    fn equal_heat_is_one_stream() {
        let equal = [Stream::new(0.25, 100.0), Stream::new(0.75, 300.0)];
        let one = [Stream::new(1.0, 400.0)];
        for op in [0.01, 0.07, 0.28, 2.0] {
            let expected = fifo(op).unwrap();
            for streams in [&equal[..], &one[..]] {
                let got = mixed_fifo(streams, 400.0 * (1.0 + op)).unwrap();
                assert!((got / expected - 1.0).abs() < 1e-9, "{op}: {got} {expected}");
            }
            let spread = [100.0 * op, 300.0 * op];
            let got = isolated(&equal, &spread, Victim::Fifo).unwrap();
            assert!((got / expected - 1.0).abs() < 1e-12);
            let victim = Victim::Greedy { pages_per_ru: 64 };
            let got = isolated(&hot_cold(), &[0.2 * op, 0.8 * op], victim).unwrap();
            assert!((got / global_greedy(op, 64).unwrap() - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn mixing_costs_and_spare_pages_help() {
        for streams in [hot_cold(), jesd219()] {
            let mut last = f64::INFINITY;
            for i in 0..80 {
                let op = 0.01 * 1.08f64.powi(i);
                let got = mixed_fifo(&streams, 1.0 + op).unwrap();
                assert!(got >= fifo(op).unwrap() - 1e-12 && got < last, "{op}");
                last = got;
            }
        }
        // Data that is never written is carried round in the log, at the cost of its space.
        let cold = [Stream::new(1.0, 0.5), Stream::new(0.0, 0.5)];
        assert!(mixed_fifo(&cold, 1.1).unwrap() > fifo(0.1).unwrap());
        assert_eq!(isolated(&cold, &[0.1, 0.0], Victim::Fifo), fifo(0.2));
    }

    #[test]
    fn domain() {
        let streams = hot_cold();
        assert_eq!(mixed_fifo(&streams, 1.0), None);
        assert_eq!(mixed_fifo(&streams, f64::NAN), None);
        assert_eq!(mixed_fifo(&[], 1.0), None);
        assert_eq!(mixed_fifo(&[Stream::new(0.5, 1.0)], 2.0), None);
        assert_eq!(mixed_fifo(&[Stream::new(1.0, -1.0)], 2.0), None);
        assert_eq!(isolated(&streams, &[0.1], Victim::Fifo), None);
        assert_eq!(isolated(&streams, &[0.1, 0.0], Victim::Fifo), None);
        assert_eq!(global_greedy(0.0, 64), None);
    }
}
