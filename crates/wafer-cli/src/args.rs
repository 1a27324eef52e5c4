//! The command line: every option once, with its documentation.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use wafer_lab::{Options, Precondition, Volume};
use wafer_target::backend::DataSpec;

/// The write-amplification lab for NVMe Flexible Data Placement (FDP).
#[derive(Debug, Parser)]
#[command(name = "wafer", version, after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// Show no progress and no notices on stderr.
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  wafer devices                                            devices to choose from
  wafer run --device warp --fio job.fio --volume 5x        run a fio job file on one
  wafer run experiment.toml --json result.json             the same from one file
  wafer run --device drive-a --trace web.blkparse.gz       play a trace on one
  wafer trace info web.blkparse.gz                         what is in a trace
  wafer mount drive --device xd8 --set capacity=32GiB      a drive as files
  wafer config --device drive-a --set overprovisioning=0.28  what a device resolves to
  wafer serve --device pm9d3 --set capacity=64GiB --data file:drive.img
                                                           an NVMe/TCP drive for real hosts
  wafer report result.json -o report.html                  a page of charts of it
  wafer validate                                           errors against measured curves

Exit status: 0 done, 1 the run failed, 2 wrong arguments or configuration, 130 interrupted.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run experiments: write a workload to a device and report its write amplification.
    Run(Box<RunArgs>),
    /// Make one self-contained page of result records: charts, reclaim units, configurations.
    Report(ReportArgs),
    /// Make a folder of files that are the namespaces of a simulated drive: for loop devices, file
    /// systems, swap and hypervisors.
    Mount(MountArgs),
    /// Look into traces and convert them.
    #[command(subcommand)]
    Trace(TraceCommand),
    /// Hold the model against measured curves: the table of errors, misses included.
    Validate(ValidateArgs),
    /// Serve a device to real hosts: an NVMe/TCP target with Flexible Data Placement.
    Serve(Box<ServeArgs>),
    /// Say in words which handle costs what in a run, and why.
    Explain(ExplainArgs),
    /// List the device profiles.
    Devices(ListArgs),
    /// List the GC policies, values of gc.policy.
    Policies(ListArgs),
    /// List the application models, values of workload.model, or the keys of one.
    Models(ModelsArgs),
    /// Print a device's configuration with every key resolved, as TOML.
    Config(ConfigArgs),
    /// Print completions for a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print a manual page.
    Man {
        /// The command to print the page of, such as `run`; none: wafer itself.
        command: Option<String>,
    },
}

const RUN_EXAMPLES: &str = "\
Examples:
  wafer run --device warp --fio configs/workloads/one-stream.fio --volume 5x
  wafer run --device warp --set gc.policy=fifo --set overprovisioning=0.28 --fio job.fio --volume 8x
  wafer run configs/experiments/warp-one-stream.toml --compare configs/reference/warp-one-stream.csv
  wafer run experiment.toml --seeds 5 --json results/      five seeds, a file each
  wafer run --device drive-a --trace web.blkparse.gz       play a trace
  wafer run --device drive-a --trace a.csv --place process --trace-set map=compact --volume 5x
  wafer run a.toml b.toml --json -                         an array on stdout

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
}

const REPORT_EXAMPLES: &str = "\
Examples:
  wafer report result.json                                 writes report.html
  wafer report nofdp.json fdp.json -o fdp.html             two runs beside each other
  wafer report results/ --title 'OP 7 to 28 %'             all records of a folder

The page needs no network and no other file.";

#[derive(Debug, Args)]
#[command(after_help = REPORT_EXAMPLES)]
pub(crate) struct ReportArgs {
    /// Result records (JSON, one or an array each), or folders of them.
    #[arg(value_name = "RESULT.json", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) records: Vec<PathBuf>,

    /// Where the page goes; `-` is stdout.
    #[arg(
        long, short, value_name = "REPORT.html", default_value = "report.html",
        value_hint = ValueHint::FilePath
    )]
    pub(crate) output: PathBuf,

    /// Title of the page. Default: the names of the runs.
    #[arg(long)]
    pub(crate) title: Option<String>,
}

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  wafer run configs/experiments/warp-three-stream-zoned-fdp.toml --attribution --json zoned.json
  wafer explain zoned.json

