//! FDP events (NVMe Base 2.1, FDP Events log page 0x23). The controller encodes them, and the caller adds the time
//! stamp.

use crate::command::Placement;
use crate::ids::{NsId, RgId, RuhId};

/// An event of data placement that the device itself detects.
///
/// Only a controller can detect one type of the specification: controller-level reset modified handles (0x02).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FdpEvent {
    /// 0x00: a host moved a handle to another reclaim unit before the last was fully written.
    RuNotFullyWritten {
        /// Reclaim group of the reclaim unit.
        group: RgId,
        /// The handle.
        handle: RuhId,
        /// Number of unwritten pages.
        unwritten_pages: u32,
    },
    /// 0x01: a reclaim unit was open for longer than its limit, and was closed.
    TimeLimitExceeded {
        /// Reclaim group of the reclaim unit.
        group: RgId,
        /// The handle.
        handle: RuhId,
        /// Number of unwritten pages.
        unwritten_pages: u32,
    },
    /// 0x03: a write named a placement identifier that its namespace does not define, and was placed like a write
    /// without a directive.
    InvalidPlacementIdentifier {
        /// The namespace.
        namespace: NsId,
        /// The placement identifier of the write.
        placement: Placement,
    },
    /// 0x80: garbage collection relocated data of a handle.
    MediaReallocated {
        /// Reclaim group.
        group: RgId,
        /// The handle whose data was relocated; `None` for data of the shared GC reclaim unit.
        handle: Option<RuhId>,
        /// Number of relocated pages.
        pages: u32,
    },
    /// 0x81: the device directed a handle's writes to a reclaim unit of another group, because the named group had
    /// almost nothing to reclaim.
    ImplicitlyModifiedRuh {
        /// The group that was named.
        group: RgId,
        /// The handle.
        handle: RuhId,
        /// The group that took the data.
        used: RgId,
    },
}

impl FdpEvent {
    /// Returns the event type as in the log page.
    pub fn event_type(&self) -> u8 {
        match self {
            FdpEvent::RuNotFullyWritten { .. } => 0x00,
            FdpEvent::TimeLimitExceeded { .. } => 0x01,
            FdpEvent::InvalidPlacementIdentifier { .. } => 0x03,
            FdpEvent::MediaReallocated { .. } => 0x80,
            FdpEvent::ImplicitlyModifiedRuh { .. } => 0x81,
        }
    }
}
