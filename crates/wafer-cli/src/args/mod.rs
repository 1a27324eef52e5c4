//! Every option once, with its documentation: help, completions and manual come from it. A file for each
//! command.

mod advise;
mod compare;
mod config;
mod device;
mod explain;
mod http;
mod list;
mod measure;
mod mount;
mod report;
mod reproduce;
mod run;
mod serve;
mod top;
mod trace;
mod validate;
mod values;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

pub(crate) use advise::AdviseArgs;
pub(crate) use compare::CompareArgs;
pub(crate) use config::ConfigArgs;
pub(crate) use device::DeviceArgs;
pub(crate) use explain::ExplainArgs;
pub(crate) use http::HttpArgs;
pub(crate) use list::{ListArgs, ModelsArgs};
pub(crate) use measure::MeasureArgs;
pub(crate) use mount::MountArgs;
pub(crate) use report::ReportArgs;
pub(crate) use reproduce::ReproduceArgs;
pub(crate) use run::RunArgs;
pub(crate) use serve::{InvalidPlacement, ServeArgs};
pub(crate) use top::TopArgs;
pub(crate) use trace::{TraceArgs, TraceCommand};
pub(crate) use validate::ValidateArgs;

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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
