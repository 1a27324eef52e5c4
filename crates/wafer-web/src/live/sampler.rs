//! Samples the source at even intervals, and keeps a bounded history and the latest state as text.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::watch;
use wafer_record::record::Provenance;
use wafer_record::time::TimeSeries;
use wafer_record::{Finding, Kind, Metrics, Record, Snapshot, TimeRecord, Timeline};

use crate::live::LiveSource;
use crate::report::Page;

/// Maximum number of points in the history, at which every other point is dropped.
const MOST_POINTS: usize = 2000;

/// The source with its history, shared by all requests.
pub(crate) struct Sampler {
    pub(crate) source: Arc<dyn LiveSource>,
    pub(crate) name: String,
    provenance: Provenance,
    history: Mutex<History>,
    /// The latest state as text, shared by all viewers.
    pub(crate) newest: watch::Sender<Arc<str>>,
    /// Viewers of the event stream.
    pub(crate) viewers: AtomicUsize,
}

/// A snapshot with the metrics of the interval it ends and the findings so far, sent to viewers at each interval.
#[derive(Serialize)]
pub(crate) struct State {
    #[serde(flatten)]
    snapshot: Snapshot,
    metrics: Metrics,
    findings: Vec<Finding>,
}

struct History {
    /// The start, if hosts had written to the drive before: those bytes were not written since.
    start: Option<Snapshot>,
    /// Snapshots without events and reclaim units.
    points: Vec<Snapshot>,
    /// Every n-th sample becomes a point.
    every: u64,
    samples: u64,
    before: Snapshot,
    newest: Snapshot,
}

impl Sampler {
    pub(crate) fn new(source: Arc<dyn LiveSource>) -> Arc<Self> {
        let mut provenance = source.provenance();
        provenance.kind = Kind::Live;
        let sampler = Arc::new(Sampler {
            name: source.name(),
            provenance,
            history: Mutex::new(History::new(source.snapshot())),
            source,
            newest: watch::Sender::new("".into()),
            viewers: AtomicUsize::new(0),
        });
        sampler.sample();
        sampler
    }

    /// Samples forever.
    pub(crate) async fn run(self: Arc<Self>, interval: Duration) {
        let mut ticks = tokio::time::interval(interval);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.sample();
        }
    }

    fn sample(&self) {
        let snapshot = self.source.snapshot();
        self.history().add(snapshot);
        if self.viewers.load(Ordering::Relaxed) > 0 {
            // Without the lock of the history, because the source may take a lock too.
            let reclaim_units = self.source.reclaim_units();
            let mut state = self.state();
            state.snapshot.reclaim_units = reclaim_units;
            // Serialization cannot fail: all map keys are text.
            let text = serde_json::to_string(&state).unwrap_or_default();
            self.newest.send_replace(text.into());
        }
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the latest snapshot.
    pub(crate) fn newest(&self) -> Snapshot {
        self.history().newest.clone()
    }

    /// Returns the page size of the device in bytes, if its geometry is known.
    pub(crate) fn page_bytes(&self) -> Option<u64> {
        self.provenance.geometry.as_ref().map(|geometry| geometry.page_bytes)
    }

    /// Returns the latest state, without reclaim units and what is over time.
    pub(crate) fn state(&self) -> State {
        let (metrics, timeline, snapshot) = {
            let history = self.history();
            let metrics = Metrics::between(&history.before, &history.newest);
            (metrics, history.timeline(), history.newest.clone())
        };
        let record = self.record_of(snapshot.clone(), timeline);
        let time = snapshot.time.map(|time| TimeRecord { series: TimeSeries::default(), ..time });
        let snapshot = Snapshot { time, ..snapshot };
        State { snapshot, metrics, findings: record.findings.unwrap_or_default() }
    }

    fn record_of(&self, newest: Snapshot, timeline: Timeline) -> Record {
        Record::of_snapshot(self.name.clone(), self.provenance.clone(), newest, timeline)
    }

    /// Takes another sample and returns the history.
    pub(crate) fn timeline(&self) -> Timeline {
        self.sample();
        self.history().timeline()
    }

    /// Returns a record of the device with its history.
    pub(crate) fn record(&self) -> Record {
        let reclaim_units = self.source.reclaim_units();
        let (timeline, mut newest) = {
            let history = self.history();
            (history.timeline(), history.newest.clone())
        };
        newest.reclaim_units = reclaim_units;
        self.record_of(newest, timeline)
    }

    /// Returns the data of the live page.
    pub(crate) fn page(&self) -> Page {
        Page::new(vec![self.record()])
    }
}

