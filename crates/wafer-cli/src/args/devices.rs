//! `wafer devices`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use wafer_interface::Bytes;

use super::values::{positive, rate};

const DEVICES_EXAMPLES: &str = "\
Examples:
  wafer devices                        list device profiles
  wafer devices from-datasheet --help  make one from a data sheet";

#[derive(Debug, Args)]
#[command(after_help = DEVICES_EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct DevicesArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Option<DevicesCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DevicesCommand {
    /// Make a device from the data sheet of a drive.
    FromDatasheet(DatasheetArgs),
}

const DATASHEET_EXAMPLES: &str = "\
Example:
  wafer devices from-datasheet --capacity 960GB --seq-read 6500MB/s --seq-write 1500MB/s
      --rand-read 580000 --rand-write 70000 -o mine.toml
  wafer run --device mine.toml --fio job.fio --time --precondition sequential+steady

Every line of the file states whether it was given, inferred or assumed. `wafer calibrate` fits the
times that a data sheet does not state to measured latency.";

#[derive(Debug, Args)]
#[command(after_help = DATASHEET_EXAMPLES)]
pub(crate) struct DatasheetArgs {
    /// Logical capacity, such as 960GB.
    #[arg(long, value_name = "BYTES")]
    pub(crate) capacity: Bytes,

    /// Sequential read rate, such as 6500MB/s.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) seq_read: Bytes,

    /// Sequential write rate.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) seq_write: Bytes,

    /// Random 4 KiB reads per second.
    #[arg(long, value_name = "IOPS", value_parser = positive)]
    pub(crate) rand_read: f64,

    /// Random 4 KiB writes per second, in steady state.
    #[arg(long, value_name = "IOPS", value_parser = positive)]
    pub(crate) rand_write: f64,

    /// Latency of a single 4 KiB read, microseconds. Default: 65, an assumption.
    #[arg(long, value_name = "US", value_parser = positive)]
    pub(crate) read_latency: Option<f64>,

    /// Latency of a single 4 KiB write, microseconds. Default: 11, an assumption.
    #[arg(long, value_name = "US", value_parser = positive)]
    pub(crate) write_latency: Option<f64>,

    /// Drive writes per day over five years; determines the P/E cycles of the blocks.
    #[arg(long, value_name = "D", value_parser = positive)]
    pub(crate) dwpd: Option<f64>,

    /// Power while writing sequentially, watts.
    #[arg(long, value_name = "W", value_parser = positive)]
    pub(crate) power: Option<f64>,

    /// File for the device; `-` is stdout.
    #[arg(long, short, value_name = "DEVICE.toml", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,

    /// Print every line with its reason as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
