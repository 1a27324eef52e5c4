//! A device at one moment, for live pages, running experiments and drives at the end of their use.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wafer_interface::{Counters, HandleCounters};

use crate::{HandleKey, ReclaimUnits, Summary, TimeRecord, Wear};

/// A device at one moment.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// Time since the run or the drive began, seconds: model time of a run with a clock.
    pub seconds: f64,
    /// Counters of the device.
    pub counters: Counters,
    /// Counters of each reclaim unit handle, and of the shared GC reclaim unit if there is one.
    pub handles: BTreeMap<HandleKey, HandleCounters>,
    /// State, connections and events.
    pub live: Live,
    /// Erases per reclaim unit, and wear of the media.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wear: Option<Wear>,
    /// The reclaim units; absent unless requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reclaim_units: Option<ReclaimUnits>,
    /// Latencies of a drive whose media run in real time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeRecord>,
}

/// State, connections and events of a device in use.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Live {
    /// What the device is doing, such as "running", "preconditioning", "serving" or "ended".
    pub state: String,
    /// Number of reclaim units that are free, open and closed.
    pub free_open_closed: [u64; 3],
    /// Connected hosts.
    pub connections: Vec<Connection>,
    /// Number of FDP events so far, by name of their type.
    pub event_counts: Vec<(String, u64)>,
    /// The newest FDP events, at most a few dozen, oldest first.
    pub events: Vec<Event>,
    /// Facts about a drive beyond its device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<DriveState>,
}

/// A connected host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Connection {
    /// Address of the host, or its controller.
    pub peer: String,
    /// NQN of the host, or another name.
    pub host: String,
    /// Number of I/O queues.
    pub queues: u32,
    /// Commands completed.
    pub commands: u64,
}

/// An FDP event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Sequence number over the life of the run or drive, from 1.
    pub number: u64,
    /// Time since the run or drive began, or since 1970 if a host has set the clock, seconds.
    pub seconds: f64,
    /// Name of the event type.
    pub kind: String,
    /// Where it happened and how many pages it concerns.
    pub text: String,
}

/// Facts about a drive beyond its device.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct DriveState {
    /// Whether FDP is enabled.
    pub fdp: bool,
    /// Names of the FDP event types that are enabled for any handle.
    #[serde(default)]
    pub enabled_events: Vec<String>,
    /// Totals over the life of the drive, across resets of the FDP configuration, as SMART reports them.
    pub lifetime: Summary,
    /// Read and compare commands.
    pub read_commands: u64,
    /// Write commands.
    pub write_commands: u64,
    /// Flush commands; only for mounted drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flushes: Option<u64>,
    /// Namespaces.
    pub namespaces: Vec<NamespaceState>,
    /// Names of all hosts that have ever connected.
    pub hosts: Vec<String>,
}

/// A namespace of a drive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamespaceState {
    /// Namespace identifier.
    pub nsid: u32,
    /// Capacity, bytes.
    pub bytes: u64,
    /// Size of a logical block, bytes.
    pub lba_bytes: u64,
    /// Reclaim unit handles.
    pub handles: Vec<u16>,
}

impl Snapshot {
    /// Returns the snapshot with counters since an earlier one, or since they were reset if that was later.
    pub fn since(mut self, before: &Snapshot) -> Self {
        // What a drive had counted before its last reset.
        let earlier = |of: &Snapshot| {
            let lifetime = of.live.drive.as_ref()?.lifetime.host_bytes;
            Some(lifetime.saturating_sub(of.counters.host_bytes))
        };
        if self.counters.host_bytes < before.counters.host_bytes
            || earlier(&self) != earlier(before)
        {
            return self;
        }
        self.counters = self.counters.combine(before.counters, u64::saturating_sub);
        for (key, now) in &mut self.handles {
            let before = before.handles.get(key).copied().unwrap_or_default();
            now.host_bytes = now.host_bytes.saturating_sub(before.host_bytes);
            now.media_bytes = now.media_bytes.saturating_sub(before.media_bytes);
            now.erased_bytes = now.erased_bytes.saturating_sub(before.erased_bytes);
        }
        self
    }

    /// Pairs counters of handles with their keys.
    pub fn keyed(
        handles: &[HandleCounters],
        gc: Option<HandleCounters>,
    ) -> BTreeMap<HandleKey, HandleCounters> {
        let numbered = handles.iter().enumerate().map(|(n, c)| (HandleKey::Handle(n as u16), *c));
        numbered.chain(gc.map(|c| (HandleKey::Gc, c))).collect()
    }
}
