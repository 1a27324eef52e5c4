//! The report without JavaScript: the same tables and curves, written into the page as HTML and SVG.
//!
//! It draws the contents of the records and computes nothing. Curves are thinned to some hundred points; the scripted
//! page has all of them.
//!
//! - `html.rs`: elements and tables, escaped.
//! - `chart.rs`: a line chart as SVG, with the colours and dashes of the scripted page.

mod chart;
mod html;

pub(crate) use chart::styles;
pub(crate) use html::escape;

use wafer_record::text::bytes;
use wafer_record::{Finding, HandleKey, Record};

use self::chart::{Chart, Layout, Line, layout};
use self::html::{Cell, number, table, text};
use crate::report::Page;
use crate::report::data::Run;

/// With more runs, sections of single runs are omitted, to keep the page of a sweep small.
const MOST_RUNS: usize = 16;

/// Returns the body of a page for readers without JavaScript; `note` introduces it.
pub(crate) fn page(title: &str, note: &str, page: &Page) -> String {
    let mut html = format!("<h1>{}</h1>\n<p class=\"note\">{}</p>\n", escape(title), escape(note));
    html += &section("Runs", &totals(&page.runs));
    html += &section("Write amplification", &waf(&page.runs));
    if !page.comparison.is_empty() {
        html += &section("Comparison", &findings(&page.comparison));
    }
    html += &latencies(&page.runs);
    for run in page.runs.iter().take(MOST_RUNS) {
        html += &one(run);
    }
    if page.runs.len() > MOST_RUNS {
        html += &format!(
            "<p class=\"note\">Sections of single runs are shown for the first {MOST_RUNS} of {} runs.</p>\n",
            page.runs.len()
        );
    }
    html
}

fn section(title: &str, body: &str) -> String {
    format!("<section>\n<h2>{}</h2>\n{body}</section>\n", escape(title))
}

fn ratio(waf: Option<f64>) -> String {
    waf.map_or_else(|| "–".to_owned(), |waf| format!("{waf:.3}"))
}

/// Formats a percentage as on the scripted page, with a non-breaking space.
fn percent(share: f64) -> String {
    wafer_record::text::percent(share).replace(' ', "\u{a0}")
}

/// Returns a whole number with thin spaces between thousands.
fn count(value: u64) -> String {
    let digits = value.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join("\u{202f}")
}

/// Escapes a sentence; a key or value in backticks is code.
fn words(sentence: &str) -> String {
    let text = escape(sentence).replace(" %", "\u{a0}%");
    let part = |(i, part): (usize, &str)| {
        if i % 2 == 1 { format!("<code>{part}</code>") } else { part.to_owned() }
    };
    text.split('`').enumerate().map(part).collect()
}

fn findings(found: &[Finding]) -> String {
    let items: String = found
        .iter()
        .map(|f| format!("<li><strong>{}</strong> {}</li>\n", words(&f.title), words(&f.text)))
        .collect();
    format!("<ul class=\"findings\">\n{items}</ul>\n")
}

/// Returns the logical capacity of the device of a record, bytes, if it is known.
fn logical(record: &Record) -> Option<u64> {
    Some(record.logical_bytes()).filter(|bytes| *bytes > 0)
}

fn totals(runs: &[Run]) -> String {
    let optional = |value: Option<u64>| number(value.map_or_else(|| "–".to_owned(), bytes));
    let rows = runs.iter().map(|Run { label, record, .. }| {
        let s = &record.summary;
        let added = record.metrics.as_ref().map_or(0.0, |m| m.added_share);
        let volume = logical(record).map_or_else(String::new, |all| {
            format!(" (x{})", (1e3 * s.host_bytes as f64 / all as f64).round() / 1e3)
        });
        vec![
            text(label),
            number(ratio((s.host_bytes > 0).then_some(s.waf))),
            number(bytes(s.host_bytes) + &volume),
            number(bytes(s.media_bytes)),
            optional(s.erased_bytes),
            number(percent(added)),
        ]
    });
    let columns = ["run", "WAF", "host (HBMW)", "media (MBMW)", "erased (MBE)", "not from hosts"];
    table("Totals of the runs", &columns, rows)
}

