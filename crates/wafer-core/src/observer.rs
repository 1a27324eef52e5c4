//! Named hooks into the device, at reclaim unit granularity.

use crate::event::FdpEvent;
use crate::ids::{RgId, RuId, RuhId};

/// Whose data a reclaim unit holds.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub enum Owner {
    /// Written through this handle, or (persistently isolated) relocated from it.
    Handle(RuhId),
    /// Relocated data of all initially isolated handles.
    Gc,
}

/// One garbage collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collection {
    /// The reclaim unit collected; free when the observer hears of it.
    pub victim: RuId,
    /// Its group.
    pub group: RgId,
    /// Whose data it held.
    pub owner: Owner,
    /// Valid pages that were moved.
    pub valid: u32,
    /// The reclaim unit that took the first of them, and the one that took the rest.
    pub destinations: [Option<RuId>; 2],
    /// Forced because free reclaim units were short, or in the background.
    pub forced: bool,
}

/// A reclaim unit that was closed: no more is written to it until it is erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// The reclaim unit.
    pub ru: RuId,
    /// Whose data it holds.
    pub owner: Owner,
    /// Filled by relocation rather than by a host.
    pub relocated: bool,
    /// Pages valid now.
    pub valid: u32,
    /// Pages never written (after a reclaim unit update).
    pub unwritten: u32,
}

/// Sees what the device does. Every hook is empty by default, and with `()` as observer the calls
/// vanish at compile time.
pub trait Observer {
    /// Whether the device keeps [`Attribution`](crate::Attribution): costs a few percent of speed and 4
    /// bytes per handle and reclaim unit.
    const ATTRIBUTION: bool = false;

    /// A reclaim unit was garbage-collected.
    fn collected(&mut self, collection: &Collection) {
        let _ = collection;
    }

    /// A reclaim unit was closed.
    fn closed(&mut self, closed: &Closed) {
        let _ = closed;
    }

    /// An FDP event.
    fn event(&mut self, event: &FdpEvent) {
        let _ = event;
    }
}

impl Observer for () {}
