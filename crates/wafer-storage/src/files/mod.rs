//! The files of a drive: data, state, journal and captures.
//!
//! [`Files`] is the file system of the machine. Tests replace it to inject faults.

mod machine;

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

pub use machine::Files;

/// A file system.
pub trait Storage: Send + Sync {
    /// Opens a file for reading and writing. Creates it if it does not exist.
    ///
    /// # Errors
    /// The file cannot be opened.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn StorageFile>>;

    /// Opens a file like [`Self::open`], and locks it until it is dropped.
    ///
    /// # Errors
    /// The file cannot be opened, is not a regular file, or another process has locked it.
    fn open_locked(&self, path: &Path) -> io::Result<Arc<dyn StorageFile>>;

    /// Creates an empty file for sequential writing, truncating an existing one.
    ///
    /// # Errors
    /// The file cannot be created.
    fn create(&self, path: &Path) -> io::Result<Box<dyn Write + Send>>;

    /// Returns whether a file exists.
    fn exists(&self, path: &Path) -> bool;

    /// Renames a file, replacing any file with the new name. The new name survives a power loss.
    ///
    /// # Errors
    /// The file cannot be renamed.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// The file cannot be removed.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Returns whether two names refer to the same file, or would if it existed.
    fn is_same(&self, one: &Path, other: &Path) -> bool;
}

/// An open file.
pub trait StorageFile: Send + Sync {
    /// Returns the length in bytes.
    ///
    /// # Errors
    /// The medium fails.
    fn len(&self) -> io::Result<u64>;

    /// Returns whether the file is empty.
    ///
    /// # Errors
    /// The medium fails.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Truncates the file, or extends it with zeroes that take no space.
    ///
    /// # Errors
    /// The medium fails.
    fn set_len(&self, length: u64) -> io::Result<()>;

    /// Fills `buffer` from `offset`.
    ///
    /// # Errors
    /// The medium fails, or the file is too short.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all of `data` at `offset`.
    ///
    /// # Errors
    /// The medium fails, or is full.
    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()>;

    /// Makes a range read as zeroes and frees its space.
    ///
    /// # Errors
    /// The medium fails.
    fn punch_hole(&self, offset: u64, length: u64) -> io::Result<()>;

    /// Makes everything written so far survive a power loss.
    ///
    /// # Errors
    /// The medium fails, and it is unknown what survives.
    fn sync(&self) -> io::Result<()>;

    /// Reserves space for a range, extending the file, so that later writes to it need no more space.
    ///
    /// # Errors
    /// The medium fails, or is full.
    fn allocate(&self, offset: u64, length: u64) -> io::Result<()>;

    /// Returns the mark of the file, a few bytes kept outside its contents, or `None` if there is no mark or the medium
    /// does not support marks.
    ///
    /// # Errors
    /// The medium fails.
    fn mark(&self) -> io::Result<Option<Vec<u8>>>;

    /// Sets the mark of the file and makes the mark and the contents survive a power loss. Returns whether the medium
    /// supports marks.
    ///
    /// # Errors
    /// The medium fails, and it is unknown what survives.
    fn set_mark(&self, mark: &[u8]) -> io::Result<bool>;
}
