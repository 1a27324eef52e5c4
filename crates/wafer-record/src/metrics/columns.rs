//! WAF and bandwidth of a record as columns, which pages and Python show as they are.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Part, Waf, cumulative, instantaneous, parts};
use crate::statistics::interpolate;
use crate::text::ratio;
use crate::{HandleKey, Record, Series, Snapshot, Timeline};

/// Volumes closer than this, in capacities, have the same name in tables.
const SAME: f64 = 5e-4;

/// Returns the volumes, in multiples of the logical capacity, at which tables show the WAF of a run that ends at `end`:
/// round ones, and the end.
pub fn volumes(end: f64) -> Vec<f64> {
    const FIRST: [f64; 10] = [1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 25.0, 30.0];
    let later = (1..).flat_map(|power| [5.0, 10.0, 20.0].map(|first| first * 10f64.powi(power)));
    let round = FIRST.into_iter().chain(later).take_while(|volume| volume + SAME < end);
    round.chain([end]).collect()
}

/// Lengths of the intervals of instantaneous WAF, besides single samples, as shares of the run.
const SHARES: [f64; 3] = [0.01, 0.05, 0.1];

/// WAF and bandwidth over the timeline. Ratios are rounded to six decimals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metrics {
    /// Share of the media bytes that hosts did not write.
    pub added_share: f64,
    /// The parts of these bytes, largest first; absent if the source does not count them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// WAF of the device at each point of the timeline.
    pub device: Ratios,
    /// WAF of each handle at each point of the timeline, and its share of the relocated bytes.
    pub handles: BTreeMap<HandleKey, HandleMetrics>,
    /// Instantaneous WAF over longer intervals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<Interval>,
    /// Cumulative WAF at round volumes and, last, at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<AtVolume>,
    /// Bandwidth of host writes since the previous point, bytes per second; absent if the timeline has no times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_bytes_per_second: Vec<Option<u64>>,
    /// Bandwidth of media writes since the previous point, bytes per second; absent if the timeline has no times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media_bytes_per_second: Vec<Option<u64>>,
}

/// WAF at points; null where the host wrote nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratios {
    /// Media bytes over host bytes since the start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cumulative: Vec<Option<f64>>,
    /// Media bytes over host bytes since the previous point.
    pub instantaneous: Vec<Option<f64>>,
    /// Indices of points before which, since the previous point, only the media was written: GC worked alone, and no
    /// finite ratio is right. A clamped WAF shows its limit there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gc_only: Vec<u32>,
}

/// WAF of a handle, and its share of the relocated bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HandleMetrics {
    /// Media bytes over host bytes at the end; null if hosts wrote nothing through the handle.
    pub waf: Option<f64>,
    /// Bytes relocated out of reclaim units of the handle, plus what partly written pages add to the host bytes. If a
    /// cache merges host writes (`firmware.write_buffer`, `firmware.slc_cache`): the bytes relocated if the record has
    /// attribution, otherwise less than that by the host bytes that were merged.
    pub moved_bytes: u64,
    /// Share of the `moved_bytes` of all handles.
    pub moved_share: f64,
    /// WAF over the timeline.
    #[serde(flatten)]
    pub ratios: Ratios,
}

/// Instantaneous WAF over intervals of several samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Length of an interval as a share of the run.
    pub share: f64,
    /// Indices into the timeline at which intervals end.
    pub points: Vec<u32>,
    /// WAF of the device.
    pub device: Ratios,
    /// WAF of each handle.
    pub handles: BTreeMap<HandleKey, Ratios>,
}

/// Cumulative WAF at a volume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AtVolume {
    /// Host bytes in multiples of the logical capacity.
    pub volume: f64,
    /// Cumulative WAF.
    pub waf: f64,
    /// Published WAF, from the first curve of the record that has this volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<f64>,
    /// (ours - published) / published, percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference_percent: Option<f64>,
}

impl Metrics {
    /// Computes the metrics of a record.
    pub fn of(record: &Record) -> Self {
        let timeline = &record.timeline;
        let summary = &record.summary;
        let (host_rates, media_rates) = rates(timeline);
        Metrics {
            added_share: rounded(ratio(record.added_bytes(), summary.media_bytes)),
            parts: parts(record),
            device: Ratios::of(&timeline.host_bytes, &timeline.media_bytes),
            handles: handles(timeline, moved_by_owner(record)),
            intervals: SHARES.iter().filter_map(|share| Interval::of(timeline, *share)).collect(),
            volumes: (volumes(record.volume()).into_iter())
                .filter_map(|volume| AtVolume::of(record, volume))
                .collect(),
            host_bytes_per_second: host_rates,
            media_bytes_per_second: media_rates,
        }
    }

    /// Computes the metrics of one point, `now`, that follows another. A live page appends them.
    pub fn between(before: &Snapshot, now: &Snapshot) -> Self {
        let reset = now.counters.host_bytes < before.counters.host_bytes;
        let pair = |a: u64, b: u64| vec![if reset { 0 } else { a }, b];
        let timeline = Timeline {
            host_bytes: pair(before.counters.host_bytes, now.counters.host_bytes),
            media_bytes: pair(before.counters.media_bytes, now.counters.media_bytes),
            seconds: vec![before.seconds, now.seconds],
            handles: (now.handles.iter())
                .map(|(key, h)| {
                    let b = before.handles.get(key).copied().unwrap_or_default();
                    let host_bytes = pair(b.host_bytes, h.host_bytes);
                    (*key, Series { host_bytes, media_bytes: pair(b.media_bytes, h.media_bytes) })
                })
                .collect(),
            ..Timeline::default()
        };
        let (mut host_rates, mut media_rates) = rates(&timeline);
        let mut metrics = Metrics {
            device: Ratios::of(&timeline.host_bytes, &timeline.media_bytes),
            handles: handles(&timeline, None),
            ..Metrics::default()
        };
        metrics.device.drop_first();
        metrics.handles.values_mut().for_each(|h| h.ratios.drop_first());
        metrics.host_bytes_per_second = host_rates.split_off(1);
        metrics.media_bytes_per_second = media_rates.split_off(1);
        let (host, media) = (now.counters.host_bytes, now.counters.media_bytes);
        metrics.added_share = rounded(ratio(media.saturating_sub(host), media));
        metrics
    }
}

