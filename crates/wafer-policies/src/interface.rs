//! The interface of policies, and their view of the device.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::config::{Destination, GcConfig};
use crate::rng::DeviceRng;
use crate::units::{NOT_CLOSED, ReclaimUnits};
use wafer_interface::InvalidKey;
use wafer_interface::{Owner, RuId, RuhId};
use wafer_separation::Separation;

/// Chooses victims.
///
/// The device guarantees that `rus` has at least one candidate. The policy must return a candidate, or `None` to leave
/// all alone. Only background GC accepts that; if space is needed, the device then takes the candidate with the fewest
/// valid pages.
pub trait VictimPolicy: Send {
    /// Returns the next victim among [`RuView::candidates`].
    fn select(&mut self, rus: &mut RuView<'_>) -> Option<RuId>;

    /// Returns the open reclaim unit that receives the valid pages of `victim`: one of the [`RuView::classes`], from 0;
    /// or `None` to follow `gc.destination`. Called once per collection, even if the device chose the victim.
    fn destination(&mut self, _victim: RuId, _rus: &mut RuView<'_>) -> Option<u8> {
        None
    }

    /// Returns what the policy has learned, to be saved with the device; `None` for a policy that keeps no state
    /// between choices.
    fn save(&self) -> Option<Learned> {
        None
    }

    /// Continues from the result of [`Self::save`]. `rus` shows all reclaim units of the restored device: a policy must
    /// reject state that does not fit them, because it comes from a file.
    ///
    /// # Errors
    /// What is wrong, in a few words.
    fn load(&mut self, learned: &Learned, rus: &RuView<'_>) -> Result<(), String> {
        let _ = (learned, rus);
        Err("this policy keeps nothing".to_owned())
    }

    /// Starts from what the same policy has learned and [saved](Self::save) on a smaller device that sees a sample of
    /// the same commands. Without this method, a policy starts from nothing.
    fn inherit(&mut self, _learned: &Learned, _smaller: Smaller, _rus: &RuView<'_>) {}
}

/// How a device differs from the smaller device that a policy learned on.
#[derive(Clone, Copy, Debug)]
pub struct Smaller {
    /// Pages per reclaim unit of the smaller device.
    pub pages_per_ru: u32,
    /// Pages of this device per page of the smaller one, written or in total.
    pub pages: f64,
}

/// A function, which keeps no state between choices.
impl<F: FnMut(&mut RuView<'_>) -> Option<RuId> + Send> VictimPolicy for F {
    fn select(&mut self, rus: &mut RuView<'_>) -> Option<RuId> {
        self(rus)
    }
}

/// The learned state of a policy, as part of a saved device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Learned(Vec<u8>);

impl Learned {
    /// Packs a value.
    ///
    /// # Panics
    /// If the value cannot be serialised, such as a sequence of unknown length.
    pub fn pack(value: &impl Serialize) -> Self {
        Learned(postcard::to_allocvec(value).expect("a value of known length"))
    }

    /// Unpacks a value that [`Self::pack`] packed.
    ///
    /// # Errors
    /// The bytes are not such a value.
    pub fn unpack<T: DeserializeOwned>(&self) -> Result<T, String> {
        postcard::from_bytes(&self.0).map_err(|e| e.to_string())
    }
}

/// A policy that a configuration can name.
pub struct PolicyInfo {
    /// Value of `gc.policy`.
    pub name: &'static str,
    /// One line for `wafer policies`.
    pub summary: &'static str,
    /// Destination of relocated data if the configuration does not set one.
    pub destination: Destination,
    /// How data of a handle is separated if the configuration sets neither a separation nor a destination and enough
    /// reclaim units are spare.
    pub separation: Option<Separation>,
    /// Creates the policy from the configuration.
    pub make: fn(&GcConfig) -> Result<Box<dyn VictimPolicy>, InvalidKey>,
}

impl PolicyInfo {
    /// Describes a policy that requests neither a destination nor separation.
    pub(super) const fn by_isolation(
        name: &'static str,
        summary: &'static str,
        make: fn(&GcConfig) -> Result<Box<dyn VictimPolicy>, InvalidKey>,
    ) -> Self {
        PolicyInfo { name, summary, destination: Destination::Isolation, separation: None, make }
    }
}

/// The reclaim units of one group, as a policy sees them.
pub struct RuView<'a> {
    /// The reclaim units of the device.
    pub rus: &'a mut ReclaimUnits,
    /// The random numbers of policies.
    pub rng: &'a mut DeviceRng,
    /// Numbers of the group's reclaim units, candidates or not.
    pub range: std::ops::Range<u32>,
    /// Pages per reclaim unit.
    pub pages_per_ru: u32,
    /// Handles of the device.
    pub handles: usize,
    /// Host pages written to the device so far.
    pub now: u64,
    /// Whether space is needed. If not, this is background GC, which takes no victim with a valid share above
    /// `gc.background_max_valid`.
    pub forced: bool,
    /// Number of open reclaim units among which a policy may choose for a victim's data. Of its handle's:
    /// `gc.generations` with `gc.destination = "generation"`, four with `gc.separation`, else one. With
    /// `gc.destination = "writer"` those of all handles, in their order.
    pub classes: u8,
    /// In [`VictimPolicy::destination`] with `gc.destination = "writer"`: the handle whose command needs space; 0 in
    /// background GC and elsewhere.
    pub writer: RuhId,
}

impl RuView<'_> {
    /// Returns the closed reclaim units with their valid pages, in order of number.
    pub fn candidates(&self) -> impl Iterator<Item = (RuId, u32)> + '_ {
        self.range.clone().filter_map(|ru| self.valid(RuId(ru)).map(|v| (RuId(ru), v)))
    }

    /// Returns the valid pages of a candidate; `None` if the reclaim unit is open, free or of another group.
    pub fn valid(&self, ru: RuId) -> Option<u32> {
        if !self.range.contains(&ru.0) {
            return None;
        }
        let valid = self.rus.valid[ru.index()];
        (valid & NOT_CLOSED == 0).then_some(valid)
    }

    /// Returns the candidate with the fewest valid pages, the first of equals. Maintained incrementally, so it costs
    /// less than a walk over [`Self::candidates`].
    pub fn least_valid(&mut self) -> Option<RuId> {
        self.rus.index.least_valid(&self.rus.valid, self.range.clone()).map(RuId)
    }

    /// Returns the age of a candidate: host pages written to the device since it was closed.
    pub fn age(&self, ru: RuId) -> u64 {
        self.now - self.rus.closed_at[ru.index()]
    }

    /// Returns the position of a candidate in the order of closing: smaller is older.
    pub fn closed_order(&self, ru: RuId) -> u64 {
        self.rus.closed_order[ru.index()]
    }

    /// Returns how often a reclaim unit was erased.
    pub fn erases(&self, ru: RuId) -> u32 {
        self.rus.units[ru.index()].erases
    }

    /// Returns how often a candidate's data was moved, as far as that is kept apart; 0 for host writes. If the policy
    /// or separation chooses among [`Self::classes`]: 1 + the class.
    pub fn generation(&self, ru: RuId) -> u8 {
        self.rus.units[ru.index()].generation
    }

    /// Returns the class of host writes to a candidate if the drive separates, otherwise 0.
    pub fn host_class(&self, ru: RuId) -> u8 {
        self.rus.units[ru.index()].class
    }

    /// Returns the predicted death time of a candidate's data, in host pages written to the device, if it was grouped
    /// by that (`gc.separation = "deathtime"`).
    pub fn death_time(&self, ru: RuId) -> Option<u64> {
        Some(self.rus.units[ru.index()].death_time).filter(|time| *time > 0)
    }

    /// Returns the owner of a candidate's data.
    pub fn owner(&self, ru: RuId) -> Owner {
        self.rus.units[ru.index()].owner
    }

    /// Returns the candidate with the lowest score, or the first without valid pages.
    pub fn least_by(&self, score: fn(&Self, RuId, f64) -> f64) -> Option<RuId> {
        let mut best: Option<(f64, RuId)> = None;
        for (ru, valid) in self.candidates() {
            if valid == 0 {
                return Some(ru);
            }
            let score = score(self, ru, f64::from(valid));
            if best.is_none_or(|(least, _)| score < least) {
                best = Some((score, ru));
            }
        }
        best.map(|(_, ru)| ru)
    }

    /// Returns a uniform number in `0..bound`; `bound` must not be 0. The same seed yields the same numbers.
    pub fn draw(&mut self, bound: u32) -> u32 {
        self.rng.below(bound)
    }

    /// Returns a candidate drawn uniformly.
    pub fn draw_candidate(&mut self) -> Option<RuId> {
        let count = self.range.len() as u32;
        // Nearly all reclaim units are candidates while GC runs: a few draws suffice. The walk
        // bounds the worst case.
        for _ in 0..64 {
            let ru = RuId(self.range.start + self.rng.below(count));
            if self.valid(ru).is_some() {
                return Some(ru);
            }
        }
        let all: Vec<RuId> = self.candidates().map(|(ru, _)| ru).collect();
        (!all.is_empty()).then(|| all[self.rng.below(all.len() as u32) as usize])
    }
}
