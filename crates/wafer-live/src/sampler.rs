//! Asks the source at even intervals: a bounded history, and the newest state as text.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tokio::sync::watch;
use wafer_core::HandleCounters;

use crate::source::{LiveSource, Snapshot};

/// Points of the history at most: then every other is dropped.
const MOST_POINTS: usize = 2000;

/// What the server answers from.
pub(crate) struct Sampler {
    pub(crate) source: Arc<dyn LiveSource>,
    pub(crate) name: String,
    provenance: Value,
    started: Instant,
    history: Mutex<History>,
    /// The newest state as text, shared by all viewers.
    pub(crate) newest: watch::Sender<Arc<str>>,
    /// Viewers of the event stream.
    pub(crate) viewers: AtomicUsize,
}

struct History {
    /// Seconds, then host and media bytes of the drive, of each handle and of GC.
    rows: Vec<(f64, Vec<u64>)>,
    /// Each so many-th sample becomes a point.
    every: u64,
    samples: u64,
    newest: Snapshot,
    seconds: f64,
}

impl Sampler {
    pub(crate) fn new(source: Arc<dyn LiveSource>) -> Arc<Self> {
        let history = History {
            rows: Vec::new(),
            every: 1,
            samples: 0,
            newest: source.snapshot(),
            seconds: 0.0,
        };
        let sampler = Arc::new(Sampler {
            name: source.name(),
            provenance: source.provenance(),
            source,
            started: Instant::now(),
            history: Mutex::new(history),
            newest: watch::Sender::new("".into()),
            viewers: AtomicUsize::new(0),
        });
        sampler.sample();
        sampler
    }

    /// Samples for ever.
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
        let seconds = self.started.elapsed().as_secs_f64();
        let mut history = self.history();
        history.add(seconds, snapshot);
        if self.viewers.load(Ordering::Relaxed) > 0 {
            // Not asked for under our own lock: the source may take its own.
            drop(history);
            let units = self.source.reclaim_units();
            let text = self.history().state(Some(json!(units))).to_string();
            self.newest.send_replace(text.into());
        }
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The newest counters, and when they were taken.
    pub(crate) fn newest(&self) -> (f64, Snapshot) {
        let history = self.history();
        (history.seconds, history.newest.clone())
    }

    /// The newest state as a value: what a viewer gets at each interval, without reclaim units.
    pub(crate) fn state(&self) -> Value {
        self.history().state(None)
    }

    /// The drive as a result record, with all that is kept of its history.
    pub(crate) fn record(&self) -> Value {
        let units = self.source.reclaim_units();
        let history = self.history();
        let counters = &history.newest.counters;
        let mut handles = Map::new();
        for (number, key) in history.keys().into_iter().enumerate() {
            let column = |offset: usize| -> Vec<u64> {
                history.rows.iter().map(|(_, row)| row[2 + 2 * number + offset]).collect()
            };
            let (host, media) = (column(0), column(1));
            if key == "gc" || media.last().is_some_and(|bytes| *bytes > 0) {
                handles.insert(key, json!({ "host_bytes": host, "media_bytes": media }));
            }
        }
        let column = |c: usize| history.rows.iter().map(|(_, row)| row[c]).collect::<Vec<u64>>();
        json!({
            "schema": "wafer.result/1",
            "name": self.name,
            "provenance": self.provenance,
            "summary": {
                "host_bytes": counters.host_bytes,
                "media_bytes": counters.media_bytes,
                "erased_bytes": counters.erased_bytes,
                "waf": counters.waf(),
                "host_pages": counters.host_pages,
                "relocated_pages": counters.relocated_pages,
                "rmw_pages": counters.rmw_pages,
                "read_bytes": counters.read_bytes,
                "forced_gc": counters.forced_gc,
                "background_gc": counters.background_gc,
            },
            "timeline": {
                "seconds": history.rows.iter().map(|(s, _)| rounded(*s)).collect::<Vec<f64>>(),
                "host_bytes": column(0),
                "media_bytes": column(1),
                "handles": handles,
            },
            "reclaim_units": units,
            "live": history.live(),
        })
    }
}

impl History {
    fn add(&mut self, seconds: f64, snapshot: Snapshot) {
        let before = self.newest.counters.host_bytes;
        if snapshot.counters.host_bytes < before
            || snapshot.handles.len() != self.newest.handles.len()
        {
            // The counters were reset: what came before belongs to another record.
            self.rows.clear();
        }
        self.newest = snapshot;
        self.seconds = seconds;
        self.samples += 1;
        if !self.samples.is_multiple_of(self.every) {
            return;
        }
        let both = |h: &HandleCounters| [h.host_bytes, h.media_bytes];
        let counters = &self.newest.counters;
        let mut row = vec![counters.host_bytes, counters.media_bytes];
        row.extend(self.newest.handles.iter().flat_map(both));
        row.extend(self.newest.gc.iter().flat_map(both));
        self.rows.push((seconds, row));
        if self.rows.len() >= MOST_POINTS {
            let mut number = 0;
            self.rows.retain(|_| {
                number += 1;
                number % 2 == 0
            });
            self.every *= 2;
        }
    }

    /// Keys of the handles in the order of the columns.
    fn keys(&self) -> Vec<String> {
        let gc = self.newest.gc.map(|_| "gc".to_owned());
        (0..self.newest.handles.len()).map(|h| h.to_string()).chain(gc).collect()
    }

    fn live(&self) -> Value {
        let newest = &self.newest;
        json!({
            "state": newest.state,
            "free_open_closed": newest.reclaim_units,
            "connections": newest.connections,
            "event_counts": newest.event_counts,
            "events": newest.events,
        })
    }

    /// One state: counters, handles, what is only live, and reclaim units where asked for.
    fn state(&self, units: Option<Value>) -> Value {
        let newest = &self.newest;
        let counters = newest.handles.iter().chain(&newest.gc);
        let handles: Map<String, Value> = self
            .keys()
            .into_iter()
            .zip(counters)
            .map(|(key, h)| {
                (key, json!({ "host_bytes": h.host_bytes, "media_bytes": h.media_bytes }))
            })
            .collect();
        let mut state = json!({
            "seconds": rounded(self.seconds),
            "counters": newest.counters,
            "handles": handles,
            "live": self.live(),
        });
        if let (Some(object), Some(units)) = (state.as_object_mut(), units) {
            object.insert("reclaim_units".to_owned(), units);
        }
        state
    }
}

fn rounded(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use wafer_core::Counters;

    fn snapshot(host: u64) -> Snapshot {
        let handles =
            vec![HandleCounters { host_bytes: host, media_bytes: 2 * host, erased_bytes: 0 }];
        let counters = Counters { host_bytes: host, media_bytes: 2 * host, ..Counters::default() };
        Snapshot { counters, handles, ..Snapshot::default() }
    }

    #[test]
    fn history_is_bounded_and_keeps_its_ends() {
        let mut history =
            History { rows: Vec::new(), every: 1, samples: 0, newest: snapshot(0), seconds: 0.0 };
        for i in 1..=100_000_u64 {
            history.add(i as f64, snapshot(i));
            assert!(history.rows.len() < MOST_POINTS);
        }
        let last = history.rows.last().unwrap().1[0];
        assert!(last > 100_000 - 2 * history.every && history.rows[0].1[0] <= 2 * history.every);
        assert!(history.rows.windows(2).all(|w| w[0].1[0] < w[1].1[0]));
        assert!(history.rows.len() > MOST_POINTS / 4);
        history.add(1e6, snapshot(5));
        assert!(history.rows.len() <= 1, "a reset begins a new history");
    }
}
