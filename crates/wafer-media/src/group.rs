//! The timing of a reclaim group: its dies, and the work that only they do.

use std::ops::Range;

use crate::pacing::Pacing;
use crate::time::Time;

/// The dies of a reclaim group. Garbage collection of a group holds back only the writes to it.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) dies: Range<usize>,
    pub(crate) pacing: Pacing,
    /// Pages to relocate minus pages already read, times 256: a read also yields pages for later moves.
    pub(crate) to_read: i64,
    /// When hosts will no longer be ahead of garbage collection, and of the rate at the knee.
    pub(crate) paced_until: Time,
    pub(crate) knee_until: Time,
}

impl Group {
    /// Returns the groups of a drive.
    pub(crate) fn all(groups: u16, dies_per_group: u32, burst: u64) -> Vec<Self> {
        let dies = dies_per_group as usize;
        let group = |number: usize| Group {
            dies: number * dies..(number + 1) * dies,
            pacing: Pacing::new(burst),
            to_read: 0,
            paced_until: 0,
            knee_until: 0,
        };
        (0..usize::from(groups)).map(group).collect()
    }
}

/// What is programmed outside reclaim units, on some dies in turn: metadata, parity and the map.
#[derive(Debug)]
pub(crate) struct Beside {
    pub(crate) dies: Range<usize>,
    pub(crate) next_die: usize,
    /// Pages of metadata that are not programmed yet, with 32 bits of fraction.
    pub(crate) metadata: u64,
    /// Pages of parity and of the map that are not programmed yet.
    pub(crate) owed: u32,
}

impl Beside {
    pub(crate) fn on(dies: Range<usize>) -> Self {
        Beside { next_die: dies.start, dies, metadata: 0, owed: 0 }
    }
}