impl Ratios {
    fn of(host: &[u64], media: &[u64]) -> Self {
        let between = instantaneous(host, media);
        let alone = |(i, waf): (usize, &Waf)| (*waf == Waf::Unbounded).then_some(i as u32);
        Ratios {
            cumulative: column(cumulative(host, media)),
            gc_only: between.iter().enumerate().filter_map(alone).collect(),
            instantaneous: column(between),
        }
    }

    fn at(points: &[u32], host: &[u64], media: &[u64]) -> Self {
        let pick = |values: &[u64]| -> Vec<u64> {
            points.iter().filter_map(|p| values.get(*p as usize).copied()).collect()
        };
        Ratios { cumulative: Vec::new(), ..Ratios::of(&pick(host), &pick(media)) }
    }

    fn drop_first(&mut self) {
        self.cumulative.remove(0);
        self.instantaneous.remove(0);
        self.gc_only.retain(|point| *point > 0);
        self.gc_only.iter_mut().for_each(|point| *point -= 1);
    }
}

impl Interval {
    /// Returns intervals of this share of the run, the last of which ends with the run; `None` if an interval would be
    /// a single sample.
    fn of(timeline: &Timeline, share: f64) -> Option<Self> {
        let samples = timeline.host_bytes.len();
        let every = (samples as f64 * share).round() as usize;
        if every < 2 {
            return None;
        }
        let points: Vec<u32> =
            ((samples - 1) % every..samples).step_by(every).map(|at| at as u32).collect();
        Some(Interval {
            share,
            device: Ratios::at(&points, &timeline.host_bytes, &timeline.media_bytes),
            handles: (timeline.handles.iter())
                .map(|(key, s)| (*key, Ratios::at(&points, &s.host_bytes, &s.media_bytes)))
                .collect(),
            points,
        })
    }
}

impl AtVolume {
    /// Returns the WAF at a volume; `None` beyond the end or before the history begins.
    pub(crate) fn of(record: &Record, volume: f64) -> Option<Self> {
        let logical = record.logical_bytes();
        let host = (volume * logical as f64).round() as u64;
        let end = record.timeline.host_bytes.last().copied()?;
        // A run up to this volume may end one block before it.
        let reached = host > 0 && host as f64 <= end as f64 * (1.0 + 1e-6);
        // The history before the first sample is unknown: a drive may have written for days.
        let seen = record.timeline.host_bytes.first().is_some_and(|first| *first <= host.min(end));
        let waf =
            record.timeline.media_at(host.min(end)).filter(|_| reached && seen)? / host as f64;
        let published = record.published.iter().find_map(|curve| {
            let points: Vec<(f64, f64)> =
                curve.host_bytes.iter().map(|h| *h as f64).zip(curve.waf.iter().copied()).collect();
            interpolate(&points, host as f64)
        });
        let difference_percent = published.map(|theirs| rounded(100.0 * (waf - theirs) / theirs));
        let volume = rounded(volume);
        Some(AtVolume { volume, waf: rounded(waf), published, difference_percent })
    }
}

/// Returns the bytes relocated out of the reclaim units of each owner, if only attribution shows them.
fn moved_by_owner(record: &Record) -> Option<BTreeMap<&str, u64>> {
    let attribution = record.attribution.as_ref().filter(|_| record.unites_writes())?;
    let moved = attribution.collected.iter().map(|collected| collected.relocated_bytes);
    Some(attribution.owners.iter().map(String::as_str).zip(moved).collect())
}

fn handles(
    timeline: &Timeline,
    by_owner: Option<BTreeMap<&str, u64>>,
) -> BTreeMap<HandleKey, HandleMetrics> {
    let moved = |key: &HandleKey, s: &Series| match &by_owner {
        Some(moved) => moved.get(key.to_string().as_str()).copied().unwrap_or(0),
        None => s.moved(),
    };
    let all: u64 = timeline.handles.iter().map(|(key, s)| moved(key, s)).sum();
    let metrics = |key: &HandleKey, s: &Series| HandleMetrics {
        waf: Waf::of(s.end().0, s.end().1).ratio().map(rounded),
        moved_bytes: moved(key, s),
        moved_share: rounded(ratio(moved(key, s), all)),
        ratios: Ratios::of(&s.host_bytes, &s.media_bytes),
    };
    timeline.handles.iter().map(|(key, s)| (*key, metrics(key, s))).collect()
}

/// Returns the growth per second of host and media bytes since the previous point.
fn rates(timeline: &Timeline) -> (Vec<Option<u64>>, Vec<Option<u64>>) {
    let of = |values: &[u64]| -> Vec<Option<u64>> {
        let mut last = (0.0, 0);
        (timeline.seconds.iter().zip(values))
            .map(|(at, value)| {
                let (span, growth) = (at - last.0, value.saturating_sub(last.1));
                last = (*at, *value);
                (span > 0.0).then(|| (growth as f64 / span).round() as u64)
            })
            .collect()
    };
    (of(&timeline.host_bytes), of(&timeline.media_bytes))
}

fn column(values: Vec<Waf>) -> Vec<Option<f64>> {
    values.into_iter().map(|waf| waf.ratio().map(rounded)).collect()
}

fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests;