impl History {
    fn new(newest: Snapshot) -> Self {
        let start = (newest.counters.host_bytes > 0)
            .then(|| Snapshot { seconds: 0.0, ..Self::point(&newest) });
        let (points, before) = (Vec::new(), Snapshot::default());
        History { start, points, every: 1, samples: 0, before, newest }
    }

    /// Returns what the history keeps of a snapshot.
    fn point(of: &Snapshot) -> Snapshot {
        let Snapshot { seconds, counters, handles, .. } = of;
        Snapshot {
            seconds: rounded(*seconds),
            counters: *counters,
            handles: handles.clone(),
            ..Snapshot::default()
        }
    }

    fn add(&mut self, snapshot: Snapshot) {
        if snapshot.counters.host_bytes < self.newest.counters.host_bytes
            || !snapshot.handles.keys().eq(self.newest.handles.keys())
        {
            // The counters were reset: earlier points belong to another record.
            self.start = None;
            self.points.clear();
        }
        self.before = std::mem::replace(&mut self.newest, snapshot);
        let point = Self::point(&self.newest);
        if let Some(last) = self.points.last_mut().filter(|last| last.seconds == point.seconds) {
            // Two points at the same time would have no rate between them.
            *last = point;
            return;
        }
        self.samples += 1;
        if !self.samples.is_multiple_of(self.every) {
            return;
        }
        self.points.push(point);
        if self.points.len() >= MOST_POINTS {
            let mut number = 0;
            self.points.retain(|_| {
                number += 1;
                number % 2 == 0
            });
            self.every *= 2;
        }
    }

    fn timeline(&self) -> Timeline {
        // Up to now, even between two points.
        let last = self.points.last().map(|point| point.seconds);
        let newest = (last != Some(rounded(self.newest.seconds))).then_some(&self.newest);
        let begun = self.start.is_some();
        let points = self.points.iter().chain(newest).filter(|point| !begun || point.seconds > 0.0);
        Timeline::of_snapshots(self.start.iter().chain(points))
    }
}

fn rounded(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use wafer_interface::{Counters, HandleCounters};

    use super::*;

    fn snapshot(seconds: f64, host: u64) -> Snapshot {
        let handle = HandleCounters { host_bytes: host, media_bytes: 2 * host, erased_bytes: 0 };
        let counters = Counters { host_bytes: host, media_bytes: 2 * host, ..Counters::default() };
        let handles = Snapshot::keyed(&[handle], None);
        Snapshot { seconds, counters, handles, ..Snapshot::default() }
    }

    #[test]
    fn history_is_bounded_and_keeps_its_ends() {
        let mut history = History::new(snapshot(0.0, 0));
        for i in 1..=100_000_u64 {
            history.add(snapshot(i as f64, i));
            assert!(history.points.len() < MOST_POINTS);
        }
        let host = history.timeline().host_bytes;
        assert!(*host.last().unwrap() > 100_000 - 2 * history.every);
        assert!(host[0] <= 2 * history.every);
        assert!(host.windows(2).all(|w| w[0] < w[1]));
        assert!(host.len() > MOST_POINTS / 4);
        history.add(snapshot(1e6, 5));
        assert!(history.points.len() <= 1, "a reset starts a new history");
    }

    #[test]
    fn a_moment_has_one_point() {
        let mut history = History::new(snapshot(0.0, 0));
        for (seconds, host) in [(0.5, 10), (0.9996, 20), (1.0, 30), (1.0004, 40)] {
            history.add(snapshot(seconds, host));
        }
        let timeline = history.timeline();
        assert_eq!((timeline.seconds, timeline.host_bytes), (vec![0.5, 1.0], vec![10, 40]));
    }

    #[test]
    fn what_was_written_before_the_start_is_not_written_since() {
        let mut history = History::new(snapshot(0.004, 1000));
        history.add(snapshot(0.004, 1000));
        for i in 1..10_000_u64 {
            history.add(snapshot(i as f64, 1000 + i));
        }
        let timeline = history.timeline();
        assert_eq!((timeline.seconds[0], timeline.host_bytes[0]), (0.0, 1000));
        assert!(timeline.seconds.is_sorted() && timeline.seconds[1] > 0.0);
        let end = snapshot(9_999.0, 10_999);
        let record = Record::of_snapshot("d".to_owned(), Provenance::default(), end, timeline);
        let rates = Metrics::of(&record).host_bytes_per_second;
        assert_eq!(rates[0], None);
        assert!(rates[1..].iter().flatten().all(|rate| *rate <= 1), "{:?}", &rates[..4]);
    }
}
