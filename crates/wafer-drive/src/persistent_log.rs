//! The persistent event log: events over the life of a drive, across restarts. The oldest are dropped first.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{HardwareErrorCode, HardwareErrorEvent, PersistentEventHead, PersistentEventLog};

/// Maximum bytes of the log page, including its header: the unit of PELS in Identify Controller.
pub const MAX_PERSISTENT_LOG: usize = 64 << 10;
/// Controller ID of an event that belongs to no controller.
pub const NO_CONTROLLER: u16 = 0xffff;

/// A persistent event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersistentEvent {
    /// A [`PersistentEventType`](wafer_nvme::PersistentEventType).
    pub kind: u8,
    /// The controller that it belongs to, or [`NO_CONTROLLER`].
    pub controller: u16,
    /// The Timestamp feature: milliseconds and attributes.
    pub timestamp: (u64, u8),
    /// Data, as defined for the type of the event.
    pub data: Vec<u8>,
}

impl PersistentEvent {
    /// Returns its size in the log page.
    fn bytes(&self) -> usize {
        size_of::<PersistentEventHead>() + self.data.len()
    }
}

/// The log, in the form that a checkpoint stores.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PersistentLog {
    /// Oldest first.
    pub(crate) events: VecDeque<PersistentEvent>,
    /// Number of reporting contexts. It may decrease when a server is killed.
    pub(crate) generation: u16,
    /// Uptime when a media error was last logged.
    #[serde(skip)]
    pub(crate) media_error: Option<Duration>,
}

impl PersistentLog {
    /// Adds an event, and drops the oldest events to make room for it.
    pub(crate) fn push(&mut self, event: PersistentEvent) {
        let room = MAX_PERSISTENT_LOG - size_of::<PersistentEventLog>();
        if event.bytes() > room {
            return;
        }
        self.events.push_back(event);
        let mut bytes: usize = self.events.iter().map(PersistentEvent::bytes).sum();
        while bytes > room {
            bytes -= self.events.pop_front().map_or(bytes, |event| event.bytes());
        }
    }
}

/// Returns the data of a hardware error with its additional information.
pub fn hardware_error(code: HardwareErrorCode, information: &[u8]) -> Vec<u8> {
    let event = HardwareErrorEvent { code: code.0.into(), ..Default::default() };
    [event.as_bytes(), information].concat()
}
