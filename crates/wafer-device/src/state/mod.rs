//! The whole device as a value, which callers with files can save and continue from later.
//!
//! A restored device continues exactly as the saved one would have: counters, reclaim units, random numbers and the
//! policy's learned state are the same. Only an external policy that does not implement
//! [`VictimPolicy::save`](crate::policy::VictimPolicy::save) starts afresh. The map is not part of the value, because
//! it is a thousand times as large as everything else; it is read and written in place.
//!
//! A state comes from a file, which may be damaged or crafted. [`Device::restore`] checks every length, index and count
//! (`check.rs`) before the first command runs.

mod check;
mod error;

use std::ops::Range;

pub use error::StateError;
use serde::{Deserialize, Serialize};

use crate::config::DeviceConfig;
use crate::device::{Device, Slot};
use crate::firmware::Maintenance;
use crate::flash::segment::Segments;
use crate::flash::writers::Writers;
use wafer_interface::{Counters, HandleCounters, Observer};
use wafer_policies::DeviceRng;
use wafer_policies::Learned;
use wafer_policies::{MinIndex, ReclaimUnits};
use wafer_separation::Rule;
use wafer_translation::TranslationState;
use wafer_write_cache::WriteCache;

/// Everything about a device that its configuration and map do not contain, except the observer and the state of
/// attribution.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeviceState {
    /// Pages and reclaim unit handles of each namespace; both are empty for a deleted one.
    namespaces: Vec<(Range<u64>, Vec<u16>)>,
    segments: Segments,
    rus: ReclaimUnits,
    slots: Vec<Slot>,
    floors: Vec<u64>,
    policy_rng: DeviceRng,
    counters: Counters,
    handles: Vec<HandleCounters>,
    clock: u64,
    granted: u64,
    writers: Writers,
    /// For each handle, the group for writes that name none.
    chosen_groups: Vec<u16>,
    separation: Option<Rule>,
    learned: Option<Learned>,
    caches: Vec<WriteCache>,
    maintenance: Option<Maintenance>,
    translated: Option<TranslationState>,
    read_only: bool,
}

impl<O: Observer> Device<O> {
    /// Returns the current state of the device, without its map.
    pub fn state(&self) -> DeviceState {
        let (pages, handles) = (&self.geometry.namespaces, &self.geometry.namespace_handles);
        DeviceState {
            namespaces: pages.iter().cloned().zip(handles.iter().cloned()).collect(),
            segments: self.segments.clone(),
            rus: self.rus.clone(),
            slots: self.slots.clone(),
            floors: self.groups.iter().map(|g| g.floor).collect(),
            policy_rng: self.policy_rng.clone(),
            counters: self.counters,
            handles: self.handles.clone(),
            clock: self.clock,
            granted: self.granted,
            writers: self.writers.clone(),
            chosen_groups: self.chosen.iter().map(|slot| self.group_of(*slot)).collect(),
            separation: self.separation.clone(),
            learned: match &self.tuner {
                Some(tuner) => Some(tuner.save(&self.miniatures, self.policy.save())),
                None => self.policy.save(),
            },
            caches: self.caches.clone(),
            maintenance: self.maintenance.as_deref().cloned(),
            read_only: self.read_only,
            translated: self.translated.as_ref().map(|translated| translated.table.state()),
        }
    }

    /// Returns the map: a label for each logical page, 4 bytes in this machine's byte order.
    pub fn map_bytes(&self) -> &[u8] {
        zerocopy::IntoBytes::as_bytes(self.map.as_slice())
    }

    /// Creates a device of this configuration that continues from a state. `fill` receives the map, to be filled with
    /// the result of [`Self::map_bytes`]. Makes a pass over the map.
    ///
    /// # Errors
    /// The configuration is invalid, its sizes are not those of the state, the state is damaged, or `fill` fails.
    pub fn restore(
        config: &DeviceConfig,
        observer: O,
        state: DeviceState,
        fill: impl FnOnce(&mut [u8]) -> Result<(), String>,
    ) -> Result<Self, StateError> {
        let whole = DeviceConfig { namespaces: Vec::new(), ..config.clone() };
        let mut device = Self::with_observer(&whole, 0, observer)?;
        device.resume(state, fill)?;
        Ok(device)
    }

