//! Random numbers of a job: one generator per purpose, so that drawing more of one kind (say block
//! sizes) never shifts another (addresses).

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// The use of a generator. The numbers are part of the seed: never renumber them.
#[derive(Clone, Copy, Debug)]
pub enum Purpose {
    /// Offsets of uniform and zoned distributions.
    Address = 1,
    /// Ranks of zipf, pareto and normal distributions.
    Rank = 2,
    /// Where the most frequent block of a zipf or pareto distribution lies.
    Center = 3,
    /// Block sizes of reads; writes and trims follow.
    Size = 4,
    /// Read or write.
    Mix = 8,
    /// Random or sequential (`percentage_random`) of reads; writes and trims follow.
    Sequence = 9,
    /// Placement identifiers.
    Placement = 13,
    /// When commands arrive.
    Arrival = 14,
    /// Decisions of an application; its streams of random numbers follow.
    Application = 32,
}

/// A deterministic generator, the same on every platform.
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

/// Returns one step of SplitMix64 (Steele, Lea and Flood 2014), a bijection that scatters every bit.
pub fn split_mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Rng {
    /// Returns the generator of one purpose (plus `sub`, a direction) of one job.
    pub fn new(seed: u64, job: u32, purpose: Purpose, sub: usize) -> Self {
        let job = split_mix(split_mix(seed) ^ u64::from(job));
        Rng(Xoshiro256PlusPlus::seed_from_u64(split_mix(job ^ (purpose as u64 + sub as u64))))
    }

    /// Draws 64 random bits.
    #[inline(always)]
    pub fn next64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Draws 32 random bits: fio draws 32 at a time, and some of its distributions depend on that.
    #[inline(always)]
    pub fn next32(&mut self) -> u32 {
        (self.next64() >> 32) as u32
    }

    /// Draws a number in `0..n`, by multiply and shift. The bias, below `n / 2^64`, is far below that of
    /// fio's own scaling of 32-bit numbers.
    #[inline(always)]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next64()) * u128::from(n)) >> 64) as u64
    }

    /// Draws a number in `1..=100`, as fio draws percentages.
    #[inline(always)]
    pub fn percent(&mut self) -> u8 {
        1 + self.below(100) as u8
    }
}
