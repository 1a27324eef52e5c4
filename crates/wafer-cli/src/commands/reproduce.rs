//! `wafer reproduce`

use std::io::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use anyhow::Context as _;
use wafer_lab::reproduce::{
    Cells, Choice, Outcomes, Plan, Reproduction, Study, result_file, shipped,
};
use wafer_lab::{Batch, Checked, Experiment, LabError, write_json};

use super::run::{CANCEL, cancel_on_ctrl_c};
use crate::args::ReproduceArgs;
use crate::output::{self, Align, Table};
use crate::progress::Bar;

pub(crate) fn run(args: &ReproduceArgs, quiet: bool) -> anyhow::Result<()> {
    // Without --out the configurations are unpacked for the time of the command only.
    let temporary = tempfile::tempdir().context("a temporary folder")?;
    let folder = args.out.as_deref().unwrap_or(temporary.path());
    if let Some(out) = &args.out {
        std::fs::create_dir_all(out.join("results"))
            .map_err(|source| LabError::Io { path: out.clone(), source })?;
    }
    let experiments = match &args.experiments {
        Some(folder) => folder.clone(),
        None => {
            shipped::unpack(&folder.join("configs"))?;
            folder.join("configs/experiments")
        }
    };
    let studies = shipped::study_files(&experiments)?
        .iter()
        .map(|path| Study::read(path))
        .collect::<Result<Vec<Study>, LabError>>()?;
    let choice = Choice {
        names: args.names.clone(),
        scale: args.scale,
        seeds: args.seeds,
        sensitivity: args.sensitivity,
    };
    let plan = Plan::new(&studies, &choice, &folder.join("scaled"))?;
    if args.list {
        return list(&plan);
    }
    if let Some(path) = &args.markdown {
        empty(&plan).update_document(&path.display().to_string(), &read_or_empty(path)?)?;
    }

    let clock = Instant::now();
    let outcomes = all(&plan, args, quiet)?;
    let table = Reproduction::new(&plan, &outcomes, clock.elapsed().as_secs_f64());

    if let Some(out) = &args.out {
        write_json(&out.join("reproduce.json"), &table)?;
        if let Some(page) = page(&table, &outcomes)? {
            super::report::write(&out.join("report.html"), &page)?;
        }
    }
    if let Some(path) = &args.markdown {
        // Read again: somebody may have edited it during the runs.
        let text = read_or_empty(path)?;
        let text = table.update_document(&path.display().to_string(), &text)?;
        std::fs::write(path, text).with_context(|| path.display().to_string())?;
    }
    if args.json {
        output::json(&table)?;
    } else {
        print(&table)?;
    }
    let failed = table.rows.iter().filter(|row| row.failure.is_some()).count();
    if failed > 0 {
        return Err(anyhow::anyhow!("{failed} figures have no result; the table says why"));
    }
    match table.misses() {
        (misses @ 1.., rows) if args.strict => {
            Err(anyhow::anyhow!("{misses} of {rows} figures are outside their tolerance"))
        }
        _ => Ok(()),
    }
}

/// Runs everything, in parallel and within memory, and writes each record as its run ends.
fn all(plan: &Plan, args: &ReproduceArgs, quiet: bool) -> anyhow::Result<Outcomes> {
    let mut outcomes = Outcomes::new();
    let mut checked: Vec<Checked> = Vec::new();
    let mut names: Vec<(String, u64)> = Vec::new();
    for run in &plan.runs {
        let key = (run.name.clone(), run.experiment.seed);
        match run.experiment.clone().check() {
            Ok(one) => {
                checked.push(one);
                names.push(key);
            }
            // Another experiment may fit.
            Err(error @ LabError::Memory { .. }) => {
                outcomes.insert(key, Err(error.to_string()));
            }
            Err(error) => return Err(error.into()),
        }
    }
    cancel_on_ctrl_c()?;
    let runs: Vec<Experiment> = checked.iter().map(|c| c.experiment.clone()).collect();
    let bar = Bar::new(&runs, quiet);
    let written: Mutex<Result<(), LabError>> = Mutex::new(Ok(()));
    let batch = Batch {
        threads: args.threads,
        cancel: &CANCEL,
        progress: &|number, progress| bar.update(number, progress),
        watch: None,
        finished: &|number, result| {
            let (Ok(record), Some(out)) = (result, &args.out) else { return };
            let (name, seed) = &names[number];
            let path = out.join(result_file(name, *seed));
            if let (Err(error), Ok(mut first)) = (write_json(&path, record), written.lock()) {
                *first = std::mem::replace(&mut *first, Ok(())).and(Err(error));
            }
        },
    };
    let results = batch.run(&checked);
    bar.finish();
    written.into_inner().unwrap_or(Ok(()))?;
    for (key, result) in names.into_iter().zip(results?) {
        match result {
            Err(LabError::Cancelled) => return Err(LabError::Cancelled.into()),
            other => outcomes.insert(key, other.map_err(|e| e.to_string())),
        };
    }
    Ok(outcomes)
}

