//! Prints the tables of `wafer run` without `--json`.

use std::io::{self, Write};

use wafer_lab::Comparison;
use wafer_record::Record;
use wafer_record::metrics::sparkline;

use wafer_output as output;
use wafer_output::{HEADER, PLAIN, Table};

/// Prints one run: totals, WAF over the volume, and per handle.
pub(crate) fn one(out: &mut impl Write, record: &Record) -> io::Result<()> {
    let summary = &record.summary;
    writeln!(
        out,
        "{HEADER}{}{PLAIN}, device {}, seed {}",
        record.name,
        record.provenance.device,
        record.seed()
    )?;
    writeln!(
        out,
        "host {} ({:.3}x)  media {}  erased {}  {HEADER}WAF {:.3}{PLAIN}",
        output::bytes(summary.host_bytes),
        record.volume(),
        output::bytes(summary.media_bytes),
        output::bytes(summary.erased_bytes.unwrap_or(0)),
        summary.waf
    )?;
    line(out, record)?;
    volumes(out, record)?;
    writeln!(out)?;
    handles(out, record)
}

/// Prints the instantaneous WAF over the written volume as one line.
fn line(out: &mut impl Write, record: &Record) -> io::Result<()> {
    let Some(metrics) = &record.metrics else { return Ok(()) };
    let wafs = &metrics.device.instantaneous;
    let least = wafs.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    let most = wafs.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
    if most >= least {
        let sparkline = sparkline(wafs, 60);
        writeln!(out, "instantaneous WAF {least:.2} to {most:.2}  {sparkline}")?;
    }
    writeln!(out)
}

/// Prints the WAF at round volumes and at the end, cumulative and since the previous one.
fn volumes(out: &mut impl Write, record: &Record) -> io::Result<()> {
    let logical = record.logical_bytes() as f64;
    let mut table = Table::default().numbers(["volume", "host", "media", "WAF", "WAF since"]);
    let mut last = (0.0, 0.0);
    for volume in wafer_record::volumes(record.volume()) {
        let host = (volume * logical).round() as u64;
        let host = host.min(record.summary.host_bytes);
        let Some(media) = record.timeline.media_at(host) else { continue };
        let point = (host as f64, media);
        table.row([
            format!("x{}", trimmed(volume)),
            output::bytes(host),
            output::bytes(media as u64),
            format!("{:.3}", point.1 / point.0.max(1.0)),
            format!("{:.3}", (point.1 - last.1) / (point.0 - last.0).max(1.0)),
        ]);
        last = point;
    }
    table.print(out)
}

/// Prints host bytes, media bytes and WAF of each handle.
fn handles(out: &mut impl Write, record: &Record) -> io::Result<()> {
    let mut table = Table::default().numbers(["handle", "host", "media", "WAF", "of extra media"]);
    let Some(metrics) = &record.metrics else { return Ok(()) };
    for (key, series) in &record.timeline.handles {
        let end = |values: &[u64]| output::bytes(values.last().copied().unwrap_or(0));
        let (waf, share) = metrics.handles.get(key).map_or((None, 0.0), |h| (h.waf, h.moved_share));
        table.row([
            key.to_string(),
            end(&series.host_bytes),
            end(&series.media_bytes),
            output::waf(waf),
            output::percent(share),
        ]);
    }
    table.print(out)
}

/// Prints several runs, one per line, and the spread over the seeds of each group.
pub(crate) fn many(out: &mut impl Write, records: &[Record], groups: &[usize]) -> io::Result<()> {
    let mut table = Table::default()
        .text(["experiment", "device"])
        .numbers(["seed", "volume", "host", "media", "WAF"]);
    for record in records {
        table.row([
            record.name.clone(),
            record.provenance.device.clone(),
            record.seed().to_string(),
            format!("x{}", trimmed(record.volume())),
            output::bytes(record.summary.host_bytes),
            output::bytes(record.summary.media_bytes),
            format!("{:.4}", record.summary.waf),
        ]);
    }
    table.print(out)?;
    let timed: Vec<_> = records
        .iter()
        .filter_map(|r| Some((format!("{}, seed {}", r.name, r.seed()), r.time.as_ref()?)))
        .collect();
    if !timed.is_empty() {
        writeln!(out)?;
        output::several_timed(out, &timed)?;
    }
    let mut spread =
        Table::default().text(["experiment"]).numbers(["seeds", "mean WAF", "least", "most"]);
    let mut repeated = false;
    let all: Vec<_> = records.iter().zip(groups).collect();
    for group in all.chunk_by(|a, b| a.1 == b.1) {
        let wafs: Vec<f64> = group.iter().map(|(record, _)| record.summary.waf).collect();
        repeated |= wafs.len() > 1;
        let mean = wafs.iter().sum::<f64>() / wafs.len() as f64;
        let least = wafs.iter().copied().fold(f64::INFINITY, f64::min);
        let most = wafs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        spread.row([
            group[0].0.name.clone(),
            wafs.len().to_string(),
            format!("{mean:.4}"),
            format!("{least:.4}"),
            format!("{most:.4}"),
        ]);
    }
    if repeated {
        writeln!(out)?;
        spread.print(out)?;
    }
    Ok(())
}

/// Prints published WAF next to ours.
pub(crate) fn comparison(out: &mut impl Write, comparison: &Comparison) -> io::Result<()> {
    let source = comparison.source.as_deref().unwrap_or(&comparison.reference);
    writeln!(out, "\ncompared with {source}")?;
    let mut table = Table::default().numbers(["volume", "published", "ours", "difference"]);
    for row in &comparison.rows {
        table.row([
            format!("x{}", trimmed(row.volume)),
            format!("{:.3}", row.published),
            format!("{:.3}", row.ours),
            format!("{:+.1} %", row.difference_percent),
        ]);
    }
    table.print(out)?;
    if comparison.rows.is_empty() {
        writeln!(out, "(no volume that both have)")?;
    }
    Ok(())
}

/// Prints the speed of the run with its model time or, without a clock, the minimum time on the real device.
pub(crate) fn speed(
    out: &mut impl Write,
    record: &Record,
    write_rate: Option<u64>,
) -> io::Result<()> {
    let (summary, performance) = (&record.summary, &record.performance);
    write!(
        out,
        "\nsimulated {} of host writes ({} of media writes) in {}",
        output::bytes(summary.host_bytes),
        output::bytes(summary.media_bytes),
        output::seconds(performance.wall_seconds)
    )?;
    let real = match (&record.time, write_rate.filter(|rate| *rate > 0)) {
        (Some(time), _) => {
            let text = format!("{} of model time", output::seconds(time.seconds));
            Some((time.seconds, text))
        }
        (None, Some(rate)) => {
            let needed = summary.media_bytes as f64 / rate as f64;
            let (rate, seconds) = (output::bytes(rate), output::seconds(needed));
            Some((needed, format!("at {rate}/s the device needs {seconds} for them")))
        }
        (None, None) => None,
    };
    if let Some((real, text)) = real.filter(|(real, _)| *real > 0.0) {
        let wall = performance.wall_seconds;
        let word = if real < wall { "slower" } else { "faster" };
        let times = real.max(wall) / real.min(wall).max(1e-9);
        write!(out, "; {text}: {times:.0} times {word}")?;
    }
    writeln!(out)
}

fn trimmed(volume: f64) -> String {
    let text = format!("{volume:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
