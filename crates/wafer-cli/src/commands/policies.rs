//! `wafer policies`

use crate::args::ListArgs;
use wafer_output as output;

pub(crate) fn run(args: &ListArgs) -> anyhow::Result<()> {
    let policies = wafer_device::policy::POLICIES.iter();
    output::summaries(args.json, ["policy", "victim"], policies.map(|p| (p.name, p.summary)))
}
