//! Errors of traces.

use std::io;
use std::path::{Path, PathBuf};

use wafer_record::files::unreadable;

use super::format::FORMATS;

/// A trace that cannot be used. Displays as one line that names the file.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be read.
    #[error("{}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: io::Error,
    },
    /// No format matches.
    #[error("{}: {}", path.display(), unknown(*empty))]
    Unknown {
        /// The file.
        path: PathBuf,
        /// Whether the file is empty.
        empty: bool,
    },
    /// Damaged records with `strict` set.
    #[error("{first} ({count} damaged in all; without `strict` they are left out)")]
    Damaged {
        /// The first damaged record, with its position.
        first: String,
        /// Number of damaged records.
        count: u64,
    },
    /// An option that does not fit the trace or the device.
    #[error("{}: {reason}", path.display())]
    Option {
        /// The trace.
        path: PathBuf,
        /// The problem, naming the option.
        reason: String,
    },
}

impl TraceError {
    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        TraceError::Io {
            path: path.to_owned(),
            source: io::Error::new(source.kind(), reason(&source)),
        }
    }
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        kind @ (io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => unreadable(kind),
        io::ErrorKind::IsADirectory => "is a folder, not a trace".to_owned(),
        io::ErrorKind::UnexpectedEof => "ends too early".to_owned(),
        _ => error.to_string().lines().next().unwrap_or("cannot be read").to_owned(),
    }
}

fn unknown(empty: bool) -> String {
    if empty {
        return "holds no requests: the trace is empty".to_owned();
    }
    let names: Vec<&str> = FORMATS.iter().map(|f| f.name).collect();
    format!("no known format of traces; known: {}", names.join(", "))
}
