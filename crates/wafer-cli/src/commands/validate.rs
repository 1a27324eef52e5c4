//! `wafer validate`

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use wafer_lab::validate::{Curve, Standing, Validation, experiments};
use wafer_lab::{Batch, Checked, Experiment, LabError, Reference, ResultRecord, write_json};

use super::run::{CANCEL, cancel_on_ctrl_c};
use crate::args::ValidateArgs;
use crate::output::{self, Align, Table};
use crate::progress::Bar;

pub(crate) fn run(args: &ValidateArgs, quiet: bool) -> anyhow::Result<()> {
    let curves = experiments(&args.experiments, &args.names)?;
    // What cannot work is told before the runs, which take minutes.
    let references = curves
        .iter()
        .map(|e| e.compare.as_deref().map(Reference::read).transpose())
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(path) = &args.markdown {
        let text = read_or_empty(path)?;
        Validation::new(Vec::new()).update_document(&path.display().to_string(), &text)?;
    }
    let seeds = args.seeds.unwrap_or(1);
    let runs: Vec<Experiment> = curves
        .iter()
        .flat_map(|e| (0..seeds).map(|more| e.with_seed(e.seed.wrapping_add(more))))
        .collect();
    let records = all(&runs, args.threads, quiet)?;

    let mut by_name: BTreeMap<&str, Vec<&ResultRecord>> = BTreeMap::new();
    for record in &records {
        by_name.entry(&record.name).or_default().push(record);
    }
    let mut compared = Vec::new();
    for (experiment, reference) in curves.iter().zip(&references) {
        let records = by_name.get(experiment.name.as_str()).map_or(&[][..], Vec::as_slice);
        let Some(reference) = reference else { continue };
        compared.extend(Curve::of(experiment, reference, records)?);
    }
    let validation = Validation::new(compared);
    if let Some(path) = &args.json {
        if path.as_os_str() == "-" {
            output::json(&validation)?;
        } else {
            write_json(path, &validation)?;
        }
    }
    if let Some(path) = &args.markdown {
        // Read again: somebody may have edited it during the runs.
        let text = read_or_empty(path)?;
        let text = validation.update_document(&path.display().to_string(), &text)?;
        std::fs::write(path, text).with_context(|| path.display().to_string())?;
    }
    if args.json.as_deref() != Some(Path::new("-")) {
        print(&validation)?;
    }
    match validation.misses() {
        (misses @ 1.., rows) if args.strict => {
            Err(anyhow::anyhow!("{misses} of {rows} figures are outside their tolerance"))
        }
        _ => Ok(()),
    }
}

/// Runs all, in parallel and within memory.
fn all(
    runs: &[Experiment],
    threads: Option<usize>,
    quiet: bool,
) -> anyhow::Result<Vec<ResultRecord>> {
    let checked = runs
        .iter()
        .map(|experiment| experiment.clone().check())
        .collect::<Result<Vec<Checked>, LabError>>()?;
    cancel_on_ctrl_c()?;
    let bar = Bar::new(runs, quiet);
    let batch = Batch {
        threads,
        cancel: &CANCEL,
        progress: &|number, progress| bar.update(number, progress),
        watch: None,
        finished: &|_, _| {},
    };
    let results = batch.run(&checked);
    bar.finish();
    Ok(results?.into_iter().collect::<Result<_, LabError>>()?)
}

/// The text of a document, or nothing if it is still to be made.
fn read_or_empty(path: &Path) -> anyhow::Result<String> {
    match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        read => read.with_context(|| path.display().to_string()),
    }
}

fn print(validation: &Validation) -> anyhow::Result<()> {
    let several = validation.curves.iter().any(|c| c.seeds.len() > 1);
    let mut columns = vec![
        ("curve", Align::Left),
        ("parameters", Align::Left),
        ("at", Align::Right),
        ("measured", Align::Right),
        ("ours", Align::Right),
    ];
    if several {
        columns.push(("least to most", Align::Right));
    }
    columns.extend([("difference", Align::Right), ("tolerance", Align::Right), ("", Align::Left)]);
    let mut table = Table::new(&columns);
    for curve in &validation.curves {
        for (i, row) in curve.rows.iter().enumerate() {
            let standing = match curve.standing {
                Standing::Predicted => "predicted",
                Standing::Calibrated => "calibrated",
            };
            let first = |text: &str| if i == 0 { text.to_owned() } else { String::new() };
            let mut cells = vec![
                first(&curve.name),
                first(standing),
                format!("x{}", row.volume),
                format!("{:.3}", row.measured),
                format!("{:.3}", row.ours),
            ];
            if several {
                cells.push(format!("{:.3} to {:.3}", row.least, row.most));
            }
            cells.push(format!("{:+.1} %", row.difference_percent));
            cells.push(format!("{} %", row.tolerance_percent));
            cells.push(if row.ok { "ok" } else { "miss" }.to_owned());
            table.row(cells);
        }
    }
    let mut out = output::styled();
    table.print(&mut out)?;
    let (misses, rows) = validation.misses();
    writeln!(out, "\n{} of {rows} within tolerance, {misses} not", rows - misses)?;
    out.flush()?;
    Ok(())
}
