//! Seeds derived from the seed of a run.

/// Returns the `nth` seed derived from a run's, by SplitMix64. The precondition of a run takes the first, its
/// tenants take one each by position.
pub(crate) fn derived(seed: u64, nth: usize) -> u64 {
    let mut z = seed.wrapping_add((nth as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
