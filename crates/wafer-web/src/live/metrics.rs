//! Prometheus metrics: names and units by its conventions (base units, `_total` for counters).

use prometheus::proto::{LabelPair, Metric, MetricFamily, MetricType, Quantile, Summary};
use prometheus::{
    Encoder, Gauge, GaugeVec, IntCounter, IntCounterVec, Opts, Registry, TextEncoder,
};
use wafer_interface::HandleCounters;
use wafer_record::metrics::Waf;
use wafer_record::time::{Direction, Requests};
use wafer_record::{HandleKey, Snapshot, TimeRecord};

/// The media type of the text format.
pub(crate) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Returns all metrics as text. `page_bytes` is the page size of the device, if known.
pub(crate) fn text(
    snapshot: &Snapshot,
    page_bytes: Option<u64>,
    viewers: usize,
) -> Result<String, prometheus::Error> {
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
    // Counted in pages, shown in the base unit.
    for (name, help, pages) in [
        ("wafer_relocated_bytes_total", "Bytes that garbage collection moved", c.relocated_pages),
        (
            "wafer_read_modify_write_bytes_total",
            "Bytes of pages that hosts wrote only in part: each was read, modified and programmed",
            c.rmw_pages,
        ),
        (
            "wafer_deallocated_bytes_total",
            "Bytes that hosts deallocated while they were mapped",
            c.deallocated_pages,
        ),
    ] {
        if let Some(page_bytes) = page_bytes {
            made.counter(name, help, pages.saturating_mul(page_bytes))?;
        }
    }
    made.counter("wafer_commands_total", "Commands, rejected ones included", c.commands)?;
    made.counter(
        "wafer_rejected_commands_total",
        "Commands outside their namespace: without effect",
        c.rejected,
    )?;
    made.gauge(
        "wafer_write_amplification_ratio",
        "Cumulative WAF: media bytes written over host bytes written",
        Waf::of(c.host_bytes, c.media_bytes).ratio().unwrap_or(f64::NAN),
    )?;
    made.counters(
        "wafer_garbage_collections_total",
        "Reclaim units garbage-collected",
        "reason",
        [("forced", c.forced_gc), ("background", c.background_gc)],
    )?;
    // Only the handles of hosts: their sum is what all hosts wrote.
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
    let retired = snapshot.wear.map_or(0, |wear| wear.retired);
    let counts = snapshot.live.free_open_closed.into_iter().chain([retired]);
    made.gauges(
        "wafer_reclaim_units",
        "Reclaim units by state",
        ["state"],
        ["free", "open", "closed", "retired"].into_iter().zip(counts).map(|(s, n)| ([s], n as f64)),
    )?;
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
    if let Some(time) = &snapshot.time {
        made.times(time)?;
    }
    let mut families = made.0.gather();
    let latencies = snapshot.time.as_ref().map(latencies);
    // The encoder refuses a family without metrics.
    families.extend(latencies.filter(|family| !family.get_metric().is_empty()));
    let mut text = Vec::new();
    TextEncoder::new().encode(&families, &mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Returns the latencies by direction. The library has no type for summaries that are computed elsewhere.
fn latencies(time: &TimeRecord) -> MetricFamily {
    let metric = |(direction, requests): (Direction, &Requests)| {
        let quantiles = requests.percentiles_us.iter().filter_map(|(percent, us)| {
            let mut quantile = Quantile::default();
            // As the shortest decimal, which dividing by a hundred is not.
            quantile.set_quantile(format!("{percent}e-2").parse().ok()?);
            quantile.set_value(us / 1e6);
            Some(quantile)
        });
        let mut summary = Summary::default();
        summary.set_sample_count(requests.count);
        summary.set_sample_sum(requests.mean_us / 1e6 * requests.count as f64);
        summary.set_quantile(quantiles.collect());
        let mut label = LabelPair::default();
        label.set_name("direction".to_owned());
        label.set_value(direction.name().to_owned());
        let mut metric = Metric::from_label(vec![label]);
        metric.set_summary(summary);
        metric
    };
    let mut family = MetricFamily::default();
    family.set_name("wafer_latency_seconds".to_owned());
    family.set_help("Latency in model time; quantiles since the start".to_owned());
    family.set_field_type(MetricType::SUMMARY);
    family.set_metric(time.each().map(metric).collect());
    family
}

struct Made(Registry);

impl Made {
    fn info(&self) -> Result<(), prometheus::Error> {
        let version = ([env!("CARGO_PKG_VERSION")], 1.0);
        self.gauges("wafer_build_info", "Version of wafer", ["version"], [version])
    }

    fn gauge(&self, name: &str, help: &str, value: f64) -> Result<(), prometheus::Error> {
        let gauge = Gauge::new(name, help)?;
        gauge.set(value);
        self.0.register(Box::new(gauge))
    }

    fn gauges<'a, const N: usize>(
        &self,
        name: &str,
        help: &str,
        labels: [&str; N],
        values: impl IntoIterator<Item = ([&'a str; N], f64)>,
    ) -> Result<(), prometheus::Error> {
        let gauges = GaugeVec::new(Opts::new(name, help), &labels)?;
        for (of, value) in values {
            gauges.with_label_values(&of).set(value);
        }
        self.0.register(Box::new(gauges))
    }

    fn counter(&self, name: &str, help: &str, value: u64) -> Result<(), prometheus::Error> {
        let counter = IntCounter::new(name, help)?;
        counter.inc_by(value);
        self.0.register(Box::new(counter))
    }

    fn times(&self, time: &TimeRecord) -> Result<(), prometheus::Error> {
        self.gauges(
            "wafer_late_seconds",
            "How much later than in model time commands completed, since the start",
            ["percentile"],
            time.late_us.iter().map(|(percentile, us)| ([percentile.as_str()], us / 1e6)),
        )?;
        self.gauges(
            "wafer_die_time_ratio",
            "Share of the time of all dies, since the start",
            ["work"],
            time.dies.iter().map(|(work, share)| ([work.as_str()], *share)),
        )?;
        self.gauge(
            "wafer_power_watts",
            "Mean power in model time, since the start",
            time.mean_watts,
        )
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

    /// Returns the metrics of a drive with two handles.
    fn example() -> String {
        let handle = |host, media| HandleCounters {
            host_bytes: host,
            media_bytes: media,
            ..HandleCounters::default()
        };
        let gc = handle(20_000_000_000_000, 21_000_000_000_000);
        let named = [
            handle(10_000_000_000_000, 25_000_000_000_000),
            handle(2_025_908_428_800, 4_712_345_678_901),
        ];
        let snapshot = Snapshot {
            counters: Counters {
                host_bytes: 12_025_908_428_800,
                media_bytes: 30_712_345_678_901,
                relocated_pages: 3,
                ..Counters::default()
            },
            seconds: 1.5,
            handles: Snapshot::keyed(&named, Some(gc)),
            live: Live {
                free_open_closed: [40, 8, 4038],
                event_counts: vec![("media \"reallocated\"".to_owned(), 7)],
                ..Live::default()
            },
            time: Some(TimeRecord {
                read: Some(Requests {
                    count: 4,
                    mean_us: 250.0,
                    percentiles_us: [("50".to_owned(), 100.0), ("99".to_owned(), 900.0)].into(),
                    ..Requests::default()
                }),
                dies: [("host_read".to_owned(), 0.25), ("idle".to_owned(), 0.75)].into(),
                late_us: [("50".to_owned(), 40.0)].into(),
                mean_watts: 7.5,
                ..TimeRecord::default()
            }),
            ..Snapshot::default()
        };
        text(&snapshot, Some(4096), 3).unwrap()
    }

    /// A sample: name, labels, value.
    type Sample<'a> = (&'a str, Vec<(&'a str, &'a str)>, f64);

    /// Parses the exposition as strictly as `promtool check metrics`: HELP, TYPE, then the samples of that name.
    fn samples(text: &str) -> Vec<Sample<'_>> {
        let name_of = |name: &str| {
            !name.is_empty()
                && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
                && name.starts_with("wafer_")
        };
        let mut found: Vec<Sample<'_>> = Vec::new();
        let (mut help, mut kind) = ("", ("", ""));
        let mut names = std::collections::BTreeSet::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, words) = rest.split_once(' ').unwrap();
                assert!(name_of(name) && names.insert(name), "{line}");
                assert!(words.len() > 5 && !words.ends_with('.'), "{line}");
                help = name;
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                kind = rest.split_once(' ').unwrap();
                assert_eq!(kind.0, help, "{line}");
                let expected = match kind.0 {
                    "wafer_latency_seconds" => "summary",
                    name if name.ends_with("_total") => "counter",
                    _ => "gauge",
                };
                assert_eq!(kind.1, expected, "{line}");
                // Base units, spelled out.
                for part in kind.0.split('_') {
                    assert!(
                        !["pages", "kb", "mib", "ms", "us", "counter", "gauge"].contains(&part),
                        "{line}"
                    );
                }
            } else {
                let (series, value) = line.rsplit_once(' ').unwrap();
                let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
                let of_summary = [format!("{}_sum", kind.0), format!("{}_count", kind.0)];
                let belongs = kind.1 == "summary" && of_summary.iter().any(|of| of == name);
                assert!(name == kind.0 || belongs, "{line}");
                let labels = labels.strip_suffix('}').unwrap();
                let labels: Vec<(&str, &str)> = (labels
                    .split(',')
                    .filter(|label| !label.is_empty()))
                .map(|label| {
                    let (key, value) = label.split_once('=').unwrap();
                    let value = value.strip_prefix('"').unwrap().strip_suffix('"').unwrap();
                    assert!(!value.is_empty() && !value.contains(char::is_whitespace), "{line}");
                    (key, value)
                })
                .collect();
                assert!(!found.iter().any(|s| (s.0, &s.1) == (name, &labels)), "{line}: twice");
                found.push((name, labels, value.parse().unwrap()));
            }
        }
        found
    }

    #[test]
    fn the_exposition_keeps_the_rules_of_prometheus_and_adds_up() {
        let text = example();
        let samples = samples(&text);
        assert!(samples.len() > 20, "{}", samples.len());
        let sum = |name: &str| -> f64 {
            let of: Vec<f64> = samples.iter().filter(|s| s.0 == name).map(|s| s.2).collect();
            assert!(!of.is_empty(), "{name}");
            of.iter().sum()
        };
        assert_eq!(
            sum("wafer_handle_host_written_bytes_total"),
            sum("wafer_host_written_bytes_total")
        );
        assert_eq!(
            sum("wafer_handle_media_written_bytes_total")
                + sum("wafer_relocated_again_bytes_total"),
            sum("wafer_media_written_bytes_total")
        );
        assert_eq!(sum("wafer_relocated_bytes_total"), 3.0 * 4096.0);
        assert_eq!(sum("wafer_reclaim_units"), 4086.0);
        assert_eq!(sum("wafer_die_time_ratio"), 1.0);
        assert_eq!((sum("wafer_late_seconds"), sum("wafer_power_watts")), (40.0 / 1e6, 7.5));
        assert_eq!(sum("wafer_latency_seconds_count"), 4.0);
        assert!((sum("wafer_latency_seconds_sum") - 1e-3).abs() < 1e-12);
        let p99 = samples.iter().find(|s| s.1.contains(&("quantile", "0.99"))).unwrap();
        assert_eq!((p99.0, p99.2), ("wafer_latency_seconds", 900.0 / 1e6));
        // Integers stay exact, and the reclaim unit of garbage collection is not a handle.
        assert!(text.contains("wafer_media_written_bytes_total 30712345678901\n"), "{text}");
        assert!(!text.contains("handle=\"gc\""), "{text}");
        assert!(text.contains("type=\"media_\\\"reallocated\\\"\""), "{text}");
    }

    #[test]
    fn a_drive_with_a_clock_has_metrics_before_the_first_command() {
        let idle = Snapshot { time: Some(TimeRecord::default()), ..Snapshot::default() };
        let text = text(&idle, Some(4096), 0).unwrap();
        assert!(samples(&text).len() > 5 && !text.contains("wafer_latency_seconds"));
    }

    #[test]
    fn a_drive_with_pages_of_unknown_size_shows_no_wrong_bytes() {
        let text = text(&Snapshot::default(), None, 0).unwrap();
        assert!(samples(&text).len() > 5 && !text.contains("wafer_relocated_bytes_total"));
        assert!(!text.contains("latency"), "only a drive with a clock has any");
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
                    let family = name.trim_end_matches("_sum").trim_end_matches("_count");
                    assert!(text.contains(&format!("# TYPE {family} ")), "{name}");
                    asked += 1;
                }
            }
        }
        assert!(asked >= 8, "{asked}");
    }
}
