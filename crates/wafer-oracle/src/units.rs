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

/// A reclaim unit.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) state: State,
    /// What fills or filled it.
    pub(crate) log: Log,
    /// Segments in order of writing.
    pub(crate) segments: Vec<SegmentId>,
    /// Pages written since it was erased.
    pub(crate) written: u32,
    /// The handle that invalidated each page that is not valid any more.
    pub(crate) invalidated: Vec<u16>,
    /// When its pages are expected to be overwritten, where they were put together by that; else 0.
    pub(crate) death: u64,
    /// Pages moved here by the handle that wrote them, where data of several handles mixes.
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

/// What is written to one open reclaim unit of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Log {
    /// What a host writes through a handle, by class where the device separates.
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

    /// How often its data was moved, as far as that is kept apart.
    pub(crate) fn generation(self) -> u8 {
        match self {
            Log::Host { .. } => 0,
            Log::Mixed => 1,
            Log::Moved { class, .. } => class + 1,
        }
    }

    /// The class of what a host wrote, or of relocated data.
    pub(crate) fn class(self) -> u8 {
        match self {
            Log::Host { class, .. } | Log::Moved { class, .. } => class,
            Log::Mixed => 0,
        }
    }

    /// The class of what a host wrote.
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
    /// Pages that it still takes.
    pub(crate) segment_room: u32,
}

/// The free reclaim units of each group and all units, as they are at first.
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
