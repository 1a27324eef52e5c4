//! `wafer trace`, and the options of traces elsewhere.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::ListArgs;

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
        /// Compress at this level of zstd, 1 to 22: higher is smaller and slower to write, and as fast
        /// to read.
        #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(i32).range(1..=22))]
        level: i32,
    },
    /// List the formats that are read.
    Formats(ListArgs),
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
