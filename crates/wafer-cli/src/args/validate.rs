//! `wafer validate`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::values::threads;

const VALIDATE_EXAMPLES: &str = "\
Examples:
  wafer validate                                     every curve; 10 to 20 minutes, 10 GiB of memory
  wafer validate warp-one-stream --seeds 3           one of them, with the spread over seeds
  wafer validate --markdown docs/validation.md       and publish the table

Exit status 0 also with misses, unless --strict is given.";

#[derive(Debug, Args)]
#[command(after_help = VALIDATE_EXAMPLES)]
pub(crate) struct ValidateArgs {
    /// Experiments to validate, by name. Default: all that name a reference and have a `validate`
    /// table.
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,

    /// The folder of experiment files.
    #[arg(
        long, value_name = "DIR", default_value = "configs/experiments",
        value_hint = ValueHint::DirPath
    )]
    pub(crate) experiments: PathBuf,

    /// Run each experiment with this many seeds, counting up from its own; the table then shows the
    /// mean and the spread.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) seeds: Option<u64>,

    /// Write the table as JSON; `-` is stdout.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) json: Option<PathBuf>,

    /// Replace the generated part of this Markdown document by the table, or make the document.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) markdown: Option<PathBuf>,

    /// Exit with status 1 if a figure is outside its tolerance.
    #[arg(long)]
    pub(crate) strict: bool,

    /// Runs at the same time at most. Default: one per core. Fewer run when memory is short.
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<usize>,
}
