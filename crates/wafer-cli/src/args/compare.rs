//! `wafer compare`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use wafer_lab::Volume;

use super::DeviceArgs;
use super::values::{open_rus, threads};

const COMPARE_EXAMPLES: &str = "\
Examples:
  wafer compare greedy adaptive --device warp --volume 9x --workloads job.fio
  wafer compare all --device warp --set capacity=28GiB --set reclaim_unit.size=8MiB \\
      --volume 9x --seeds 3 --workloads configs/workloads/three-stream-*.fio --json ranking.json
  wafer compare greedy adaptive --bound 16 --workloads configs/experiments/warp-one-stream.toml";

#[derive(Debug, Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub(crate) struct CompareArgs {
    /// Policies, names of `wafer policies`; `all` is every one.
    #[arg(value_name = "POLICY", required = true)]
    pub(crate) policies: Vec<String>,

    /// Workloads: experiment files (TOML), and fio job files for the device given here.
    #[arg(
        long, value_name = "FILE", required = true, num_args = 1..,
        value_hint = ValueHint::FilePath
    )]
    pub(crate) workloads: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) device: DeviceArgs,

    /// Host bytes of each run: `9x` or a size. Default: what the experiment says.
    #[arg(long)]
    pub(crate) volume: Option<Volume>,

    /// Shares of the bytes for jobs that run at the same time.
    #[arg(long, value_name = "JOB=SHARE,...")]
    pub(crate) pace: Option<String>,

    /// First seed. Default: what the experiment says, or 0.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Seeds for each policy, counting up from the first; the same ones for all.
    #[arg(
        long, value_name = "N", default_value_t = 3,
        value_parser = clap::value_parser!(u64).range(1..=1000)
    )]
    pub(crate) seeds: u64,

    /// The policy that the others are compared with. Default: greedy, or else the first.
    #[arg(long, value_name = "POLICY")]
    pub(crate) baseline: Option<String>,

    /// Also show what perfect knowledge of the future reaches with this many open reclaim units, one
    /// seed. Takes 4 bytes of memory for each host page written.
    #[arg(long, value_name = "N", value_parser = open_rus)]
    pub(crate) bound: Option<usize>,

    /// Write the ranking as JSON; `-` is stdout.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) json: Option<PathBuf>,

    /// Write the tables as Markdown.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) markdown: Option<PathBuf>,

    /// Runs at the same time at most. Default: one per core. Fewer run when memory is short.
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<usize>,
}
