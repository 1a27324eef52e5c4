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

/// Why media is read or programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A host read.
    HostRead,
    /// A host write through this handle.
    HostWrite(RuhId),
    /// A host write of a part of a page through this handle: the rest is read first.
    ReadModifyWrite(RuhId),
    /// Garbage collection of this reclaim unit.
    Relocation {
        /// The reclaim unit collected.
        victim: RuId,
    },
}

/// Work on the media: what a model of time or energy consumes.
///
/// Programs are exact in place and order: each is a run of pages within one segment, so at most 1/64 of a
/// reclaim unit for a host. Together with parity they are the media bytes written. Reads name the reclaim unit and the
/// logical pages but not their place, which the device does not track; of a page whose segment lies in two reclaim units, the read
/// names the first. A page that was never written is not read; nor is one that waits in a write buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaWork {
    /// Pages are read.
    Read {
        /// The reclaim unit that holds them.
        ru: RuId,
        /// The first logical page, numbered over all namespaces; 0 for relocation, whose pages are not a run.
        first: u64,
        /// How many.
        pages: u32,
        /// Why.
        cause: Cause,
    },
    /// Consecutive pages are programmed.
    Program {
        /// The reclaim unit.
        ru: RuId,
        /// The first page within the reclaim unit.
        first: u32,
        /// How many.
        pages: u32,
        /// Why.
        cause: Cause,
    },
    /// Parity of a reclaim unit is programmed, in addition to its pages.
    Parity {
        /// The reclaim unit.
        ru: RuId,
        /// How many pages.
        pages: u32,
    },
    /// A reclaim unit is erased.
    Erase {
        /// The reclaim unit.
        ru: RuId,
    },
    /// Translation pages of a map that is not entirely in memory are read and programmed, outside the reclaim units
    /// ([`FirmwareConfig::mapping_cache`](crate::FirmwareConfig::mapping_cache)).
    Map {
        /// Pages read.
        reads: u32,
        /// Pages programmed.
        programs: u32,
    },
    /// Pages of a host are programmed to the SLC cache
    /// ([`FirmwareConfig::slc_cache`](crate::FirmwareConfig::slc_cache)).
    CacheProgram {
        /// How many pages.
        pages: u32,
    },
    /// Pages are read from the SLC cache for a host, or the rest of one that a host writes in part.
    CacheRead {
        /// The first logical page, numbered over all namespaces.
        first: u64,
        /// How many.
        pages: u32,
    },
    /// Pages are read from the SLC cache to be folded: the programs and partial reads of a host that follow in the
    /// same command are theirs.
    Fold {
        /// How many pages.
        pages: u32,
    },
}

/// Sees what the device does. Every hook is empty by default, and with `()` as observer the calls
/// vanish at compile time.
pub trait Observer {
    /// Returns whether the device keeps attribution, whose writes relocate whose data: costs a few percent of speed and 4
    /// bytes per handle and reclaim unit. Asked once, when the device is made.
    fn wants_attribution(&self) -> bool {
        false
    }

    /// Returns whether the device reports its [`MediaWork`]. Asked before each report.
    #[inline(always)]
    fn wants_media(&self) -> bool {
        false
    }

    /// Reports work on the media, in the order in which the device does it.
    fn media(&mut self, work: &MediaWork) {
        let _ = work;
    }

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
