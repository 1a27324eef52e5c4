//! The FDP event log: two rings, for host events and controller events, and the enabled events.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wafer_device::{Geometry, Isolation};
use wafer_interface::{FdpEvent, NsId, Placement, RgId, RuhId};
use wafer_nvme::FdpEventType;

/// Events per ring: as many as the log page can carry (63 entries of 64 bytes).
const RING: usize = 63;

/// The two classes of events: hosts cause host events, the drive causes controller events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventClass {
    /// Types 0x00 to 0x7f.
    Host,
    /// Types 0x80 to 0xff.
    Controller,
}

/// One logged event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRecord {
    /// Event type, as in the log page.
    pub event_type: u8,
    /// Milliseconds of the Timestamp feature, and its attributes.
    pub timestamp: (u64, u8),
    /// The placement identifier, if the event has one.
    #[serde(with = "pid")]
    pub placement: Option<Placement>,
    /// The namespace, if the event has one.
    pub namespace: Option<NsId>,
    /// Reclaim group and handle, if the event has them.
    pub location: Option<(RgId, RuhId)>,
    /// Pages moved (media reallocated) or not written (RU not fully written).
    pub pages: u32,
}

/// A placement identifier in a checkpoint.
mod pid {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use wafer_interface::Placement;

    pub(super) fn serialize<S: Serializer>(
        pid: &Option<Placement>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        pid.map(|pid| pid.0).serialize(to)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(
        from: D,
    ) -> Result<Option<Placement>, D::Error> {
        Ok(Option::deserialize(from)?.map(Placement))
    }
}

/// Event types in the order of their bits in a handle's mask. This drive never logs time limits and resets that modify
/// handles, but hosts may enable them.
pub(super) const TYPES: [FdpEventType; 6] = [
    FdpEventType::RU_NOT_FULLY_WRITTEN,
    FdpEventType::RU_TIME_LIMIT,
    FdpEventType::CONTROLLER_RESET,
    FdpEventType::INVALID_PLACEMENT_IDENTIFIER,
    FdpEventType::MEDIA_REALLOCATED,
    FdpEventType::IMPLICITLY_MODIFIED_RUH,
];

/// The log, which is part of a checkpoint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct EventLog {
    host: VecDeque<EventRecord>,
    controller: VecDeque<EventRecord>,
    /// For each handle, one bit per entry of [`TYPES`].
    enabled: Vec<u8>,
    /// Number of events logged by type, including overwritten ones.
    pub(crate) logged: [u64; TYPES.len()],
}

impl EventLog {
    pub(crate) fn new(handles: u16, all: bool) -> Self {
        let mask = if all { u8::MAX } else { 0 };
        EventLog {
            host: VecDeque::new(),
            controller: VecDeque::new(),
            enabled: vec![mask; usize::from(handles)],
            logged: [0; TYPES.len()],
        }
    }

    /// Returns the masks of all handles after enabling or disabling event types for one, or `None` if a type or the
    /// handle is unknown.
    pub(crate) fn masks_with(&self, handle: RuhId, types: &[u8], enable: bool) -> Option<Vec<u8>> {
        let bits: Option<Vec<usize>> = types.iter().map(|t| bit(*t)).collect();
        let mut masks = self.enabled.clone();
        let mask = masks.get_mut(handle.index())?;
        for bit in bits? {
            if enable {
                *mask |= 1 << bit;
            } else {
                *mask &= !(1 << bit);
            }
        }
        Some(masks)
    }

    /// Sets the masks of all handles. Returns whether their number is right.
    pub(crate) fn set_masks(&mut self, masks: Vec<u8>) -> bool {
        let fits = masks.len() == self.enabled.len();
        if fits {
            self.enabled = masks;
        }
        fits
    }

    /// Returns whether the log belongs to a device with this many handles.
    pub(crate) fn is_of(&self, handles: u16) -> bool {
        self.enabled.len() == usize::from(handles)
    }

