//! The command line: every option once, with its documentation.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use wafer_lab::reproduce::Scale;
use wafer_lab::{Options, Precondition, Volume, metrics};
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
  wafer advise web.blkparse.gz --device pm9d3              how to place it on handles
  wafer mount drive --device xd8 --set capacity=32GiB      a drive as files
  wafer config --device drive-a --set overprovisioning=0.28  what a device resolves to
  wafer report result.json -o report.html                  a page of charts of it
  wafer serve --device pm9d3 --set capacity=64GiB --data file:drive.img
                                                           an NVMe/TCP drive for real hosts
  wafer measure /dev/nvme0 -- make -j8                     WAF of a real drive
  wafer top                                                watch a run started with --http
  wafer validate                                           errors against measured curves

Exit status: 0 done, 1 the run failed, 2 wrong arguments or configuration, 130 interrupted.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run experiments: write a workload to a device and report its write amplification.
    Run(Box<RunArgs>),
    /// Make one self-contained page of result records: charts, reclaim units, configurations.
    Report(ReportArgs),
    /// Measure the write amplification of a real NVMe drive while a command runs.
    Measure(MeasureArgs),
    /// Make a folder of files that are the namespaces of a simulated drive: for loop devices, file
    /// systems, swap and hypervisors.
    Mount(MountArgs),
    /// Say how traffic should be placed on handles, and what that would gain.
    Advise(Box<AdviseArgs>),
    /// Look into traces and convert them.
    #[command(subcommand)]
    Trace(TraceCommand),
    /// Watch a running drive in the terminal.
    Top(TopArgs),
    /// Hold the model against measured curves: the table of errors, misses included.
    Validate(ValidateArgs),
    /// Print published figures beside ours: the studies of KIOXIA, namespaces, Micron and WARP.
    Reproduce(ReproduceArgs),
    /// Rank GC policies on the same workloads and seeds, with paired intervals.
    Compare(CompareArgs),
    /// Say in words which handle costs what in a run, and why.
    Explain(ExplainArgs),
    /// Serve a device to real hosts: an NVMe/TCP target with Flexible Data Placement.
    Serve(Box<ServeArgs>),
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

#[derive(Debug, Args)]
pub(crate) struct HttpArgs {
    /// Show the drive while it runs: the live page at this address, JSON below /api/v1, and
    /// /metrics for Prometheus. A port alone is one of 127.0.0.1. Served until Ctrl-C.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    pub(crate) http: Option<SocketAddr>,

    /// The token that requests to --http must show. Default: none on a loopback address, a random one
    /// elsewhere.
    #[arg(long, value_name = "TOKEN", env = "WAFER_HTTP_TOKEN", hide_env_values = true, value_parser = token)]
    pub(crate) http_token: Option<String>,
}

const TOP_EXAMPLES: &str = "\
Examples:
  wafer top                                                http://127.0.0.1:8080
  wafer top http://10.0.0.7:8080 --token TOKEN
  wafer top --once                                         one look, also into a pipe

Keys: q quits, p pauses, up and down scroll.";

#[derive(Debug, Args)]
#[command(after_help = TOP_EXAMPLES)]
pub(crate) struct TopArgs {
    /// The address that a run or a server was given with --http.
    #[arg(value_name = "URL", default_value = "http://127.0.0.1:8080", value_hint = ValueHint::Url)]
    pub(crate) url: String,

    /// The token of the server.
    #[arg(long, value_name = "TOKEN", env = "WAFER_HTTP_TOKEN", hide_env_values = true, value_parser = token)]
    pub(crate) token: Option<String>,

    /// Time between two looks.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    pub(crate) interval: Duration,

    /// Look once, print a table and end; what is done where stdout is no terminal.
    #[arg(long)]
    pub(crate) once: bool,

