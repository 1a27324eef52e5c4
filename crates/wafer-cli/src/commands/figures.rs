//! Shared by `wafer reproduce` and `wafer validate`: runs a plan and writes its table and document.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;
use wafer_config::ConfigError;

use wafer_lab::{Checked, LabError};
use wafer_record::files::read_text;
use wafer_record::{Outputs, write_json};
use wafer_studies::reproduce::{COLUMNS, Outcomes, Plan, Reproduction, cells, result_file};

use crate::{batch, errors};
use wafer_output as output;
use wafer_output::Table;

/// Runs a plan, in parallel and within memory. With a folder, writes each record as its run ends.
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
            // A later experiment may fit.
            Err(error @ LabError::Memory { .. }) => {
                outcomes.insert(key, Err(errors::lab(&error)));
            }
            Err(error) => return Err(error.into()),
        }
    }
    let results = batch::run_all(&checked, threads, quiet, None, |number, record| {
        let Some(out) = out else { return Ok(()) };
        let (name, seed) = &names[number];
        Ok(write_json(&out.join(result_file(name, *seed)), record)?)
    })?;
    for (key, result) in names.into_iter().zip(results) {
        match result {
            Err(error @ (LabError::Cancelled | LabError::Config(ConfigError::Io { .. }))) => {
                return Err(error.into());
            }
            other => outcomes.insert(key, other.map_err(|error| errors::lab(&error))),
        };
    }
    let table = Reproduction::new(plan, &outcomes, clock.elapsed().as_secs_f64());
    Ok((table, outcomes))
}

/// Returns the outputs of a plan; refuses one that is also an input or another output.
pub(crate) fn check_outputs<'a>(
    plan: &Plan,
    experiments: &Path,
    all: impl IntoIterator<Item = &'a PathBuf>,
) -> anyhow::Result<Outputs> {
    let mut outputs = Outputs::default();
    outputs.input(experiments);
    plan.runs.iter().flat_map(|run| run.experiment.files()).for_each(|path| outputs.input(&path));
    all.into_iter().try_for_each(|path| outputs.output_or_stdout(path))?;
    Ok(outputs)
}

/// Replaces the generated part of a document; `update` gets its name and text.
pub(crate) fn write_document(
    path: &Path,
    update: impl Fn(&str, &str) -> Result<String, LabError>,
) -> anyhow::Result<()> {
    let text = update(&path.display().to_string(), &read_or_empty(path)?)?;
    output::text_to(path, &text)
}

/// Checks that the table can be inserted into a document, before anything runs.
pub(crate) fn check_document(
    path: &Path,
    update: impl Fn(&str, &str) -> Result<String, LabError>,
) -> anyhow::Result<()> {
    update(&path.display().to_string(), &read_or_empty(path)?)?;
    Ok(())
}

/// Returns the text of a document; empty if it does not exist yet or is stdout.
fn read_or_empty(path: &Path) -> anyhow::Result<String> {
    if output::is_stdout(path) {
        return Ok(String::new());
    }
    match path.try_exists() {
        Ok(false) => Ok(String::new()),
        _ => Ok(read_text(path).map_err(LabError::from)?),
    }
}

/// Column of the verdict; the time is inserted before it.
const VERDICT: usize = 8;

/// Prints the table, the reasons for misses, and the number of misses.
pub(crate) fn print(table: &Reproduction) -> anyhow::Result<()> {
    let mut out = output::styled();
    let mut shown = Table::default();
    for (at, column) in COLUMNS.iter().enumerate() {
        if at == VERDICT {
            shown = shown.numbers(["time"]);
        }
        shown =
            if column.number { shown.numbers([column.name]) } else { shown.text([column.name]) };
    }
    for row in &table.rows {
        let mut cells = cells(&row.id, row).to_vec();
        cells.insert(VERDICT, output::seconds(row.wall_seconds));
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

/// Fails if a figure has no result or, with `strict`, if one misses.
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