    /// Returns each event type and whether it is enabled for a handle.
    pub(crate) fn supported(&self, handle: RuhId) -> Vec<(u8, bool)> {
        let mask = self.enabled.get(handle.index()).copied().unwrap_or(0);
        TYPES.iter().enumerate().map(|(at, t)| (t.0, mask & 1 << at != 0)).collect()
    }

    /// Returns the event types that are enabled for any handle.
    pub(crate) fn enabled(&self) -> impl Iterator<Item = FdpEventType> {
        let any = self.enabled.iter().fold(0, |any, mask| any | mask);
        TYPES.into_iter().enumerate().filter(move |(at, _)| any & 1 << at != 0).map(|(_, t)| t)
    }

    /// Returns the events of a class, oldest first.
    pub(crate) fn events(&self, class: EventClass) -> impl Iterator<Item = &EventRecord> {
        match class {
            EventClass::Host => self.host.iter(),
            EventClass::Controller => self.controller.iter(),
        }
    }

    /// Logs an event if it is enabled for the handle, or for any handle if that is unknown. Returns whether it is.
    pub(crate) fn log(&mut self, handle: Option<RuhId>, record: EventRecord) -> bool {
        let Some(bit) = bit(record.event_type) else { return false };
        let mut masks = self.enabled.iter().enumerate();
        if !masks.any(|(at, mask)| handle.is_none_or(|h| h.index() == at) && mask & 1 << bit != 0) {
            return false;
        }
        self.logged[bit] += 1;
        let ring = if record.event_type < 0x80 { &mut self.host } else { &mut self.controller };
        if ring.len() == RING {
            ring.pop_front();
        }
        ring.push_back(record);
        true
    }

    /// Logs a write whose placement identifier its namespace does not define. Returns whether the event is enabled.
    pub(crate) fn invalid_placement(
        &mut self,
        namespace: NsId,
        placement: Placement,
        timestamp: (u64, u8),
        geometry: &Geometry,
    ) -> bool {
        let list = geometry.namespace_handles.get(namespace.index());
        // Writes without a valid identifier go to placement handle 0. With several groups, their group varies.
        let handle = RuhId(list.and_then(|l| l.first()).copied().unwrap_or(0));
        let record = EventRecord {
            event_type: FdpEventType::INVALID_PLACEMENT_IDENTIFIER.0,
            timestamp,
            placement: Some(placement),
            namespace: Some(namespace),
            location: (geometry.groups == 1).then_some((RgId(0), handle)),
            pages: 0,
        };
        self.log(Some(handle), record)
    }

    /// Logs an event of the device. [`Drive::update`](crate::Drive::update) logs updates by hosts, because it knows
    /// their placement identifier and namespace.
    pub(crate) fn device_event(
        &mut self,
        event: &FdpEvent,
        timestamp: (u64, u8),
        geometry: &Geometry,
    ) {
        let (location, moved) = match *event {
            FdpEvent::RuNotFullyWritten { .. } => return,
            FdpEvent::InvalidPlacementIdentifier { namespace, placement } => {
                self.invalid_placement(namespace, placement, timestamp, geometry);
                return;
            }
            // The event is defined for initially isolated handles (Base 2.1, 5.1.12.1.31.2.1).
            FdpEvent::MediaReallocated { handle: Some(handle), .. }
                if geometry.isolation.get(handle.index()) == Some(&Isolation::Persistently) =>
            {
                return;
            }
            FdpEvent::MediaReallocated { group, handle, pages } => {
                (handle.map(|handle| (group, handle)), pages)
            }
            FdpEvent::TimeLimitExceeded { group, handle, .. }
            | FdpEvent::ImplicitlyModifiedRuh { group, handle, .. } => (Some((group, handle)), 0),
        };
        let record = EventRecord {
            event_type: event.event_type(),
            timestamp,
            placement: None,
            namespace: None,
            location,
            pages: moved,
        };
        self.log(location.map(|(_, handle)| handle), record);
    }
}

fn bit(event_type: u8) -> Option<usize> {
    TYPES.iter().position(|t| t.0 == event_type)
}
