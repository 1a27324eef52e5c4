//! FDP events and wear.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wafer_device::Device;
use wafer_interface::{FdpEvent, Observer, RuId};

use crate::Event;

/// Number of FDP events by type, excluding preconditioning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Events {
    /// 0x00, reclaim unit not fully written: a host moved a handle to another reclaim unit early.
    pub ru_not_fully_written: u64,
    /// 0x01, reclaim unit time limit exceeded: a handle's reclaim unit was open for too long.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub time_limit_exceeded: u64,
    /// 0x03, invalid placement identifier: the namespace of the write does not define it.
    pub invalid_placement_identifier: u64,
    /// 0x80, media reallocated: GC relocated data.
    pub media_reallocated: u64,
    /// 0x81, implicitly modified handle: data was written to a reclaim group other than the one named.
    pub implicitly_modified_ruh: u64,
}

/// Returns whether to omit a count, which is 0 in most runs.
fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl Events {
    /// Returns the number of events of all types.
    pub fn total(&self) -> u64 {
        let Events {
            ru_not_fully_written,
            time_limit_exceeded,
            invalid_placement_identifier,
            media_reallocated,
            implicitly_modified_ruh,
        } = self;
        ru_not_fully_written
            + time_limit_exceeded
            + invalid_placement_identifier
            + media_reallocated
            + implicitly_modified_ruh
    }
}

/// Erases per reclaim unit, including preconditioning.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Wear {
    /// Erases of the least worn reclaim unit.
    pub least: u32,
    /// Erases of the most worn reclaim unit.
    pub most: u32,
    /// Mean over all reclaim units.
    pub mean: f64,
    /// Retired reclaim units.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retired: u64,
    /// Whether the drive became read-only, which ended the run, because it could not spare a worn reclaim unit.
    #[serde(default, skip_serializing_if = "is_false")]
    pub read_only: bool,
}

impl Wear {
    /// Returns the wear of a device. Visits all reclaim units.
    pub fn of<O: Observer>(device: &Device<O>) -> Self {
        let count = device.geometry().ru_count;
        let erases = || (0..count).map(|ru| device.erase_count(RuId(ru)));
        Wear {
            least: erases().min().unwrap_or(0),
            most: erases().max().unwrap_or(0),
            mean: erases().map(f64::from).sum::<f64>() / f64::from(count.max(1)),
            retired: device.retired_rus() as u64,
            read_only: device.check_writable().is_err(),
        }
    }
}

/// Names of the types of FDP events (NVMe Base 2.1, FDP Events log page), by number.
const TYPES: [(u8, &str); 6] = [
    (0x00, "reclaim unit not fully written"),
    (0x01, "reclaim unit time limit exceeded"),
    (0x02, "reset modified handles"),
    (0x03, "invalid placement identifier"),
    (0x80, "media reallocated"),
    (0x81, "implicitly modified handle"),
];

/// Returns the name of an event type.
pub fn event_name(number: u8) -> String {
    let known = TYPES.iter().find(|(n, _)| *n == number);
    known.map_or_else(|| format!("type {number:#04x}"), |(_, name)| (*name).to_owned())
}

impl Events {
    /// Counts an event.
    pub fn count(&mut self, event: &FdpEvent) {
        *match event {
            FdpEvent::RuNotFullyWritten { .. } => &mut self.ru_not_fully_written,
            FdpEvent::TimeLimitExceeded { .. } => &mut self.time_limit_exceeded,
            FdpEvent::InvalidPlacementIdentifier { .. } => &mut self.invalid_placement_identifier,
            FdpEvent::MediaReallocated { .. } => &mut self.media_reallocated,
            FdpEvent::ImplicitlyModifiedRuh { .. } => &mut self.implicitly_modified_ruh,
        } += 1;
    }

    /// Returns the counts of events from counts by type name, ignoring other types.
    pub fn of_names(counts: &[(String, u64)]) -> Self {
        let count = |number| {
            let name = event_name(number);
            counts.iter().filter(|(given, _)| *given == name).map(|(_, count)| count).sum()
        };
        Events {
            ru_not_fully_written: count(0x00),
            time_limit_exceeded: count(0x01),
            invalid_placement_identifier: count(0x03),
            media_reallocated: count(0x80),
            implicitly_modified_ruh: count(0x81),
        }
    }

    /// Returns the number of events by type name; empty before the first event.
    pub fn by_name(&self) -> Vec<(String, u64)> {
        if self.total() == 0 {
            return Vec::new();
        }
        [
            (0x00, self.ru_not_fully_written),
            (0x01, self.time_limit_exceeded),
            (0x03, self.invalid_placement_identifier),
            (0x80, self.media_reallocated),
            (0x81, self.implicitly_modified_ruh),
        ]
        .into_iter()
        .filter(|(number, count)| *number != 0x01 || *count > 0)
        .map(|(number, count)| (event_name(number), count))
        .collect()
    }
}

impl Event {
    /// Describes an event of a device.
    pub fn of(number: u64, seconds: f64, event: &FdpEvent) -> Self {
        let text = match event {
            FdpEvent::RuNotFullyWritten { group, handle, unwritten_pages }
            | FdpEvent::TimeLimitExceeded { group, handle, unwritten_pages } => {
                format!("reclaim group {group}, handle {handle}, {unwritten_pages} pages")
            }
            FdpEvent::InvalidPlacementIdentifier { namespace, placement } => {
                let namespace = u32::from(namespace.0) + 1;
                format!("namespace {namespace}, placement identifier {}", placement.0)
            }
            FdpEvent::MediaReallocated { group, handle: Some(handle), pages } => {
                format!("reclaim group {group}, handle {handle}, {pages} pages")
            }
            FdpEvent::MediaReallocated { group, handle: None, pages } => {
                format!("reclaim group {group}, relocated data, {pages} pages")
            }
            FdpEvent::ImplicitlyModifiedRuh { group, handle, used } => {
                format!("reclaim group {group}, handle {handle}, written to group {used}")
            }
        };
        Event { number, seconds, kind: event_name(event.event_type()), text }
    }
}