Names two effects of the WARP study (FAST '26): a Noisy RUH makes data of other handles move; Save
Sequential is a sequential stream that was collected before it could invalidate itself.";

#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub(crate) struct ExplainArgs {
    /// Result records made with `wafer run --attribution`.
    #[arg(value_name = "RESULT.json", required = true, value_hint = ValueHint::FilePath)]
    pub(crate) results: Vec<PathBuf>,

    /// Print JSON: costs and findings with their numbers.
    #[arg(long)]
    pub(crate) json: bool,
}

const MOUNT_EXAMPLES: &str = "\
Examples:
  mkdir drive; wafer mount drive --device xd8 --set capacity=32GiB --data file:drive.img --record build.trace
  losetup --direct-io=on --find --show drive/nvme0n1       a block device over namespace 1
  mkfs.ext4 /dev/loop0; mkswap /dev/loop1; swapon /dev/loop1
  cat drive/counters.json                                  what the drive has counted
  umount drive                                             or Ctrl-C: prints the counters

Needs /dev/fuse, and root or fusermount3. Below swap: run as root, outside the limited control group.";

#[derive(Debug, Args)]
#[command(after_help = MOUNT_EXAMPLES)]
pub(crate) struct MountArgs {
    /// The folder to mount on. It gets a file `nvme0nN` for each namespace, and `counters.json`.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,

    #[command(flatten)]
    pub(crate) device: DeviceArgs,

    /// Where data lives: `memory`, `file:PATH` (sparse; kept when the drive is unmounted), or `none`
    /// (reads give zeroes; for tools that only write).
    #[arg(long, value_name = "BACKEND", default_value = "memory")]
    pub(crate) data: wafer_mount::backend::DataSpec,

    /// Record all commands as a trace, which `wafer run --trace` plays.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) record: Option<PathBuf>,

    /// State of the device at the start, as in `wafer run`. It counts in neither the counters nor
    /// the capture, and its data reads as zeroes. Default: fresh.
    #[arg(long, value_name = "STATE")]
    pub(crate) precondition: Option<Precondition>,

    /// Keep the server in memory, as swap on the drive needs.
    #[arg(long)]
    pub(crate) lock_memory: bool,

    /// Write the counters as JSON when the drive is unmounted; `-` is stdout.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Show what is in traces: format, requests, times, addresses, volumes, processes, damage.
    Info {
        /// Traces.
        #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
        files: Vec<PathBuf>,
        /// Set an option: from, to, volume, strict, format. Repeatable.
        #[arg(long, value_name = "KEY=VALUE")]
        trace_set: Vec<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Write a trace as a capture: smaller, and several times faster to read.
    Convert {
        /// The trace.
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// The capture.
        #[arg(value_name = "CAPTURE", value_hint = ValueHint::FilePath)]
        to: PathBuf,
        /// Set an option: from, to, volume, strict, format. Repeatable.
        #[arg(long, value_name = "KEY=VALUE")]
        trace_set: Vec<String>,
    },
    /// List the formats that are read.
    Formats(ListArgs),
}

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

const SERVE_EXAMPLES: &str = "\
Examples:
  wafer serve --device pm9d3 --set capacity=64GiB --data file:drive.img
  wafer serve --device warp --data none --record run.trace.zst      count and record, keep no data
  wafer serve --device warp --set capacity=1GiB --set reclaim_unit.size=16MiB \\
      --set reclaim_unit.count=80 --listen 0.0.0.0:4420

On a Linux host:
  nvme discover -t tcp -a ADDRESS -s 4420
  nvme connect -t tcp -a ADDRESS -s 4420 -n nqn.2026-11.io.wafer:drive
  nvme fdp stats /dev/nvme0 -e 1

Ends on SIGINT or SIGTERM.";

#[derive(Debug, Args)]
#[command(after_help = SERVE_EXAMPLES)]
pub(crate) struct ServeArgs {
    /// A device profile (see `wafer devices`) or a TOML file.
    #[arg(long, value_hint = ValueHint::FilePath)]
    pub(crate) device: String,

    /// Override a key of the device, dotted: `gc.policy=fifo`, `capacity=64GiB`. Repeatable.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,

    /// Where data is kept: `none` (dropped, reads give zeroes), `memory`, or `file:PATH`, which also
    /// keeps the state of the device.
    #[arg(long, value_name = "PLACE", default_value = "memory")]
    pub(crate) data: DataSpec,

    /// Address and port to listen on; port 0 is any.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4420")]
    pub(crate) listen: SocketAddr,

    /// Record every command to this file (docs/capture-format.md).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) record: Option<PathBuf>,

