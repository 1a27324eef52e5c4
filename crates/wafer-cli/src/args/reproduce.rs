//! `wafer reproduce`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use wafer_lab::reproduce::Scale;

use super::values::threads;

const REPRODUCE_EXAMPLES: &str = "\
Examples:
  wafer reproduce                                    every study, scaled down; under 20 minutes on two cores
  wafer reproduce warp --out warp/                   one study; table, records and page in warp/
  wafer reproduce warp/one-stream --scale full       one experiment at real capacities
  wafer reproduce --list                             what there is and what it takes

A row is one published figure. Class: identified, ours predicts what it was not fitted to; calibrated,
a parameter was chosen with the figure in view; sketch, right in kind only; captured, recorded traffic
of another size, nothing fitted; not reproduced. Misses are shown with what is known of their reason. Exit status 0 also with misses, unless --strict is given.";

#[derive(Debug, Args)]
#[command(after_help = REPRODUCE_EXAMPLES)]
pub(crate) struct ReproduceArgs {
    /// STUDY, STUDY/EXPERIMENT or STUDY/FIGURE: kioxia, namespaces, micron, warp. Default: all.
    #[arg(value_name = "STUDY[/EXPERIMENT]")]
    pub(crate) names: Vec<String>,

    /// Size of the devices: `full`, or the pages of a scaled reclaim unit (at least 256); their number
    /// stays. Default: 2,048 to 16,384, as each study says.
    #[arg(long, value_name = "S")]
    pub(crate) scale: Option<Scale>,

    /// Run each experiment with this many seeds, counting up from its own.
    #[arg(
        long, value_name = "N", default_value_t = 3,
        value_parser = clap::value_parser!(u64).range(1..=1000)
    )]
    pub(crate) seeds: u64,

    /// Write the table (reproduce.json), the page (report.html), a record of each run (results/) and all
    /// configurations (configs/) into this folder.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,

    /// Also vary what calibrated figures rest on, one seed each.
    #[arg(long)]
    pub(crate) sensitivity: bool,

    /// Only list the figures and what would be run for them.
    #[arg(long)]
    pub(crate) list: bool,

    /// Print the table as JSON.
    #[arg(long)]
    pub(crate) json: bool,

    /// Replace the generated part of this Markdown document by the tables, or make the document.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) markdown: Option<PathBuf>,

    /// Take the studies from this folder of experiments instead of those in the binary.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) experiments: Option<PathBuf>,

    /// Exit with status 1 if a figure is outside its tolerance.
    #[arg(long)]
    pub(crate) strict: bool,

    /// Runs at the same time at most. Default: one per core. Fewer run when memory is short.
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<usize>,
}
