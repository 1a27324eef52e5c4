//! The bytes of one namespace.

use std::io;

/// An array of bytes that reads as zeroes where nothing was written or what was written is deallocated.
///
/// Callers check that ranges lie within the store. A read sees all or nothing of a write of at most
/// [`ATOMIC_BLOCKS`](super::ATOMIC_BLOCKS); longer concurrent operations on overlapping ranges may mix byte by byte, as
/// NVMe allows. A store never panics because of them.
pub trait Store: Send + Sync {
    /// Reads `buffer.len()` bytes from `offset`.
    ///
    /// # Errors
    /// The medium cannot be read.
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// Appends `length` bytes from `offset` to `out`, which may get some of them even on an error.
    ///
    /// # Errors
    /// The medium cannot be read.
    fn append_to(&self, out: &mut Vec<u8>, offset: u64, length: usize) -> io::Result<()> {
        let at = out.len();
        out.resize(at + length, 0);
        self.read(offset, &mut out[at..])
    }

    /// Writes `data` at `offset`.
    ///
    /// # Errors
    /// The medium cannot be written, or is full.
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()>;

    /// Writes `data` at `offset` if `expected`, which is as long, is there now. Returns whether it is. No other operation of
    /// at most [`ATOMIC_BLOCKS`](super::ATOMIC_BLOCKS), which `data` is, too, comes between.
    ///
    /// # Errors
    /// The medium cannot be read or written, or is full.
    fn compare_and_write(&self, offset: u64, expected: &[u8], data: &[u8]) -> io::Result<bool>;

    /// Makes a range read as zeroes and frees its space.
    ///
    /// # Errors
    /// The medium fails.
    fn deallocate(&self, offset: u64, length: u64) -> io::Result<()>;
}

/// Drops what is written and reads zeroes: for drives of terabytes of which only the write amplification
/// matters.
pub struct NoStore;

impl Store for NoStore {
    fn read(&self, _offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        buffer.fill(0);
        Ok(())
    }

    fn write(&self, _offset: u64, _data: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn compare_and_write(&self, _offset: u64, expected: &[u8], _data: &[u8]) -> io::Result<bool> {
        Ok(expected.iter().all(|byte| *byte == 0))
    }

    fn deallocate(&self, _offset: u64, _length: u64) -> io::Result<()> {
        Ok(())
    }
}
