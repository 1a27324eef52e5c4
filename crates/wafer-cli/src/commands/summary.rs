//! The tables that `wafer run` prints without `--json`.

use std::io::{self, Write};

use wafer_lab::{Comparison, HandleKey, ResultRecord, VOLUMES, metrics};

use crate::output::{self, Align, HEADER, Table};

/// One run: totals, WAF over the volume, and per handle.
pub(crate) fn one(out: &mut impl Write, record: &ResultRecord) -> io::Result<()> {
    let summary = &record.summary;
    writeln!(
        out,
        "{HEADER}{}{HEADER:#}, device {}, seed {}",
        record.name, record.provenance.device, record.provenance.seed
    )?;
    writeln!(
        out,
        "host {} ({:.3}x)  media {}  erased {}  {HEADER}WAF {:.3}{HEADER:#}",
        output::bytes(summary.host_bytes),
        record.volume(),
        output::bytes(summary.media_bytes),
        output::bytes(summary.erased_bytes),
        summary.waf
    )?;
    line(out, record)?;
    volumes(out, record)?;
    writeln!(out)?;
    handles(out, record)
}

/// Instantaneous WAF over the written volume in one line.
fn line(out: &mut impl Write, record: &ResultRecord) -> io::Result<()> {
    let timeline = &record.timeline;
    let wafs: Vec<Option<f64>> =
        metrics::instantaneous(&timeline.host_bytes, &timeline.media_bytes)
            .into_iter()
            .map(metrics::Waf::ratio)
            .collect();
    let least = wafs.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    let most = wafs.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
    if most >= least {
        let sparkline = metrics::sparkline(&wafs, 60);
        writeln!(out, "instantaneous WAF {least:.2} to {most:.2}  {sparkline}")?;
    }
    writeln!(out)
}

/// Cumulative WAF at round volumes and at the end, and between them.
fn volumes(out: &mut impl Write, record: &ResultRecord) -> io::Result<()> {
    let logical = record.logical_bytes() as f64;
    let end = record.volume();
    let mut table = Table::new(&[
        ("volume", Align::Right),
        ("host", Align::Right),
        ("media", Align::Right),
        ("WAF", Align::Right),
        ("WAF since", Align::Right),
    ]);
    let mut last = (0.0, 0.0);
    let round = VOLUMES.into_iter().filter(|volume| volume + 1e-6 < end);
    for volume in round.chain([end]) {
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

/// Host bytes, media bytes and WAF of each handle.
fn handles(out: &mut impl Write, record: &ResultRecord) -> io::Result<()> {
    let mut table = Table::new(&[
        ("handle", Align::Right),
        ("host", Align::Right),
        ("media", Align::Right),
        ("WAF", Align::Right),
        ("of extra media", Align::Right),
    ]);
    let extra = summary_extra(record);
    for (key, series) in &record.timeline.handles {
        let host = series.host_bytes.last().copied().unwrap_or(0);
        let media = series.media_bytes.last().copied().unwrap_or(0);
        let waf = if host > 0 { format!("{:.3}", media as f64 / host as f64) } else { "-".into() };
        let moved = media.saturating_sub(host);
        let share = 100.0 * moved as f64 / extra.max(1) as f64;
        let name = match key {
            HandleKey::Handle(handle) => handle.to_string(),
            HandleKey::Gc => "gc".to_owned(),
        };
        table.row([name, output::bytes(host), output::bytes(media), waf, format!("{share:.1} %")]);
    }
    table.print(out)
}

fn summary_extra(record: &ResultRecord) -> u64 {
    record.summary.media_bytes.saturating_sub(record.summary.host_bytes)
}

/// Several runs: a line each, and the spread over seeds.
pub(crate) fn many(out: &mut impl Write, records: &[&ResultRecord]) -> io::Result<()> {
    let mut table = Table::new(&[
        ("experiment", Align::Left),
        ("device", Align::Left),
        ("seed", Align::Right),
        ("volume", Align::Right),
        ("host", Align::Right),
        ("media", Align::Right),
        ("WAF", Align::Right),
    ]);
    for record in records {
        table.row([
            record.name.clone(),
            record.provenance.device.clone(),
            record.provenance.seed.to_string(),
            format!("x{}", trimmed(record.volume())),
            output::bytes(record.summary.host_bytes),
            output::bytes(record.summary.media_bytes),
            format!("{:.4}", record.summary.waf),
        ]);
    }
    table.print(out)?;
    let mut names: Vec<&str> = records.iter().map(|r| r.name.as_str()).collect();
    names.dedup();
    let mut spread = Table::new(&[
        ("experiment", Align::Left),
        ("seeds", Align::Right),
        ("mean WAF", Align::Right),
        ("least", Align::Right),
        ("most", Align::Right),
    ]);
    let mut repeated = false;
    for name in names {
        let wafs: Vec<f64> =
            records.iter().filter(|r| r.name == name).map(|r| r.summary.waf).collect();
        repeated |= wafs.len() > 1;
        let mean = wafs.iter().sum::<f64>() / wafs.len() as f64;
        let least = wafs.iter().copied().fold(f64::INFINITY, f64::min);
        let most = wafs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        spread.row([
            name.to_owned(),
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

/// Published WAF beside ours.
pub(crate) fn comparison(out: &mut impl Write, comparison: &Comparison) -> io::Result<()> {
    let source = comparison.source.as_deref().unwrap_or(&comparison.reference);
    writeln!(out, "\nbeside {source}")?;
    let mut table = Table::new(&[
        ("volume", Align::Right),
        ("published", Align::Right),
        ("ours", Align::Right),
        ("difference", Align::Right),
    ]);
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

/// How fast the run was, beside the time that the real device needs at least.
pub(crate) fn speed(
    out: &mut impl Write,
    record: &ResultRecord,
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
    if let Some(rate) = write_rate.filter(|rate| *rate > 0) {
        let real = summary.media_bytes as f64 / rate as f64;
        write!(
            out,
            "; at {}/s the device needs {} for them: {:.0} times faster",
            output::bytes(rate),
            output::seconds(real),
            real / performance.wall_seconds.max(1e-9)
        )?;
    }
    writeln!(out)
}

fn trimmed(volume: f64) -> String {
    let text = format!("{volume:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
