//! The device that a job file is read for, and the result of reading it.

use std::path::PathBuf;

use wafer_fio::job::JobSpec;

/// The properties of the device that a job file depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Bytes of each namespace.
    pub namespace_bytes: Vec<u64>,
    /// Number of placement handles of each namespace; 0 for those beyond the list.
    pub namespace_handles: Vec<u16>,
    /// Bytes of a page: `$pagesize`.
    pub page_bytes: u64,
}

/// A job file read for a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Jobs {
    /// In file order, the clones of `numjobs` one after another.
    pub jobs: Vec<JobSpec>,
    /// For each job, the file that fio would open, if the job file names one.
    pub files: Vec<Option<String>>,
    /// The first job that sets an `iodepth` but no `ioengine`: fio's default engine keeps one command in flight.
    pub without_engine: Option<String>,
    /// Options that are accepted and have no effect on what is written, each once.
    pub ignored: Vec<IgnoredOption>,
}

/// An option without effect on what is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredOption {
    /// fio's first name of the option.
    pub name: &'static str,
    /// The file that first sets it.
    pub file: PathBuf,
    /// Line in that file, from 1.
    pub line: u32,
    /// Why it has no effect.
    pub reason: &'static str,
}
