//! `wafer calibrate`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::complete;
use super::values::within;

const CALIBRATE_EXAMPLES: &str = "\
Examples:
  wafer calibrate --device mine.toml --timing measured.csv -o fitted.toml
  wafer calibrate --device mine.toml --timing measured.csv --hold-out 3 -o fitted.toml
                                       predict three of the rows instead of fitting them
  wafer calibrate --device mine.toml --fio-json mixed-*.json -o fitted.toml

A table has a row for each write rate, and the columns writes_per_s, read_mean_us, read_p50_us,
read_p99_us, read_p999_us, read_p9999_us, read_p99999_us, and the same of write_. Columns may be
missing, and fields empty. Measure as SSD-iq does (PVLDB 18(11), 2025): fill the drive in sequence,
write three times its capacity at random, then for each rate let six threads write 4 KiB uniformly
as Poisson processes, while a probe reads and writes, 5,000 times per second each at fixed intervals.
The probe and each thread must have at most 64 commands in flight (iodepth=64): where a drive does not
keep up, the rate that it reached follows from the number of writes in flight and their latency.
writes_per_s counts the probe's writes too.";

#[derive(Debug, Args)]
#[command(after_help = CALIBRATE_EXAMPLES)]
pub(crate) struct CalibrateArgs {
    /// Device profile or TOML file to start from, such as one that `wafer devices from-datasheet` makes.
    #[arg(long, value_hint = ValueHint::FilePath, add = complete::device())]
    pub(crate) device: String,

    /// Table of measured latency.
    #[arg(
        long, value_name = "MEASURED.csv", value_hint = ValueHint::FilePath,
        required_unless_present = "fio_json"
    )]
    pub(crate) timing: Option<PathBuf>,

    /// Results of fio on the drive (--output-format=json or json+), instead of a table.
    #[arg(
        long, value_name = "FILE", num_args = 1.., value_hint = ValueHint::FilePath,
        conflicts_with = "timing"
    )]
    pub(crate) fio_json: Vec<PathBuf>,

    /// Number of rows to predict instead of fitting them.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = within(0..=1_000_000))]
    pub(crate) hold_out: usize,

    /// Another table, whose rows are only predicted.
    #[arg(long, value_name = "OTHER.csv", value_hint = ValueHint::FilePath)]
    pub(crate) predict: Option<PathBuf>,

    /// Random seed.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    /// File for the fitted device; `-` is stdout.
    #[arg(long, short, value_name = "FITTED.toml", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,

    /// Print JSON instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
}
