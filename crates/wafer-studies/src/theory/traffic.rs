//! T11 to T13: traffic with deallocate, a flash cache, and writes smaller than a page.

use super::positive;
use super::uniform::{Victim, fifo};

/// Returns the share of the logical pages that are mapped (T11) when a share `q` of the requests
/// deallocates a random mapped page and the rest write random pages: `(1 - 2q) / (1 - q)`.
///
/// A write maps an unmapped page with probability 1 - s, and every deallocate unmaps one:
/// `(1 - q)(1 - s) = q`. The model of \[Fr\], re-derived. `None` unless `0 <= q < 1/2`; at 1/2 the
/// device becomes empty.
pub fn mapped_share(q: f64) -> Option<f64> {
    (0.0..0.5).contains(&q).then(|| (1.0 - 2.0 * q) / (1.0 - q))
}

/// Returns the WAF of uniform writes with deallocate (T11): T1 or T2 with `α = T / (U s)`.
///
/// Per write, a mapped page is invalidated with probability `1/U` by the write and `q / ((1 - q) U s)`
/// by deallocate. Together that is `1 / (U s)`, as if there were only `U s` pages. The number of mapped
/// pages varies by the order of its square root, which is negligible on large devices.
/// `None` outside of the domains of [`mapped_share`] and the victim rule.
pub fn trimmed(op: f64, q: f64, victim: Victim) -> Option<f64> {
    if !positive(op) {
        return None;
    }
    victim.waf((1.0 + op) / mapped_share(q)? - 1.0)
}

/// Returns the WAF of a small-object cache (SOC) of `soc` bytes, written uniformly, beside a log of large
/// objects that invalidates itself (T12). All spare pages serve the SOC: T1 at
/// `α = (soc + spare) / soc`. `None` unless both are positive.
pub fn flash_cache(soc: f64, spare: f64) -> Option<f64> {
    if !positive(soc) || !positive(spare) {
        return None;
    }
    fifo(spare / soc)
}

/// Returns the WAF of host writes of `host` bytes within a page of `page` bytes before garbage collection
/// (T13): a whole page is programmed, a factor of page / host that multiplies A. No write buffer merges
/// neighbouring writes. `None` unless `0 < host <= page`.
pub fn partial_page_factor(page: f64, host: f64) -> Option<f64> {
    (positive(page) && positive(host) && host <= page).then(|| page / host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deallocation_adds_spare() {
        assert_eq!(mapped_share(0.0), Some(1.0));
        assert!((mapped_share(0.1).unwrap() - 8.0 / 9.0).abs() < 1e-15);
        assert!((mapped_share(0.4).unwrap() - 1.0 / 3.0).abs() < 1e-15);
        for victim in [Victim::Fifo, Victim::Greedy { pages_per_ru: 64 }] {
            for op in [0.07, 0.28] {
                assert_eq!(trimmed(op, 0.0, victim), victim.waf(1.0 + op - 1.0));
                let mut last = f64::INFINITY;
                for q in 0..50 {
                    let a = trimmed(op, f64::from(q) / 100.0, victim).unwrap();
                    assert!(a <= last && a >= 1.0);
                    last = a;
                }
            }
        }
        for q in [-0.1, 0.5, 1.0, f64::NAN] {
            assert_eq!(mapped_share(q), None);
            assert_eq!(trimmed(0.1, q, Victim::Fifo), None);
        }
        assert_eq!(trimmed(0.0, 0.1, Victim::Fifo), None);
    }

    #[test]
    fn caches() {
        assert_eq!(flash_cache(4.0, 4.0 * 0.28), fifo(0.28));
        // For a small SOC, spare pages are plentiful.
        assert!(flash_cache(4.0, 28.0).unwrap() < 1.001);
        assert_eq!(flash_cache(0.0, 1.0), None);
        assert_eq!(flash_cache(1.0, 0.0), None);
    }

    #[test]
    fn partial_pages() {
        assert_eq!(partial_page_factor(4096.0, 512.0), Some(8.0));
        assert_eq!(partial_page_factor(4096.0, 4096.0), Some(1.0));
        assert_eq!(partial_page_factor(4096.0, 8192.0), None);
        assert_eq!(partial_page_factor(4096.0, 0.0), None);
    }
}