/// Returns the host writes at each point, on the axis shared by all runs: multiples of the capacity if each run has
/// one, otherwise GB.
fn volumes(record: &Record, in_capacities: bool) -> Vec<f64> {
    let unit = if in_capacities { logical(record).unwrap_or(1) as f64 } else { 1e9 };
    record.timeline.host_bytes.iter().map(|host| *host as f64 / unit).collect()
}

fn axis(layout: &Layout, in_capacities: bool) -> &str {
    let words = &layout.host_writes;
    if in_capacities { &words.capacities } else { &words.gigabytes }
}

/// Capitalizes words as a heading.
fn heading(words: &str) -> String {
    let (first, rest) = words.split_at(words.chars().next().map_or(0, char::len_utf8));
    first.to_uppercase() + rest
}

fn waf(runs: &[Run]) -> String {
    if runs.iter().all(|run| run.record.summary.host_bytes == 0) {
        return "<p class=\"note\">No host writes, so WAF is undefined.</p>\n".to_owned();
    }
    let in_capacities = runs.iter().all(|run| logical(&run.record).is_some());
    let lines = runs.iter().take(chart::MOST_LINES).enumerate().map(|(index, run)| Line {
        label: run.label.clone(),
        index: Some(index),
        x: volumes(&run.record, in_capacities),
        y: run.record.metrics.as_ref().map_or_else(Vec::new, |m| m.device.cumulative.clone()),
    });
    let layout = layout();
    let mut html = Chart {
        layout: &layout,
        title: &heading(&layout.waf.cumulative),
        x_label: axis(&layout, in_capacities),
        y_label: &layout.waf.label,
        lines: lines.collect(),
    }
    .svg();
    let at = |run: &Run| run.record.metrics.as_ref().map_or_else(Vec::new, |m| m.volumes.clone());
    let few: Vec<&Run> = runs.iter().take(MOST_RUNS).collect();
    // The last volume of a run is its end.
    let round =
        |run: &&Run| at(run).split_last().map_or_else(Vec::new, |(_, round)| round.to_vec());
    let mut all: Vec<f64> = few.iter().flat_map(round).map(|v| v.volume).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    if few.iter().any(|run| !at(run).is_empty()) {
        let names: Vec<String> = all.iter().map(|volume| format!("x{volume}")).collect();
        let columns = ["host writes"].into_iter().chain(names.iter().map(String::as_str));
        let columns: Vec<&str> = columns.chain(["last"]).collect();
        let rows = few.iter().map(|run| {
            let volumes = at(run);
            let found = |volume: &f64| volumes.iter().find(|v| v.volume == *volume).map(|v| v.waf);
            let mut row = vec![text(&run.label)];
            row.extend(all.iter().map(|volume| number(ratio(found(volume)))));
            row.push(number(volumes.last().map_or_else(
                || "–".to_owned(),
                |end| format!("{:.3} at x{}", end.waf, (end.volume * 1e3).round() / 1e3),
            )));
            row
        });
        html += &table("Cumulative WAF at round volumes", &columns, rows);
    }
    html
}

