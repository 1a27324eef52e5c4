//! Reads the text files that users name, and writes JSON files.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::Path;

use serde::Serialize;

use crate::RecordError;

/// Largest configuration, job file or table, bytes.
const MOST: u64 = 64 << 20;

/// Returns the text of a configuration, job file or table.
///
/// # Errors
/// The file cannot be read, is not UTF-8, or is larger than 64 MiB.
pub fn read_text(path: &Path) -> Result<String, RecordError> {
    read_text_up_to(path, MOST)
}

/// Returns the text of a file of at most `most` bytes.
pub(crate) fn read_text_up_to(path: &Path, most: u64) -> Result<String, RecordError> {
    let fail = |reason: String| RecordError::input(path.display().to_string(), reason);
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
    if let Err(error) = read {
        return Err(fail(match error.kind() {
            ErrorKind::NotFound => "no such file".to_owned(),
            ErrorKind::PermissionDenied => "may not be read".to_owned(),
            kind => format!("cannot be read: {kind}"),
        }));
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

/// Writes a value as JSON. The file is complete or unchanged, also after a crash; what is not a
/// regular file, such as a pipe, is written to directly.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), RecordError> {
    let failed = |source: std::io::Error| RecordError::Io { path: path.to_owned(), source };
    let mut text = serde_json::to_vec_pretty(value).map_err(|e| failed(e.into()))?;
    text.push(b'\n');
    if fs::metadata(path).is_ok_and(|m| !m.is_file()) {
        return fs::write(path, text).map_err(failed);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
    let write = || {
        let mut file = fs::File::create(&temporary)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    write().map_err(|e| {
        // The error that counts is the first; what is left of the file may be gone already.
        let _ = fs::remove_file(&temporary);
        failed(e)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("missing").join("result.json");
        assert!(write_json(&path, &1).is_err());
        let path = folder.path().join("result.json");
        write_json(&path, &[1, 2]).unwrap();
        let names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["result.json"]);
    }
}
