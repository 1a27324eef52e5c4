//! Where user data lives. The device model counts; a [`Backend`] keeps the bytes, one [`Store`] for each
//! namespace, and makes short writes atomic ([`WriteLog`]).
//!
//! All access to files goes through [`Storage`], which tests replace to inject faults.
//!
//! | backend | data | survives the server | memory |
//! |---|---|---|---|
//! | `none` | dropped; reads return zeroes | no | none |
//! | `memory` | kept in memory, allocated as it is written | no | what was written |
//! | `file:PATH` | one sparse file | yes | none |

mod file;
mod files;
mod journal_file;
mod memory;
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
pub use store::NoStore;
pub use store::Store;
pub use sync_note::SyncNote;
pub use write_log::LogWork;
pub use write_log::WriteLog;

/// Bytes that a store writes as a whole or not at all: [`ATOMIC_BLOCKS`] of the longest logical blocks.
pub const ATOMIC: u64 = ATOMIC_BLOCKS as u64 * 4096;

/// Logical blocks that a write changes as a whole, for everybody who reads them, and after a kill or a power loss.
pub const ATOMIC_BLOCKS: u16 = 16;

/// Commands that failed because their data could not be reached.
static FAILURES: AtomicU64 = AtomicU64::new(0);

/// Logs that data could not be reached: the first time, and then the 2nd, 4th, 8th ..., since a host may go on for days.
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
    /// Data is in memory, as long as the process lives.
    Memory,
    /// Data is in a sparse file.
    File(Arc<DataFile>),
}

impl Backend {
    /// Returns the store of `size` bytes at `base`. Concurrent stores do not overlap, and what an
    /// earlier store had at the same place was [released](Self::release).
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

    /// Frees the space of a range, which then reads as zeroes. The memory of a store goes with its last reference.
    ///
    /// # Errors
    /// The medium fails.
    pub fn release(&self, base: u64, size: u64) -> io::Result<()> {
        self.data_file().map_or(Ok(()), |data| data.punch_hole(base, size))
    }

    /// Returns the bytes of the file, or zero if there is none.
    ///
    /// # Errors
    /// The medium fails.
    pub fn file_len(&self) -> io::Result<u64> {
        self.data_file().map_or(Ok(0), |data| data.file().len())
    }

    /// Makes everything written before survive a power loss.
    ///
    /// # Errors
    /// The medium fails, or has failed to sync before.
    pub fn flush(&self) -> io::Result<()> {
        self.data_file().map_or(Ok(()), |data| data.sync())
    }

    /// Returns why what was written may be lost, if it may.
    pub fn lost(&self) -> Option<String> {
        self.data_file().and_then(|data| data.lost())
    }

    /// Returns the file of the data, if it has one.
    pub fn data_file(&self) -> Option<&DataFile> {
        if let Backend::File(data) = self { Some(data) } else { None }
    }

    /// Returns whether operations may wait for a medium.
    pub fn may_block(&self) -> bool {
        matches!(self, Backend::File(_))
    }
}

/// A backend as the command line names it.
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
