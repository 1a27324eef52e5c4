//! `wafer measure`

use std::io::Write as _;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Pid, Signal, kill_process};
use wafer_lab::LabError;
use wafer_measure::{Growth, NvmeCli, Session, Source, Tracker};
use wafer_record::metrics::Waf;
use wafer_record::{Measured, Outputs, Record, metrics};

use crate::args::MeasureArgs;
use crate::cancel::{cancel_until, is_cancelled, times_cancelled};
use wafer_output as output;
use wafer_output::{HEADER, PLAIN, Table};

/// Interval for checking the command and Ctrl-C.
const POLL: Duration = Duration::from_millis(10);
/// Time that the command has to end after an interrupt; then it is terminated.
const GRACE: Duration = Duration::from_secs(5);
/// Time that a terminated command has to end.
const LAST: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &MeasureArgs, quiet: bool) -> anyhow::Result<()> {
    let mut outputs = Outputs::default();
    outputs.input(args.device.as_ref());
    let mut documents = args.json.iter().chain(&args.report);
    documents.try_for_each(|path| outputs.output_or_stdout(path))?;
    let drive = NvmeCli {
        program: args.nvme_cli.clone(),
        device: args.device.clone(),
        endurance_group: args.endurance_group,
        timeout: args.interval.max(Duration::from_secs(5)),
    };
    let unusable = |reason: String| LabError::config(args.device.clone(), reason);
    let nvme_cli = drive.version().map_err(unusable)?;
    let (source, first) = drive.detect().map_err(unusable)?;
    let identity = drive.identify();
    if source != Source::Fdp {
        let unit = output::bytes(source.unit_bytes());
        output::notice(quiet, &format!("no FDP statistics; {source} count in steps of {unit}"));
    }
    // The second press ends the command and skips the final reading; the record is written anyway.
    cancel_until(3)?;

    let started = SystemTime::now();
    let clock = Instant::now();
    let mut child = start(&args.command)?;
    let mut tracker = Tracker::new(first);
    let mut lines = Lines { limit: args.limit, quiet, count: 0, last: Growth::default() };
    let mut interrupted: Option<Instant> = None;
    let mut next = args.interval;
    let status = loop {
        let ended = match child.as_mut() {
            Some(child) => child.try_wait()?,
            None => None,
        };
        if ended.is_some() {
            break ended;
        }
        if is_cancelled() {
            let since = *interrupted.get_or_insert_with(Instant::now);
            let Some(child) = child.as_mut() else { break None };
            if since.elapsed() > GRACE || times_cancelled() > 1 {
                break terminate(child, args)?;
            }
        }
        if args.duration.is_some_and(|duration| clock.elapsed() >= duration) {
            if let Some(child) = &child {
                let line = args.command.join(" ");
                output::notice(quiet, &format!("`{line}` still runs, as process {}", child.id()));
            }
            break None;
        }
        if clock.elapsed() < next {
            std::thread::sleep(POLL.min(next.saturating_sub(clock.elapsed())));
            continue;
        }
        // Skip readings that are already overdue.
        while next <= clock.elapsed() {
            next += args.interval;
        }
        sample(&drive, source, &mut tracker, clock, &mut lines);
    };
    // The final reading matters: without it, writes since the previous reading would be lost.
    let mut attempts = (0..3).take_while(|_| times_cancelled() < 2);
    let is_complete = attempts.any(|attempt| {
        if attempt > 0 {
            std::thread::sleep(Duration::from_millis(200));
        }
        sample(&drive, source, &mut tracker, clock, &mut lines)
    });
    if tracker.samples.is_empty() {
        let reason = "no reading succeeded after the first; nothing was written";
        return Err(LabError::Run(format!("{}: {reason}", args.device)).into());
    }
    if !is_complete {
        let last = output::seconds(tracker.total().seconds);
        output::warning(&format!(
            "the last reading failed: what was written after {last} is not counted"
        ));
    }
    let record = wafer_measure::record(
        Session {
            name: args.name.clone().unwrap_or_else(|| name(args)),
            git: wafer_lab::GIT.to_owned(),
            started,
            measured: Measured {
                device: args.device.clone(),
                model: identity.model,
                serial: identity.serial,
                firmware: identity.firmware,
                capacity_bytes: identity.capacity_bytes,
                source,
                endurance_group: args.endurance_group,
                nvme_cli,
                interval_seconds: args.interval.as_secs_f64(),
                command: args.command.clone(),
                exit_status: status.and_then(|s| s.code()),
                missed: tracker.missed,
                wraps: tracker.wraps,
                resets: tracker.resets.clone(),
            },
        },
        &tracker,
    );
    finish(args, &record)?;
    match status {
        Some(status) if !status.success() => {
            Err(LabError::Run(format!("`{}`: {status}", args.command.join(" "))).into())
        }
        _ => Ok(()),
    }
}

fn start(command: &[String]) -> anyhow::Result<Option<Child>> {
    let Some((program, arguments)) = command.split_first() else { return Ok(None) };
    let child = Command::new(program).args(arguments).spawn();
    Ok(Some(child.map_err(|e| LabError::config(program.clone(), format!("cannot start it: {e}")))?))
}

