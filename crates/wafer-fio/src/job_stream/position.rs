//! The position of a job in its region.

use crate::job::{DIRECTIONS, JobSpec, Order, READ};

/// The position of a job; bytes count from the start of the region.
#[derive(Clone, Debug)]
pub(super) struct Position {
    /// Start of the last command of each direction.
    pub(super) last_start: [Option<u64>; DIRECTIONS],
    /// End of the last command of each direction.
    pub(super) last_end: [u64; DIRECTIONS],
    /// Commands of each direction since the job began.
    pub(super) issued: [u64; DIRECTIONS],
    /// Sequential jobs: bytes between the end of a command and the start of the next.
    pub(super) gap: i64,
    /// Random jobs: commands per random offset.
    pub(super) every: u64,
    /// Commands left for the current random offset.
    pub(super) left: u64,
    /// Mixed jobs: the current direction.
    pub(super) mix: usize,
    /// Commands of direction `mix` before the next is chosen.
    pub(super) mix_until: u64,
}

impl Position {
    pub(super) fn new(spec: &JobSpec) -> Self {
        let random = spec.order == Order::Random;
        Position {
            last_start: [None; DIRECTIONS],
            last_end: [0; DIRECTIONS],
            issued: [0; DIRECTIONS],
            gap: if random { 0 } else { spec.order_modifier },
            every: if random { spec.order_modifier.max(1) as u64 } else { 1 },
            left: 1,
            mix: READ,
            mix_until: 0,
        }
    }

    /// Returns to the start of the region.
    pub(super) fn rewind(&mut self) {
        self.last_start = [None; DIRECTIONS];
        self.last_end = [0; DIRECTIONS];
        self.mix_until = 0;
    }
}
