//! `wafer explain`

use std::io::Write as _;

use wafer_record::{Explanation, labels, read_records};

use crate::args::ExplainArgs;
use crate::output;
use crate::output::{HEADER, PLAIN, Table};

pub(crate) fn run(args: &ExplainArgs) -> anyhow::Result<()> {
    let mut records = Vec::new();
    for path in &args.results {
        records.extend(read_records(path)?);
    }
    let mut explanations: Vec<Explanation> = records.iter().map(Explanation::of).collect();
    if args.json {
        return output::json(&explanations);
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
            format!("{:.3}", h.waf),
            percent(h.moved_share),
            optional(h.caused_share),
            optional(h.own_cause),
            counted(h.collected),
            counted(h.empty),
        ]);
    }
    if !e.handles.is_empty() {
        table.print(out)?;
        writeln!(
            out,
            "\nmoved, caused: share of all relocated bytes that is its data, that its invalidations \
             caused"
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
