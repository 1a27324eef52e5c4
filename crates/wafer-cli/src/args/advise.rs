//! `wafer advise`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use wafer_lab::Volume;

use super::DeviceArgs;
use super::values::share;

const ADVISE_EXAMPLES: &str = "\
Examples:
  wafer advise build.trace --handles 8 --device pm9d3
  wafer advise msr_src1_1.csv.gz --handles 4 --device drive-a --fill 0.8 --out advice/
  wafer advise --fio job.fio --device warp --set capacity=8GiB --set reclaim_unit.size=4MiB

The device is made as small as a trace (--fill), and a short trace is played several times; notes say so.
WAF is that of the part of the traffic that nothing was learned from.";

#[derive(Debug, Args)]
#[command(after_help = ADVISE_EXAMPLES)]
pub(crate) struct AdviseArgs {
    /// The traffic: a trace in any format of `wafer trace formats`.
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath)]
    pub(crate) traces: Vec<PathBuf>,

    /// The traffic of a fio job file instead.
    #[arg(long, value_name = "JOB.fio", value_hint = ValueHint::FilePath, conflicts_with = "traces")]
    pub(crate) fio: Option<PathBuf>,

    /// The workload and device of an experiment file instead.
    #[arg(long, value_name = "EXPERIMENT.toml", value_hint = ValueHint::FilePath, conflicts_with_all = ["traces", "fio"])]
    pub(crate) experiment: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) device: DeviceArgs,

    /// Set an option of the trace: from, to, volume, volumes, map, strict, format. Repeatable.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) trace_set: Vec<String>,

    /// Handles to use at most.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=128))]
    pub(crate) handles: u16,

    /// Share of the drive's capacity that the traffic touches: the simulated drive gets that size.
    /// 0 simulates the device as it is.
    #[arg(long, value_name = "SHARE", default_value_t = 0.9, value_parser = share)]
    pub(crate) fill: f64,

    /// Share of the traffic, its end, that nothing is learned from.
    #[arg(long, value_name = "SHARE", default_value_t = 0.3, value_parser = share)]
    pub(crate) hold_out: f64,

    /// Traffic of a workload without an end, such as a fio job. Default: four capacities.
    #[arg(long)]
    pub(crate) volume: Option<Volume>,

    /// Seed of everything random.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Write the placement map, a fio job, nvme-cli commands and a table of hints to this folder.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,

    /// Write the advice as JSON; `-` is stdout.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,
}
