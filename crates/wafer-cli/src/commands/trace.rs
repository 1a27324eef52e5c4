//! `wafer trace`

use std::cmp::Reverse;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use wafer_lab::{LabError, TraceSource};
use wafer_record::capture::used_before;
use wafer_record::{Outputs, write_file};
use wafer_trace::{FORMATS, Scan, VolumeScan, lost_in_capture, write_capture};

use crate::args::TraceCommand;
use wafer_output as output;
use wafer_output::Table;

pub(crate) fn run(command: &TraceCommand, quiet: bool) -> anyhow::Result<()> {
    match command {
        TraceCommand::Info { files, trace_set, json } => info(files, trace_set, *json, quiet),
        TraceCommand::Convert { file, to, trace_set, level } => {
            convert(file, to, trace_set, *level, quiet)
        }
        TraceCommand::Formats(args) => {
            let formats = FORMATS.iter().map(|f| (f.name, f.summary));
            output::summaries(args.json, ["format", "what"], formats)
        }
    }
}

const SIZES: [&str; 6] =
    ["<= 4 KiB", "<= 16 KiB", "<= 64 KiB", "<= 256 KiB", "<= 1 MiB", "> 1 MiB"];

/// Written bytes, by name.
type Shares = Vec<(String, u64)>;

fn processes(scan: &Scan) -> Shares {
    let mut shares = scan.processes.clone();
    if !shares.is_empty() {
        shares.push(("unknown".to_owned(), scan.unknown_process_bytes));
    }
    shares.retain(|(_, bytes)| *bytes > 0);
    shares.sort_by_key(|(_, bytes)| Reverse(*bytes));
    shares
}

fn placements(scan: &Scan) -> Shares {
    let name = |id: u16| if id == u16::MAX { "none".to_owned() } else { id.to_string() };
    scan.placements.iter().map(|(id, bytes)| (name(*id), *bytes)).collect()
}

fn sizes(scan: &Scan) -> Shares {
    SIZES.iter().map(|name| (*name).to_owned()).zip(scan.sizes).collect()
}

fn volumes(scan: &Scan) -> impl Iterator<Item = &VolumeScan> {
    scan.volumes.iter().filter(|volume| volume.all.requests > 0)
}

fn seconds(scan: &Scan) -> f64 {
    scan.span_ns as f64 / 1e9
}

/// Returns the summary printed by `wafer trace info --json`.
fn summary(scan: &Scan) -> Value {
    let volume = |v: &VolumeScan| {
        json!({
            "name": v.name,
            "requests": v.all.requests,
            "write_bytes": v.writes.bytes,
            "first_byte": v.start,
            "end_byte": v.end,
            "touched_bytes": v.touched_bytes(),
            "compact_bytes": v.compact_bytes(),
        })
    };
    let shares = |shares: Shares| {
        let share = |(name, bytes)| json!({ "name": name, "write_bytes": bytes });
        Value::Array(shares.into_iter().map(share).collect())
    };
    json!({
        "file": scan.path.display().to_string(),
        "format": scan.format.name,
        "requests": scan.requests(),
        "writes": scan.writes.requests,
        "write_bytes": scan.writes.bytes,
        "deallocates": scan.deallocates.requests,
        "deallocate_bytes": scan.deallocates.bytes,
        "reads": scan.reads.requests,
        "read_bytes": scan.reads.bytes,
        "flushes": scan.flushes,
        "damaged": scan.faults.count,
        "seconds": seconds(scan),
        "late": scan.late,
        "most_late_seconds": scan.most_late_ns as f64 / 1e9,
        "touched_bytes": scan.touched_bytes(),
        "volumes": volumes(scan).map(volume).collect::<Value>(),
        "processes": shares(processes(scan)),
        "placements": shares(placements(scan)),
        "write_sizes": shares(sizes(scan)),
    })
}

