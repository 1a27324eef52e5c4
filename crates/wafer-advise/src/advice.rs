//! Advice and its options.

use std::path::PathBuf;

use serde::Serialize;
use wafer_config::Place;
use wafer_device::DeviceConfig;
use wafer_trace::PlaceMap;

/// Options of advice.
#[derive(Clone, Debug)]
pub struct AdviseOptions {
    /// Maximum number of handles.
    pub handles: u16,
    /// Share of the traffic, at its end, that is held out from learning.
    pub hold_out: f64,
    /// Share of the simulated drive's capacity that the traffic touches; none simulates the device at its
    /// full size.
    pub fill: Option<f64>,
    /// Bytes to write for a workload that does not end by itself.
    pub volume: Option<u64>,
    /// Random seed.
    pub seed: u64,
    /// Shares of the written bytes for concurrent jobs, as in an experiment.
    pub pace: Option<String>,
    /// CSV file whose columns `pace` may name.
    pub pace_from: Option<PathBuf>,
    /// Where an experiment file sets them; `None` for an argument.
    pub pace_place: Option<Place>,
}

impl Default for AdviseOptions {
    fn default() -> Self {
        AdviseOptions {
            handles: 8,
            hold_out: 0.3,
            fill: Some(0.9),
            volume: None,
            seed: 0,
            pace: None,
            pace_from: None,
            pace_place: None,
        }
    }
}

/// The `schema` of advice.
pub const SCHEMA: &str = "wafer.advice/1";

/// Advice on a workload.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The workload.
    pub workload: String,
    /// The requested device.
    pub device: String,
    /// The simulated device.
    pub simulated: DeviceConfig,
    /// Bytes written in one pass of the traffic.
    pub write_bytes: u64,
    /// Bytes of the written addresses.
    pub touched_bytes: u64,
    /// Number of times the traffic was played; only the last pass counts.
    pub passes: u32,
    /// Share of the traffic that was held out.
    pub hold_out: f64,
    /// Maximum number of handles.
    pub handles: u16,
    /// All simulated schemes, bounds included, by ascending WAF on the last half of the held-out part.
    #[serde(rename = "ways")]
    pub schemes: Vec<SchemeReport>,
    /// Name of the recommended scheme, one that a host can use.
    pub best: String,
    /// Settings of firmware that is clearly better without any placement.
    pub firmware: Option<String>,
    /// Groups of the recommended scheme.
    pub groups: Vec<GroupReport>,
    /// Lifetimes of pages in the learned part.
    pub histogram: Histogram,
    /// Lifetimes by address.
    pub heat_map: HeatMap,
    /// The recommended scheme as a map of addresses, if it places by address.
    #[serde(skip)]
    pub map: Option<AdvisedMap>,
    /// Names and handles of streams, if the recommended scheme places by stream.
    pub streams: Vec<StreamReport>,
    /// Notes for the user, one line each.
    pub notices: Vec<String>,
}

/// A simulated placement scheme.
#[derive(Clone, Debug, Serialize)]
pub struct SchemeReport {
    /// Name, such as "regions, 4 groups".
    pub name: String,
    /// The information it needs.
    pub kind: SchemeKind,
    /// Number of handles used.
    pub handles: usize,
    /// Write amplification on the last half of the held-out part, in the last pass. Nothing is learned from or
    /// chosen by it.
    pub waf: f64,
    /// Write amplification on the first half of the held-out part, by which the recommended scheme is chosen.
    pub waf_chosen: f64,
    /// Standard deviation of the WAF between the quarters of the held-out part.
    pub spread: f64,
    /// Write amplification on the learned part, in the last pass.
    pub waf_learned: f64,
    /// WAF without placement divided by the WAF with it, minus 1: the gain in flash lifetime.
    pub life_gained: f64,
    /// Share of the quarters in which it has a lower WAF than no placement.
    pub confidence: f64,
}

/// The information that a placement scheme needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SchemeKind {
    /// Nothing.
    None,
    /// The placement in the workload.
    Recorded,
    /// Addresses.
    Regions,
    /// The stream that a write belongs to.
    Streams,
    /// The age of the page that is overwritten.
    History,
    /// Other firmware of the drive, without placement.
    Firmware,
    /// Future writes, which no host can know.
    Oracle,
}

/// A map of addresses to placement handles.
#[derive(Clone, Debug)]
pub struct AdvisedMap {
    /// All ranges.
    pub whole: PlaceMap,
    /// At most 32 ranges, as fio reads from a `dp_scheme` file: neighbours are joined if there are more.
    pub fio: PlaceMap,
    /// Write amplification with the map for fio, on the last half of the held-out part.
    pub fio_waf: f64,
}

/// A group of the recommended scheme: the data of one placement handle.
#[derive(Clone, Debug, Serialize)]
pub struct GroupReport {
    /// The placement handle.
    pub handle: u16,
    /// Share of the bytes written.
    pub write_share: f64,
    /// Share of the addresses touched.
    pub space_share: f64,
    /// Mean lifetime of its pages, in host bytes written in the meantime.
    pub mean_life_bytes: f64,
    /// Spread of its lifetimes: the standard deviation of their natural logarithm. Sequential
    /// overwriting has 0, random overwriting 1.28.
    pub spread: f64,
}

/// A stream and its handle.
#[derive(Clone, Debug, Serialize)]
pub struct StreamReport {
    /// Its name: process, volume, size class.
    pub name: String,
    /// The placement handle.
    pub handle: u16,
    /// Share of the bytes written.
    pub write_share: f64,
    /// Mean lifetime of its pages, in host bytes written in the meantime.
    pub mean_life_bytes: f64,
}

/// Lifetimes of pages, by powers of 2.
#[derive(Clone, Debug, Serialize)]
pub struct Histogram {
    /// Shortest lifetime of each class, in host bytes written meanwhile; each extends to twice that.
    pub life_bytes: Vec<u64>,
    /// Bytes invalidated at an age of the class.
    pub ended_bytes: Vec<u64>,
    /// Bytes valid at the end of the learned part, by their age at that time.
    pub alive_bytes: Vec<u64>,
}

/// Lifetimes by address.
#[derive(Clone, Debug, Serialize)]
pub struct HeatMap {
    /// Bytes of address space per column.
    pub column_bytes: u64,
    /// Bytes written to each.
    pub written_bytes: Vec<u64>,
    /// Mean lifetime of its pages, in host bytes written meanwhile; none if none was invalidated.
    pub mean_life_bytes: Vec<Option<f64>>,
    /// Spread of its lifetimes; see [`GroupReport::spread`].
    pub spread: Vec<Option<f64>>,
}
