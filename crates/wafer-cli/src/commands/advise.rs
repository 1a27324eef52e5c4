//! `wafer advise`

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::ProgressBar;
use wafer_advise::{Advice, AdviseOptions, HeatMap, Histogram, SchemeKind, advise, files, stale};
use wafer_config::{ConfigError, load_device};
use wafer_lab::{Experiment, LabError, Options, TraceSource, Workload};
use wafer_record::text::printable;
use wafer_record::{Outputs, write_json, write_text};

use crate::args::AdviseArgs;
use crate::cancel::{CANCEL, cancel_within};
use wafer_output as output;
use wafer_output::Table;

/// Time in which the command ends after Ctrl-C.
const LIMIT: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &AdviseArgs, quiet: bool) -> anyhow::Result<()> {
    if args.hold_out >= 0.95 {
        let reason = format!("{} leaves too little to learn from; at most 0.95", args.hold_out);
        return Err(LabError::config("--hold-out", reason).into());
    }
    if args.traces.is_empty() && args.fill.is_some_and(|fill| fill > 0.0) {
        let reason = "sizes the drive to a trace; a job file and an experiment have its own size";
        return Err(LabError::config("--fill", reason).into());
    }
    let (mut volume, mut seed) = (args.volume, args.seed.unwrap_or(0));
    let device = || {
        let missing = || LabError::config("--device", "missing; give a device");
        let name = args.device.device.as_deref().ok_or_else(missing)?;
        Ok::<_, LabError>(load_device(name, &args.device.set)?)
    };
    let (mut pace, mut pace_from, mut pace_place) = (None, None, None);
    let (device, workload, traces) = match (&args.experiment, &args.fio) {
        (Some(path), _) => {
            let options = Options {
                device: args.device.device.clone(),
                set: args.device.set.clone(),
                data_dir: args.data.data_dir.clone(),
                volume: args.volume,
                seed: args.seed,
                ..Options::default()
            };
            let experiment = Experiment::from_file(path, &options)?;
            (volume, seed) = (experiment.volume, experiment.seed);
            (pace, pace_from) = (experiment.pace, experiment.pace_from);
            pace_place = experiment.pace_place;
            (experiment.device, experiment.workload, None)
        }
        (None, Some(fio)) => (device()?, Workload::fio(fio)?, None),
        (None, None) if args.traces.is_empty() => {
            let reason = "missing; give a trace, --fio or --experiment";
            return Err(LabError::config("TRACE", reason).into());
        }
        (None, None) => {
            let traces = TraceSource::from_options(&args.traces, &args.trace_set)?;
            for scan in traces.scans()? {
                scan.open().map_err(LabError::Trace)?;
            }
            (device()?, Workload::new(traces.clone()), Some(traces))
        }
    };
    let mut outputs = Outputs::default();
    args.traces
        .iter()
        .chain(&args.fio)
        .chain(&args.experiment)
        .for_each(|path| outputs.input(path));
    workload.files().iter().for_each(|path| outputs.input(path));
    outputs.input(device.name.as_ref());
    args.json.iter().try_for_each(|path| outputs.output_or_stdout(path))?;
    if let Some(folder) = args.out.as_deref().filter(|path| path.exists() && !path.is_dir()) {
        return Err(LabError::config("--out", format!("{}: not a folder", folder.display())).into());
    }
    let options = AdviseOptions {
        handles: args.handles,
        hold_out: args.hold_out,
        fill: Some(args.fill.unwrap_or(0.9)).filter(|fill| *fill > 0.0),
        volume: volume.map(|v| v.bytes(device.logical_bytes())),
        seed,
        pace,
        pace_from,
        pace_place,
    };
    cancel_within(LIMIT)?;
    let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
    bar.enable_steady_tick(Duration::from_millis(200));
    let progress = |text: &str| bar.set_message(printable(text).into_owned());
    let advice = advise(&device, &workload, traces.as_ref(), &options, &CANCEL, &progress);
    bar.finish_and_clear();
    let advice = advice?;
    output::notices(quiet, &advice.notices);
    if let Some(folder) = &args.out {
        write_files(folder, &advice, outputs)?;
        output::notices(quiet, stale(folder, &advice));
    }
    match &args.json {
        Some(path) => output::json_to(path, &advice),
        None => print(&advice),
    }
}

fn write_files(folder: &Path, advice: &Advice, mut outputs: Outputs) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).map_err(|source| ConfigError::io(folder.to_owned(), source))?;
    let files = files(advice).0;
    let json = folder.join("advice.json");
    let paths: Vec<PathBuf> = files.iter().map(|(name, _)| folder.join(name)).collect();
    paths.iter().chain([&json]).try_for_each(|path| outputs.output(path))?;
    for (path, (_, text)) in paths.iter().zip(&files) {
        write_text(path, text)?;
    }
    Ok(write_json(&json, advice)?)
}

