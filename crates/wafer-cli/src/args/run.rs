//! `wafer run`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use wafer_lab::{Options, Precondition, Volume};

use super::values::{samples, threads};
use super::{DeviceArgs, HttpArgs, TraceArgs};

const RUN_EXAMPLES: &str = "\
Examples:
  wafer run --device warp --fio configs/workloads/one-stream.fio --volume 5x
  wafer run --device warp --set gc.policy=fifo --set overprovisioning=0.28 --fio job.fio --volume 8x
  wafer run configs/experiments/warp-one-stream.toml --compare configs/reference/warp-one-stream.csv
  wafer run experiment.toml --seeds 5 --json results/      five seeds, a file each
  wafer run --device drive-a --trace web.blkparse.gz       play a trace
  wafer run --device drive-a --trace a.csv --place process --trace-set map=compact --volume 5x
  wafer run a.toml b.toml --json -                         an array on stdout
  wafer run experiment.toml --http 8080                    watch it at http://127.0.0.1:8080

Without --json a summary goes to stdout; with it nothing but the JSON does, unless --table asks
for both.";

#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    /// Experiment files (TOML): device, workload, volume, seed. Options given here override them.
    #[arg(value_name = "EXPERIMENT.toml", value_hint = ValueHint::FilePath)]
    pub(crate) experiments: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) device: DeviceArgs,

    /// Write what this fio job file says. Jobs between two `stonewall`s run at the same time;
    /// `plids`/`fdp_pli` choose the placement handle; `filename` is not opened.
    #[arg(long, value_name = "JOB.fio", value_hint = ValueHint::FilePath)]
    pub(crate) fio: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) trace: TraceArgs,

    /// Stop when the host has written this much, counted from the run's first write: `5x`
    /// (multiples of the logical capacity) or a size such as `2TiB`. Default: when the jobs end.
    #[arg(long)]
    pub(crate) volume: Option<Volume>,

    /// Shares of the bytes for jobs that run at the same time; a job not named keeps its default.
    /// With --pace-from a share may name a column.
    #[arg(long, value_name = "JOB=SHARE,...")]
    pub(crate) pace: Option<String>,

    /// Take shares over time from the growth of columns of this CSV file against its `host_bytes`.
    #[arg(long, value_name = "FILE.csv", value_hint = ValueHint::FilePath)]
    pub(crate) pace_from: Option<PathBuf>,

    /// State of the device at the start: fresh, sequential, random:N, sequential+random:N (N
    /// logical capacities of random page writes). The counters start after it. Default: fresh.
    #[arg(long, value_name = "STATE")]
    pub(crate) precondition: Option<Precondition>,

    /// Seed of everything random. Default: 0.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Run each experiment with this many seeds, counting up from --seed.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) seeds: Option<u64>,

    /// Points of the timeline at most. Default: 1000.
    #[arg(long, value_name = "N", value_parser = samples)]
    pub(crate) samples: Option<usize>,

    /// Record whose invalidations cause relocations of whose data, for `wafer explain`. Costs about
    /// 15 % of speed.
    #[arg(long)]
    pub(crate) attribution: bool,

    /// Print published or measured cumulative WAF from this table beside ours: columns volume,waf
    /// or host_bytes,media_bytes.
    #[arg(long, value_name = "TABLE.csv", value_hint = ValueHint::FilePath)]
    pub(crate) compare: Option<PathBuf>,

    /// Write the result record as JSON; `-` is stdout. With several runs: a folder (existing, or
    /// named with a `/` at the end) gets a file NAME-seedN.json as each run ends; a file or `-`
    /// gets an array of all.
    #[arg(long, value_name = "RESULT.json", value_hint = ValueHint::AnyPath)]
    pub(crate) json: Option<PathBuf>,

    /// Print the summary on stdout also when --json names a file or a folder.
    #[arg(long)]
    pub(crate) table: bool,

    /// Runs at the same time at most. Default: one per core. Fewer run when memory is short.
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<usize>,

    #[command(flatten)]
    pub(crate) http: HttpArgs,
}

impl RunArgs {
    /// What the options say of an experiment.
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
            compare: self.compare.clone(),
        }
    }
}
