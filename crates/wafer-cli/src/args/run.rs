//! `wafer run`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use wafer_lab::Options;
use wafer_record::{Precondition, Volume};

#[cfg(feature = "serve")]
use super::HttpArgs;
use super::values::within;
use super::{DataArgs, OptionalDeviceArgs, TraceArgs};

const RUN_EXAMPLES: &str = "\
Examples:
  wafer run --device warp --fio configs/workloads/one-stream.fio --volume 5x
  wafer run --device warp --set gc.policy=fifo --set overprovisioning=0.28 --fio job.fio --volume 8x
  wafer run configs/experiments/warp-one-stream.toml --compare configs/reference/warp-one-stream.csv
  wafer run experiment.toml --seeds 5 --json results/      run five seeds, one file each
  wafer run --device drive-a --trace web.blkparse.gz       replay a trace
  wafer run --device drive-a --trace a.csv --place process --trace-set map=compact --volume 5x
  wafer run a.toml b.toml --json -                         print an array
  wafer run experiment.toml --http 8080                    watch it at http://127.0.0.1:8080

A summary goes to stdout. With --json it is omitted, unless --table is given.";

#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    /// Experiment files: device, workload, volume, seed. Options override them.
    #[arg(value_name = "EXPERIMENT.toml", value_hint = ValueHint::FilePath)]
    pub(crate) experiments: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) device: OptionalDeviceArgs,

    /// fio job file. Jobs between two `stonewall`s run concurrently; `plids` or `fdp_pli` chooses the placement handle;
    /// `filename` is not opened.
    #[arg(long, value_name = "JOB.fio", value_hint = ValueHint::FilePath)]
    pub(crate) fio: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) trace: TraceArgs,

    #[command(flatten)]
    pub(crate) data: DataArgs,

    /// Name of the run in tables, records and pages. Default: the experiment's, or device and workload.
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Host bytes to write, counted from the run's first write: `5x` (multiples of the logical
    /// capacity) or a size such as `2TiB`. Default: until the workload ends.
    #[arg(long)]
    pub(crate) volume: Option<Volume>,

    /// Shares of the written bytes for concurrent jobs; a job not named keeps its default. With --pace-from, a share
    /// may name a column.
    #[arg(long, value_name = "JOB=SHARE,...")]
    pub(crate) pace: Option<String>,

    /// CSV file with shares over time: the growth of its columns against `host_bytes`.
    #[arg(long, value_name = "FILE.csv", value_hint = ValueHint::FilePath)]
    pub(crate) pace_from: Option<PathBuf>,

    /// State of the device before the counters start: fresh, sequential, random:N (N logical capacities
    /// of random page writes), load (applications load their data), several of them joined by +, or steady (the
    /// workload itself, without a clock, until its WAF changes by less than 1 %). Default: fresh.
    #[arg(long, value_name = "STATE")]
    pub(crate) precondition: Option<Precondition>,

    /// Random seed. Default: 0.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Number of seeds for each experiment, counting up from --seed.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) seeds: Option<u64>,

    /// Maximum number of timeline samples. Default: 1000.
    #[arg(long, value_name = "N", value_parser = within(wafer_lab::SAMPLES))]
    pub(crate) samples: Option<usize>,

    /// Record whose invalidations cause relocations of whose data, for `wafer explain`. Slows the run by about 15 %.
    #[arg(long)]
    pub(crate) attribution: bool,

    /// Run with a clock: `runtime` and `rate_iops` of jobs count model time, and bandwidth, latency and power are
    /// measured. The device needs a `[timing]` table.
    #[arg(long)]
    pub(crate) time: bool,

    /// File for the results of a run with a clock in the format of `fio --output-format=json+`; `-` is stdout.
    #[arg(long, value_name = "FILE.json", value_hint = ValueHint::AnyPath, requires = "time")]
    pub(crate) fio_json: Option<PathBuf>,

    /// Table of published or measured cumulative WAF to print next to ours: columns volume,waf or
    /// host_bytes,media_bytes.
    #[arg(long, value_name = "TABLE.csv", value_hint = ValueHint::FilePath)]
    pub(crate) compare: Option<PathBuf>,

    /// File for the result record as JSON; `-` is stdout. Several runs become an array, or with a folder (existing, or
    /// named with a trailing `/`) one file NAME-seedN.json each, written as each run ends.
    #[arg(long, value_name = "RESULT.json", value_hint = ValueHint::AnyPath)]
    pub(crate) json: Option<PathBuf>,

    /// Print the summary even with --json.
    #[arg(long)]
    pub(crate) table: bool,

    /// Maximum number of simultaneous runs. Default: one per core; fewer when memory is short.
    #[arg(long, value_name = "N", value_parser = within(1..=4096))]
    pub(crate) threads: Option<usize>,

    #[cfg(feature = "serve")]
    #[command(flatten)]
    pub(crate) http: HttpArgs,
}

impl RunArgs {
    /// Returns the options of an experiment.
    pub(crate) fn options(&self) -> Options {
        Options {
            device: self.device.device.clone(),
            set: self.device.set.clone(),
            fio: self.fio.clone(),
            traces: self.trace.trace.clone(),
            trace_set: self.trace.assignments(),
            volume: self.volume,
            pace: self.pace.clone(),
            pace_from: self.pace_from.clone(),
            seed: self.seed,
            samples: self.samples,
            precondition: self.precondition,
            attribution: self.attribution,
            timed: self.time.then_some(true),
            compare: self.compare.clone(),
            data_dir: self.data.data_dir.clone(),
        }
    }
}