/// The page: the table, and the curves of the first seed of every experiment that a figure needs. None
/// if no run has a record: the table on stdout says why.
fn page(table: &Reproduction, outcomes: &Outcomes) -> anyhow::Result<Option<String>> {
    let needed = |name: &str, seed: u64| {
        let file = result_file(name, seed);
        table.rows.iter().any(|row| row.results.contains(&file))
    };
    let mut records: Vec<serde_json::Value> = Vec::new();
    let mut last = "";
    for ((name, seed), outcome) in outcomes {
        let Ok(record) = outcome else { continue };
        if name != last && needed(name, *seed) {
            records.push(serde_json::to_value(record)?);
            last = name;
        }
    }
    if records.is_empty() {
        return Ok(None);
    }
    let names: Vec<&str> = table.studies.iter().map(|s| s.name.as_str()).collect();
    let page = wafer_report::page(&format!("Reproduced: {}", names.join(", ")), records)
        .map_err(|e| anyhow::anyhow!("{e}"))?;
    Ok(Some(page.replacen("<main id=\"app\"", &format!("{}<main id=\"app\"", table.html()), 1)))
}

/// A table without results, to see whether a document can take one.
fn empty(plan: &Plan) -> Reproduction {
    Reproduction::new(plan, &Outcomes::new(), 0.0)
}

fn read_or_empty(path: &Path) -> anyhow::Result<String> {
    match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        read => read.with_context(|| path.display().to_string()),
    }
}

fn print(table: &Reproduction) -> anyhow::Result<()> {
    let mut out = output::styled();
    let mut shown = Table::new(&[
        ("figure", Align::Left),
        ("what", Align::Left),
        ("class", Align::Left),
        ("published", Align::Right),
        ("ours", Align::Right),
        ("spread", Align::Right),
        ("difference", Align::Right),
        ("tolerance", Align::Right),
        ("time", Align::Right),
        ("", Align::Left),
    ]);
    for row in &table.rows {
        let cells = Cells::of(row);
        shown.row([
            row.id.clone(),
            row.what.clone(),
            row.class.to_string(),
            cells.published,
            cells.ours,
            cells.spread,
            cells.difference,
            cells.tolerance,
            output::seconds(row.wall_seconds),
            if row.within { "ok" } else { "miss" }.to_owned(),
        ]);
    }
    shown.print(&mut out)?;
    let misses: Vec<_> = table.rows.iter().filter(|row| !row.within).collect();
    if !misses.is_empty() {
        writeln!(out)?;
    }
    for row in misses {
        let reason = row.failure.as_deref().or(row.reason.as_deref()).unwrap_or("Unexplained.");
        writeln!(out, "{}: {reason}", row.id)?;
    }
    for sweep in &table.sensitivity {
        let points: Vec<String> = sweep
            .points
            .iter()
            .map(|p| format!("{}: {}", p.value, p.ours.map_or("-".into(), |o| format!("{o:.3}"))))
            .collect();
        writeln!(out, "\n{} by {}: {}", sweep.id, sweep.vary, points.join(", "))?;
    }
    let (misses, rows) = table.misses();
    writeln!(
        out,
        "\n{} of {rows} within tolerance, {misses} not; mean of {} seeds, scale {}, {}",
        rows - misses,
        table.seed_count,
        table.scale,
        output::seconds(table.wall_seconds)
    )?;
    out.flush()?;
    Ok(())
}

/// What would be run.
fn list(plan: &Plan) -> anyhow::Result<()> {
    let mut out = output::styled();
    let mut rows = Table::new(&[
        ("figure", Align::Left),
        ("what", Align::Left),
        ("class", Align::Left),
        ("published", Align::Right),
    ]);
    for study in &plan.studies {
        for row in &study.rows {
            rows.row([
                format!("{}/{}", study.name, row.id),
                row.metric.describe(),
                row.class.to_string(),
                format!("{:.3}", row.published),
            ]);
        }
    }
    rows.print(&mut out)?;
    let mut runs = Table::new(&[
        ("experiment", Align::Left),
        ("capacity", Align::Right),
        ("RUs", Align::Right),
        ("pages of an RU", Align::Right),
        ("volume", Align::Right),
    ]);
    let first = plan
        .runs
        .iter()
        .enumerate()
        .filter(|(at, run)| *at == 0 || plan.runs[at - 1].name != run.name);
    for (_, run) in first {
        let geometry = &run.experiment.device.geometry;
        runs.row([
            run.name.clone(),
            output::bytes(geometry.logical_bytes()),
            geometry.ru_count.to_string(),
            geometry.pages_per_ru.to_string(),
            run.experiment.volume.map_or_else(|| "-".to_owned(), |v| v.to_string()),
        ]);
    }
    writeln!(out)?;
    runs.print(&mut out)?;
    writeln!(out, "\n{} runs, {} seeds each", plan.runs.len(), plan.seeds)?;
    out.flush()?;
    Ok(())
}
