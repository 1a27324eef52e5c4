//! Storage of user data. The device model only counts; a [`Backend`] stores the bytes, with one [`Store`] per
//! namespace, and makes short writes atomic ([`WriteLog`]).
//!
//! All access to files goes through [`Storage`], to time through [`clock`] and to randomness through [`random`]; tests
//! replace them to inject faults.
//!
//! | backend | data | survives the server | memory |
//! |---|---|---|---|
//! | `none` | dropped; reads return zeroes | no | none |
//! | `memory` | kept in memory, allocated as it is written | no | as much as was written |
//! | `file:PATH` | one sparse file | yes | none |

pub mod clock;
mod file;
mod files;
mod journal_file;
mod marks;
mod memory;
pub mod random;
mod store;
mod sync_note;
#[cfg(test)]
mod tests;
mod write_log;

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fmt, io};

pub use file::DataFile;
pub use files::{Files, Storage, StorageFile};
pub use journal_file::JournalFile;
pub use marks::Marks;
pub use store::NoStore;
pub use store::Store;
pub use sync_note::SyncNote;
pub use write_log::LogWork;
pub use write_log::WriteLog;

/// Bytes that a store writes atomically: [`ATOMIC_BLOCKS`] of the largest logical blocks.
pub const ATOMIC: u64 = ATOMIC_BLOCKS as u64 * 4096;

/// Logical blocks of a write that is atomic for all readers, and across a kill or a power loss.
pub const ATOMIC_BLOCKS: u16 = 16;

/// Commands that failed because their data could not be accessed.
static FAILURES: AtomicU64 = AtomicU64::new(0);

/// Logs that data could not be accessed: the 1st, 2nd, 4th, 8th ... time, because a host may retry for days.
pub fn tell_failure(error: &io::Error) {
    let failures = 1 + FAILURES.fetch_add(1, Ordering::Relaxed);
    if failures.is_power_of_two() {
        tracing::error!(%error, failures, "the data of a namespace cannot be reached");
    }
}

/// The data of a drive.
pub enum Backend {
    /// Data is dropped; reads return zeroes.
    None,
    /// Data is in memory for the lifetime of the process.
    Memory,
    /// Data is in a sparse file.
    File(Arc<DataFile>),
}

impl Backend {
    /// Returns the store of `size` bytes at `base`. Concurrent stores do not overlap, and the range of an earlier store
    /// was [released](Self::release).
    ///
    /// # Errors
    /// There is no space.
    pub fn store(&self, base: u64, size: u64) -> io::Result<Arc<dyn Store>> {
        Ok(match self {
            Backend::None => Arc::new(NoStore),
            Backend::Memory => Arc::new(memory::MemoryStore::new(size)?),
            Backend::File(data) => Arc::new(file::FileStore::new(data, base, size)?),
        })
    }

    /// Frees the space of a range, which then reads as zeroes. In memory, a store is freed with its last reference.
    ///
    /// # Errors
    /// The medium fails.
    pub fn release(&self, base: u64, size: u64) -> io::Result<()> {
        self.data_file().map_or(Ok(()), |data| data.punch_hole(base, size))
    }

    /// Returns the length of the file in bytes, or zero if there is none.
    ///
    /// # Errors
    /// The medium fails.
    pub fn file_len(&self) -> io::Result<u64> {
        self.data_file().map_or(Ok(0), |data| data.file().len())
    }

    /// Makes everything written so far survive a power loss.
    ///
    /// # Errors
    /// The medium fails, or a sync has failed before.
    pub fn flush(&self) -> io::Result<()> {
        self.data_file().map_or(Ok(()), |data| data.sync())
    }

    /// Returns why written data may be lost, if it may.
    pub fn lost(&self) -> Option<String> {
        self.data_file().and_then(|data| data.lost())
    }

    /// Returns the data file, if there is one.
    pub fn data_file(&self) -> Option<&DataFile> {
        if let Backend::File(data) = self { Some(data) } else { None }
    }

    /// Returns whether operations may wait for a medium.
    pub fn may_block(&self) -> bool {
        matches!(self, Backend::File(_))
    }
}

/// A backend in the notation of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataSpec {
    /// `none`
    None,
    /// `memory`
    Memory,
    /// `file:PATH`
    File(PathBuf),
}

impl FromStr for DataSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "none" => Ok(DataSpec::None),
            "memory" => Ok(DataSpec::Memory),
            _ => match text.strip_prefix("file:") {
                Some(path) if !path.is_empty() => Ok(DataSpec::File(path.into())),
                _ => Err(format!("`{text}` is not none, memory or file:PATH")),
            },
        }
    }
}

impl fmt::Display for DataSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataSpec::None => f.write_str("none"),
            DataSpec::Memory => f.write_str("memory"),
            DataSpec::File(path) => write!(f, "file:{}", path.display()),
        }
    }
}
