//! `wafer cache`.

use clap::Subcommand;

pub(crate) const CACHE_EXAMPLES: &str = "\
Examples:
  wafer run --device pm9a3 --fio job.fio --time --precondition steady   instant the second time
  wafer cache list
  WAFER_CACHE=off wafer run ...                                         without it

Environment:
  WAFER_CACHE        folder of the drives, or off. Default: wafer in $XDG_CACHE_HOME, else in ~/.cache
  WAFER_CACHE_LIMIT  their maximum total size, such as 4GiB. Default: 16GiB; the least recently used go first

A drive is reused only by the same program for the same device, workload, files, precondition and seed.
Drives of less than 1 GiB are not saved.";

#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// List them, most recently used first.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove them all.
    Clear,
}
