//! The device's random numbers: one named algorithm, one stream per purpose.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// The purpose of random numbers. Each has its own stream, so that drawing more for one does not change
/// another.
#[derive(Clone, Copy)]
pub enum Purpose {
    /// Choices of policies.
    Policy = 1,
    /// Parts of divided segments.
    Segments = 2,
}

/// A deterministic source of uniform numbers (xoshiro256++).
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct DeviceRng(Xoshiro256PlusPlus);

impl DeviceRng {
    /// Creates the generator of a seed for a purpose.
    pub fn new(seed: u64, purpose: Purpose) -> Self {
        let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(purpose as u64);
        DeviceRng(Xoshiro256PlusPlus::seed_from_u64(mixed))
    }

    /// Returns a number in `0..bound`, uniform up to 2^-32 (multiply-shift). `bound` must not be 0.
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u32
    }
}
