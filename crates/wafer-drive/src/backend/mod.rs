//! Where user data lives. The device model counts; a backend keeps the bytes.
//!
//! # Contract
//! A [`Backend`] gives one [`Store`] for each namespace: an array of bytes that reads as zeroes where
//! nothing was written or what was written is deallocated. Callers have checked that ranges lie within
//! the store, and give slices of the length they mean. Operations on overlapping ranges at the same time
//! may mix, byte by byte, as NVMe allows; a store never panics for them.
//!
//! | backend | data | survives the server | memory |
//! |---|---|---|---|
//! | [`None`](none::None) | dropped; reads give zeroes | no | none |
//! | [`Memory`](memory::Memory) | kept in memory, allocated as it is written | no | what was written |
//! | [`File`](file::File) | one sparse file | yes | none |

pub mod file;
pub mod memory;
pub mod none;

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::{fmt, io};

/// The bytes of one namespace.
pub trait Store: Send + Sync {
    /// Reads `buffer.len()` bytes from `offset`.
    ///
    /// # Errors
    /// The medium cannot be read.
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// Writes `data` at `offset`.
    ///
    /// # Errors
    /// The medium cannot be written, or is full.
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()>;

    /// Makes a range read as zeroes and gives its space back.
    ///
    /// # Errors
    /// The medium refuses.
    fn deallocate(&self, offset: u64, length: u64) -> io::Result<()>;
}

/// A place for the data of a drive.
pub trait Backend: Send + Sync {
    /// Returns the store of `size` bytes at `base` of the backend's space. Stores that exist at the same time
    /// do not overlap; what an earlier store left at the same place was deallocated.
    ///
    /// # Errors
    /// There is no space.
    fn store(&self, base: u64, size: u64) -> io::Result<Arc<dyn Store>>;

    /// Makes everything written before survive a loss of power.
    ///
    /// # Errors
    /// The medium refuses.
    fn flush(&self) -> io::Result<()>;

    /// Returns whether operations may wait for a medium; the thread must not be shared meanwhile.
    fn may_block(&self) -> bool;
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

#[cfg(test)]
mod tests;