    /// Continues a fresh device of the same configuration from a state.
    pub(crate) fn resume(
        &mut self,
        state: DeviceState,
        fill: impl FnOnce(&mut [u8]) -> Result<(), String>,
    ) -> Result<(), StateError> {
        let mut learned = state.learned.clone();
        if let Some(mut tuner) = self.tuner.take() {
            let resumed = tuner.resume(&mut self.miniatures, learned.as_ref(), state.clock);
            learned = resumed.map_err(|message| StateError::damaged("learned", message))?;
            self.arrange(&tuner);
            self.tuner = Some(tuner);
        }
        let sizes = [
            ("reclaim units", self.rus.units.len(), state.rus.units.len()),
            ("open reclaim units", self.slots.len(), state.slots.len()),
            ("reclaim groups", self.groups.len(), state.floors.len()),
            ("handles", self.handles.len() - 1, state.handles.len().wrapping_sub(1)),
        ];
        for (what, ours, theirs) in sizes {
            if ours != theirs {
                return Err(StateError::Sizes(format!("{theirs} {what}, not {ours}")));
            }
        }
        check::namespaces(&state.namespaces, &self.geometry)?;
        let pages = self.geometry.logical_pages;
        let map = self.map.run_mut(0, pages);
        fill(zerocopy::IntoBytes::as_mut_bytes(map)).map_err(StateError::Map)?;

        self.take(state)?;
        self.check()?;
        self.check_grouped()?;
        self.list_pages();
        self.teach(learned)
    }

    /// Restores all values of a state except the learned state of the policy. None of them is used before
    /// [`Self::check`].
    fn take(&mut self, state: DeviceState) -> Result<(), StateError> {
        match (&mut self.separation, state.separation) {
            (None, None) => {}
            (Some(rule), Some(saved)) => rule
                .resume(saved, state.clock)
                .map_err(|message| StateError::damaged("separation", message))?,
            _ => return Err(StateError::damaged("separation", "another than configured")),
        }
        (self.geometry.namespaces, self.geometry.namespace_handles) =
            state.namespaces.into_iter().unzip();
        self.place_namespaces();
        self.segments = state.segments;
        self.rus = state.rus;
        self.rus.index = MinIndex::new(self.rus.valid.len());
        self.slots = state.slots;
        for (group, floor) in self.groups.iter_mut().zip(state.floors) {
            group.floor = floor;
        }
        self.policy_rng = state.policy_rng;
        self.counters = state.counters;
        self.handles = state.handles;
        self.clock = state.clock;
        self.granted = state.granted;
        self.writers = state.writers;
        let known = |group: &u16| usize::from(*group) < self.groups.len();
        let chosen = state.chosen_groups;
        if chosen.len() != self.chosen.len() || !chosen.iter().all(known) {
            return Err(StateError::damaged("chosen_groups", "not one for each handle"));
        }
        self.choose(|handle| u32::from(chosen[handle]));
        self.read_only = state.read_only;
        self.take_translated(state.translated)?;
        self.take_firmware(state.caches, state.maintenance)
    }

    /// Restores the state of the translation pages, in memory and in flash.
    fn take_translated(&mut self, saved: Option<TranslationState>) -> Result<(), StateError> {
        match (&mut self.translated, saved) {
            (None, None) => Ok(()),
            (Some(ours), Some(saved)) => ours
                .table
                .resume(saved)
                .map_err(|message| StateError::damaged("translated", message)),
            _ => Err(StateError::damaged("translated", "other than configured")),
        }
    }

    /// Restores the contents of caches, and the state of media maintenance.
    fn take_firmware(
        &mut self,
        caches: Vec<WriteCache>,
        maintenance: Option<Maintenance>,
    ) -> Result<(), StateError> {
        if caches.len() != self.caches.len() {
            return Err(StateError::damaged("caches", "others than configured"));
        }
        let size = self.geometry.blocks_per_page();
        let namespaces = &self.namespaces;
        for (ours, saved) in self.caches.iter_mut().zip(caches) {
            ours.resume(saved, |n| namespaces.get(n.index()).map(|n| n.blocks / size))
                .map_err(|message| StateError::damaged("caches", message))?;
        }
        match (&mut self.maintenance, maintenance) {
            (None, None) => Ok(()),
            (Some(ours), Some(saved)) if ours.reads.len() == saved.reads.len() => {
                **ours = saved;
                Ok(())
            }
            _ => Err(StateError::damaged("maintenance", "other than configured")),
        }
    }

    /// Restores the learned state of the policy. A policy that learns cannot continue without it, because the device
    /// would not be the saved one.
    fn teach(&mut self, learned: Option<Learned>) -> Result<(), StateError> {
        let damaged = |message: String| StateError::damaged("learned", message);
        match (self.policy.save(), learned) {
            (None, None) => Ok(()),
            (Some(_), Some(learned)) => self
                .view(0..self.geometry.ru_count, false, 0, |policy, rus| policy.load(&learned, rus))
                .map_err(damaged),
            (Some(_), None) => Err(damaged("what the policy had learned is missing".to_owned())),
            (None, Some(_)) => Err(damaged("the policy keeps nothing".to_owned())),
        }
    }
}
