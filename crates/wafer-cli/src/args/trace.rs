//! `wafer trace`, and the options of traces elsewhere.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::{ListArgs, complete};

#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Summarize traces: format, requests, times, addresses, volumes, processes, damage.
    Info {
        /// Traces.
        #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
        files: Vec<PathBuf>,
        /// Set an option of the trace: from, to, volume, strict or format. Repeatable.
        #[arg(long, value_name = "KEY=VALUE", add = complete::trace_keys())]
        trace_set: Vec<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Convert a trace to a capture, which is smaller and several times faster to read.
    Convert {
        /// Trace.
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// Capture to write; `-`: to stdout.
        #[arg(value_name = "CAPTURE", value_hint = ValueHint::FilePath)]
        to: PathBuf,
        /// Set an option of the trace: from, to, volume, strict or format. Repeatable.
        #[arg(long, value_name = "KEY=VALUE", add = complete::trace_keys())]
        trace_set: Vec<String>,
        /// zstd level, 1 to 22. A higher level gives a smaller file that is slower to write but as fast to read.
        #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(i32).range(1..=22))]
        level: i32,
    },
    /// List the trace formats.
    Formats(ListArgs),
}

#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    /// Trace to replay, in any format of `wafer trace formats`, plain or compressed; the format is detected.
    /// Repeatable: several traces are merged by time, each on its own namespace as long as there are enough.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) trace: Vec<PathBuf>,

    /// Set an option of all traces, such as `from=90s` or `map=compact`. Repeatable.
    #[arg(long, value_name = "KEY=VALUE", requires = "trace", add = complete::trace_keys())]
    pub(crate) trace_set: Vec<String>,

    /// Placement identifiers of the traces' writes: trace (those recorded), none, volume, process, size,
    /// sequential, map:FILE.csv, or rules such as `1: process=jbd2*; 2: size>=64KiB, sequential; 0`.
    /// Short for --trace-set placement=RULES.
    #[arg(long, value_name = "RULES", requires = "trace")]
    pub(crate) place: Option<String>,

    /// Refuse traces with damaged records instead of skipping the records.
    #[arg(long, requires = "trace")]
    pub(crate) strict: bool,
}

impl TraceArgs {
    /// Returns all assignments to options of traces.
    pub(crate) fn assignments(&self) -> Vec<String> {
        let mut all = self.trace_set.clone();
        all.extend(self.place.as_ref().map(|rules| format!("placement={rules}")));
        if self.strict {
            all.push("strict=true".to_owned());
        }
        all
    }
}
