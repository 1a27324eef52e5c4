//! Block sizes of one direction: fixed, `bsrange` and `bssplit`, by fio's rules (`get_next_buflen`).

use crate::job::BlockSize;
use crate::rng::Rng;

/// Draws of block sizes, bytes.
#[derive(Clone, Debug)]
pub(crate) struct Sizes {
    pub(crate) min: u64,
    pub(crate) max: u64,
    unaligned: bool,
    /// Upper end of each size's share of a 32-bit draw, and the size; empty for a range.
    split: Vec<(u64, u64)>,
}

impl Sizes {
    pub(crate) fn new(size: &BlockSize, unaligned: bool) -> Result<Self, String> {
        let mut split = Vec::new();
        let (min, max) = match size {
            BlockSize::Fixed(bytes) => (*bytes, *bytes),
            BlockSize::Range { min, max } => (*min, *max),
            BlockSize::Split(parts) => {
                let total: f64 = parts.iter().map(|p| p.1).sum();
                if !(99.9999..=100.0001).contains(&total) || parts.iter().any(|p| p.1 < 0.0) {
                    return Err(format!("bssplit: the shares add up to {total}, not 100"));
                }
                // fio sorts by share. That order decides which size stands in for one that does
                // not fit at the end of the region.
                let mut sorted = parts.clone();
                sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
                let mut sum = 0.0;
                for (bytes, share) in sorted.into_iter().filter(|p| p.1 > 0.0) {
                    sum += share;
                    split.push((((sum / 100.0) * 4_294_967_296.0) as u64, bytes));
                }
                if let Some(last) = split.last_mut() {
                    last.0 = 1 << 32;
                }
                let sizes = || parts.iter().map(|p| p.0);
                (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0))
            }
        };
        if min == 0 || min > max || max > 1 << 31 {
            return Err(format!(
                "bs: {min} to {max} bytes is not a range of block sizes up to 2GiB"
            ));
        }
        Ok(Sizes { min, max, unaligned, split })
    }

    /// Always the same size.
    pub(crate) fn fixed(&self) -> bool {
        self.min == self.max
    }

    /// Mean size, bytes, away from the end of the region.
    pub(crate) fn mean(&self) -> f64 {
        if self.fixed() {
            self.min as f64
        } else if self.split.is_empty() {
            (self.min + self.max) as f64 / 2.0
        } else {
            let mut before = 0;
            let weighted = self.split.iter().map(|&(end, bytes)| {
                let share = (end - before) as f64;
                before = end;
                share * bytes as f64
            });
            weighted.sum::<f64>() / 4_294_967_296.0
        }
    }

    /// A size that fits into `room` bytes; `None`: not even the smallest does.
    pub(crate) fn draw(&self, rng: &mut Rng, room: u64) -> Option<u64> {
        if self.min > room {
            return None;
        }
        if self.fixed() {
            return Some(self.min);
        }
        loop {
            let r = u64::from(rng.next32());
            let mut bytes = if self.split.is_empty() {
                // fio scales by the largest size, not by the difference: the smallest and the
                // largest then are as likely as the others when one is a multiple of the other.
                self.min + ((u128::from(r) * u128::from(self.max)) >> 32) as u64
            } else {
                let chosen = self.split.iter().find(|s| r < s.0 && s.1 <= room);
                chosen.or(self.split.last()).map_or(self.min, |s| s.1)
            };
            if !self.unaligned {
                bytes -= bytes % self.min;
            }
            bytes = bytes.min(self.max);
            if bytes <= room {
                return Some(bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Purpose;

    fn shares(sizes: &Sizes, room: u64) -> std::collections::BTreeMap<u64, f64> {
        let mut rng = Rng::new(3, 0, Purpose::Size, 0);
        let mut counts = std::collections::BTreeMap::new();
        let n = 200_000;
        for _ in 0..n {
            *counts.entry(sizes.draw(&mut rng, room).unwrap()).or_insert(0.0) += 1.0 / f64::from(n);
        }
        counts
    }

    #[test]
    fn a_range_is_uniform_over_multiples() {
        let sizes = Sizes::new(&BlockSize::Range { min: 4096, max: 65536 }, false).unwrap();
        let found = shares(&sizes, u64::MAX);
        assert_eq!(found.len(), 16);
        assert!(found.values().all(|s| (s - 1.0 / 16.0).abs() < 0.003), "{found:?}");
        assert_eq!(sizes.draw(&mut Rng::new(0, 0, Purpose::Size, 0), 4095), None);
        assert!(shares(&sizes, 8192).keys().all(|&b| b <= 8192));
    }

    #[test]
    fn a_split_keeps_its_shares() {
        let parts = vec![(4096, 60.0), (65536, 30.0), (8192, 10.0)];
        let sizes = Sizes::new(&BlockSize::Split(parts), false).unwrap();
        let found = shares(&sizes, u64::MAX);
        assert!((found[&4096] - 0.6).abs() < 0.005 && (found[&8192] - 0.1).abs() < 0.005);
        assert!((sizes.mean() - (0.6 * 4096.0 + 0.3 * 65536.0 + 819.2)).abs() < 1.0);
        assert!(shares(&sizes, 8192).keys().all(|&b| b <= 8192));
    }

    #[test]
    fn bad_sizes() {
        for size in [
            BlockSize::Fixed(0),
            BlockSize::Range { min: 8, max: 4 },
            BlockSize::Split(vec![]),
            BlockSize::Split(vec![(4096, 50.0)]),
            BlockSize::Split(vec![(4096, f64::NAN)]),
        ] {
            assert!(Sizes::new(&size, false).is_err(), "{size:?}");
        }
    }
}
