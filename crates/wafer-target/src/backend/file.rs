//! Data in one sparse file; deallocating punches holes.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock};
use rustix::io::Errno;

use super::{Backend, Store};

/// Keeps data in a file.
#[derive(Debug)]
pub struct File {
    file: Arc<fs::File>,
}

impl File {
    /// Opens the file, or makes it. It stays locked until this is dropped: two servers on one file would
    /// destroy each other's data.
    ///
    /// # Errors
    /// The file cannot be opened, or another process has it.
    pub fn open(path: &Path) -> io::Result<File> {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("this is not a regular file"));
        }
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(File { file: Arc::new(file) }),
            Err(Errno::WOULDBLOCK) => Err(io::Error::other("another process serves this file")),
            Err(e) => Err(e.into()),
        }
    }
}

impl Backend for File {
    fn store(&self, base: u64, size: u64) -> io::Result<Arc<dyn Store>> {
        let end = base.checked_add(size).ok_or(io::ErrorKind::InvalidInput)?;
        if self.file.metadata()?.len() < end {
            self.file.set_len(end)?;
        }
        Ok(Arc::new(FileStore { file: Arc::clone(&self.file), base }))
    }

    fn flush(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn blocks(&self) -> bool {
        true
    }
}

struct FileStore {
    file: Arc<fs::File>,
    base: u64,
}

impl Store for FileStore {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, self.base + offset)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write_all_at(data, self.base + offset)
    }

    fn deallocate(&self, offset: u64, length: u64) -> io::Result<()> {
        if length == 0 {
            return Ok(());
        }
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match fallocate(&*self.file, flags, self.base + offset, length) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.write_zeroes(offset, length),
            result => result.map_err(io::Error::from),
        }
    }
}

impl FileStore {
    /// For file systems without holes.
    fn write_zeroes(&self, offset: u64, length: u64) -> io::Result<()> {
        let zeroes = vec![0; length.min(1 << 20) as usize];
        let mut at = 0;
        while at < length {
            let count = (length - at).min(zeroes.len() as u64);
            self.write(offset + at, &zeroes[..count as usize])?;
            at += count;
        }
        Ok(())
    }
}
