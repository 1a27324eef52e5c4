//! Hooks into the device, at reclaim unit granularity.

use crate::event::FdpEvent;
use crate::ids::{RgId, RuId, RuhId};

/// The owner of the data in a reclaim unit.
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
    /// The collected reclaim unit, which is free when the observer is called.
    pub victim: RuId,
    /// The group of the victim.
    pub group: RgId,
    /// The owner of its data.
    pub owner: Owner,
    /// Number of relocated valid pages.
    pub valid: u32,
    /// The reclaim unit that received the first of them, and the one that received the rest.
    pub destinations: [Option<RuId>; 2],
    /// Whether it was forced because few reclaim units were free, and not in the background.
    pub forced: bool,
}

/// A closed reclaim unit: nothing more is written to it until it is erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// The reclaim unit.
    pub ru: RuId,
    /// The owner of its data.
    pub owner: Owner,
    /// Whether it was filled by relocation rather than by a host.
    pub relocated: bool,
    /// Number of pages that are valid now.
    pub valid: u32,
    /// Number of pages never written (after a reclaim unit update).
    pub unwritten: u32,
}

/// Why media is read or programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A host read.
    HostRead,
    /// A host write through this handle.
    HostWrite(RuhId),
    /// A host write of a part of a page through this handle; the rest is read first.
    ReadModifyWrite(RuhId),
    /// Garbage collection of this reclaim unit.
    Relocation {
        /// The reclaim unit collected.
        victim: RuId,
    },
}

/// Work on the media, as input for models of time or energy.
///
/// Programs are exact in place and order: each is a run of pages within one segment, so at most 1/64 of a reclaim unit
/// for a host. Together with those of parity, the SLC cache and the map, they are the media bytes written. Reads name
/// the reclaim unit and the logical pages, but not their place in it, which the device does not track; if the segment
/// of a page lies in two reclaim units, the read names the first. A page that was never written or that waits in a
/// write buffer is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaWork {
    /// Pages are read.
    Read {
        /// The reclaim unit that holds them.
        ru: RuId,
        /// The first logical page, numbered over all namespaces; 0 for relocation, whose pages are not consecutive.
        first: u64,
        /// Number of pages.
        pages: u32,
        /// The cause.
        cause: Cause,
    },
    /// Consecutive pages are programmed.
    Program {
        /// The reclaim unit.
        ru: RuId,
        /// The first page within the reclaim unit.
        first: u32,
        /// Number of pages.
        pages: u32,
        /// The cause.
        cause: Cause,
    },
    /// Parity of a reclaim unit is programmed, in addition to its pages.
    Parity {
        /// The reclaim unit.
        ru: RuId,
        /// Number of pages.
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
        /// Number of pages.
        pages: u32,
    },
    /// Pages are read from the SLC cache, for a host or to complete a partly written page.
    CacheRead {
        /// The first logical page, numbered over all namespaces.
        first: u64,
        /// Number of pages.
        pages: u32,
    },
    /// Pages are read from the SLC cache to be folded. The host programs and partial reads that follow in the same
    /// command are for these pages.
    Fold {
        /// Number of pages.
        pages: u32,
    },
}

/// Observes a device. Every hook is empty by default, and with `()` as the observer, the calls vanish at compile time.
pub trait Observer {
    /// Returns whether the device keeps attribution of relocations to handles, which costs about 15 % of speed and 4
    /// bytes per handle and reclaim unit. Called once, when the device is created.
    fn wants_attribution(&self) -> bool {
        false
    }

    /// Returns whether the device reports its [`MediaWork`]. Called before each report.
    #[inline(always)]
    fn wants_media(&self) -> bool {
        false
    }

    /// Reports work on the media, in the order in which the device does it.
    fn media(&mut self, work: &MediaWork) {
        let _ = work;
    }

    /// Reports that a reclaim unit was garbage-collected.
    fn collected(&mut self, collection: &Collection) {
        let _ = collection;
    }

    /// Reports that a reclaim unit was closed.
    fn closed(&mut self, closed: &Closed) {
        let _ = closed;
    }

    /// Reports an FDP event.
    fn event(&mut self, event: &FdpEvent) {
        let _ = event;
    }
}

impl Observer for () {}
