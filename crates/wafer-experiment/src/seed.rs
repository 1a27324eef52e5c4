//! Seeds derived from the seed of a run.

/// Returns the `nth` seed derived from that of a run, by SplitMix64. The precondition of a run takes the first; each
/// tenant takes the one of its position.
pub fn derived(seed: u64, nth: usize) -> u64 {
    wafer_random::split_mix(seed.wrapping_add((nth as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}
