//! The whole device as a value, so that whoever has files can save it and go on with it later.
//!
//! A device that was restored goes on exactly as the one that was saved would have: its counters,
//! its reclaim units and its random numbers are the same. Only what a policy has learned (`adaptive`,
//! `look-ahead`, `hazard`, the quotas) begins anew. The map is not part of the value, for it is as
//! large as everything else a thousand times over: it is read and written in place.

use serde::{Deserialize, Serialize};

use crate::config::DeviceConfig;
use crate::counters::{Counters, HandleCounters};
use crate::death_time::DeathTimes;
use crate::device::{Device, NamespaceLayout, Slot};
use crate::error::ConfigError;
use crate::observer::Observer;
use crate::reclaim::ReclaimUnits;
use crate::rng::DeviceRng;
use crate::segment::Segments;
use crate::separate::Separator;
use crate::writers::Writers;

/// Everything of a device that its configuration and its map do not say. The observer, and what attribution
/// counts, are not part of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeviceState {
    namespaces: Vec<NamespaceLayout>,
    namespace_handles: Vec<Vec<u16>>,
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
    separator: Option<Separator>,
    deaths: Option<DeathTimes>,
}

/// Why a device cannot be restored.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The configuration cannot work.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The state is of a device of other sizes.
    #[error("the state is of a device with {0}")]
    Sizes(String),
    /// The map cannot be read.
    #[error("the map: {0}")]
    Map(String),
}

impl<O: Observer> Device<O> {
    /// The device as it is now, without its map.
    pub fn state(&self) -> DeviceState {
        DeviceState {
            namespaces: self.namespaces.clone(),
            namespace_handles: self.geometry.namespace_handles.clone(),
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
            separator: self.separator.clone(),
            deaths: self.deaths.clone(),
        }
    }

    /// The map: for each logical page a label, 4 bytes in the order of this machine.
    pub fn map_bytes(&self) -> &[u8] {
        zerocopy::IntoBytes::as_bytes(self.map.as_slice())
    }

    /// A device of this configuration that goes on from a state. `fill` gets the map to fill with what
    /// [`Self::map_bytes`] gave; policies of the configuration keep no state of their own.
    ///
    /// # Errors
    /// The configuration cannot work, its sizes are not those of the state, or `fill` fails.
    pub fn restore(
        config: &DeviceConfig,
        observer: O,
        state: DeviceState,
        fill: impl FnOnce(&mut [u8]) -> Result<(), String>,
    ) -> Result<Self, StateError> {
        let whole = DeviceConfig { namespaces: Vec::new(), ..config.clone() };
        let mut device = Self::with_observer(&whole, 0, observer)?;
        let sizes = [
            ("reclaim units", device.rus.units.len(), state.rus.units.len()),
            ("open reclaim units", device.slots.len(), state.slots.len()),
            ("reclaim groups", device.groups.len(), state.floors.len()),
            ("handles", device.handles.len() - 1, state.handles.len().wrapping_sub(1)),
        ];
        for (what, ours, theirs) in sizes {
            if ours != theirs {
                return Err(StateError::Sizes(format!("{theirs} {what}, not {ours}")));
            }
        }
        let blocks = device.geometry.blocks_per_page();
        let pages = |n: &NamespaceLayout| n.first_page..n.first_page + n.blocks / blocks;
        let ranges: Vec<_> = state.namespaces.iter().map(pages).collect();
        if ranges.iter().any(|r| r.end > device.geometry.logical_pages) {
            return Err(StateError::Sizes("namespaces beyond the capacity".to_owned()));
        }
        let logical_pages = device.geometry.logical_pages;
        let map = device.map.run_mut(0, logical_pages);
        fill(zerocopy::IntoBytes::as_mut_bytes(map)).map_err(StateError::Map)?;
        let labels = state.segments.hot.len();
        if device.map.as_slice().iter().any(|label| *label as usize >= labels) {
            return Err(StateError::Map("labels that there are not".to_owned()));
        }
        device.geometry.namespaces = ranges;
        device.geometry.namespace_handles = state.namespace_handles;
        device.namespaces = state.namespaces;
        device.segments = state.segments;
        device.rus = state.rus;
        device.slots = state.slots;
        if let (Some(separator), Some(saved)) = (&mut device.separator, state.separator) {
            separator.go_on(saved);
        }
        if let (Some(deaths), Some(saved)) = (&mut device.deaths, state.deaths) {
            deaths.go_on(saved);
        }
        for (group, floor) in device.groups.iter_mut().zip(state.floors) {
            group.floor = floor;
        }
        device.policy_rng = state.policy_rng;
        device.counters = state.counters;
        device.handles = state.handles;
        device.clock = state.clock;
        device.granted = state.granted;
        device.writers = state.writers;
        Ok(device)
    }
}
