//! Errors of reading and writing records and users' files.

use std::path::PathBuf;

use crate::text::printable;

/// An error of reading or writing a record. Every message is one line.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A file is invalid. `place` is the file, with line and key if they are known.
    #[error("{place}: {reason}")]
    Input {
        /// The place, as `FILE:LINE: KEY`.
        place: String,
        /// The reason, and the expected value if it is known.
        reason: String,
    },
    /// A file could not be written.
    #[error("{}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: std::io::Error,
    },
}

impl RecordError {
    /// Returns an error in a user's file. Line breaks in quotations from the file are escaped.
    pub fn input(place: impl Into<String>, reason: impl Into<String>) -> Self {
        RecordError::Input { place: place.into(), reason: printable(&reason.into()).into_owned() }
    }
}
