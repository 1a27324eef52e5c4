//! Prints the tables of a run, or of a served drive, with a clock.

use std::io::{self, Write};

use wafer_record::TimeRecord;
use wafer_record::time::{Direction, Requests};

use crate::{HEADER, Table, bytes, seconds};

/// Prints bandwidth and latency by job, utilisation of the dies, and the parts of the latency.
pub fn timed(out: &mut impl Write, time: &TimeRecord) -> io::Result<()> {
    let life = time.life.as_ref().map_or_else(String::new, |life| {
        format!(", life {:.2} years at {:.2} drive writes a day", life.years, life.dwpd)
    });
    writeln!(
        out,
        "\n{HEADER}{} of model time{HEADER:#}, mean power {:.1} W{life}",
        seconds(time.seconds),
        time.mean_watts
    )?;
    let mut table = table("job");
    for (direction, requests) in time.each() {
        table.row(row("all", direction, requests));
    }
    for (name, job) in &time.jobs {
        for (direction, requests) in job.each() {
            table.row(row(name, direction, requests));
        }
    }
    if time.each().next().is_none() {
        let ramp = if time.jobs.is_empty() { "" } else { " after the ramp of the jobs" };
        writeln!(out, "no requests{ramp}")?;
    } else {
        table.print(out)?;
    }
    if let (Some(half), Some(slow)) = (time.late_us.get("50"), time.late_us.get("99")) {
        let (half, slow) = (microseconds(*half), microseconds(*slow));
        writeln!(out, "completed later than that: p50 by {half} µs, p99 by {slow} µs")?;
    }
    let dies: Vec<String> = (time.dies.iter().filter(|(_, share)| **share >= 0.0005))
        .map(|(work, share)| format!("{} {:.1} %", work.replace('_', " "), share * 100.0))
        .collect();
    writeln!(out, "dies: {}", dies.join(", "))?;
    for (direction, requests) in time.each() {
        for band in requests.bands.iter().filter(|band| band.from >= 99.0) {
            let mut parts: Vec<(&String, &f64)> = band.parts_us.iter().collect();
            parts.sort_by(|a, b| b.1.total_cmp(a.1));
            let parts = parts.iter().filter(|(_, us)| **us >= 0.5).take(4);
            let parts: Vec<String> = parts.map(|(name, us)| format!("{name} {us:.0} µs")).collect();
            writeln!(
                out,
                "{} from p{} to p{}: {}",
                direction.plural(),
                band.from,
                band.to,
                parts.join(", ")
            )?;
        }
    }
    Ok(())
}

/// Prints bandwidth and latency of several runs, each with its name.
///
/// # Errors
/// If `out` cannot be written.
pub fn several_timed(out: &mut impl Write, runs: &[(String, &TimeRecord)]) -> io::Result<()> {
    let mut table = table("run");
    for (name, time) in runs {
        time.each().for_each(|(direction, requests)| table.row(row(name, direction, requests)));
    }
    table.print(out)
}

/// Returns a table of latencies without rows, whose first column has this header.
fn table(first: &'static str) -> Table {
    Table::default().text([first, ""]).numbers([
        "IOPS",
        "per second",
        "mean µs",
        "p50",
        "p99",
        "p99.9",
        "p99.99",
        "max",
    ])
}

fn row(name: &str, direction: Direction, requests: &Requests) -> [String; 10] {
    let percentile = |percent: &str| {
        requests.percentiles_us.get(percent).map_or_else(String::new, |us| microseconds(*us))
    };
    [
        name.to_owned(),
        direction.name().to_owned(),
        format!("{:.0}", requests.iops),
        bytes(requests.bytes_per_second.round() as u64),
        microseconds(requests.mean_us),
        percentile("50"),
        percentile("99"),
        percentile("99.9"),
        percentile("99.99"),
        microseconds(requests.max_us),
    ]
}

fn microseconds(us: f64) -> String {
    if us < 100.0 { format!("{us:.1}") } else { format!("{us:.0}") }
}
