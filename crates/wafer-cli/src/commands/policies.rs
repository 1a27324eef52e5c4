//! `wafer policies`

use serde::Serialize;

use crate::args::ListArgs;
use crate::output;
use crate::output::{Align, Table};

#[derive(Serialize)]
struct Policy {
    name: &'static str,
    summary: &'static str,
}

pub(crate) fn run(args: &ListArgs) -> anyhow::Result<()> {
    let policies = wafer_device::policy::POLICIES;
    if args.json {
        let policies: Vec<Policy> =
            policies.iter().map(|p| Policy { name: p.name, summary: p.summary }).collect();
        return output::json(&policies);
    }
    let mut table = Table::new(&[("policy", Align::Left), ("victim", Align::Left)]);
    for policy in policies {
        table.row([policy.name.to_owned(), policy.summary.to_owned()]);
    }
    table.print(&mut output::styled())?;
    Ok(())
}
