//! The bytes of one namespace.

use std::io;

/// An array of bytes that reads as zeroes where it was never written or was deallocated.
///
/// Callers check that ranges are within the store. A read sees all or nothing of a write of at most
/// [`ATOMIC_BLOCKS`](super::ATOMIC_BLOCKS). Longer concurrent operations on overlapping ranges may mix byte by byte, as
/// NVMe allows; a store never panics because of them.
pub trait Store: Send + Sync {
    /// Reads `buffer.len()` bytes from `offset`.
    ///
    /// # Errors
    /// The medium cannot be read.
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// Appends `length` bytes from `offset` to `out`, possibly some of them even on an error.
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

    /// Writes `data`, at most [`ATOMIC_BLOCKS`](super::ATOMIC_BLOCKS), at `offset` if the current bytes there are
    /// `expected`, which has the same length. Returns whether they are. No other operation of at most that length
    /// intervenes.
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

/// Discards writes and reads zeroes: for drives of terabytes where only the write amplification matters.
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
