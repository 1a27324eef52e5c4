//! `wafer validate`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::TableArgs;

const VALIDATE_EXAMPLES: &str = "\
Examples:
  wafer validate                                     compare every curve; 10 to 20 minutes, 10 GiB of memory
  wafer validate warp-one-stream --seeds 3           compare one, with the spread over seeds
  wafer validate --markdown docs/studies/validation.md       update the published table

Misses do not change the exit status, unless --strict is given.";

#[derive(Debug, Args)]
#[command(after_help = VALIDATE_EXAMPLES)]
pub(crate) struct ValidateArgs {
    /// Experiments, by name. Default: all that name a reference and have a `validate` table.
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,

    /// Folder of experiment files.
    #[arg(
        long, value_name = "DIR", default_value = "configs/experiments",
        value_hint = ValueHint::DirPath
    )]
    pub(crate) experiments: PathBuf,

    /// Number of seeds for each experiment, counting up from its own; the table then shows mean and
    /// spread.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) seeds: Option<u64>,

    /// File for the table as JSON; `-` is stdout.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) json: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) table: TableArgs,
}
