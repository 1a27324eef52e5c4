//! What jobs are read for, and what reading them yields.

use std::path::PathBuf;

use wafer_fio::job::JobSpec;

/// The properties of the device that a job file depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Bytes of each namespace.
    pub namespace_bytes: Vec<u64>,
    /// Placement handles of each namespace; missing ones have none.
    pub namespace_handles: Vec<u16>,
    /// Bytes of a page: `$pagesize`.
    pub page_bytes: u64,
}

/// A job file read for a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Jobs {
    /// In the order of the file, the clones of `numjobs` after each other.
    pub jobs: Vec<JobSpec>,
    /// Of each of them, the name of the file that fio would open, where the job file names one.
    pub files: Vec<Option<String>>,
    /// The first job with an `iodepth` that names no `ioengine`: fio's default one has one command in flight.
    pub without_engine: Option<String>,
    /// Options that are accepted and have no effect on what is written, each once.
    pub ignored: Vec<IgnoredOption>,
}

/// An option without effect on what is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredOption {
    /// fio's first name of the option.
    pub name: &'static str,
    /// The file that sets it first.
    pub file: PathBuf,
    /// Line there, from 1.
    pub line: u32,
    /// Why it has no effect.
    pub reason: &'static str,
}
