//! `wafer compare`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use wafer_record::Volume;

use super::values::{policy, within};
use super::{DataArgs, OptionalDeviceArgs, complete};

const COMPARE_EXAMPLES: &str = "\
Examples:
  wafer compare greedy adaptive --device warp --volume 9x --workloads job.fio
  wafer compare all --device warp --set capacity=28GiB --set reclaim_unit.size=8MiB \\
      --volume 9x --seeds 3 --workloads configs/workloads/three-stream-*.fio --json ranking.json
  wafer compare greedy adaptive --bound 16 --workloads configs/experiments/warp-one-stream.toml";

#[derive(Debug, Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub(crate) struct CompareArgs {
    /// GC policies (see `wafer policies`); `all` is every one.
    #[arg(
        value_name = "POLICY", required = true, value_parser = policy,
        add = complete::policies()
    )]
    pub(crate) policies: Vec<String>,

    /// Workloads: experiment files, and fio job files for the device given here.
    #[arg(
        long, value_name = "FILE", required = true, num_args = 1..,
        value_hint = ValueHint::FilePath
    )]
    pub(crate) workloads: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) device: OptionalDeviceArgs,

    #[command(flatten)]
    pub(crate) data: DataArgs,

    /// Host bytes of each run: `9x` or a size. Default: the experiment's.
    #[arg(long)]
    pub(crate) volume: Option<Volume>,

    /// Shares of the written bytes for concurrent jobs.
    #[arg(long, value_name = "JOB=SHARE,...")]
    pub(crate) pace: Option<String>,

    /// First seed. Default: the experiment's, or 0.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Number of seeds, counting up from the first; every policy gets the same ones.
    #[arg(
        long, value_name = "N", default_value_t = 3,
        value_parser = clap::value_parser!(u64).range(1..=1000)
    )]
    pub(crate) seeds: u64,

    /// Policy to compare the others with. Default: greedy, or the first if greedy is not compared.
    #[arg(long, value_name = "POLICY")]
    pub(crate) baseline: Option<String>,

    /// Also show what a drive with future knowledge reaches with up to this many open reclaim units, and a
    /// proven lower bound, for one seed. Takes 8 bytes of memory per host page written.
    #[arg(long, value_name = "N", value_parser = within(1..=1024))]
    pub(crate) bound: Option<usize>,

    /// File for the ranking as JSON; `-` is stdout.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) json: Option<PathBuf>,

    /// File for the tables as Markdown; `-` is stdout.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) markdown: Option<PathBuf>,

    /// Maximum number of simultaneous runs. Default: one per core; fewer when memory is short.
    #[arg(long, value_name = "N", value_parser = within(1..=4096))]
    pub(crate) threads: Option<usize>,
}
