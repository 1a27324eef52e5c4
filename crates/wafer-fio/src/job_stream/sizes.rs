//! Block sizes of one direction: fixed, `bsrange` and `bssplit`, by fio's rules (`get_next_buflen`).

use wafer_random::Rng;

use crate::job::BlockSize;

/// Draws block sizes, in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Sizes {
    pub(crate) min: u64,
    pub(crate) max: u64,
    unaligned: bool,
    /// Each size, with the upper end of its share of a 32-bit draw; empty for a range.
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
                // fio sorts by share. That order determines which size replaces one that does not fit at the end of the
                // region.
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

    /// Returns whether all commands have the same size.
    pub(crate) fn fixed(&self) -> bool {
        self.min == self.max
    }

    /// Returns the mean size in bytes, away from the end of the region.
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

    /// Draws a size that fits into `room` bytes; `None` if not even the smallest does.
    pub(crate) fn draw(&self, rng: &mut Rng, room: u64) -> Option<u64> {
        if self.min > room || !self.split.is_empty() && self.split.iter().all(|s| s.1 > room) {
            return None;
        }
        if self.fixed() {
            return Some(self.min);
        }
        loop {
            let r = u64::from(rng.next32());
            let mut bytes = if self.split.is_empty() {
                // fio scales by the largest size, not by the difference, which makes the smallest and the largest as
                // likely as the others if one is a multiple of the other.
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
mod tests;
