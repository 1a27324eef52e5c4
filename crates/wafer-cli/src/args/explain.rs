//! `wafer explain`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  wafer run configs/experiments/warp-three-stream-zoned-fdp.toml --attribution --json zoned.json
  wafer explain zoned.json

Names two effects of the WARP study (FAST '26): a Noisy RUH makes data of other handles move; Save
Sequential is a sequential stream that was collected before it could invalidate itself.";

#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub(crate) struct ExplainArgs {
    /// Result records made with `wafer run --attribution`.
    #[arg(value_name = "RESULT.json", required = true, value_hint = ValueHint::FilePath)]
    pub(crate) results: Vec<PathBuf>,

    /// Print JSON: costs and findings with their numbers.
    #[arg(long)]
    pub(crate) json: bool,
}
