//! `wafer reproduce`

use std::io::Write as _;
use std::path::PathBuf;
use wafer_config::{ConfigError, Place};

use anyhow::Context as _;
use wafer_record::{Record, write_json, write_text};
use wafer_studies::reproduce::{Choice, Outcomes, Plan, Reproduction, Study, result_file};

use super::figures;
use crate::args::ReproduceArgs;
use wafer_output as output;
use wafer_output::Table;

/// Files in the folder of results.
const TABLE: &str = "reproduce.json";
const PAGE: &str = "report.html";

pub(crate) fn run(args: &ReproduceArgs, quiet: bool) -> anyhow::Result<()> {
    // Without --out, the configurations are unpacked only while the command runs.
    let temporary = tempfile::tempdir().context("a temporary folder")?;
    let folder = args.out.as_deref().unwrap_or(temporary.path());
    if let Some(out) = &args.out {
        if out.exists() && !out.is_dir() {
            let reason = format!("{}: not a folder", out.display());
            return Err(ConfigError::new(Place::Argument("out"), reason).into());
        }
        let results = out.join("results");
        std::fs::create_dir_all(&results).map_err(|source| ConfigError::io(results, source))?;
    }
    let experiments = match &args.experiments {
        Some(folder) => folder.clone(),
        None => {
            wafer_config::unpack(&folder.join("configs"))?;
            folder.join("configs/experiments")
        }
    };
    let choice = Choice {
        names: args.names.clone(),
        scale: args.scale,
        seeds: args.seeds,
        sensitivity: args.sensitivity,
        data_dir: args.table.data.data_dir.clone(),
    };
    let plan = Plan::new(&Study::all(&experiments)?, &choice, &folder.join("scaled"))?;
    if args.list {
        return list(&plan);
    }
    let in_folder = |name: &str| args.out.as_deref().map(|out| out.join(name));
    let mut files: Vec<PathBuf> = [TABLE, PAGE].into_iter().filter_map(in_folder).collect();
    let records = plan.runs.iter().map(|run| result_file(&run.name, run.experiment.seed));
    files.extend(records.filter_map(|name| in_folder(&name)));
    files.extend(args.table.markdown.clone());
    files.extend(args.json.then(|| PathBuf::from("-")));
    let outputs = figures::check_outputs(&plan, &experiments, &files)?;
    if let Some(path) = &args.table.markdown {
        let empty = Reproduction::new(&plan, &Outcomes::new(), 0.0);
        figures::check_document(path, |label, text| empty.update_document(label, text))?;
    }
    let (table, outcomes) =
        figures::run_all(&plan, args.table.threads, args.out.as_deref(), quiet)?;
    if let Some(out) = &args.out {
        write_json(&out.join(TABLE), &table)?;
        if let Some(page) = page(&table, &outcomes)? {
            write_text(&out.join(PAGE), &page)?;
        }
    }
    if let Some(path) = &args.table.markdown {
        figures::write_document(path, |label, text| table.update_document(label, text))?;
    }
    if args.json {
        output::json(&table)?;
    } else if !outputs.has_stdout() {
        figures::print(&table)?;
    }
    figures::finish(&table, args.table.strict)
}

/// Returns the page: the table, and the curves of the first seed of every experiment that a figure
/// needs; `None` if no run has a record.
fn page(table: &Reproduction, outcomes: &Outcomes) -> anyhow::Result<Option<String>> {
    let needed = |name: &str, seed: u64| {
        let file = result_file(name, seed);
        table.rows.iter().any(|row| row.results.contains(&file))
    };
    let mut records: Vec<Record> = Vec::new();
    let mut last = "";
    for ((name, seed), outcome) in outcomes {
        let Ok(record) = outcome else { continue };
        if name != last && needed(name, *seed) {
            records.push(record.clone());
            last = name;
        }
    }
    if records.is_empty() {
        return Ok(None);
    }
    let names: Vec<&str> = table.studies.iter().map(|s| s.name.as_str()).collect();
    let page =
        wafer_web::report::page(Some(&format!("Reproduced: {}", names.join(", "))), records)?;
    Ok(Some(wafer_web::report::with_section(&page, &table.html())))
}

/// Prints the figures and the runs they need.
fn list(plan: &Plan) -> anyhow::Result<()> {
    let mut out = output::styled();
    let mut rows = Table::default().text(["figure", "what", "class"]).numbers(["published"]);
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
    let mut runs = Table::default().text(["experiment"]).numbers([
        "capacity",
        "RUs",
        "pages of an RU",
        "volume",
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
    let (runs, seeds) =
        (output::count(plan.runs.len(), "run"), output::count(plan.seeds as usize, "seed"));
    writeln!(out, "\n{runs}, {seeds} each")?;
    out.flush()?;
    Ok(())
}
