//! `random_distribution=normal` as fio implements it (lib/gauss.c), which is not a normal distribution with the given
//! deviation.
//!
//! A value is the mean of 12 uniform draws, whose standard deviation is always 1/12 of the region, shifted by a uniform
//! draw as wide as the given deviation. Then it is *hashed*, as the ranks of zipf are: frequently written blocks do not
//! lie together, and the center only shifts the hash.

use crate::{GOLDEN_RATIO, Modulo, Rng};

const DRAWS: u64 = 12;

/// Draws from fio's normal distribution.
#[derive(Clone, Debug)]
pub struct Normal {
    blocks: u64,
    /// Remainder by `blocks + 1`.
    first: Modulo,
    /// Remainder by `blocks`.
    last: Modulo,
    /// Width of the uniform shift, in blocks.
    width: u32,
    /// Added after the hash.
    offset: u64,
}

impl Normal {
    /// Creates draws over `blocks` blocks; `deviation` is in percent of them, `center` in 0-1, by default the middle.
    pub fn new(blocks: u64, deviation: f64, center: Option<f64>) -> Self {
        let n = blocks as f64;
        let width = (libm::ceil(n * deviation / 100.0) as u32 as u64).min(blocks / 2) as u32;
        // fio keeps this in 32 bits: a center below the middle wraps around.
        let offset = center.map_or(0, |c| (n * (c - 0.5)) as i64 as u32);
        Normal {
            blocks,
            first: Modulo::new(blocks + 1),
            last: Modulo::new(blocks),
            width,
            offset: u64::from(offset),
        }
    }

    /// Draws a block.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let mut sum = 0;
        for _ in 0..DRAWS / 2 {
            let bits = rng.next64();
            sum += self.first.of(bits >> 32) + self.first.of(bits & u64::from(u32::MAX));
        }
        let mut value = sum.div_ceil(DRAWS);
        if self.width != 0 {
            let moved = (u64::from(rng.next32()) * u64::from(self.width)) >> 32;
            let mut move_by = moved as i64 - i64::from(self.width / 2);
            // Halve a shift that leaves the region until it does not.
            while move_by != 0 && value.wrapping_add_signed(move_by) >= self.blocks {
                move_by /= 2;
            }
            value = value.wrapping_add_signed(move_by);
        }
        self.last.of(value.wrapping_mul(GOLDEN_RATIO).wrapping_add(self.offset))
    }
}
