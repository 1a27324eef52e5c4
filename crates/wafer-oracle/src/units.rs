//! Reclaim units and the logs that fill them, as values. `oracle.rs` opens, closes and erases them.

use std::collections::VecDeque;

use wafer_interface::{Owner, RuhId};

use crate::pages::SegmentId;
use crate::sizes::Sizes;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Free,
    Open,
    Closed,
}

#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) state: State,
    /// The log that fills or filled it.
    pub(crate) log: Log,
    /// Segments in order of writing.
    pub(crate) segments: Vec<SegmentId>,
    /// Pages written since it was erased.
    pub(crate) written: u32,
    /// The handle that invalidated each page that is no longer valid.
    pub(crate) invalidated: Vec<u16>,
    /// When its pages are expected to be overwritten, if they are grouped by death time; else 0.
    pub(crate) death: u64,
    /// Relocated pages by the handle that wrote them, if data of several handles mixes here.
    pub(crate) origins: Vec<f64>,
    pub(crate) erases: u32,
    /// Pages read from it since it was erased.
    pub(crate) reads: u32,
    /// Host pages written to the device when it was opened.
    pub(crate) opened_at: u64,
    /// Host pages written to the device when it was closed.
    pub(crate) closed_at: u64,
    /// Its position in the order of closing.
    pub(crate) closed_order: u64,
}

/// A stream of writes to one open reclaim unit of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Log {
    /// Host writes through a handle, by class if the device separates.
    Host { handle: u16, class: u8 },
    /// Relocated data of all initially isolated handles.
    Mixed,
    /// Relocated data of one handle, by class.
    Moved { handle: u16, class: u8 },
}

impl Log {
    pub(crate) fn owner(self) -> Owner {
        match self {
            Log::Host { handle, .. } | Log::Moved { handle, .. } => Owner::Handle(RuhId(handle)),
            Log::Mixed => Owner::Gc,
        }
    }

    /// Returns how often its data was relocated, as far as generations are kept apart.
    pub(crate) fn generation(self) -> u8 {
        match self {
            Log::Host { .. } => 0,
            Log::Mixed => 1,
            Log::Moved { class, .. } => class + 1,
        }
    }

    /// Returns the class of host writes or of relocated data.
    pub(crate) fn class(self) -> u8 {
        match self {
            Log::Host { class, .. } | Log::Moved { class, .. } => class,
            Log::Mixed => 0,
        }
    }

    /// Returns the class of host writes.
    pub(crate) fn host_class(self) -> u8 {
        if let Log::Host { class, .. } = self { class } else { 0 }
    }
}

/// The open reclaim unit of a log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    pub(crate) unit: u32,
    /// The segment that a host is writing.
    pub(crate) segment: Option<SegmentId>,
    /// Number of pages that it can still take.
    pub(crate) segment_room: u32,
}

/// Returns the free reclaim units of each group and all units of a fresh device.
pub(crate) fn fresh(sizes: &Sizes) -> (Vec<VecDeque<u32>>, Vec<Unit>) {
    let unit = Unit {
        state: State::Free,
        log: Log::Mixed,
        segments: Vec::new(),
        written: 0,
        invalidated: Vec::new(),
        death: 0,
        origins: Vec::new(),
        erases: 0,
        reads: 0,
        opened_at: 0,
        closed_at: 0,
        closed_order: 0,
    };
    let free = (0..sizes.groups).map(|group| sizes.group(group).collect()).collect();
    (free, vec![unit; sizes.units as usize])
}