/// Ends a command that an interrupt did not end: a signal to wafer alone does not reach it. Returns its exit status.
fn terminate(child: &mut Child, args: &MeasureArgs) -> std::io::Result<Option<ExitStatus>> {
    let line = args.command.join(" ");
    // Without success it has just ended.
    let _ = kill_process(Pid::from_child(child), Signal::TERM);
    let sent = Instant::now();
    while sent.elapsed() < LAST {
        if let Some(status) = child.try_wait()? {
            output::warning(&format!("`{line}` did not end and was terminated"));
            return Ok(Some(status));
        }
        std::thread::sleep(POLL);
    }
    output::warning(&format!("`{line}` ignores SIGTERM, and still runs as process {}", child.id()));
    Ok(None)
}

/// Takes a reading, and returns whether it succeeded.
fn sample(
    drive: &NvmeCli,
    source: Source,
    tracker: &mut Tracker,
    clock: Instant,
    lines: &mut Lines,
) -> bool {
    let (resets, missed) = (tracker.resets.len(), tracker.missed);
    match drive.read(source) {
        Ok(reading) => {
            let total = tracker.add(clock.elapsed().as_secs_f64(), reading);
            if tracker.resets.len() > resets {
                output::notice(lines.quiet, "the counters were reset; counting restarts at zero");
            }
            if tracker.missed > missed {
                let text = "missed a reading: a counter decreased; counting resumes once it exceeds its last value";
                output::notice(lines.quiet, text);
                return false;
            }
            lines.sample(total);
            true
        }
        Err(reason) => {
            tracker.miss();
            output::notice(lines.quiet, &format!("missed a reading: {reason}"));
            false
        }
    }
}

/// The lines on stderr, one per reading.
struct Lines {
    limit: f64,
    quiet: bool,
    count: u64,
    last: Growth,
}

impl Lines {
    /// Number of lines per header.
    const PAGE: u64 = 20;

    fn sample(&mut self, total: Growth) {
        if self.quiet {
            return;
        }
        if self.count.is_multiple_of(Self::PAGE) {
            let _ = writeln!(
                output::styled_errors(),
                "{HEADER}{:>9}  {:>9}  {:>11}  {:>11}  {:>10}  {:>13}  {:>7}{PLAIN}",
                "time",
                "host",
                "host/s",
                "media/s",
                "cumulative",
                "instantaneous",
                "clamped"
            );
        }
        self.count += 1;
        let seconds = (total.seconds - self.last.seconds).max(1e-3);
        let host = total.host_bytes - self.last.host_bytes;
        let media = total.media_bytes - self.last.media_bytes;
        let now = Waf::of(host, media);
        let rate = |bytes: u64| format!("{}/s", output::bytes((bytes as f64 / seconds) as u64));
        let _ = writeln!(
            output::styled_errors(),
            "{:>9}  {:>9}  {:>11}  {:>11}  {:>10}  {:>13}  {:>7}",
            output::seconds(total.seconds),
            output::bytes(total.host_bytes),
            rate(host),
            rate(media),
            output::waf(Waf::of(total.host_bytes, total.media_bytes).ratio()),
            if now == Waf::Unbounded { "GC alone".to_owned() } else { output::waf(now.ratio()) },
            output::waf(now.clamped(self.limit)),
        );
        self.last = total;
    }
}

fn name(args: &MeasureArgs) -> String {
    let file = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    match args.command.first() {
        Some(program) => format!("{}-{}", file(&args.device), file(program)),
        None => file(&args.device),
    }
}

fn finish(args: &MeasureArgs, record: &Record) -> anyhow::Result<()> {
    if let Some(path) = &args.json {
        output::json_to(path, record)?;
    }
    if let Some(path) = &args.report {
        let page = wafer_web::report::page(Some(&record.name), vec![record.clone()])?;
        output::text_to(path, &page)?;
    }
    let mut documents = args.json.iter().chain(&args.report);
    if !documents.any(|path| output::is_stdout(path)) {
        print(record, args.limit)?;
    }
    Ok(())
}

fn print(record: &Record, limit: f64) -> anyhow::Result<()> {
    let mut out = output::styled();
    let (summary, timeline) = (&record.summary, &record.timeline);
    let Some(measured) = &record.provenance.measured else { return Ok(()) };
    let model = measured.model.as_deref().unwrap_or("unknown model");
    writeln!(
        out,
        "{HEADER}{}{PLAIN}, {} ({model}), {}",
        record.name, measured.device, measured.source
    )?;
    let clamped: Vec<Option<f64>> =
        metrics::instantaneous(&timeline.host_bytes, &timeline.media_bytes)
            .into_iter()
            .map(|waf| waf.clamped(limit))
            .collect();
    writeln!(out, "clamped WAF {}\n", metrics::sparkline(&clamped, 60))?;
    let mut table = Table::default()
        .numbers(["time", "host", "media", "erased", "WAF", "missed", "wraps", "resets"]);
    table.row([
        output::seconds(record.performance.wall_seconds),
        output::bytes(summary.host_bytes),
        output::bytes(summary.media_bytes),
        summary.erased_bytes.map_or("-".to_owned(), output::bytes),
        output::waf(Waf::of(summary.host_bytes, summary.media_bytes).ratio()),
        measured.missed.to_string(),
        measured.wraps.to_string(),
        measured.resets.len().to_string(),
    ]);
    table.print(&mut out)?;
    out.flush()?;
    Ok(())
}
