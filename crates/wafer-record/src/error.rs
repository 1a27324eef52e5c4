//! Why a record or a file that users give cannot be read or written.

use std::path::PathBuf;

/// Why a record cannot be read or written. Every message is one line.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A file that does not hold what it should. `place` is the file, with line and key where there are.
    #[error("{place}: {reason}")]
    Input {
        /// Where: `FILE:LINE: KEY`.
        place: String,
        /// Why, and where there is one, what would work.
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
    /// An error in a file that the user gave.
    pub fn input(place: impl Into<String>, reason: impl Into<String>) -> Self {
        RecordError::Input { place: place.into(), reason: reason.into() }
    }
}
