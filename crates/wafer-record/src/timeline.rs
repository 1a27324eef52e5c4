//! Counters over a run.

use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wafer_device::Device;
use wafer_interface::Observer;

use crate::Snapshot;

/// The name of a series: `"0"`, `"1"`, ... or `"gc"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HandleKey {
    /// A reclaim unit handle.
    Handle(u16),
    /// The open reclaim unit that GC fills for all initially isolated handles.
    Gc,
}

/// Counters of one handle since the start, at each point of the timeline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Host bytes written through the handle; for `gc`, bytes relocated into its reclaim unit.
    pub host_bytes: Vec<u64>,
    /// Host bytes plus bytes relocated out of the handle's reclaim units.
    pub media_bytes: Vec<u64>,
}

impl Series {
    /// Returns the host and media bytes of the last point.
    pub(crate) fn end(&self) -> (u64, u64) {
        let last = |values: &[u64]| values.last().copied().unwrap_or(0);
        (last(&self.host_bytes), last(&self.media_bytes))
    }

    /// Returns the media bytes in excess of the host bytes.
    pub(crate) fn moved(&self) -> u64 {
        let (host, media) = self.end();
        media.saturating_sub(host)
    }
}

/// Counters since the start, at ascending points.
///
/// The points of a simulated run are evenly spaced in host bytes: the first is one step after the start, the last is
/// the end of the run. Those of measurements and drives are evenly spaced in time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timeline {
    /// Host bytes written (HBMW).
    pub host_bytes: Vec<u64>,
    /// Media bytes written (MBMW).
    pub media_bytes: Vec<u64>,
    /// Time since the start, seconds; empty if only bytes are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seconds: Vec<f64>,
    /// Media bytes erased (MBE); empty if the source does not report it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub erased_bytes: Vec<u64>,
    /// Counters of each handle that was written, and of `gc`, the reclaim unit that GC fills for all initially isolated
    /// handles.
    #[serde(default)]
    pub handles: BTreeMap<HandleKey, Series>,
}

impl Timeline {
    /// Returns the timeline of snapshots of a drive, in order of time, with the handles that were written by the last.
    pub fn of_snapshots<'a>(points: impl IntoIterator<Item = &'a Snapshot>) -> Self {
        let points: Vec<&Snapshot> = points.into_iter().collect();
        let series = |key: &HandleKey| {
            let of = |p: &Snapshot| p.handles.get(key).copied().unwrap_or_default();
            Series {
                host_bytes: points.iter().map(|p| of(p).host_bytes).collect(),
                media_bytes: points.iter().map(|p| of(p).media_bytes).collect(),
            }
        };
        let handles = points.last().map(|last| &last.handles).into_iter().flatten();
        let written = handles.filter(|(key, c)| **key == HandleKey::Gc || c.media_bytes > 0);
        Timeline {
            seconds: points.iter().map(|p| (p.seconds * 1e3).round() / 1e3).collect(),
            host_bytes: points.iter().map(|p| p.counters.host_bytes).collect(),
            media_bytes: points.iter().map(|p| p.counters.media_bytes).collect(),
            handles: written.map(|(key, _)| (*key, series(key))).collect(),
            ..Timeline::default()
        }
    }

    /// Returns the media bytes when the host had written `host_bytes`, interpolated linearly; `None`
    /// past the end.
    pub fn media_at(&self, host_bytes: u64) -> Option<f64> {
        interpolate(&self.host_bytes, &self.media_bytes, host_bytes)
    }

    /// Returns the cumulative WAF when the host had written `host_bytes`.
    pub fn waf_at(&self, host_bytes: u64) -> Option<f64> {
        (host_bytes > 0).then_some(())?;
        Some(self.media_at(host_bytes)? / host_bytes as f64)
    }

    /// Returns the FNV-1a hash over the host and media counters: equal digests mean equal runs.
    pub fn digest(&self) -> String {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut add = |number: u64| {
            for byte in number.to_le_bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
            }
        };
        let mut series = |host: &[u64], media: &[u64]| {
            add(host.len() as u64);
            host.iter().chain(media).for_each(|n| add(*n));
        };
        series(&self.host_bytes, &self.media_bytes);
        for (key, s) in &self.handles {
            let number = match key {
                HandleKey::Handle(handle) => u64::from(*handle),
                HandleKey::Gc => u64::MAX,
            };
            series(&[number], &[]);
            series(&s.host_bytes, &s.media_bytes);
        }
        format!("{hash:016x}")
    }
}

/// Returns a counter when the host had written `at` bytes, interpolated linearly.
pub fn interpolate(host: &[u64], media: &[u64], at: u64) -> Option<f64> {
    let right = host.partition_point(|h| *h < at);
    let (h1, m1) = (*host.get(right)? as f64, *media.get(right)? as f64);
    let (h0, m0) =
        if right == 0 { (0.0, 0.0) } else { (host[right - 1] as f64, media[right - 1] as f64) };
    Some(if h1 > h0 { m0 + (m1 - m0) * (at as f64 - h0) / (h1 - h0) } else { m1 })
}

