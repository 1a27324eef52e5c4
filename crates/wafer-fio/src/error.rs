//! Errors of job files and of the shares of their jobs.

use std::path::PathBuf;

/// Why a job file cannot be used. Every message is one line and names the job, option, file and line.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// A job requests something that cannot be generated.
    #[error("{file}:{line}: job `{job}`: {message}", file = .file.display())]
    Job {
        /// The job file.
        file: PathBuf,
        /// Line of the section's header.
        line: u32,
        /// Section name.
        job: String,
        /// What is wrong, naming the option.
        message: String,
    },
    /// The shares of jobs contradict each other or the jobs.
    #[error("shares of jobs: {0}")]
    Pace(String),
    /// A run until a volume or a steady state would never end.
    #[error("{file}:{line}: job `{job}`: no job of the last phase continues writing, so a volume or a steady state may never be reached", file = .file.display())]
    NeverWrites {
        /// The job file.
        file: PathBuf,
        /// Line of the header of the last phase's first section.
        line: u32,
        /// Name of that section.
        job: String,
    },
    /// There is no job to run.
    #[error("the workload has no jobs")]
    Empty,
}
