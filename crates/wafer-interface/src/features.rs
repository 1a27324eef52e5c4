//! What firmware could know of each candidate for collection, as arrays: for policies that compute over all of
//! them at once, here or in Python.

/// In [`Features::owner`]: relocated data of all initially isolated handles.
pub const OWNER_GC: u16 = u16::MAX;

/// One entry for each candidate, in order of number; [`Self::origins`] has a row for each.
///
/// State and work are those of reclaim units and handles: nothing here looks at pages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Features {
    /// Number of the reclaim unit.
    pub ru: Vec<u32>,
    /// Valid pages.
    pub valid: Vec<u32>,
    /// Host pages written to the device since it was closed.
    pub age: Vec<u64>,
    /// The handle whose data it holds, or [`OWNER_GC`].
    pub owner: Vec<u16>,
    /// How often its data was moved, as far as that is kept apart; 0 for what a host wrote.
    pub generation: Vec<u8>,
    /// Times erased.
    pub erases: Vec<u32>,
    /// Host pages written to the device since it was last seen to have lost a valid page: at most
    /// its age. Seen means when features were last asked for, so the value is as fine as the calls
    /// are frequent, and the path of a page write keeps nothing for it.
    pub since_invalidation: Vec<u64>,
    /// Handles of the device: the length of a row of [`Self::origins`].
    pub handles: usize,
    /// Share of the pages that each handle wrote first, candidates x handles, row by row. Exact for
    /// reclaim units of one handle. Relocated data of several is counted as it is moved, and moved
    /// on in the proportion in which it came: firmware keeps no more.
    pub origins: Vec<f32>,
}

impl Features {
    /// Returns the number of candidates.
    pub fn len(&self) -> usize {
        self.ru.len()
    }

    /// Returns whether there is no candidate.
    pub fn is_empty(&self) -> bool {
        self.ru.is_empty()
    }

    /// Removes all candidates and keeps the memory.
    pub fn clear(&mut self) {
        self.ru.clear();
        self.valid.clear();
        self.age.clear();
        self.owner.clear();
        self.generation.clear();
        self.erases.clear();
        self.since_invalidation.clear();
        self.origins.clear();
    }
}
