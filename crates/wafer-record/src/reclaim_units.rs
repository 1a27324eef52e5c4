//! The table of reclaim units: owner, valid pages and erases of each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wafer_device::Device;
use wafer_interface::{Observer, Owner, RuId};

use crate::HandleKey;

/// Maximum entries in a record's reclaim-unit table; a larger map cannot be resolved on a screen.
pub const MOST_RECLAIM_UNITS: u32 = 10_000;

/// The reclaim units in columns of equal length, by number.
///
/// For a device with more than 10,000 reclaim units, every `stride`-th is listed, starting with the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReclaimUnits {
    /// Number of reclaim units of the device.
    pub count: u32,
    /// Distance between two listed reclaim units: 1 if all are listed.
    pub stride: u32,
    /// Size of a reclaim unit, pages.
    pub pages: u32,
    /// Handles that own a listed reclaim unit, and `gc`: the values of `owner`.
    pub owners: Vec<HandleKey>,
    /// The handle whose data it holds, as an index into `owners`; -1 if it is free or retired.
    pub owner: Vec<i32>,
    /// Number of valid pages.
    pub valid: Vec<u32>,
    /// Number of erases, including preconditioning.
    pub erases: Vec<u32>,
    /// Indices of the open reclaim units in the columns.
    pub open: Vec<u32>,
    /// Indices of the retired reclaim units in the columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retired: Vec<u32>,
}

impl ReclaimUnits {
    /// Checks that all columns have the same length and every index is in range.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.stride == 0 {
            return Err("stride must be above 0".to_owned());
        }
        let count = self.owner.len();
        let owners = self.owners.len() as i64;
        let whole = self.valid.len() == count
            && self.erases.len() == count
            && self.owner.iter().all(|o| (-1..owners).contains(&i64::from(*o)))
            && self.open.iter().all(|at| self.owner.get(*at as usize).is_some_and(|o| *o >= 0))
            && self.retired.iter().all(|at| self.owner.get(*at as usize) == Some(&-1));
        if whole { Ok(()) } else { Err("the columns do not fit together".to_owned()) }
    }

    /// Returns the numbers of free, open and closed reclaim units; in a thinned table, each entry counts `stride`
    /// times.
    pub fn free_open_closed(&self) -> [u64; 3] {
        let owned = self.owner.iter().filter(|owner| **owner >= 0).count();
        let free = self.owner.len() - owned - self.retired.len();
        [free, self.open.len(), owned - self.open.len()]
            .map(|count| count as u64 * u64::from(self.stride))
    }

    /// Returns the table of a device, thinned for a record.
    pub fn of<O: Observer>(device: &Device<O>) -> Self {
        Self::thinned(device, MOST_RECLAIM_UNITS)
    }

    /// Returns the table of a device with at most `most` entries.
    pub fn thinned<O: Observer>(device: &Device<O>, most: u32) -> Self {
        let geometry = device.geometry();
        let count = geometry.ru_count;
        let stride = count.div_ceil(most.max(1)).max(1);
        let listed = || (0..count).step_by(stride as usize).map(RuId);
        let key = |owner: Owner| match owner {
            Owner::Handle(handle) => HandleKey::Handle(handle.0),
            Owner::Gc => HandleKey::Gc,
        };
        let mut owners: Vec<HandleKey> =
            listed().filter_map(|ru| device.owner(ru)).map(key).collect();
        owners.sort_unstable();
        owners.dedup();
        let owner = |ru: RuId| match device.owner(ru) {
            Some(owner) => owners.binary_search(&key(owner)).map_or(-1, |index| index as i32),
            None => -1,
        };
        let open = |(i, ru): (usize, RuId)| {
            (device.owner(ru).is_some() && !device.is_closed(ru)).then_some(i as u32)
        };
        ReclaimUnits {
            count,
            stride,
            pages: geometry.pages_per_ru,
            owner: listed().map(owner).collect(),
            valid: listed().map(|ru| device.valid_pages(ru)).collect(),
            erases: listed().map(|ru| device.erase_count(ru)).collect(),
            open: listed().enumerate().filter_map(open).collect(),
            retired: (0..)
                .zip(listed())
                .filter(|(_, ru)| device.is_retired(*ru))
                .map(|(i, _)| i)
                .collect(),
            owners,
        }
    }
}

#[cfg(test)]
mod tests;