fn print(advice: &Advice) -> anyhow::Result<()> {
    let mut out = output::styled();
    writeln!(
        out,
        "{}: {} written to {}; {:.0} % held out\n",
        advice.workload,
        output::bytes(advice.write_bytes),
        output::bytes(advice.touched_bytes),
        100.0 * advice.hold_out
    )?;
    let mut schemes = Table::default().text(["placement"]).numbers([
        "handles",
        "WAF",
        "+-",
        "learned part",
        "life gained",
        "confidence",
    ]);
    // The table shows one bound per number of handles; JSON has all of them.
    let mut bounds = Vec::new();
    for scheme in &advice.schemes {
        if scheme.kind == SchemeKind::Oracle {
            if bounds.contains(&scheme.handles) {
                continue;
            }
            bounds.push(scheme.handles);
        }
        let compared = |text| if scheme.kind == SchemeKind::None { String::new() } else { text };
        let mark = if scheme.name == advice.best { "> " } else { "  " };
        schemes.row([
            format!("{mark}{}", scheme.name),
            scheme.handles.to_string(),
            format!("{:.3}", scheme.waf),
            format!("{:.3}", scheme.spread),
            format!("{:.3}", scheme.waf_learned),
            compared(format!("{:+.1} %", 100.0 * scheme.life_gained)),
            match advice.hold_out > 0.0 {
                true => compared(format!("{:.0} %", 100.0 * scheme.confidence)),
                false => String::new(),
            },
        ]);
    }
    schemes.print(&mut out)?;
    writeln!(out, "\nadvised: {}", advice.best)?;
    if let Some(firmware) = &advice.firmware {
        writeln!(out, "better: nothing on the host, and firmware with {firmware}")?;
    }
    writeln!(out)?;
    let mut groups =
        Table::default().numbers(["handle", "writes", "addresses", "mean life", "spread"]);
    let by_age = advice.groups.iter().all(|group| group.mean_life_bytes <= 0.0);
    let known = |text: String| if by_age { "-".to_owned() } else { text };
    for group in &advice.groups {
        groups.row([
            group.handle.to_string(),
            output::percent(group.write_share),
            // Placement by age assigns addresses to all handles in turn.
            known(output::percent(group.space_share)),
            known(output::bytes(group.mean_life_bytes as u64)),
            known(format!("{:.2}", group.spread)),
        ]);
    }
    groups.print(&mut out)?;
    if !advice.streams.is_empty() {
        writeln!(out)?;
        let mut streams =
            Table::default().text(["stream"]).numbers(["handle", "writes", "mean life"]);
        for stream in advice.streams.iter().take(20) {
            streams.row([
                stream.name.clone(),
                stream.handle.to_string(),
                output::percent(stream.write_share),
                output::bytes(stream.mean_life_bytes as u64),
            ]);
        }
        streams.print(&mut out)?;
    }
    histogram(&mut out, &advice.histogram)?;
    heat_map(&mut out, &advice.heat_map)?;
    out.flush()?;
    Ok(())
}

/// Prints bars of lifetimes: ended ones, and those of pages still valid.
fn histogram(out: &mut impl std::io::Write, lives: &Histogram) -> std::io::Result<()> {
    const WIDTH: f64 = 40.0;
    let most = lives.ended_bytes.iter().chain(&lives.alive_bytes).max().copied().unwrap_or(0).max(1)
        as f64;
    writeln!(out, "\npage lifetimes, in bytes written meanwhile (# ended, . still alive)")?;
    for ((life, ended), alive) in
        lives.life_bytes.iter().zip(&lives.ended_bytes).zip(&lives.alive_bytes)
    {
        let bar =
            |bytes: u64, mark: &str| mark.repeat((WIDTH * bytes as f64 / most).round() as usize);
        if ended + alive > 0 {
            let label = format!(">= {}", output::bytes(*life));
            writeln!(out, "{label:>12}  {}{}", bar(*ended, "#"), bar(*alive, "."))?;
        }
    }
    Ok(())
}

/// Prints a character for each column of addresses, by the lifetime of its pages.
fn heat_map(out: &mut impl std::io::Write, map: &HeatMap) -> std::io::Result<()> {
    const SHADES: [char; 5] = ['#', '+', '=', '-', '.'];
    let lives = || map.mean_life_bytes.iter().flatten().map(|l| l.ln());
    let (low, high) = lives().fold((f64::MAX, f64::MIN), |(l, h), x| (l.min(x), h.max(x)));
    let shade = |life: &Option<f64>, written: &u64| match life {
        Some(life) => {
            SHADES[(((life.ln() - low) / (high - low).max(1e-9) * 4.999) as usize).min(4)]
        }
        None if *written > 0 => '_',
        None => ' ',
    };
    let line: String =
        map.mean_life_bytes.iter().zip(&map.written_bytes).map(|(l, w)| shade(l, w)).collect();
    if low <= high {
        writeln!(
            out,
            "\nlives by address, {} a column (# {} ... . {}, _ written once)\n[{line}]",
            output::bytes(map.column_bytes),
            output::bytes(low.exp() as u64),
            output::bytes(high.exp() as u64)
        )?;
    }
    Ok(())
}
