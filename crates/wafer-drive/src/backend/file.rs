//! Data in one sparse file; deallocating punches holes.

use std::io;
use std::sync::Arc;

use super::{Backend, Store};
use crate::storage::StorageFile;

/// Keeps data in a file.
pub struct File {
    file: Arc<dyn StorageFile>,
}

impl File {
    /// Keeps data in `file`, which is locked: two servers on one file would destroy each other's data.
    pub fn new(file: Arc<dyn StorageFile>) -> File {
        File { file }
    }
}

impl Backend for File {
    fn store(&self, base: u64, size: u64) -> io::Result<Arc<dyn Store>> {
        let end = base.checked_add(size).ok_or(io::ErrorKind::InvalidInput)?;
        if self.file.len()? < end {
            self.file.set_len(end)?;
        }
        Ok(Arc::new(FileStore { file: Arc::clone(&self.file), base }))
    }

    fn flush(&self) -> io::Result<()> {
        self.file.sync()
    }

    fn may_block(&self) -> bool {
        true
    }
}

struct FileStore {
    file: Arc<dyn StorageFile>,
    base: u64,
}

impl Store for FileStore {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_at(buffer, self.base + offset)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write_at(data, self.base + offset)
    }

    fn deallocate(&self, offset: u64, length: u64) -> io::Result<()> {
        if length == 0 {
            return Ok(());
        }
        self.file.punch_hole(self.base + offset, length)
    }
}
