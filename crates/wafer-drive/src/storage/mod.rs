//! Where a drive keeps its files: data, state, journal and captures.
//!
//! [`Files`] is the file system of the machine. Tests replace it to inject faults.

mod files;

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

pub use files::Files;

/// A place for files.
pub trait Storage: Send + Sync {
    /// Opens a file for reading and writing. Creates it if it does not exist.
    ///
    /// # Errors
    /// The file cannot be opened.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn StorageFile>>;

    /// Opens a file as [`Self::open`] does, and locks it until it is dropped.
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

    /// Renames a file, replacing what has the new name. The new name survives a loss of power.
    ///
    /// # Errors
    /// The file cannot be renamed.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
}

/// An open file.
pub trait StorageFile: Send + Sync {
    /// Returns the length in bytes.
    ///
    /// # Errors
    /// The medium fails.
    fn len(&self) -> io::Result<u64>;

    /// Returns whether the file has no bytes.
    ///
    /// # Errors
    /// The medium fails.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Cuts the file, or extends it with zeroes that take no space.
    ///
    /// # Errors
    /// The medium fails.
    fn set_len(&self, length: u64) -> io::Result<()>;

    /// Fills `buffer` from `offset`.
    ///
    /// # Errors
    /// The medium fails, or the file ends.
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

    /// Makes everything written before survive a loss of power.
    ///
    /// # Errors
    /// The medium fails; what survives is not known.
    fn sync(&self) -> io::Result<()>;

    /// Maps the whole file into memory. Only the owner of a lock on the drive maps its files.
    ///
    /// # Errors
    /// The file cannot be mapped.
    fn map(&self) -> io::Result<Box<dyn SharedMemory>>;
}

/// A file mapped into memory: a byte that is stored is in the file, even if the process is killed.
pub trait SharedMemory: Send + Sync {
    /// Returns the bytes.
    fn bytes(&self) -> &[u8];

    /// Returns the bytes for writing.
    fn bytes_mut(&mut self) -> &mut [u8];

    /// Makes the first `length` bytes survive a loss of power.
    ///
    /// # Errors
    /// The medium fails; what survives is not known.
    fn sync(&self, length: usize) -> io::Result<()>;
}