fn info(files: &[PathBuf], set: &[String], json: bool, quiet: bool) -> anyhow::Result<()> {
    let source = TraceSource::to_read(files, set)?;
    let scans = source.scans()?;
    for scan in &scans {
        output::notices(quiet, &scan.messages);
        output::notices(quiet, scan.out_of_order());
        output::notices(quiet, used_before(&scan.path, scan.earlier_media_bytes));
    }
    if json {
        let mut summaries: Vec<Value> = scans.iter().map(|scan| summary(scan)).collect();
        return match summaries.len() {
            1 => output::json(&summaries.remove(0)),
            _ => output::json(&summaries),
        };
    }
    let mut out = output::styled();
    for (number, scan) in scans.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        print(&mut out, scan)?;
    }
    Ok(())
}

fn print(out: &mut impl std::io::Write, scan: &Scan) -> anyhow::Result<()> {
    writeln!(
        out,
        "{}: {}, {} in {}, {} damaged",
        scan.path.display(),
        scan.format.name,
        output::count(scan.requests() as usize, "request"),
        output::seconds(seconds(scan)),
        scan.faults.count
    )?;
    writeln!(out, "writes touch {}\n", output::bytes(scan.touched_bytes()))?;
    let mut kinds = Table::default().text(["kind"]).numbers(["requests", "bytes"]);
    for (kind, amount) in
        [("write", scan.writes), ("deallocate", scan.deallocates), ("read", scan.reads)]
    {
        kinds.row([kind.to_owned(), amount.requests.to_string(), output::bytes(amount.bytes)]);
    }
    kinds.row(["flush".to_owned(), scan.flushes.to_string(), output::bytes(0)]);
    kinds.print(out)?;
    let mut table = Table::default()
        .text(["volume"])
        .numbers(["requests", "written", "first", "end", "touched"]);
    for v in volumes(scan).take(MOST) {
        table.row([
            if v.name.is_empty() { "-".to_owned() } else { v.name.clone() },
            v.all.requests.to_string(),
            output::bytes(v.writes.bytes),
            output::bytes(v.start),
            output::bytes(v.end),
            output::bytes(v.touched_bytes()),
        ]);
    }
    writeln!(out)?;
    table.print(out)?;
    more(out, volumes(scan).count())?;
    for (heading, mut shares) in
        [("process", processes(scan)), ("placement", placements(scan)), ("write size", sizes(scan))]
    {
        shares.retain(|(_, bytes)| *bytes > 0);
        if shares.is_empty() {
            continue;
        }
        let mut table = Table::default().text([heading]).numbers(["written", "share"]);
        let all = scan.writes.bytes.max(1) as f64;
        for (name, bytes) in shares.iter().take(MOST) {
            let share = output::percent(*bytes as f64 / all);
            table.row([name.clone(), output::bytes(*bytes), share]);
        }
        writeln!(out)?;
        table.print(out)?;
        more(out, shares.len())?;
    }
    Ok(())
}

/// Maximum number of rows in a table.
const MOST: usize = 20;

fn more(out: &mut impl std::io::Write, all: usize) -> std::io::Result<()> {
    if all > MOST { writeln!(out, "and {} more", all - MOST) } else { Ok(()) }
}

fn convert(file: &Path, to: &Path, set: &[String], level: i32, quiet: bool) -> anyhow::Result<()> {
    let source = TraceSource::to_read(&[file.to_owned()], set)?;
    let to = if output::is_stdout(to) { Path::new("/dev/stdout") } else { to };
    let mut outputs = Outputs::default();
    outputs.input(file);
    outputs.output(to)?;
    let scan = source.scans()?[0].clone();
    output::notices(quiet, scan.messages.iter().map(|message| format!("{message} (left out)")));
    output::notices(quiet, lost_in_capture(&scan));
    if scan.requests() == 0 {
        let reason = "no request is within the options; a capture needs one";
        return Err(LabError::config(file.display().to_string(), reason).into());
    }
    let reader = scan.open().map_err(LabError::Trace)?;
    write_file(to, |file| {
        let out = BufWriter::new(file);
        write_capture(reader, &scan, &source.traces()[0].options, level, out)?.flush()
    })?;
    Ok(())
}
