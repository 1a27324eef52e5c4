//! Timing results: bandwidth, latency, die utilization and energy.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::HandleKey;

/// Percentiles in records.
pub const PERCENTILES: [f64; 12] =
    [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999];

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Reads data.
    Read,
    /// Writes data.
    Write,
    /// Deallocates data.
    Trim,
    /// Makes earlier writes durable.
    Flush,
}

impl Direction {
    /// All directions, in numerical order.
    pub const ALL: [Direction; 4] =
        [Direction::Read, Direction::Write, Direction::Trim, Direction::Flush];

    /// Returns the name used in records.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Read => "read",
            Direction::Write => "write",
            Direction::Trim => "trim",
            Direction::Flush => "flush",
        }
    }

    /// Returns the plural name.
    pub fn plural(self) -> &'static str {
        match self {
            Direction::Read => "reads",
            Direction::Write => "writes",
            Direction::Trim => "trims",
            Direction::Flush => "flushes",
        }
    }
}

/// The timing results of a run with a clock, in model time, or of a drive served with one, since its start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeRecord {
    /// Model time of the run from the end of its jobs' first ramp, seconds. It includes later ramps, such as those
    /// after a `stonewall`, although their requests do not count.
    pub seconds: f64,
    /// All reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Requests>,
    /// All writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<Requests>,
    /// All trims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<Requests>,
    /// All flushes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<Requests>,
    /// Requests by job, from the end of its `ramp_time` to its last completion or the end of its `runtime`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub jobs: BTreeMap<String, Directions>,
    /// Writes by handle.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub handles: BTreeMap<HandleKey, Requests>,
    /// Requests by namespace identifier.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub namespaces: BTreeMap<u32, Directions>,
    /// Shares of the time of all dies, by activity; including `idle`, they add up to 1.
    #[serde(default)]
    pub dies: BTreeMap<String, f64>,
    /// Energy of the run, joules.
    #[serde(default)]
    pub energy_joules: f64,
    /// Mean power, watts.
    #[serde(default)]
    pub mean_watts: f64,
    /// Lifetime of the drive at this write rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub life: Option<LifeRecord>,
    /// Bytes of metadata that the drive programmed for its own use.
    #[serde(default)]
    pub metadata_bytes: u64,
    /// How much later than in the model the commands of a served drive completed, because of the machine, by
    /// percentile, microseconds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub late_us: BTreeMap<String, f64>,
    /// Reads and writes over time, from the start of the run.
    #[serde(default)]
    pub series: TimeSeries,
}

/// Lifetime of a drive at a write rate and a WAF.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LifeRecord {
    /// Media bytes that the drive is rated for, by `endurance.pe_cycles` or else at one drive write per day.
    pub rated_media_bytes: f64,
    /// Host writes in capacities per day.
    pub dwpd: f64,
    /// Years until the rated media bytes are written, including metadata (`timing.metadata`).
    pub years: f64,
}

/// Reads, writes, trims and flushes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Directions {
    /// Model time at which measurement began, at the end of a job's ramp, seconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub start: f64,
    /// Duration of the measurement in model time, seconds.
    #[serde(default)]
    pub seconds: f64,
    /// Reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Requests>,
    /// Writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<Requests>,
    /// Trims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<Requests>,
    /// Flushes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<Requests>,
}

fn is_zero(seconds: &f64) -> bool {
    *seconds == 0.0
}

impl TimeRecord {
    /// Returns the requests of each direction that has any.
    pub fn each(&self) -> impl Iterator<Item = (Direction, &Requests)> {
        directions([&self.read, &self.write, &self.trim, &self.flush])
    }
}

impl Directions {
    /// Returns the requests of each direction that has any.
    pub fn each(&self) -> impl Iterator<Item = (Direction, &Requests)> {
        directions([&self.read, &self.write, &self.trim, &self.flush])
    }
}

fn directions(all: [&Option<Requests>; 4]) -> impl Iterator<Item = (Direction, &Requests)> {
    let all = Direction::ALL.into_iter().zip(all);
    all.filter_map(|(direction, requests)| Some((direction, requests.as_ref()?)))
}

/// Bandwidth and latency of a set of requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Requests {
    /// Number of requests.
    pub count: u64,
    /// Bytes of all requests.
    pub bytes: u64,
    /// Requests per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_second: f64,
    /// Mean latency, microseconds.
    pub mean_us: f64,
    /// Standard deviation of the latency, microseconds.
    #[serde(default)]
    pub deviation_us: f64,
    /// Minimum latency, microseconds.
    #[serde(default)]
    pub min_us: f64,
    /// Maximum latency, microseconds.
    #[serde(default)]
    pub max_us: f64,
    /// Latency by percentile, microseconds, within 1 %.
    pub percentiles_us: BTreeMap<String, f64>,
    /// Components of the latency, by percentile band.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bands: Vec<Band>,
    /// Latency in microseconds and number of requests, for every latency that occurred, within 1 %.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub histogram: Vec<(f64, u64)>,
}

/// Components of the latencies between two percentiles.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Band {
    /// Lower percentile.
    pub from: f64,
    /// Upper percentile.
    pub to: f64,
    /// Mean microseconds by part; parts without time are absent.
    pub parts_us: BTreeMap<String, f64>,
}

/// Reads and writes over time, in intervals of equal length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeSeries {
    /// End of each interval, seconds since the run began.
    pub seconds: Vec<f64>,
    /// Reads.
    pub read: IntervalSeries,
    /// Writes.
    pub write: IntervalSeries,
}

/// One direction over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalSeries {
    /// Bytes per second.
    pub bytes_per_second: Vec<f64>,
    /// Mean latency, microseconds; null without requests.
    pub mean_us: Vec<Option<f64>>,
    /// 99th percentile of the latency, microseconds, within 12 %; null without requests.
    pub p99_us: Vec<Option<f64>>,
}
