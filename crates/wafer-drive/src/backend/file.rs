//! Data in one sparse file; deallocating punches holes.

use std::io;
use std::sync::Arc;

use super::store::Store;
use crate::storage::StorageFile;

pub(crate) struct FileStore {
    file: Arc<dyn StorageFile>,
    base: u64,
}

impl FileStore {
    /// Makes a store of `size` bytes at `base` of the file, which is extended if it ends before.
    pub(crate) fn new(file: &Arc<dyn StorageFile>, base: u64, size: u64) -> io::Result<Self> {
        let end = base.checked_add(size).ok_or(io::ErrorKind::InvalidInput)?;
        if file.len()? < end {
            file.set_len(end)?;
        }
        Ok(FileStore { file: Arc::clone(file), base })
    }
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
