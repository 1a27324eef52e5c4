//! `wafer compare`

use std::collections::HashSet;
use std::io::Write as _;

use wafer_lab::{Control, Experiment, LabError, Options};
use wafer_record::Outputs;
use wafer_studies::ranking::{Ranking, WorkloadRanking, bound, experiments, workload};

use crate::args::CompareArgs;
use crate::batch::{check_all, failed, run_all};
use crate::cancel::{CANCEL, is_cancelled};
use wafer_output as output;
use wafer_output::Table;

/// Number of timeline samples in a comparison.
const SAMPLES: usize = 100;

pub(crate) fn run(args: &CompareArgs, quiet: bool) -> anyhow::Result<()> {
    let policies = policies(&args.policies);
    let baseline = match &args.baseline {
        Some(name) if !policies.contains(name) => {
            return Err(LabError::config("--baseline", format!("`{name}` is not compared")).into());
        }
        Some(name) => name.clone(),
        None => policies.iter().find(|p| *p == "greedy").unwrap_or(&policies[0]).clone(),
    };
    let options = Options {
        device: args.device.device.clone(),
        set: args.device.set.clone(),
        volume: args.volume,
        pace: args.pace.clone(),
        seed: args.seed,
        samples: Some(SAMPLES),
        data_dir: args.data.data_dir.clone(),
        ..Options::default()
    };
    let mut outputs = Outputs::default();
    args.workloads.iter().for_each(|path| outputs.input(path));
    let runs = experiments(&policies, &args.workloads, args.seeds, &options)?;
    runs.iter().flat_map(Experiment::files).for_each(|path| outputs.input(&path));
    let mut documents = args.json.iter().chain(&args.markdown);
    documents.try_for_each(|path| outputs.output_or_stdout(path))?;
    let checked = check_all(&runs)?;
    // The policies and seeds of a workload mostly give the same notes.
    let mut said = HashSet::new();
    let notices = checked.iter().flat_map(|run| {
        let end = run.experiment.unusual_end(run.total_bytes);
        run.notices.iter().cloned().chain(end)
    });
    output::notices(quiet, notices.filter(|text| said.insert(text.clone())));
    let results = run_all(&checked, args.threads, quiet, None, |_, _| Ok(()))?;
    let (each, seeds) = (policies.len() * args.seeds as usize, args.seeds as usize);
    let mut results = results.into_iter().zip(&checked);
    let (mut ranked, mut failures) = (Vec::new(), Vec::new());
    for path in &args.workloads {
        let mut records = Vec::new();
        for (number, (result, run)) in results.by_ref().take(each).enumerate() {
            let policy = &policies[number / seeds];
            let Experiment { name, seed, .. } = &run.experiment;
            match result {
                Ok(record) => {
                    let warnings = wafer_lab::warnings(&record).into_iter();
                    let named = warnings.map(|text| format!("{policy}: {text}"));
                    let new = named.filter(|text| said.insert(text.clone()));
                    new.for_each(|text| output::warning(&text));
                    records.push(record);
                }
                Err(error) if is_cancelled() => failures.push(error),
                Err(error) => failures.push(error.of(&format!("{name}, {policy}, seed {seed}"))),
            }
        }
        // A workload is ranked by all its runs.
        if records.len() < each {
            continue;
        }
        let Some(mut ranking) = WorkloadRanking::of(&policies, &records, &baseline) else {
            continue;
        };
        if let Some(classes) = args.bound {
            let experiment = workload(path, &options)?;
            let control = Control { cancel: &CANCEL, progress: &|_| {}, watch: None, steady: None };
            match bound(&experiment, classes, control) {
                Ok(row) => ranking.bound = Some(row),
                Err(error) => failures.push(error.of(&format!("{}, bound", experiment.name))),
            }
        }
        ranked.push(ranking);
    }
    if !failures.is_empty() && (ranked.is_empty() || is_cancelled()) {
        return Ok(failed(failures)?);
    }
    let ranking = Ranking::new(&baseline, ranked);
    if let Some(path) = &args.markdown {
        output::text_to(path, &ranking.markdown())?;
    }
    if let Some(path) = &args.json {
        output::json_to(path, &ranking)?;
    }
    if !outputs.has_stdout() {
        print(&ranking)?;
    }
    Ok(failed(failures)?)
}

/// Returns the named policies, each once; `all` stands for every policy.
fn policies(names: &[String]) -> Vec<String> {
    let all = wafer_device::policy::POLICIES.iter().map(|policy| policy.name.to_owned());
    let named = names.iter().flat_map(|name| match name.as_str() {
        "all" => all.clone().collect(),
        _ => vec![name.clone()],
    });
    let mut seen = HashSet::new();
    named.filter(|name| seen.insert(name.clone())).collect()
}

fn print(ranking: &Ranking) -> anyhow::Result<()> {
    let mut out = output::styled();
    for workload in &ranking.workloads {
        writeln!(out, "{}\n", workload.title())?;
        let mut table = Table::default().text(["policy"]).numbers([
            "WAF",
            "at the end",
            "less baseline",
            "extra writes saved",
            "above best",
            "time",
        ]);
        for row in &workload.rows {
            let saved = row.saved_percent.map_or_else(String::new, |p| format!("{p:.1} %"));
            table.row([
                row.policy.clone(),
                format!("{:.3}", row.waf),
                row.at_end(),
                row.interval(),
                saved,
                format!("{:.1} %", row.above_best_percent),
                output::seconds(row.wall_seconds),
            ]);
        }
        if let Some(bound) = &workload.bound {
            for (name, waf) in bound.lines() {
                let mut cells = vec![format!("({name})"), format!("{waf:.3}")];
                cells.resize(7, String::new());
                table.row(cells);
            }
        }
        table.print(&mut out)?;
        writeln!(out)?;
    }
    if ranking.workloads.len() > 1 {
        let mut table = Table::default()
            .text(["policy"])
            .numbers(["mean above best", "most above best"])
            .text(["where"]);
        for row in &ranking.overall {
            table.row([
                row.policy.clone(),
                format!("{:.1} %", row.mean_above_best_percent),
                format!("{:.1} %", row.worst_above_best_percent),
                row.worst.clone(),
            ]);
        }
        table.print(&mut out)?;
        writeln!(out)?;
    }
    writeln!(out, "baseline {}; ± is the 95 % interval over paired seeds", ranking.baseline)?;
    out.flush()?;
    Ok(())
}
