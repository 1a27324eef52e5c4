//! Reading the small text files that users give.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use crate::LabError;

/// A configuration, job file or table is not larger than this.
const MOST: u64 = 64 << 20;

/// The text of a file.
pub(crate) fn read_text(path: &Path) -> Result<String, LabError> {
    let fail = |reason: String| LabError::config(path.display().to_string(), reason);
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MOST + 1).read_to_end(&mut bytes));
    if let Err(error) = read {
        return Err(fail(match error.kind() {
            ErrorKind::NotFound => "no such file".to_owned(),
            ErrorKind::PermissionDenied => "may not be read".to_owned(),
            kind => format!("cannot be read: {kind}"),
        }));
    }
    if bytes.len() as u64 > MOST {
        return Err(fail(format!("is larger than {MOST} bytes")));
    }
    String::from_utf8(bytes).map_err(|e| {
        let before = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|b| **b == b'\n').count();
        fail(format!("line {line} is not UTF-8 text"))
    })
}
