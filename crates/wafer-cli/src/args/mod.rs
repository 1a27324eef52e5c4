//! All options with their documentation, from which help, completions and manual are generated.

mod advise;
mod cache;
mod calibrate;
mod compare;
mod complete;
mod devices;
mod explain;
mod explore;
mod list;
mod measure;
#[cfg(feature = "mount")]
mod mount;
mod report;
mod reproduce;
mod run;
#[cfg(feature = "serve")]
mod serve;
mod shared;
#[cfg(feature = "tui")]
mod top;
mod trace;
mod validate;
mod values;

pub(crate) use advise::AdviseArgs;
pub(crate) use cache::{CACHE_EXAMPLES, CacheCommand};
pub(crate) use calibrate::CalibrateArgs;
use clap::{Parser, Subcommand};
use clap_complete::Shell;
pub(crate) use compare::CompareArgs;
pub(crate) use devices::{DatasheetArgs, DevicesArgs, DevicesCommand};
pub(crate) use explain::ExplainArgs;
pub(crate) use explore::ExploreArgs;
pub(crate) use list::{ConfigArgs, ListArgs, ModelsArgs, SchemaArgs, SchemaOf};
pub(crate) use measure::MeasureArgs;
#[cfg(feature = "mount")]
pub(crate) use mount::MountArgs;
pub(crate) use report::ReportArgs;
pub(crate) use reproduce::ReproduceArgs;
pub(crate) use run::RunArgs;
#[cfg(feature = "serve")]
pub(crate) use serve::{InvalidPlacement, ServeArgs};
#[cfg(feature = "serve")]
pub(crate) use shared::HttpArgs;
pub(crate) use shared::{DataArgs, DeviceArgs, OptionalDeviceArgs, TableArgs};
#[cfg(feature = "tui")]
pub(crate) use top::TopArgs;
pub(crate) use trace::{TraceArgs, TraceCommand};
pub(crate) use validate::ValidateArgs;
#[cfg(feature = "serve")]
pub(crate) use values::token;

/// The write-amplification lab for NVMe Flexible Data Placement (FDP).
#[derive(Debug, Parser)]
#[command(name = "wafer", version, after_help = EXAMPLES, arg_required_else_help = true)]
#[cfg_attr(
    not(all(feature = "serve", feature = "mount", feature = "tui")),
    command(before_help = LACKS)
)]
pub(crate) struct Cli {
    /// Suppress progress and notices on stderr.
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// A note for builds without some of the commands.
#[cfg(not(all(feature = "serve", feature = "mount", feature = "tui")))]
pub(crate) const LACKS: &str =
    "Built without all of serve, mount and top: `cargo build --release -p wafer-cli` has them.";

const EXAMPLES: &str = "\
Examples:
  wafer devices                                            list device profiles
  wafer run --device warp --fio job.fio --volume 5x        run a fio job file on one
  wafer run experiment.toml --json result.json             the same from one file
  wafer run --device drive-a --trace web.blkparse.gz       replay a trace on one
  wafer trace info web.blkparse.gz                         inspect a trace
  wafer advise web.blkparse.gz --device pm9d3              recommend a placement for it
  wafer mount drive --device pm9d3 --set capacity=64GiB --set reclaim_unit.size=64MiB
                                                           present a drive as files
  wafer config --device warp --set gc.policy=fifo          print a resolved device
  wafer report result.json -o report.html                  chart a result
  wafer explore -o explore.html                            turn the knobs of a drive in a browser
  wafer serve --device pm9d3 --set capacity=64GiB --set reclaim_unit.size=64MiB
                                                           serve an NVMe/TCP drive to real hosts
  wafer ctl ctl.sock media-error --namespace 1 --lba 0     inject a fault into a served drive
  wafer devices from-datasheet --capacity 960GB --seq-read 6500MB/s --seq-write 1500MB/s
      --rand-read 580000 --rand-write 70000 -o mine.toml    make one from a data sheet
  wafer measure /dev/nvme0 -- make -j8                     measure the WAF of a real drive
  wafer calibrate --device mine.toml --timing measured.csv -o fitted.toml
                                                           fit its times to measured latency
  wafer top                                                watch a run started with --http
  wafer validate                                           compare with measured curves

Exit status: 0 done, 1 the run failed, 2 wrong arguments or configuration, 130 interrupted.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a workload on a simulated device and report its write amplification.
    Run(Box<RunArgs>),
    /// Write a self-contained HTML page with charts, reclaim units and configurations.
    Report(ReportArgs),
    /// Measure the write amplification of a real NVMe drive while a command runs.
    Measure(MeasureArgs),
    /// Fit the times of a device to the measured latency of a real drive.
    Calibrate(CalibrateArgs),
    /// Present the namespaces of a simulated drive as files, for loop devices, file systems, swap and
    /// hypervisors.
    #[cfg(feature = "mount")]
    Mount(MountArgs),
    /// Recommend a placement of writes onto handles and predict the resulting WAF.
    Advise(Box<AdviseArgs>),
    /// Inspect and convert traces.
    #[command(subcommand)]
    Trace(TraceCommand),
    /// Watch a running drive in the terminal.
    #[cfg(feature = "tui")]
    Top(TopArgs),
    /// Compare the model with measured curves and print the errors, misses included.
    Validate(ValidateArgs),
    /// Run published studies and print their figures next to ours.
    Reproduce(ReproduceArgs),
    /// Rank GC policies on the same workloads and seeds, with paired confidence intervals.
    Compare(CompareArgs),
    /// Explain the WAF of a run: which handles cause it, and why.
    Explain(ExplainArgs),
    /// Write a self-contained HTML page in which the device itself runs, with controls.
    Explore(ExploreArgs),
    /// Serve a simulated drive to real hosts over NVMe/TCP.
    #[cfg(feature = "serve")]
    Serve(Box<ServeArgs>),
    /// Inject faults into a drive served with --ctl: media errors, slow reads, SMART values, failing commands,
    /// dropped connections, asynchronous events.
    #[cfg(feature = "serve")]
    Ctl(wafer_ctl::CtlArgs),
    /// List device profiles, or make one from a data sheet.
    Devices(DevicesArgs),
    /// List GC policies, the values of `gc.policy`.
    Policies(ListArgs),
    /// List application models, the values of `workload.model`, or print the keys of one.
    Models(ModelsArgs),
    /// List or remove the steady-state drives that `--precondition steady` saved.
    #[command(subcommand, after_help = CACHE_EXAMPLES)]
    Cache(CacheCommand),
    /// Print a device with every key resolved, as TOML.
    Config(ConfigArgs),
    /// Print the JSON Schema of records, experiment files or reproduced studies.
    Schema(SchemaArgs),
    /// Print the script that makes a shell complete commands, names, and keys of `--set` with their values.
    #[command(after_help = "\
Examples:
  source <(wafer completions bash)      # in ~/.bashrc
  source <(wafer completions zsh)       # in ~/.zshrc, after compinit
  wafer completions fish | source       # in ~/.config/fish/config.fish")]
    Completions {
        /// Shell.
        shell: Shell,
    },
    /// Print a manual page.
    Man {
        /// Command, such as `run` or `ctl media-error`. Default: wafer itself.
        command: Vec<String>,
    },
}

#[cfg(test)]
mod tests;
