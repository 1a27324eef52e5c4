//! The features of candidate victims that firmware could know, as arrays, for policies that compute over all candidates
//! at once, here or in Python.

/// The value of [`Features::owner`] for relocated data of all initially isolated handles.
pub const OWNER_GC: u16 = u16::MAX;

/// Arrays with one entry for each candidate, by number; [`Self::origins`] has a row for each.
///
/// State and work are proportional to reclaim units and handles: nothing here visits pages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Features {
    /// Number of the reclaim unit.
    pub ru: Vec<u32>,
    /// Valid pages.
    pub valid: Vec<u32>,
    /// Host pages written to the device since the reclaim unit was closed.
    pub age: Vec<u64>,
    /// The handle whose data it holds, or [`OWNER_GC`].
    pub owner: Vec<u16>,
    /// How often its data was relocated, as far as generations are separated; 0 for host writes.
    pub generation: Vec<u8>,
    /// Number of erases.
    pub erases: Vec<u32>,
    /// Host pages written to the device since the reclaim unit was last seen to have lost a valid page; at most its
    /// age. Losses are seen only when features are requested, so the value is as precise as the requests are frequent,
    /// and writing a page costs nothing extra.
    pub since_invalidation: Vec<u64>,
    /// Number of handles of the device, which is the length of a row of [`Self::origins`].
    pub handles: usize,
    /// Share of the pages that each handle originally wrote, candidates x handles, row by row. Exact for reclaim units
    /// of one handle. Relocated data of several handles is counted when it is relocated, and is assumed to be relocated
    /// again in the same proportion: firmware knows no more.
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

    /// Removes all candidates, keeping the allocations.
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
