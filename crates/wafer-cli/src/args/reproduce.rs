//! `wafer reproduce`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use wafer_studies::reproduce::Scale;

use super::{TableArgs, complete};

const REPRODUCE_EXAMPLES: &str = "\
Examples:
  wafer reproduce                                    run every study, scaled down; under 20 minutes on two cores
  wafer reproduce warp --out warp/                   run one study; table, records and page go into warp/
  wafer reproduce warp/one-stream --scale full       run one experiment at real capacities
  wafer reproduce --list                             list figures and the runs they need

Each row is one published figure. Its class says how much agreement proves:
  identified      the model predicts a figure it was not fitted to
  calibrated      a parameter was chosen with the figure in view
  sketch          parts of what was measured are not modelled
  captured        recorded traffic of the same program at another size; nothing is fitted
  not reproduced  the model does not produce it
Misses are shown with their known reasons. They do not change the exit status, unless --strict is given.";

#[derive(Debug, Args)]
#[command(after_help = REPRODUCE_EXAMPLES)]
pub(crate) struct ReproduceArgs {
    /// STUDY, STUDY/EXPERIMENT or STUDY/FIGURE (see --list). Default: all.
    #[arg(value_name = "STUDY[/EXPERIMENT]", add = complete::studies())]
    pub(crate) names: Vec<String>,

    /// Size of the devices: `full`, or the pages of a scaled reclaim unit (at least 256). The number of reclaim units
    /// is unchanged. Default: the study's, 2,048 to 16,384.
    #[arg(long, value_name = "S")]
    pub(crate) scale: Option<Scale>,

    /// Number of seeds for each experiment, counting up from its own.
    #[arg(
        long, value_name = "N", default_value_t = 3,
        value_parser = clap::value_parser!(u64).range(1..=1000)
    )]
    pub(crate) seeds: u64,

    /// Folder for the table (reproduce.json), the page (report.html), the record of each run (results/)
    /// and, without --experiments, all configurations (configs/).
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,

    /// Also vary the assumptions behind calibrated figures, with one seed each.
    #[arg(long)]
    pub(crate) sensitivity: bool,

    /// List the figures and the runs they need, without running anything.
    #[arg(long, conflicts_with_all = ["out", "json", "markdown", "strict"])]
    pub(crate) list: bool,

    /// Print the table as JSON.
    #[arg(long)]
    pub(crate) json: bool,

    /// Folder of experiments with the studies to use instead of the shipped ones.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) experiments: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) table: TableArgs,
}
