//! Errors of experiments.

use wafer_config::{ConfigError, Place};

/// An error of the lab. Every message is one line; causes are in the source chain.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A configuration or argument is invalid, or a file that it names is missing or cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A fio job file cannot be read.
    #[error(transparent)]
    JobFile(#[from] wafer_fio_file::FioError),
    /// The jobs of a fio job file or their shares cannot be used.
    #[error(transparent)]
    Jobs(#[from] wafer_fio::WorkloadError),
    /// A trace cannot be used.
    #[cfg(not(target_arch = "wasm32"))]
    #[error(transparent)]
    Trace(#[from] wafer_trace::TraceError),
    /// Another workload cannot be used.
    #[error("{0}")]
    Workload(String),
    /// One of several workloads cannot be used.
    #[error("{part}")]
    Part {
        /// Name of the workload.
        part: String,
        /// The reason.
        #[source]
        source: Box<LabError>,
    },
    /// The run would not fit into memory.
    #[error("{what} needs {} of memory, but only {} are available", gib(*needed), gib(*available))]
    Memory {
        /// The run.
        what: String,
        /// Bytes needed.
        needed: u64,
        /// Bytes available.
        available: u64,
    },
    /// The run started and failed.
    #[error("{0}")]
    Run(String),
    /// The user stopped the run.
    #[error("interrupted; only results of runs that had ended were written")]
    Cancelled,
}

impl From<wafer_record::RecordError> for LabError {
    fn from(error: wafer_record::RecordError) -> Self {
        LabError::Config(error.into())
    }
}

impl LabError {
    /// Returns an error in the user's input.
    pub fn config(place: impl Into<Place>, reason: impl Into<String>) -> Self {
        LabError::Config(ConfigError::new(place, reason))
    }

    /// Returns an error about an argument of the caller.
    pub fn argument(name: &'static str, reason: impl Into<String>) -> Self {
        LabError::config(Place::Argument(name), reason)
    }

    /// Returns this error as that of a part with this name.
    #[must_use]
    pub fn of(self, part: &str) -> Self {
        LabError::Part { part: part.to_owned(), source: Box::new(self) }
    }

    /// Reports whether the user's arguments or files are at fault, before anything ran.
    pub fn is_usage(&self) -> bool {
        match self {
            LabError::Config(error) => error.is_usage(),
            LabError::Run(_) | LabError::Cancelled => false,
            LabError::Part { source, .. } => source.is_usage(),
            _ => true,
        }
    }

    /// Reports whether the user stopped the run.
    pub fn is_cancelled(&self) -> bool {
        matches!(self.innermost(), LabError::Cancelled)
    }

    /// Returns the underlying error, without the parts around it.
    pub fn innermost(&self) -> &LabError {
        match self {
            LabError::Part { source, .. } => source.innermost(),
            other => other,
        }
    }
}

fn gib(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64)
}
