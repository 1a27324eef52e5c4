//! `wafer explain`

use std::io::Write as _;

use wafer_lab::{Explanation, read_records};

use crate::args::ExplainArgs;
use crate::output::{self, Align, HEADER, Table};

pub(crate) fn run(args: &ExplainArgs) -> anyhow::Result<()> {
    let mut explanations = Vec::new();
    for path in &args.results {
        for record in read_records(path)? {
            explanations.push(Explanation::of(&record)?);
        }
    }
    if args.json {
        return output::json(&explanations);
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
        "{HEADER}{}{HEADER:#}: WAF {:.3}, {} relocated\n",
        e.name,
        e.waf,
        output::bytes(e.relocated_bytes)
    )?;
    let mut table = Table::new(&[
        ("handle", Align::Right),
        ("host", Align::Right),
        ("sequential", Align::Right),
        ("WAF", Align::Right),
        ("moved", Align::Right),
        ("caused", Align::Right),
        ("by itself", Align::Right),
        ("RUs collected", Align::Right),
        ("empty", Align::Right),
    ]);
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    for h in &e.handles {
        table.row([
            h.handle.clone(),
            output::bytes(h.host_bytes),
            percent(h.sequential_share),
            format!("{:.3}", h.waf),
            percent(h.moved_share),
            percent(h.caused_share),
            percent(h.own_cause),
            h.collected.to_string(),
            h.empty.to_string(),
        ]);
    }
    table.print(out)?;
    writeln!(
        out,
        "\nmoved, caused: share of everything relocated that is its data, that its invalidations \
         caused\n"
    )?;
    for finding in &e.findings {
        writeln!(out, "- {finding}")?;
    }
    if e.findings.is_empty() {
        writeln!(out, "- No single handle stands out.")?;
    }
    Ok(())
}
