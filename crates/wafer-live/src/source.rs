//! What a running drive tells.

use serde::{Deserialize, Serialize};
use wafer_core::{Counters, HandleCounters};
use wafer_lab::ReclaimUnits;

/// A drive that can be looked at while it runs. Calls come from one task, at even intervals; they may take
/// a lock for microseconds.
pub trait LiveSource: Send + Sync + 'static {
    /// Name of the drive, for titles.
    fn name(&self) -> String;

    /// What it is, in the form of `provenance` of a result record: at least `version`, `config` and
    /// `geometry`. Asked once.
    fn provenance(&self) -> serde_json::Value;

    /// The counters now.
    fn snapshot(&self) -> Snapshot;

    /// The reclaim units now; asked only while somebody looks.
    fn reclaim_units(&self) -> Option<ReclaimUnits>;
}

/// The counters of a drive at one moment.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// What the drive is doing, a word or two: "running", "preconditioning", "ended".
    pub state: String,
    /// Counters since the drive began to count.
    pub counters: Counters,
    /// Counters of each reclaim unit handle.
    pub handles: Vec<HandleCounters>,
    /// Relocated data of all initially isolated handles, where there is such.
    pub gc: Option<HandleCounters>,
    /// Reclaim units that are free, open and closed.
    pub reclaim_units: [u64; 3],
    /// Hosts that are connected.
    pub connections: Vec<Connection>,
    /// FDP events so far, by the name of their type.
    pub event_counts: Vec<(String, u64)>,
    /// The newest FDP events, the oldest first; a few dozen at most.
    pub events: Vec<Event>,
}

/// A host that is connected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// Address of the host.
    pub peer: String,
    /// Its NQN, or another name.
    pub host: String,
    /// I/O queues.
    pub queues: u32,
    /// Commands served.
    pub commands: u64,
}

/// An FDP event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Counts up from 1 over the life of the drive.
    pub number: u64,
    /// Seconds since the drive began.
    pub seconds: f64,
    /// Name of its type.
    pub kind: String,
    /// What it says, in words.
    pub text: String,
}
