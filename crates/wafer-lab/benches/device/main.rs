//! `make bench`: the speed of the device relative to the limit of memory.
//!
//! Each case fills its device, warms it up, and then alternates slices of the limit probe with slices of the case on
//! one thread. It reports the medians, and the median of the ratios of neighbouring slices, so a noisy machine spoils
//! only individual slices. Arguments: `--only NAME`, `--write FILE` for the table as Markdown.

mod cases;
mod probe;

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use cases::{Case, Traffic};
use probe::Probe;
use wafer_device::Device;
use wafer_fio::JobSpec;
use wafer_interface::{Batch, CommandStream};

const SLICES: usize = 15;
const SLICE: Duration = Duration::from_millis(400);
const BATCH: usize = 4096;

struct Outcome {
    host: f64,
    media: f64,
    probe: f64,
    ratio: f64,
    waf: f64,
    bytes_per_page: f64,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |flag: &str| {
        arguments.iter().position(|a| a == flag).and_then(|at| arguments.get(at + 1)).cloned()
    };
    let only = value("--only");
    let mut table = header();
    let mut missed = false;
    for case in cases::all().iter().filter(|c| only.as_ref().is_none_or(|name| name == c.name)) {
        let out = measure(case);
        missed |= case.goal.is_some_and(|goal| out.ratio < goal);
        let goal = case.goal.map_or(String::from("-"), |goal| format!("{goal:.1}"));
        let row = format!(
            "| {} | {:.0} | {:.0} | {:.0} | **{:.2}** | {goal} | {:.2} | {:.2} |",
            case.what, out.host, out.media, out.probe, out.ratio, out.waf, out.bytes_per_page
        );
        eprintln!("{row}");
        let _ = writeln!(table, "{row}");
    }
    if only.is_none() {
        let _ = writeln!(table, "\n{}", two_at_once());
    }
    println!("{table}");
    if let Some(path) = value("--write")
        && let Err(error) = std::fs::write(&path, &table)
    {
        eprintln!("error: {path}: {error}");
        return ExitCode::FAILURE;
    }
    if missed {
        eprintln!("note: a goal was missed");
    }
    ExitCode::SUCCESS
}

fn header() -> String {
    let host = wafer_record::host::Host::this();
    format!(
        "# Speed of the device\n\nMeasured by `make bench` on {}, {}, version {}.\n\
         One thread. Rates in million pages a second; *limit* is the probe, random prefetched 4-byte \
         read-modify-writes over an array as large as the map, in the same run; *host/limit* is the \
         median over {SLICES} pairs of neighbouring slices. Traffic is generated in the same thread \
         and its time is counted.\n\n\
         | traffic | host | media | limit | host/limit | goal | WAF | bytes a page |\n\
         |---|---|---|---|---|---|---|---|\n",
        host.cpu,
        host.kernel,
        env!("CARGO_PKG_VERSION"),
    )
}

type Stream = Box<dyn CommandStream>;

fn pump(
    device: &mut Device,
    stream: &mut Stream,
    batch: &mut Batch,
    until: impl Fn(&Device) -> bool,
) {
    while !until(device) {
        batch.clear();
        let _ = stream.next(batch, BATCH);
        device.apply(&batch.commands);
    }
}

fn warmed_up(case: &Case) -> (Device, Stream) {
    let mut device = Device::new(&case.config, 1).expect("a valid device");
    let capacity = device.geometry().logical_bytes();
    let fill = JobSpec::fill(capacity, 1 << 20);
    let mut fill = Traffic::Jobs(vec![fill]).stream(capacity);
    let mut batch = Batch::with_capacity(BATCH);
    pump(&mut device, &mut fill, &mut batch, |d| d.counters().host_bytes >= capacity);
    device.reset_counters();
    let mut stream = case.traffic.stream(capacity);
    let volume = (capacity as f64 * case.warm_up) as u64;
    pump(&mut device, &mut stream, &mut batch, |d| d.counters().host_bytes >= volume);
    device.reset_counters();
    (device, stream)
}

fn measure(case: &Case) -> Outcome {
    let before = resident();
    let (mut device, mut stream) = warmed_up(case);
    let pages = device.geometry().logical_pages;
    let bytes_per_page = (resident() - before) as f64 / pages as f64;
    let mut probe = Probe::new(pages);
    probe.measure(SLICE);
    let mut batch = Batch::with_capacity(BATCH);
    let (mut host, mut probes, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..SLICES {
        let limit = probe.measure(SLICE);
        let (start, first) = (Instant::now(), device.counters().host_pages);
        while start.elapsed() < SLICE {
            let goal = device.counters().host_pages + 1_000_000;
            pump(&mut device, &mut stream, &mut batch, |d| d.counters().host_pages >= goal);
        }
        let pages = device.counters().host_pages - first;
        let rate = pages as f64 / start.elapsed().as_secs_f64() / 1e6;
        host.push(rate);
        probes.push(limit);
        ratios.push(rate / limit);
    }
    let waf = device.counters().waf();
    let host = median(host);
    Outcome {
        host,
        media: host * waf,
        probe: median(probes),
        ratio: median(ratios),
        waf,
        bytes_per_page,
    }
}

/// Compares two devices on two threads with one device on one thread.
fn two_at_once() -> String {
    let cases = cases::all();
    let run = |seconds: f64| {
        let (mut device, mut stream) = warmed_up(&cases[0]);
        let mut batch = Batch::with_capacity(BATCH);
        let start = Instant::now();
        pump(&mut device, &mut stream, &mut batch, |_| start.elapsed().as_secs_f64() > seconds);
        device.counters().host_pages as f64 / start.elapsed().as_secs_f64() / 1e6
    };
    let alone = run(5.0);
    let together: f64 = std::thread::scope(|scope| {
        let runs = [scope.spawn(|| run(5.0)), scope.spawn(|| run(5.0))];
        runs.into_iter().map(|r| r.join().expect("a run")).sum()
    });
    format!(
        "Two independent runs of the first case on two threads: {together:.0} M host pages/s together, \
         {:.2} times one run alone ({alone:.0}).",
        together / alone
    )
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Returns the bytes of memory in use.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) * 1024
}
