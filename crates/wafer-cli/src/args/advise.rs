//! `wafer advise`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use wafer_record::Volume;

use super::values::share;
use super::{DataArgs, OptionalDeviceArgs, complete};

const ADVISE_EXAMPLES: &str = "\
Examples:
  wafer advise build.trace --handles 8 --device pm9d3
  wafer advise msr_src1_1.csv.gz --handles 4 --device drive-a --fill 0.8 --out advice/
  wafer advise --fio job.fio --device warp --set capacity=14GiB --set reclaim_unit.size=4MiB

The device is scaled down to the size of a trace (--fill), and a short trace is replayed several times; notes
say so. WAF is measured on the held-out part of the traffic.";

#[derive(Debug, Args)]
#[command(after_help = ADVISE_EXAMPLES)]
pub(crate) struct AdviseArgs {
    /// Traces, in any format of `wafer trace formats`.
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath)]
    pub(crate) traces: Vec<PathBuf>,

    /// fio job file to use instead of a trace.
    #[arg(long, value_name = "JOB.fio", value_hint = ValueHint::FilePath, conflicts_with = "traces")]
    pub(crate) fio: Option<PathBuf>,

    /// Experiment file whose workload and device to use instead.
    #[arg(long, value_name = "EXPERIMENT.toml", value_hint = ValueHint::FilePath, conflicts_with_all = ["traces", "fio"])]
    pub(crate) experiment: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) device: OptionalDeviceArgs,

    #[command(flatten)]
    pub(crate) data: DataArgs,

    /// Set an option of the trace, such as `from=90s` or `map=compact`. Repeatable.
    #[arg(long, value_name = "KEY=VALUE", conflicts_with_all = ["fio", "experiment"], add = complete::trace_keys())]
    pub(crate) trace_set: Vec<String>,

    /// Maximum number of handles.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=128))]
    pub(crate) handles: u16,

    /// Share of the drive's capacity that the traffic of a trace touches; the simulated drive is scaled down to match.
    /// 0 keeps the device's own size. Default: 0.9.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) fill: Option<f64>,

    /// Share of the traffic, taken from its end, that is held out of training.
    #[arg(long, value_name = "SHARE", default_value_t = 0.3, value_parser = share)]
    pub(crate) hold_out: f64,

    /// Host bytes of a workload that does not end on its own: `4x` or a size. Default: those of the experiment, or 4x.
    #[arg(long, conflicts_with = "traces")]
    pub(crate) volume: Option<Volume>,

    /// Random seed. Default: that of the experiment, or 0.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Folder for the placement map, a fio job, nvme-cli commands and a table of hints.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,

    /// File for the advice as JSON; `-` is stdout. Suppresses the table.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,
}
