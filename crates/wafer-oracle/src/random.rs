//! Random numbers: the same algorithm, seeds and order of draws as in the device.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// A deterministic source of uniform numbers: xoshiro256++.
#[derive(Clone, Debug)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// Returns the numbers from which policies and the writer of a collection are drawn.
    pub(crate) fn of_policies(seed: u64) -> Self {
        Self::stream(seed, 1)
    }

    /// Returns the numbers that choose among the parts of a divided segment.
    pub(crate) fn of_segments(seed: u64) -> Self {
        Self::stream(seed, 2)
    }

    fn stream(seed: u64, number: u64) -> Self {
        let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number);
        Random(Xoshiro256PlusPlus::seed_from_u64(mixed))
    }

    /// Returns a number in `0..bound`: the upper half of a 128-bit product.
    pub fn below(&mut self, bound: u32) -> u32 {
        assert!(bound > 0, "a draw from nothing");
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u32
    }
}
