//! Prometheus metrics: names and units by its conventions (base units, `_total` for counters).

use prometheus::{
    Encoder, Gauge, GaugeVec, IntCounter, IntCounterVec, Opts, Registry, TextEncoder,
};
use wafer_interface::HandleCounters;
use wafer_record::{HandleKey, Snapshot};

/// The media type of the text format.
pub(crate) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All metrics as text.
pub(crate) fn text(snapshot: &Snapshot, viewers: usize) -> Result<String, prometheus::Error> {
    let made = Made(Registry::new());
    let c = &snapshot.counters;
    made.info()?;
    made.gauge("wafer_uptime_seconds", "Time since the drive began", snapshot.seconds)?;
    made.counter("wafer_host_written_bytes_total", "HBMW: bytes that hosts wrote", c.host_bytes)?;
    made.counter(
        "wafer_media_written_bytes_total",
        "MBMW: bytes programmed, for hosts and by garbage collection",
        c.media_bytes,
    )?;
    made.counter("wafer_media_erased_bytes_total", "MBE: bytes of media erased", c.erased_bytes)?;
    made.counter("wafer_host_read_bytes_total", "Bytes that hosts read", c.read_bytes)?;
    made.counter(
        "wafer_relocated_pages_total",
        "Pages that garbage collection moved",
        c.relocated_pages,
    )?;
    made.counter(
        "wafer_partial_pages_total",
        "Pages that hosts wrote only in part: each cost a read-modify-write",
        c.rmw_pages,
    )?;
    made.counter(
        "wafer_deallocated_pages_total",
        "Pages that deallocate unmapped",
        c.deallocated_pages,
    )?;
    made.counter("wafer_commands_total", "Commands, rejected ones included", c.commands)?;
    made.counter(
        "wafer_rejected_commands_total",
        "Commands outside their namespace: without effect",
        c.rejected,
    )?;
    made.gauge(
        "wafer_write_amplification_ratio",
        "Cumulative WAF: media bytes written over host bytes written",
        c.waf(),
    )?;
    made.counters(
        "wafer_garbage_collections_total",
        "Reclaim units garbage-collected",
        "reason",
        [("forced", c.forced_gc), ("background", c.background_gc)],
    )?;
    // Only what hosts write through: the sum over handles is what all hosts wrote.
    let named = snapshot.handles.iter().filter(|(key, _)| matches!(key, HandleKey::Handle(_)));
    let handles: Vec<(String, HandleCounters)> =
        named.map(|(key, counters)| (key.to_string(), *counters)).collect();
    made.counters(
        "wafer_handle_host_written_bytes_total",
        "Bytes that hosts wrote through a reclaim unit handle",
        "handle",
        handles.iter().map(|(key, h)| (key.as_str(), h.host_bytes)),
    )?;
    made.counters(
        "wafer_handle_media_written_bytes_total",
        "Bytes programmed for a handle: its host writes and what was moved out of its reclaim units",
        "handle",
        handles.iter().map(|(key, h)| (key.as_str(), h.media_bytes)),
    )?;
    let again = snapshot.handles.get(&HandleKey::Gc);
    made.counter(
        "wafer_relocated_again_bytes_total",
        "Bytes moved out of the reclaim units that garbage collection fills for all initially isolated handles",
        again.map_or(0, |gc| gc.media_bytes.saturating_sub(gc.host_bytes)),
    )?;
    let units =
        GaugeVec::new(Opts::new("wafer_reclaim_units", "Reclaim units by state"), &["state"])?;
    for (state, count) in ["free", "open", "closed"].into_iter().zip(snapshot.live.free_open_closed)
    {
        units.with_label_values(&[state]).set(count as f64);
    }
    made.0.register(Box::new(units))?;
    made.gauge("wafer_connections", "Hosts connected", snapshot.live.connections.len() as f64)?;
    let kinds: Vec<(String, u64)> = (snapshot.live.event_counts.iter())
        .map(|(kind, count)| (kind.replace(' ', "_"), *count))
        .collect();
    made.counters(
        "wafer_fdp_events_total",
        "FDP events by type",
        "type",
        kinds.iter().map(|(kind, count)| (kind.as_str(), *count)),
    )?;
    made.gauge("wafer_live_viewers", "Viewers of the live page", viewers as f64)?;
    let mut text = Vec::new();
    TextEncoder::new().encode(&made.0.gather(), &mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

struct Made(Registry);

impl Made {
    fn info(&self) -> Result<(), prometheus::Error> {
        let opts = Opts::new("wafer_build_info", "Version of wafer");
        let info = GaugeVec::new(opts, &["version"])?;
        info.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1.0);
        self.0.register(Box::new(info))
    }

    fn gauge(&self, name: &str, help: &str, value: f64) -> Result<(), prometheus::Error> {
        let gauge = Gauge::new(name, help)?;
        gauge.set(value);
        self.0.register(Box::new(gauge))
    }

    fn counter(&self, name: &str, help: &str, value: u64) -> Result<(), prometheus::Error> {
        let counter = IntCounter::new(name, help)?;
        counter.inc_by(value);
        self.0.register(Box::new(counter))
    }

    fn counters<'a>(
        &self,
        name: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (&'a str, u64)>,
    ) -> Result<(), prometheus::Error> {
        let counters = IntCounterVec::new(Opts::new(name, help), &[label])?;
        for (value, count) in values {
            counters.with_label_values(&[value]).inc_by(count);
        }
        self.0.register(Box::new(counters))
    }
}

#[cfg(test)]
mod tests {
    use wafer_interface::Counters;
    use wafer_record::Live;

    use super::*;

    /// What a scrape shows of a drive with two handles.
    fn example() -> String {
        let handle = HandleCounters { host_bytes: 10, media_bytes: 25, erased_bytes: 0 };
        let gc = HandleCounters { host_bytes: 30, media_bytes: 37, erased_bytes: 0 };
        let snapshot = Snapshot {
            counters: Counters {
                host_bytes: 12_025_908_428_800,
                media_bytes: 30_712_345_678_901,
                ..Counters::default()
            },
            seconds: 1.5,
            handles: Snapshot::keyed(&[handle, handle], Some(gc)),
            live: Live {
                free_open_closed: [40, 8, 4038],
                event_counts: vec![("media \"reallocated\"\n".to_owned(), 7)],
                ..Live::default()
            },
            ..Snapshot::default()
        };
        text(&snapshot, 3).unwrap()
    }

    #[test]
    fn every_sample_has_help_and_type_and_whole_numbers_stay_whole() {
        let text = example();
        assert!(text.contains("wafer_media_written_bytes_total 30712345678901\n"), "{text}");
        assert!(text.contains("wafer_handle_media_written_bytes_total{handle=\"1\"} 25\n"));
        assert!(text.contains("wafer_relocated_again_bytes_total 7\n"));
        assert!(!text.contains("handle=\"gc\""), "{text}");
        assert!(text.contains("wafer_reclaim_units{state=\"closed\"} 4038\n"));
        assert!(text.contains("type=\"media_\\\"reallocated\\\"\\n\""));
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let name = line.split(['{', ' ']).next().unwrap();
            assert!(text.contains(&format!("# HELP {name} ")), "{name}");
            let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
            assert!(text.contains(&format!("# TYPE {name} {kind}\n")), "{name}");
        }
    }

    #[test]
    fn the_dashboard_asks_for_nothing_else() {
        let text = example();
        let dashboard = include_str!("../../../../configs/grafana/wafer.json");
        let dashboard: serde_json::Value = serde_json::from_str(dashboard).unwrap();
        let mut asked = 0;
        for panel in dashboard["panels"].as_array().unwrap() {
            for target in panel["targets"].as_array().into_iter().flatten() {
                let expression = target["expr"].as_str().unwrap();
                let names = expression.split(|c: char| !c.is_alphanumeric() && c != '_');
                for name in names.filter(|name| name.starts_with("wafer_")) {
                    assert!(text.contains(&format!("# TYPE {name} ")), "{name}");
                    asked += 1;
                }
            }
        }
        assert!(asked >= 8, "{asked}");
    }
}