    /// Look once and print JSON.
    #[arg(long)]
    pub(crate) json: bool,
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

const MEASURE_EXAMPLES: &str = "\
Examples:
  wafer measure /dev/nvme0 -- make -j8                     while a command runs
  wafer measure /dev/nvme0 --interval 10s --json kernel.json --report kernel.html -- ./build.sh
  wafer measure /dev/nvme0 --for 1h                        for an hour; without --for until Ctrl-C

Reads the FDP statistics (HBMW, MBMW, MBE) of an endurance group through nvme-cli, which needs root;
on drives without FDP the OCP SMART log or the endurance group log. Each reading is a line on stderr:
cumulative WAF, instantaneous WAF, and instantaneous WAF clamped at a limit. An interval in which
only the media was written has no ratio; clamped, it shows the limit.";

#[derive(Debug, Args)]
#[command(after_help = MEASURE_EXAMPLES)]
pub(crate) struct MeasureArgs {
    /// The drive, such as /dev/nvme0.
    #[arg(value_name = "DEVICE", value_hint = ValueHint::FilePath)]
    pub(crate) device: String,

    /// Time between two readings, such as 500ms, 1s, 1m.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    pub(crate) interval: Duration,

    /// The endurance group whose counters are read.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) endurance_group: u16,

    /// Clamped WAF is cut here.
    #[arg(long, value_name = "WAF", default_value_t = metrics::DEFAULT_LIMIT, value_parser = limit)]
    pub(crate) limit: f64,

    /// Stop after this time. Default: when the command ends; without a command on Ctrl-C.
    #[arg(long = "for", value_name = "TIME", value_parser = interval)]
    pub(crate) duration: Option<Duration>,

    /// Name of the measurement. Default: the device and the command.
    #[arg(long)]
    pub(crate) name: Option<String>,

    /// Write the result record as JSON; `-` is stdout.
    #[arg(long, value_name = "RESULT.json", value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,

    /// Write the report page.
    #[arg(long, value_name = "REPORT.html", value_hint = ValueHint::FilePath)]
    pub(crate) report: Option<PathBuf>,

    /// The nvme-cli program.
    #[arg(long, value_name = "PROGRAM", default_value = "nvme", value_hint = ValueHint::CommandName)]
    pub(crate) nvme_cli: String,

    /// What to run while measuring, with its arguments.
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<String>,
}

const REPRODUCE_EXAMPLES: &str = "\
Examples:
  wafer reproduce                                    every study, scaled down; under 20 minutes on two cores
  wafer reproduce warp --out warp/                   one study; table, records and page in warp/
  wafer reproduce warp/one-stream --scale full       one experiment at real capacities
  wafer reproduce --list                             what there is and what it takes

A row is one published figure. Class: identified, ours predicts what it was not fitted to; calibrated,
a parameter was chosen with the figure in view; sketch, right in kind only; not reproduced. Misses are
shown with what is known of their reason. Exit status 0 also with misses, unless --strict is given.";

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
    pub(crate) data: wafer_target::backend::DataSpec,

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

    #[command(flatten)]
    pub(crate) http: HttpArgs,

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

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("expected a share from 0 to 1".to_owned()),
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

/// `ADDRESS:PORT`, or a port of 127.0.0.1.
fn address(text: &str) -> Result<SocketAddr, String> {
    let alone = text.parse::<u16>().map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    let text = text.replacen("localhost:", "127.0.0.1:", 1);
    alone
        .or_else(|_| text.parse())
        .map_err(|_| "expected ADDRESS:PORT, such as 127.0.0.1:8080".to_owned())
}

/// What can stand in an address and a header.
fn token(text: &str) -> Result<String, String> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    match text.bytes().all(plain) && text.len() >= 8 {
        true => Ok(text.to_owned()),
        false => Err("expected at least 8 letters, digits or - . _ ~".to_owned()),
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(time) if time >= Duration::from_millis(10) => Ok(time),
        Ok(_) => Err("expected at least 10ms".to_owned()),
        Err(_) => Err("expected a time such as 500ms, 1s or 1m".to_owned()),
    }
}

fn limit(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(limit) if limit > 1.0 && limit <= 1e6 => Ok(limit),
        _ => Err("expected a number above 1".to_owned()),
    }
}

fn open_rus(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 1..=1024) => Ok(number),
        _ => Err("expected a number from 1 to 1024".to_owned()),
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