fn latencies(runs: &[Run]) -> String {
    const PERCENTILES: [(&str, f64); 4] =
        [("50", 50.0), ("99", 99.0), ("99.9", 99.9), ("99.99", 99.99)];
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for Run { label, record, .. } in runs {
        let Some(time) = &record.time else { continue };
        for (direction, r) in time.each() {
            let us = |value: f64| number(format!("{value:.1}"));
            let mut row = vec![
                text(&format!("{label}, {}", direction.plural())),
                number(count(r.iops.round() as u64)),
                number(format!("{}/s", bytes(r.bytes_per_second as u64))),
                us(r.mean_us),
            ];
            row.extend(PERCENTILES.iter().map(|(p, percent)| {
                // Percentiles are known only if at least one request is beyond them.
                let known = r.count as f64 * (1.0 - percent / 100.0) >= 1.0;
                let value = r.percentiles_us.get(*p).filter(|_| known);
                value.map_or_else(|| number("–".to_owned()), |value| us(*value))
            }));
            rows.push(row);
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let columns = [
        "requests",
        "IOPS",
        "bandwidth",
        "mean (µs)",
        "p50 (µs)",
        "p99 (µs)",
        "p99.9 (µs)",
        "p99.99 (µs)",
    ];
    section("Latency", &table("Latency of the runs", &columns, rows))
}

/// Returns the sections of one run.
fn one(run: &Run) -> String {
    let Run { label, record, .. } = run;
    let mut html = findings(record.findings.as_deref().unwrap_or_default());
    html += &handles(record);
    html += &attribution(record);
    html += &units(record);
    let config = record.provenance.config.as_ref();
    let config = config.and_then(|config| wafer_record::text::json(config).ok());
    let workload = record.provenance.workload.as_ref().map(|workload| workload.text.clone());
    for (title, text) in [("Configuration", config), ("Workload", workload)] {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            html += &format!("<h3>{title}</h3>\n<pre>{}</pre>\n", escape(&text));
        }
    }
    section(label, &html)
}

fn name(key: &HandleKey) -> String {
    match key {
        HandleKey::Handle(number) => format!("handle {number}"),
        HandleKey::Gc => "gc".to_owned(),
    }
}

/// The meaning of added bytes, as on the scripted page.
const ADDED: &str = "Added bytes are what the drive wrote to the handle's reclaim units beyond what the host wrote: \
                     relocation and read-modify-write.";

/// What a write buffer or SLC cache changes, as on the scripted page.
const BUFFERED: &str = " Media bytes are counted when they leave the write buffer or SLC cache, so the WAF of a handle \
                        can be below 1.";

fn handles(record: &Record) -> String {
    let Some(metrics) = record.metrics.as_ref().filter(|m| !m.handles.is_empty()) else {
        return String::new();
    };
    let in_capacities = logical(record).is_some();
    let lines = metrics.handles.iter().map(|(key, handle)| Line {
        label: name(key),
        index: match key {
            HandleKey::Handle(number) => Some(usize::from(*number)),
            HandleKey::Gc => None,
        },
        x: volumes(record, in_capacities),
        y: handle.ratios.cumulative.clone(),
    });
    let layout = layout();
    let chart = Chart {
        layout: &layout,
        title: &format!("{} by handle", heading(&layout.waf.cumulative)),
        x_label: axis(&layout, in_capacities),
        y_label: &layout.waf.label,
        lines: lines.collect(),
    };
    let last = |column: Option<&Vec<u64>>| {
        number(bytes(column.and_then(|c| c.last()).copied().unwrap_or_default()))
    };
    let rows = metrics.handles.iter().map(|(key, handle)| {
        let series = record.timeline.handles.get(key);
        vec![
            text(&name(key)),
            last(series.map(|s| &s.host_bytes)),
            last(series.map(|s| &s.media_bytes)),
            number(ratio(handle.waf)),
            number(percent(handle.moved_share)),
        ]
    });
    let columns = ["handle", "host", "media", "WAF", "of all added"];
    chart.svg()
        + &table("Handles", &columns, rows)
        + &format!(
            "<p class=\"note\">{ADDED}{}</p>\n",
            if record.unites_writes() { BUFFERED } else { "" }
        )
}

fn attribution(record: &Record) -> String {
    let Some(a) = &record.attribution else { return String::new() };
    let named = |h: &String| if h == "gc" { "GC".to_owned() } else { format!("handle {h}") };
    let data: Vec<String> = a.handles.iter().map(|h| format!("data of {}", named(h))).collect();
    let mut columns = vec!["caused by"];
    columns.extend(data.iter().map(String::as_str));
    let rows = a.handles.iter().zip(&a.relocated_bytes).map(|(handle, moved)| {
        let mut row = vec![text(&named(handle))];
        row.extend(moved.iter().map(|moved| number(bytes(*moved))));
        row
    });
    table("Attribution: whose writes made GC move whose data", &columns, rows)
}

fn units(record: &Record) -> String {
    let Some(units) = &record.reclaim_units else { return String::new() };
    let of = |index: i32| {
        let valid: Vec<u64> = (units.owner.iter().zip(&units.valid))
            .filter(|(owner, _)| **owner == index)
            .map(|(_, valid)| u64::from(*valid))
            .collect();
        (valid.len() as u64, valid.iter().sum::<u64>())
    };
    let owned = units.owners.iter().enumerate().map(|(i, key)| (i as i32, name(key)));
    let retired = units.retired.len() as u64;
    let unowned = [(-1, "free".to_owned()), (-2, "retired".to_owned())];
    let unowned = unowned.into_iter().filter(|(index, _)| *index == -1 || retired > 0);
    let rows = unowned.chain(owned).map(|(index, name)| {
        let (rus, valid) = match index {
            -2 => (retired, 0),
            -1 => (of(-1).0.saturating_sub(retired), 0),
            _ => of(index),
        };
        let all = rus * u64::from(units.pages);
        let share = (index >= 0 && all > 0).then(|| percent(valid as f64 / all as f64));
        let share = share.unwrap_or_else(|| "–".to_owned());
        vec![text(&name), number(count(rus)), number(share)]
    });
    table("Reclaim units by owner", &["owner", "RUs", "mean valid share"], rows)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(name: &str, points: u64) -> Record {
        let host: Vec<u64> = (1..=points).map(|i| i * 1_000_000_000).collect();
        let media: Vec<u64> = host.iter().map(|h| h * 2).collect();
        let record = json!({
            "schema": "wafer.result/1", "name": name,
            "provenance": { "config": { "gc": { "policy": "greedy" } } },
            "summary": { "host_bytes": host.last(), "media_bytes": media.last(), "erased_bytes": 0, "waf": 2.0 },
            "timeline": { "host_bytes": host, "media_bytes": media,
                "handles": { "0": { "host_bytes": host, "media_bytes": media } } },
        });
        serde_json::from_value(record).unwrap()
    }

    #[test]
    fn tables_and_curves_of_all_runs_are_there_and_names_are_text() {
        let evil = "<script>alert(1)</script>\"&";
        let html = page(evil, "n", &Page::new(vec![record(evil, 10), record("b", 5000)]));
        assert!(!html.contains("<script"), "{html}");
        for part in ["&lt;script&gt;", "2.000", "10.0 GB", "WAF 2.000", "greedy", "handle 0"] {
            assert!(html.contains(part), "{part} in\n{html}");
        }
        // One chart of the runs and one of the handles of each; the run that ends early is marked.
        assert_eq!(html.matches("<svg ").count(), 3);
        assert_eq!(html.matches("class=\"end\"").count(), 1);
        assert!(html.len() < 60_000, "{} bytes: curves are thinned", html.len());
    }

    #[test]
    fn a_run_that_only_reads_has_no_waf() {
        let mut reads = record("reads", 10);
        reads.summary.host_bytes = 0;
        reads.timeline.host_bytes = vec![0; 10];
        reads.timeline.media_bytes = vec![0; 10];
        reads.timeline.handles.clear();
        let html = page("reads", "n", &Page::new(vec![reads]));
        assert!(html.contains("No host writes, so WAF is undefined."), "{html}");
        assert!(!html.contains("<svg ") && !html.contains("round volumes"), "{html}");
    }

    #[test]
    fn handles_behind_a_buffer_are_explained() {
        let plain = record("plain", 10);
        let mut buffered = record("buffered", 10);
        buffered.provenance.config = Some(json!({ "firmware": { "write_buffer": "8MiB" } }));
        let html = |record: Record| page("t", "n", &Page::new(vec![record]));
        assert!(html(plain.clone()).contains(ADDED) && !html(plain).contains(BUFFERED));
        assert!(html(buffered).contains(BUFFERED));
    }

    #[test]
    fn a_thousand_runs_stay_small() {
        let records = (0..1000).map(|i| record(&format!("run {i}"), 100)).collect();
        let html = page("sweep", "n", &Page::new(records));
        assert!(html.contains("run 999") && html.contains("first 16 of 1000 runs"));
        assert!(html.len() < 800_000, "{}", html.len());
    }
}
