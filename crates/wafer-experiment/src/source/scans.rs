//! Scans of traces, shared by all runs of the process that read the same file in the same way.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::SystemTime;

use wafer_trace::{Scan, TraceOptions};

use crate::error::LabError;

/// Distinguishes the contents of a file at different times.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stamp {
    length: u64,
    modified: SystemTime,
}

impl Stamp {
    /// Returns the stamp of a file, or `None` if the file is not an ordinary one or the system tells no time of it.
    pub(super) fn of(file: &Path) -> Option<Stamp> {
        let metadata = fs::metadata(file).ok().filter(fs::Metadata::is_file)?;
        Some(Stamp { length: metadata.len(), modified: metadata.modified().ok()? })
    }
}

/// What a scan depends on.
#[derive(PartialEq)]
struct Key {
    file: PathBuf,
    stamp: Stamp,
    /// The options that select what is read.
    reading: TraceOptions,
}

impl Key {
    /// Returns the key of a file; `None` if it has no stamp.
    fn of(file: &Path, options: &TraceOptions) -> Option<Key> {
        let stamp = Stamp::of(file)?;
        let TraceOptions { format, from, to, volume, strict, .. } = options.clone();
        Some(Key {
            file: fs::canonicalize(file).ok()?,
            stamp,
            reading: TraceOptions { format, from, to, volume, strict, ..TraceOptions::default() },
        })
    }
}

/// The scans that an experiment still holds.
static SCANS: Mutex<Vec<(Key, Weak<Scan>)>> = Mutex::new(Vec::new());

/// Scans a trace, unless another experiment has done so and the file is the same.
///
/// # Errors
/// Like [`Scan::of`].
pub(super) fn scan(file: &Path, options: &TraceOptions) -> Result<Arc<Scan>, LabError> {
    let scans = || SCANS.lock().unwrap_or_else(PoisonError::into_inner);
    let key = Key::of(file, options);
    if let Some(key) = &key {
        let all = scans();
        let mut same = all.iter().filter(|(other, _)| other == key);
        let is_named = |scan: &Arc<Scan>| scan.path == file;
        if let Some(scan) = same.find_map(|(_, scan)| scan.upgrade().filter(is_named)) {
            return Ok(scan);
        }
    }
    let scan = Scan::of(file, options, &|_| true)?.ok_or(LabError::Cancelled)?;
    let scan = Arc::new(scan);
    if let Some(key) = key {
        let mut scans = scans();
        scans.retain(|(_, scan)| scan.strong_count() > 0);
        scans.push((key, Arc::downgrade(&scan)));
    }
    Ok(scan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_is_shared_until_the_file_or_its_reading_changes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.csv");
        let write = |requests: u64| {
            let line = |i: u64| format!("0,W,{},4096,{}\n", i * 4096, 1_000_000 + i);
            fs::write(&file, (0..requests).map(line).collect::<String>()).unwrap();
        };
        let options =
            TraceOptions { format: Some("alibaba".to_owned()), ..TraceOptions::default() };
        write(3);
        let first = scan(&file, &options).unwrap();
        let faster = TraceOptions { speed: Some(2.0), ..options.clone() };
        assert!(Arc::ptr_eq(&first, &scan(&file, &faster).unwrap()), "replayed in another way");
        let strict = TraceOptions { strict: true, ..options.clone() };
        assert!(!Arc::ptr_eq(&first, &scan(&file, &strict).unwrap()));
        write(4);
        let second = scan(&file, &options).unwrap();
        assert_eq!((first.writes.requests, second.writes.requests), (3, 4));
        // As long as before, but written later.
        let later = SystemTime::now() + std::time::Duration::from_secs(10);
        fs::File::options().write(true).open(&file).unwrap().set_modified(later).unwrap();
        assert!(!Arc::ptr_eq(&second, &scan(&file, &options).unwrap()));
        // No longer held, so it is read again.
        drop((first, second));
        assert_eq!(scan(&file, &options).unwrap().writes.requests, 4);
    }
}