/// Records the points of a timeline while a device runs.
#[derive(Clone)]
pub struct Recorder {
    samples: usize,
    cadence: Cadence,
    /// Host bytes at which the next point is due.
    next: u64,
    /// One row for each point: device, handles, GC, each with host bytes and media bytes.
    rows: Vec<Vec<u64>>,
}

#[derive(Clone, Copy)]
enum Cadence {
    /// The total is known: points divide it evenly.
    Of(u64),
    /// The total is unknown: points are at multiples of a step, which doubles whenever there are too many.
    Every(u64),
}

/// The initial step if the total is unknown; small enough for a run of a few megabytes.
const FIRST_STEP: u64 = 1 << 20;

impl Recorder {
    /// Returns a recorder of at most `samples` points over `total` bytes, if known.
    pub fn new(samples: usize, total: Option<u64>) -> Self {
        let cadence = total.map_or(Cadence::Every(FIRST_STEP), Cadence::Of);
        let mut recorder = Recorder { samples: samples.max(2), cadence, next: 0, rows: Vec::new() };
        recorder.next = recorder.due_after(0);
        recorder
    }

    /// Returns the host bytes at which the next point is due.
    pub fn next(&self) -> u64 {
        self.next
    }

    fn due_after(&self, host: u64) -> u64 {
        match self.cadence {
            Cadence::Every(step) => (host / step + 1) * step,
            Cadence::Of(total) => {
                let (samples, total) = (self.samples as u128, u128::from(total.max(1)));
                let k = u128::from(host) * samples / total;
                // The first k-th point past `host`, rounded up to a whole byte.
                (1..=2)
                    .map(|ahead| ((k + ahead) * total).div_ceil(samples) as u64)
                    .find(|due| *due > host)
                    .unwrap_or(u64::MAX)
            }
        }
    }

    /// Records a point.
    pub fn record(&mut self, device: &Device<impl Observer>) {
        self.push(device);
        if let Cadence::Every(step) = self.cadence
            && self.rows.len() >= self.samples
        {
            // Keep the points that reached a multiple of the doubled step.
            let double = step * 2;
            self.rows.retain(|row| row[0] / double > row[0].saturating_sub(step) / double);
            self.cadence = Cadence::Every(double);
        }
        self.next = self.due_after(device.counters().host_bytes);
    }

    /// Appends the counters; if there are too many points, they replace the last one.
    fn push(&mut self, device: &Device<impl Observer>) {
        let counters = device.counters();
        let mut row = vec![counters.host_bytes, counters.media_bytes];
        let gc = device.gc_counters().unwrap_or_default();
        for handle in device.handle_counters().iter().chain([&gc]) {
            row.extend([handle.host_bytes, handle.media_bytes]);
        }
        self.rows.truncate(self.samples - 1);
        self.rows.push(row);
    }

    /// Returns the timeline, with a final point at the end of the run.
    pub fn finish(mut self, device: &Device<impl Observer>) -> Timeline {
        let end = device.counters().host_bytes;
        if end > 0 {
            // Trims, reads and time after the last write can move data, too.
            self.rows.pop_if(|row| row[0] == end);
            self.push(device);
        }
        let column = |c: usize| self.rows.iter().map(|row| row[c]).collect::<Vec<u64>>();
        let handles = device.handle_counters().len();
        let keys = (0..handles)
            .map(|h| HandleKey::Handle(h as u16))
            .chain(device.gc_counters().map(|_| HandleKey::Gc));
        let series = keys.enumerate().map(|(i, key)| {
            let c = 2 + 2 * i;
            (key, Series { host_bytes: column(c), media_bytes: column(c + 1) })
        });
        // Written by hosts, possibly only into a write buffer, or by garbage collection.
        let written = |(key, s): &(HandleKey, Series)| {
            let any = |bytes: &[u64]| bytes.last().is_some_and(|bytes| *bytes > 0);
            *key == HandleKey::Gc || any(&s.host_bytes) || any(&s.media_bytes)
        };
        Timeline {
            host_bytes: column(0),
            media_bytes: column(1),
            handles: series.filter(written).collect(),
            ..Timeline::default()
        }
    }
}

impl fmt::Display for HandleKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HandleKey::Handle(handle) => handle.fmt(f),
            HandleKey::Gc => f.write_str("gc"),
        }
    }
}

impl JsonSchema for HandleKey {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "HandleKey".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^(gc|[0-9]+)$",
            "description": "Number of a reclaim unit handle, or \"gc\".",
        })
    }
}

impl Serialize for HandleKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HandleKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.as_str() {
            "gc" => Ok(HandleKey::Gc),
            number => number.parse().map(HandleKey::Handle).map_err(|_| {
                D::Error::custom(format!("`{number}` is neither a handle nor \"gc\""))
            }),
        }
    }
}

#[cfg(test)]
mod tests;