    /// Bytes of a logical block of the namespaces that exist at the start: 512 or 4096.
    #[arg(long, value_name = "BYTES", default_value = "4096", value_parser = lba_bytes)]
    pub(crate) lba: u32,

    /// What becomes of a write with a placement identifier that its namespace does not have: it goes to
    /// the default handle, as the specification says, or it fails. Either way an event is logged.
    #[arg(long, value_name = "CHOICE", value_enum, default_value = "default")]
    pub(crate) invalid_placement: InvalidPlacement,

    /// Enable all FDP events from the start instead of waiting for a host to do it.
    #[arg(long)]
    pub(crate) fdp_events: bool,

    /// NVMe Qualified Name of the subsystem.
    #[arg(long, default_value = "nqn.2026-11.io.wafer:drive")]
    pub(crate) nqn: String,

    /// Serial number of the drive.
    #[arg(long, default_value = "WAFER0001")]
    pub(crate) serial: String,

    /// Address that the discovery log tells hosts to connect to. Default: the one that they came to.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) advertise: Option<SocketAddr>,

    /// Connections at a time; further ones wait.
    #[arg(long, value_name = "N", default_value = "4096",
        value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub(crate) max_connections: u32,

    /// Seed of what the device draws.
    #[arg(long, value_name = "N", default_value = "0")]
    pub(crate) seed: u64,

    /// Print the address and the NQN as one line of JSON when hosts can connect, and the counters when
    /// the server ends.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What becomes of a write with an invalid placement identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum InvalidPlacement {
    /// It goes to the namespace's first handle.
    Default,
    /// It fails with Invalid Field in Command.
    Error,
}

#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    /// Play this trace instead: any of the formats of `wafer trace formats`, plain or compressed; the
    /// format is detected. Repeatable: several traces are merged by time, each on a namespace of its
    /// own while there are enough.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) trace: Vec<PathBuf>,

    /// Set an option of all traces: from, to, volume, volumes, map, repeat, speed, strict,
    /// namespace, placement, format. Repeatable.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) trace_set: Vec<String>,

    /// Placement identifiers for the writes of traces: trace (those that they carry), none, volume,
    /// process, size, sequential, map:FILE.csv, or rules such as
    /// `1: process=jbd2*; 2: size>=64KiB, sequential; 0`. Short for --trace-set placement=RULES.
    #[arg(long, value_name = "RULES")]
    pub(crate) place: Option<String>,

    /// Refuse traces with damaged records instead of leaving those out.
    #[arg(long)]
    pub(crate) strict: bool,
}

impl TraceArgs {
    /// All assignments to options of traces.
    pub(crate) fn assignments(&self) -> Vec<String> {
        let mut all = self.trace_set.clone();
        all.extend(self.place.as_ref().map(|rules| format!("placement={rules}")));
        if self.strict {
            all.push("strict=true".to_owned());
        }
        all
    }
}

#[derive(Debug, Args)]
pub(crate) struct DeviceArgs {
    /// A device profile (see `wafer devices`) or a TOML file.
    #[arg(long, value_hint = ValueHint::FilePath)]
    pub(crate) device: Option<String>,

    /// Override a key of the device, dotted: `gc.policy=fifo`, `capacity=64GiB`. Repeatable.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  wafer models\n  wafer models aerospike    its keys with their defaults, as TOML"
)]
pub(crate) struct ModelsArgs {
    /// Print the keys of this model with their defaults, as a `[workload]` table.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  wafer config --device warp --set gc.policy=fifo > my-device.toml"
)]
pub(crate) struct ConfigArgs {
    /// A device profile (see `wafer devices`) or a TOML file.
    #[arg(long, value_hint = ValueHint::FilePath)]
    pub(crate) device: String,

    /// Override a key of the device, dotted: `gc.policy=fifo`, `capacity=64GiB`. Repeatable.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,

    /// Print JSON instead of TOML.
    #[arg(long)]
    pub(crate) json: bool,
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

fn samples(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 2..=1_000_000) => Ok(number),
        _ => Err("expected a number from 2 to 1000000".to_owned()),
    }
}

fn lba_bytes(text: &str) -> Result<u32, String> {
    match text {
        "512" => Ok(512),
        "4096" => Ok(4096),
        _ => Err("expected 512 or 4096".to_owned()),
    }
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 1..=4096) => Ok(number),
        _ => Err("expected a number from 1 to 4096".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
