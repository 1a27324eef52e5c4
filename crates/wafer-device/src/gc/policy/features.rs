//! What firmware could know of each candidate, as arrays: for policies that compute over all of them
//! at once, here or in Python.

use super::RuView;
use crate::flash::reclaim::Seen;
use wafer_interface::{Owner, RuId};

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
    /// its age. Seen means at a call of [`RuView::features`], so the value is as fine as the calls
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

    fn clear(&mut self) {
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

impl RuView<'_> {
    /// Fills `features` with all candidates; what it held is dropped, its memory used again. Takes one
    /// pass over the group's reclaim units.
    pub fn features(&mut self, features: &mut Features) {
        features.clear();
        features.handles = self.handles;
        self.rus.seen.resize(self.rus.units.len(), Seen::default());
        for index in self.range.clone() {
            let ru = RuId(index);
            let Some(valid) = self.valid(ru) else { continue };
            let unit = &self.rus.units[ru.index()];
            let (closed, order) = (self.rus.closed_at[ru.index()], self.closed_order(ru) + 1);
            let seen = &mut self.rus.seen[ru.index()];
            if seen.order != order {
                *seen = Seen { order, valid, at: closed };
            } else if seen.valid != valid {
                *seen = Seen { order, valid, at: self.now };
            }
            features.ru.push(index);
            features.valid.push(valid);
            features.age.push(self.now - closed);
            features.since_invalidation.push(self.now - seen.at);
            features.generation.push(unit.generation);
            features.erases.push(unit.erases);
            let start = features.origins.len();
            features.origins.resize(start + self.handles, 0.0);
            let row = &mut features.origins[start..];
            match unit.owner {
                Owner::Handle(handle) => {
                    features.owner.push(handle.0);
                    row[handle.index()] = 1.0;
                }
                Owner::Gc => {
                    features.owner.push(OWNER_GC);
                    let sum: f64 = unit.origins.iter().sum();
                    for (share, pages) in row.iter_mut().zip(&unit.origins) {
                        *share = (pages / sum) as f32;
                    }
                }
            }
        }
    }
}
