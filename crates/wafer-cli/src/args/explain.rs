//! `wafer explain`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  wafer run configs/experiments/warp-three-stream-zoned-fdp.toml --attribution --json zoned.json
  wafer explain zoned.json

Names two effects of the WARP study (FAST '26). A Noisy RUH causes relocations of other handles' data. Save
Sequential: GC collects a sequential stream before it can invalidate itself.";

#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub(crate) struct ExplainArgs {
    /// Result records made with `wafer run --attribution`.
    #[arg(value_name = "RESULT.json", required = true, value_hint = ValueHint::FilePath)]
    pub(crate) results: Vec<PathBuf>,

    /// Print JSON with costs, findings and their numbers.
    #[arg(long)]
    pub(crate) json: bool,
}
