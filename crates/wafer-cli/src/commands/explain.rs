//! `wafer explain`

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use wafer_lab::LabError;
use wafer_record::{Explanation, Outputs, Record, labels, read_records};
use wafer_why::{Plan, WhyError};

use crate::args::ExplainArgs;
use crate::batch::{check_all, run_all};
use crate::errors::Interrupted;
use wafer_output as output;
use wafer_output::{HEADER, PLAIN, Table};

pub(crate) fn run(args: &ExplainArgs, quiet: bool) -> anyhow::Result<()> {
    let (results, json) = files(args)?;
    let mut records = Vec::new();
    for path in results {
        records.extend(read_records(path)?);
    }
    let mut explanations: Vec<Explanation> = records.iter().map(Explanation::of).collect();
    if args.why {
        let [record] = records.as_slice() else {
            return Err(LabError::argument("why", "explains one record at a time").into());
        };
        let runs = Runs { path: &results[0], threads: args.threads, quiet };
        return why(record, &runs, json.as_deref());
    }
    if let Some(path) = json {
        return output::json_to(&path, &explanations);
    }
    for (explanation, label) in explanations.iter_mut().zip(labels(&records)) {
        explanation.name = label;
    }
    let mut out = output::styled();
    for (at, explanation) in explanations.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        print(&mut out, explanation)?;
    }
    out.flush()?;
    Ok(())
}

/// Returns the records to read, and the destination of the JSON if requested.
///
/// `--json` takes a file; but if it precedes the only record, that is taken as the record.
fn files(args: &ExplainArgs) -> anyhow::Result<(&[PathBuf], Option<PathBuf>)> {
    let stdout = || Some(PathBuf::from("-"));
    match &args.json {
        None => Ok((&args.results, None)),
        Some(None) => Ok((&args.results, stdout())),
        Some(Some(record)) if args.results.is_empty() => {
            Ok((std::slice::from_ref(record), stdout()))
        }
        Some(Some(path)) => {
            let mut outputs = Outputs::default();
            args.results.iter().for_each(|path| outputs.input(path));
            if path.is_file() && read_records(path).is_ok() {
                let reason = "is a result record, which an explanation must not replace";
                return Err(LabError::config(path.display().to_string(), reason).into());
            }
            outputs.output_or_stdout(path)?;
            Ok((&args.results, Some(path.clone())))
        }
    }
}

/// Options for rerunning the experiment of a record.
struct Runs<'a> {
    /// The file of the record.
    path: &'a Path,
    threads: Option<usize>,
    quiet: bool,
}

/// Reruns the experiment of a record without each possible cause.
fn why(record: &Record, runs: &Runs<'_>, json: Option<&Path>) -> anyhow::Result<()> {
    let plan = Plan::of(record)
        .map_err(|error| LabError::config(runs.path.display().to_string(), error.to_string()))?;
    if record.time.is_some() {
        let with = record.summary.waf;
        let text = format!("these runs have no clock; with one, WAF was {with:.3}");
        output::notice(runs.quiet, &text);
    }
    let experiments = check_all(&plan.experiments())?;
    let records = run_all(&experiments, runs.threads, runs.quiet, None, |_, _| Ok(()))?;
    let why = plan.judge(records).map_err(|error| match error {
        WhyError::Lab(LabError::Cancelled) => Interrupted.into(),
        error => anyhow::Error::from(error),
    })?;
    if let Some(path) = json {
        let answer = json!({
            "waf": why.waf,
            "capacities": why.capacities,
            "causes": why.causes,
            "explanation": Explanation::of(record),
        });
        output::json_to(path, &answer)?;
        if output::is_stdout(path) {
            return Ok(());
        }
    }
    let mut out = output::styled();
    writeln!(out, "{HEADER}{}{PLAIN}: WAF {:.3}\n", Explanation::of(record).name, why.waf)?;
    if let Some(capacities) = why.capacities {
        writeln!(out, "All runs end after {capacities} times the capacity.\n")?;
    }
    let mut table = Table::default().text(["cause"]).numbers(["WAF without", "change"]);
    for cause in &why.causes {
        let change = 100.0 * (cause.waf_without / why.waf - 1.0);
        table.row([
            cause.cause.clone(),
            format!("{:.3}", cause.waf_without),
            format!("{change:+.1} %"),
        ]);
    }
    if why.causes.is_empty() {
        writeln!(out, "Nothing that was tried lowers it by 3 %.")?;
    } else {
        table.print(&mut out)?;
        writeln!(out)?;
    }
    for cause in &why.causes {
        writeln!(out, "- {}", cause.text)?;
    }
    out.flush()?;
    Ok(())
}

fn print(out: &mut impl std::io::Write, e: &Explanation) -> std::io::Result<()> {
    writeln!(
        out,
        "{HEADER}{}{PLAIN}: WAF {:.3}, {} relocated\n",
        e.name,
        e.waf,
        output::bytes(e.relocated_bytes)
    )?;
    let mut table = Table::default().numbers([
        "handle",
        "host",
        "sequential",
        "WAF",
        "moved",
        "caused",
        "by itself",
        "RUs collected",
        "empty",
    ]);
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let optional = |share: Option<f64>| share.map_or("-".to_owned(), percent);
    let counted = |count: Option<u64>| count.map_or("-".to_owned(), |count| count.to_string());
    for h in &e.handles {
        table.row([
            h.handle.clone(),
            output::bytes(h.host_bytes),
            optional(h.sequential_share),
            h.waf.map_or("-".to_owned(), |waf| format!("{waf:.3}")),
            percent(h.moved_share),
            optional(h.caused_share),
            optional(h.own_cause),
            counted(h.collected),
            counted(h.empty),
        ]);
    }
    if !e.handles.is_empty() {
        table.print(out)?;
        let legend = match e.handles.iter().any(|h| h.caused_share.is_none()) {
            false => {
                "moved, caused: share of all relocated bytes that is its data, that its invalidations caused"
            }
            true => "moved: share of the media writes that did not come from hosts",
        };
        writeln!(out, "\n{legend}")?;
    }
    if let Some(shared) = &e.shared {
        writeln!(
            out,
            "{} more RUs were collected that held relocated data, {} of them empty.",
            shared.reclaim_units, shared.empty
        )?;
    }
    if e.handles.iter().any(|h| h.caused_share.is_none()) {
        writeln!(out, "Causes by handle (-) need a record of `wafer run --attribution`.")?;
    }
    writeln!(out)?;
    for finding in &e.findings {
        writeln!(out, "- {finding}")?;
    }
    Ok(())
}
