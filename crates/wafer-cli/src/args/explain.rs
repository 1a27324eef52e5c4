//! `wafer explain`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::values::within;

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  wafer run configs/experiments/warp-three-stream-zoned-fdp.toml --attribution --json zoned.json
  wafer explain zoned.json
  wafer explain zoned.json --why                 run it again without each possible cause

Names two effects of the WARP study (FAST '26). A Noisy RUH causes relocations of other handles' data. Save
Sequential: GC collects a sequential stream before it can invalidate itself.";

#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub(crate) struct ExplainArgs {
    /// Result records made with `wafer run --attribution`.
    #[arg(
        value_name = "RESULT.json",
        required_unless_present = "json",
        value_hint = ValueHint::FilePath
    )]
    pub(crate) results: Vec<PathBuf>,

    /// Run the experiment of one record again without each possible cause, and rank the causes by what they cost.
    #[arg(long)]
    pub(crate) why: bool,

    /// JSON with costs, findings and their numbers, to a file or to stdout. With --why also the causes.
    #[arg(long, value_name = "FILE", num_args = 0..=1, value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<Option<PathBuf>>,

    /// Maximum number of simultaneous runs of --why. Default: one per core.
    #[arg(long, value_name = "N", requires = "why", value_parser = within(1..=4096))]
    pub(crate) threads: Option<usize>,
}
