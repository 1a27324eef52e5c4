//! `wafer explore`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

const EXPLORE_EXAMPLES: &str = "\
Examples:
  wafer explore                                            write explore.html with the shipped examples
  wafer explore experiment.toml -o explore.html            begin with your own experiment

The device runs in the browser, in the page itself, with the same results as `wafer run`. The page works offline, refers to
no other file, and keeps its settings in its address.";

#[derive(Debug, Args)]
#[command(after_help = EXPLORE_EXAMPLES)]
pub(crate) struct ExploreArgs {
    /// Experiment file that the page starts with: a fio job file or application models, with a volume, without a clock.
    /// Default: random writes on a 28 GiB drive.
    #[arg(value_name = "EXPERIMENT.toml", value_hint = ValueHint::FilePath)]
    pub(crate) experiment: Option<PathBuf>,

    /// File for the page; `-` is stdout.
    #[arg(
        long, short, value_name = "EXPLORE.html", default_value = "explore.html",
        value_hint = ValueHint::FilePath
    )]
    pub(crate) output: PathBuf,

    /// Title of the page. Default: the name of the experiment.
    #[arg(long)]
    pub(crate) title: Option<String>,
}
