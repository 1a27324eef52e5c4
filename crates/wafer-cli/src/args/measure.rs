//! `wafer measure`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};
use wafer_record::metrics;

use super::values::{interval, limit};

const MEASURE_EXAMPLES: &str = "\
Examples:
  wafer measure /dev/nvme0 -- make -j8                     measure while a command runs
  wafer measure /dev/nvme0 --interval 10s --json kernel.json --report kernel.html -- ./build.sh
  wafer measure /dev/nvme0 --for 1h                        measure for an hour; without --for, until Ctrl-C

Reads the FDP statistics (HBMW, MBMW, MBE) of an endurance group through nvme-cli, which requires root. On
drives without FDP it reads the OCP SMART log or the endurance group log. Each reading is a line on stderr:
cumulative WAF, instantaneous WAF, and instantaneous WAF clamped at a limit. An interval without host writes
has no ratio; clamped, it shows the limit.";

#[derive(Debug, Args)]
#[command(after_help = MEASURE_EXAMPLES)]
pub(crate) struct MeasureArgs {
    /// Drive, such as /dev/nvme0.
    #[arg(value_name = "DEVICE", value_hint = ValueHint::FilePath)]
    pub(crate) device: String,

    /// Sampling interval, such as 500ms, 1s or 1m.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    pub(crate) interval: Duration,

    /// Endurance group whose counters to read.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) endurance_group: u16,

    /// Limit of the clamped WAF.
    #[arg(long, value_name = "WAF", default_value_t = metrics::DEFAULT_LIMIT, value_parser = limit)]
    pub(crate) limit: f64,

    /// Duration of the measurement. Default: until the command ends, or Ctrl-C without a command.
    #[arg(long = "for", value_name = "TIME", value_parser = interval)]
    pub(crate) duration: Option<Duration>,

    /// Name of the measurement. Default: the device and the command.
    #[arg(long)]
    pub(crate) name: Option<String>,

    /// File for the result record as JSON; `-` is stdout.
    #[arg(long, value_name = "RESULT.json", value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,

    /// File for the report page; `-` is stdout.
    #[arg(long, value_name = "REPORT.html", value_hint = ValueHint::FilePath)]
    pub(crate) report: Option<PathBuf>,

    /// nvme-cli program.
    #[arg(long, value_name = "PROGRAM", default_value = "nvme", value_hint = ValueHint::CommandName)]
    pub(crate) nvme_cli: String,

    /// Command to run while measuring, with its arguments.
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<String>,
}
