//! Why an experiment cannot run, or did not finish.

use std::path::PathBuf;

/// What goes wrong in the lab. Every message is one line.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A configuration, argument, job file or trace that cannot work. `place` is a file and line
    /// with its key, or the option.
    #[error("{place}: {reason}")]
    Config {
        /// Where: `FILE:LINE: KEY`, or `--option`.
        place: String,
        /// Why, and where there is one, what would work.
        reason: String,
    },
    /// The workload cannot be used; the message has file, line and option.
    #[error("{0}")]
    Workload(String),
    /// The run would not fit into memory.
    #[error("{what} needs {} of memory, {} are available", gib(*needed), gib(*available))]
    Memory {
        /// The run.
        what: String,
        /// Bytes that it needs.
        needed: u64,
        /// Bytes that there are.
        available: u64,
    },
    /// The run began and cannot go on.
    #[error("{0}")]
    Run(String),
    /// A result could not be written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Stopped by the user.
    #[error("interrupted; nothing was written")]
    Cancelled,
}

impl LabError {
    /// An error in what the user gave.
    pub fn config(place: impl Into<String>, reason: impl Into<String>) -> Self {
        LabError::Config { place: place.into(), reason: reason.into() }
    }

    /// The same error, of a part that has a name.
    pub(crate) fn of(self, part: &str) -> Self {
        match self {
            LabError::Config { place, reason } => {
                LabError::Config { place, reason: format!("{part}: {reason}") }
            }
            LabError::Workload(message) => LabError::Workload(format!("{part}: {message}")),
            LabError::Memory { what, needed, available } => {
                LabError::Memory { what: format!("{part}: {what}"), needed, available }
            }
            other => other,
        }
    }

    /// Whether the user's arguments or files are at fault, before anything ran.
    pub fn is_usage(&self) -> bool {
        matches!(self, LabError::Config { .. } | LabError::Workload(_) | LabError::Memory { .. })
    }
}

fn gib(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64)
}
