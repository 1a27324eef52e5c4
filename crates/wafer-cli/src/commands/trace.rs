//! `wafer trace`

use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use wafer_lab::{LabError, TraceSource};
use wafer_trace::{FORMATS, Scan, TraceReader, write_capture};

use crate::args::TraceCommand;
use crate::output;
use crate::output::Table;

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

/// Summary of a trace, as `wafer trace info --json` prints it.
#[derive(Serialize)]
struct Info {
    file: String,
    format: &'static str,
    requests: u64,
    writes: u64,
    write_bytes: u64,
    deallocates: u64,
    deallocate_bytes: u64,
    reads: u64,
    read_bytes: u64,
    flushes: u64,
    damaged: u64,
    seconds: f64,
    touched_bytes: u64,
    volumes: Vec<VolumeInfo>,
    processes: Vec<Share>,
    placements: Vec<Share>,
    write_sizes: Vec<Share>,
}

#[derive(Serialize)]
struct VolumeInfo {
    name: String,
    requests: u64,
    write_bytes: u64,
    first_byte: u64,
    end_byte: u64,
    touched_bytes: u64,
}

#[derive(Serialize)]
struct Share {
    name: String,
    write_bytes: u64,
}

const SIZES: [&str; 6] =
    ["<= 4 KiB", "<= 16 KiB", "<= 64 KiB", "<= 256 KiB", "<= 1 MiB", "> 1 MiB"];

impl Info {
    fn of(scan: &Scan) -> Self {
        let share = |name: String, write_bytes: u64| Share { name, write_bytes };
        let mut processes: Vec<Share> =
            scan.processes.iter().map(|(n, b)| share(n.clone(), *b)).collect();
        if !processes.is_empty() && scan.unknown_process_bytes > 0 {
            processes.push(share("unknown".to_owned(), scan.unknown_process_bytes));
        }
        processes.retain(|p| p.write_bytes > 0);
        processes.sort_by_key(|p| std::cmp::Reverse(p.write_bytes));
        let placement = |id: u16| if id == u16::MAX { "none".to_owned() } else { id.to_string() };
        Info {
            file: scan.path.display().to_string(),
            format: scan.format.name,
            requests: scan.requests(),
            writes: scan.writes.requests,
            write_bytes: scan.writes.bytes,
            deallocates: scan.deallocates.requests,
            deallocate_bytes: scan.deallocates.bytes,
            reads: scan.reads.requests,
            read_bytes: scan.reads.bytes,
            flushes: scan.flushes,
            damaged: scan.faults.count,
            seconds: scan.span_ns as f64 / 1e9,
            touched_bytes: scan.touched_bytes(),
            volumes: (scan.volumes.iter())
                .filter(|v| v.all.requests > 0)
                .map(|v| VolumeInfo {
                    name: v.name.clone(),
                    requests: v.all.requests,
                    write_bytes: v.writes.bytes,
                    first_byte: v.start,
                    end_byte: v.end,
                    touched_bytes: v.granules.len() as u64 * wafer_trace::GRANULE,
                })
                .collect(),
            processes,
            placements: scan.placements.iter().map(|(p, b)| share(placement(*p), *b)).collect(),
            write_sizes: (SIZES.iter().zip(scan.sizes))
                .map(|(name, bytes)| share((*name).to_owned(), bytes))
                .collect(),
        }
    }
}

fn info(files: &[PathBuf], set: &[String], json: bool, quiet: bool) -> anyhow::Result<()> {
    let source = TraceSource::from_options(files, set)?;
    let scans = source.scans()?;
    for scan in scans {
        output::notices(quiet, &scan.messages);
    }
    let infos: Vec<Info> = scans.iter().map(|scan| Info::of(scan)).collect();
    if json {
        return match infos.as_slice() {
            [one] => output::json(one),
            several => output::json(&several),
        };
    }
    let mut out = output::styled();
    for (number, info) in infos.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        print(&mut out, info)?;
    }
    Ok(())
}

fn print(out: &mut impl std::io::Write, info: &Info) -> anyhow::Result<()> {
    writeln!(
        out,
        "{}: {}, {} requests in {}, {} damaged",
        info.file,
        info.format,
        info.requests,
        output::seconds(info.seconds),
        info.damaged
    )?;
    writeln!(out, "writes touch {}\n", output::bytes(info.touched_bytes))?;
    let mut kinds = Table::default().text(["kind"]).numbers(["requests", "bytes"]);
    for (kind, requests, bytes) in [
        ("write", info.writes, info.write_bytes),
        ("deallocate", info.deallocates, info.deallocate_bytes),
        ("read", info.reads, info.read_bytes),
        ("flush", info.flushes, 0),
    ] {
        kinds.row([kind.to_owned(), requests.to_string(), output::bytes(bytes)]);
    }
    kinds.print(out)?;
    let mut volumes = Table::default()
        .text(["volume"])
        .numbers(["requests", "written", "first", "end", "touched"]);
    for v in info.volumes.iter().take(MOST) {
        volumes.row([
            if v.name.is_empty() { "-".to_owned() } else { v.name.clone() },
            v.requests.to_string(),
            output::bytes(v.write_bytes),
            output::bytes(v.first_byte),
            output::bytes(v.end_byte),
            output::bytes(v.touched_bytes),
        ]);
    }
    writeln!(out)?;
    volumes.print(out)?;
    more(out, info.volumes.len())?;
    for (what, shares) in [
        ("process", &info.processes),
        ("placement", &info.placements),
        ("write size", &info.write_sizes),
    ] {
        let written: Vec<&Share> = shares.iter().filter(|s| s.write_bytes > 0).collect();
        if written.is_empty() {
            continue;
        }
        let mut table = Table::default().text([what]).numbers(["written", "share"]);
        for share in written.iter().take(MOST) {
            let part = share.write_bytes as f64 / info.write_bytes.max(1) as f64;
            let bytes = output::bytes(share.write_bytes);
            table.row([share.name.clone(), bytes, output::percent(part)]);
        }
        writeln!(out)?;
        table.print(out)?;
        more(out, written.len())?;
    }
    Ok(())
}

/// Maximum number of rows in a table.
const MOST: usize = 20;

fn more(out: &mut impl std::io::Write, all: usize) -> std::io::Result<()> {
    if all > MOST { writeln!(out, "and {} more", all - MOST) } else { Ok(()) }
}

fn convert(file: &Path, to: &Path, set: &[String], level: i32, quiet: bool) -> anyhow::Result<()> {
    let source = TraceSource::from_options(&[file.to_owned()], set)?;
    let scan = source.scans()?[0].clone();
    output::notices(quiet, scan.messages.iter().map(|message| format!("{message} (left out)")));
    let reader = TraceReader::open(file, Some(scan.format)).map_err(LabError::Trace)?;
    output::write_whole(to, |file| {
        let out = BufWriter::new(file);
        let out = write_capture(reader, &scan, &source.traces()[0].options, level, out)?;
        Ok(out.into_inner()?.sync_all()?)
    })
}
