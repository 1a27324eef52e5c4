//! What `wafer reproduce` and `wafer validate` share: running a plan, its table, its document.

use std::io::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use anyhow::Context as _;
use wafer_lab::{Batch, Checked, Experiment, LabError};
use wafer_record::write_json;
use wafer_studies::reproduce::{COLUMNS, Outcomes, Plan, Reproduction, cells, result_file};

use super::run::{CANCEL, cancel_on_ctrl_c};
use crate::output::{Align, Table};
use crate::progress::Bar;
use crate::{errors, output};

/// Runs a plan, in parallel and within memory. With a folder, each record is written as its run ends.
pub(crate) fn run_all(
    plan: &Plan,
    threads: Option<usize>,
    out: Option<&Path>,
    quiet: bool,
) -> anyhow::Result<(Reproduction, Outcomes)> {
    let clock = Instant::now();
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
                outcomes.insert(key, Err(errors::lab(&error)));
            }
            Err(error) => return Err(error.into()),
        }
    }
    cancel_on_ctrl_c()?;
    let runs: Vec<Experiment> = checked.iter().map(|c| c.experiment.clone()).collect();
    let bar = Bar::new(&runs, quiet);
    let written: Mutex<Result<(), LabError>> = Mutex::new(Ok(()));
    let batch = Batch {
        threads,
        cancel: &CANCEL,
        progress: &|number, progress| bar.update(number, progress),
        watch: None,
        finished: &|number, result| {
            let (Ok(record), Some(out)) = (result, out) else { return };
            let (name, seed) = &names[number];
            let path = out.join(result_file(name, *seed));
            if let (Err(error), Ok(mut first)) = (write_json(&path, record), written.lock()) {
                *first = std::mem::replace(&mut *first, Ok(())).and(Err(error.into()));
            }
        },
    };
    let results = batch.run(&checked);
    bar.finish();
    written.into_inner().unwrap_or(Ok(()))?;
    for (key, result) in names.into_iter().zip(results?) {
        match result {
            Err(LabError::Cancelled) => return Err(LabError::Cancelled.into()),
            other => outcomes.insert(key, other.map_err(|error| errors::lab(&error))),
        };
    }
    let table = Reproduction::new(plan, &outcomes, clock.elapsed().as_secs_f64());
    Ok((table, outcomes))
}

/// Replaces the generated part of a document by what `update` makes of its text.
pub(crate) fn write_document(
    path: &Path,
    update: impl Fn(&str, &str) -> Result<String, LabError>,
) -> anyhow::Result<()> {
    let text = update(&path.display().to_string(), &read_or_empty(path)?)?;
    std::fs::write(path, text).with_context(|| path.display().to_string())
}

/// Reports whether a document can take a table, before anything runs.
pub(crate) fn check_document(
    path: &Path,
    update: impl Fn(&str, &str) -> Result<String, LabError>,
) -> anyhow::Result<()> {
    update(&path.display().to_string(), &read_or_empty(path)?)?;
    Ok(())
}

/// The text of a document, or nothing if it does not exist yet.
fn read_or_empty(path: &Path) -> anyhow::Result<String> {
    match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        read => read.with_context(|| path.display().to_string()),
    }
}

/// Prints the table, the reasons for misses, and how many there are.
pub(crate) fn print(table: &Reproduction) -> anyhow::Result<()> {
    let mut out = output::styled();
    let mut columns =
        COLUMNS.map(|column| (column.name, if column.number { Align::Right } else { Align::Left }));
    // Time goes before the verdict.
    let verdict = std::mem::replace(&mut columns[8], ("time", Align::Right));
    let mut shown = Table::new(&[columns.as_slice(), &[verdict]].concat());
    for row in &table.rows {
        let mut cells = cells(&row.id, row).to_vec();
        cells.insert(8, output::seconds(row.wall_seconds));
        shown.row(cells);
    }
    shown.print(&mut out)?;
    if table.rows.iter().any(|row| !row.within) {
        writeln!(out)?;
    }
    for row in &table.rows {
        if let Some(reason) = row.miss() {
            writeln!(out, "{}: {reason}", row.id)?;
        }
    }
    for sweep in &table.sensitivity {
        let points: Vec<String> = sweep
            .points
            .iter()
            .map(|p| format!("{}: {}", p.value, p.ours.map_or("-".into(), |o| format!("{o:.3}"))))
            .collect();
        writeln!(out, "\n{} by {}: {}", sweep.id, sweep.vary, points.join(", "))?;
    }
    writeln!(out, "\n{}, {}", table.verdict(), output::seconds(table.wall_seconds))?;
    out.flush()?;
    Ok(())
}

/// Fails if a figure has no result, or with `strict` if one misses.
pub(crate) fn finish(table: &Reproduction, strict: bool) -> anyhow::Result<()> {
    let failed = table.rows.iter().filter(|row| row.failure.is_some()).count();
    if failed > 0 {
        return Err(anyhow::anyhow!("{failed} figures have no result; the table says why"));
    }
    match table.misses() {
        (misses @ 1.., rows) if strict => {
            Err(anyhow::anyhow!("{misses} of {rows} figures are outside their tolerance"))
        }
        _ => Ok(()),
    }
}
