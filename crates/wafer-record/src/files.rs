//! Reads text files that users name.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use crate::RecordError;

/// Maximum size of a configuration, job file or table, bytes.
const MOST: u64 = 64 << 20;

/// Returns the text of a configuration, job file or table.
///
/// # Errors
/// The file cannot be read, is not UTF-8, or is larger than 64 MiB.
pub fn read_text(path: &Path) -> Result<String, RecordError> {
    read_text_up_to(path, MOST)
}

/// Returns why a file or folder cannot be read, in the wording of all messages.
pub fn unreadable(kind: ErrorKind) -> String {
    match kind {
        ErrorKind::NotFound => "no such file".to_owned(),
        ErrorKind::PermissionDenied => "may not be read".to_owned(),
        kind => format!("cannot be read: {kind}"),
    }
}

/// Returns the text of a file of at most `most` bytes.
pub(crate) fn read_text_up_to(path: &Path, most: u64) -> Result<String, RecordError> {
    let fail = |reason: String| RecordError::input(path.display().to_string(), reason);
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
    if let Err(error) = read {
        return Err(fail(unreadable(error.kind())));
    }
    if bytes.len() as u64 > most {
        return Err(fail(format!("is larger than {most} bytes")));
    }
    String::from_utf8(bytes).map_err(|e| {
        let before = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|b| **b == b'\n').count();
        fail(format!("line {line} is not UTF-8 text"))
    })
}
