//! `random_distribution=zoned` and `zoned_abs`: shares of the commands for parts of the region,
//! uniform within each part.

use crate::Rng;

/// Draws over zones.
#[derive(Clone, Debug)]
pub struct Zoned {
    /// First block and number of blocks of the zone of each slot; slots are equally likely.
    slots: Vec<(u64, u64)>,
}

/// Slot counts tried: fio's percent, then hundredths and ten-thousandths of a percent, which fio does not have.
const SLOTS: [usize; 3] = [100, 10_000, 1_000_000];

impl Zoned {
    /// Creates zones of `percent` of a region of `blocks` blocks each.
    ///
    /// # Errors
    /// Why the shares or zones do not fit.
    pub fn relative(zones: &[(f64, f64)], blocks: u64) -> Result<Self, String> {
        let whole = zones.iter().all(|z| z.1.fract() == 0.0 && (0.0..=100.0).contains(&z.1));
        let mut before = 0.0;
        let mut ranges = Vec::with_capacity(zones.len());
        for &(_, percent) in zones {
            // fio rounds the start and the size down separately.
            ranges.push(if whole {
                (before as u64 * blocks / 100, blocks * percent as u64 / 100)
            } else {
                let part = |p: f64| (blocks as f64 * p / 100.0) as u64;
                (part(before), part(percent))
            });
            before += percent;
        }
        Self::new(zones.iter().map(|z| z.0), ranges, blocks)
    }

    /// Creates zones of this many bytes each, in a region of `blocks` blocks of `block` bytes.
    ///
    /// # Errors
    /// Why the shares or zones do not fit.
    pub fn absolute(zones: &[(f64, u64)], block: u64, blocks: u64) -> Result<Self, String> {
        let mut before = 0u64;
        let mut ranges = Vec::with_capacity(zones.len());
        for &(_, bytes) in zones {
            let end = before.saturating_add(bytes);
            ranges.push((before / block, end / block - before / block));
            before = end;
        }
        Self::new(zones.iter().map(|z| z.0), ranges, blocks)
    }

    fn new(
        shares: impl Iterator<Item = f64> + Clone,
        ranges: Vec<(u64, u64)>,
        blocks: u64,
    ) -> Result<Self, String> {
        let total: f64 = shares.clone().sum();
        if !(99.9999..=100.0001).contains(&total) || shares.clone().any(|s| s.is_nan() || s < 0.0) {
            return Err(format!("the zones' shares of the commands add up to {total}, not 100"));
        }
        for (share, (zone, &(start, length))) in shares.clone().zip(ranges.iter().enumerate()) {
            if start + length > blocks {
                return Err(format!("zone {} ends past the end of the region", zone + 1));
            }
            if share > 0.0 && length == 0 {
                return Err(format!("zone {} is smaller than one block", zone + 1));
            }
        }
        let fits = |n: usize| {
            shares.clone().all(|s| {
                let slots = s * n as f64 / 100.0;
                (slots - slots.round()).abs() < 1e-6
            })
        };
        let count = SLOTS.into_iter().find(|&n| fits(n)).unwrap_or(SLOTS[2]);
        let mut slots = Vec::with_capacity(count);
        let mut sum = 0.0;
        for (share, range) in shares.zip(ranges) {
            sum += share;
            let end = ((sum * count as f64 / 100.0).round() as usize).min(count);
            slots.resize(end.max(slots.len()), range);
        }
        let last = *slots.last().expect("the shares add up to 100");
        slots.resize(count, last);
        Ok(Zoned { slots })
    }

    /// Draws a block. One random number serves twice: its leading part picks the slot; the rest, uniform for every
    /// slot, picks the block.
    #[inline(always)]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let product = u128::from(rng.next64()) * self.slots.len() as u128;
        let (start, length) = self.slots[(product >> 64) as usize];
        start + ((u128::from(product as u64) * u128::from(length)) >> 64) as u64
    }

    /// Returns the size of the table in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.slots.len() as u64 * 16
    }
}

#[cfg(test)]
mod tests;
