//! Data in one sparse file; deallocating punches holes.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use super::store::Store;
use crate::storage::StorageFile;

/// The data of a drive. The file is locked: two servers on one file would destroy each other's data.
///
/// After a sync that failed, the system may have dropped what was to be written, and later syncs succeed. So no sync
/// succeeds here after one that failed. Syncs exclude each other, because the system reports a failure only once.
pub(crate) struct DataFile {
    file: Arc<dyn StorageFile>,
    /// Why a sync failed.
    lost: Mutex<Option<String>>,
}

impl DataFile {
    pub(crate) fn new(file: Arc<dyn StorageFile>) -> Self {
        DataFile { file, lost: Mutex::new(None) }
    }

    pub(crate) fn file(&self) -> &Arc<dyn StorageFile> {
        &self.file
    }

    /// Returns why a sync failed, if one did.
    pub(crate) fn lost(&self) -> Option<String> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes everything written before survive a loss of power.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.try_sync(|file| file.sync())
    }

    /// Syncs and sets the mark. Returns whether the medium keeps marks.
    pub(crate) fn set_mark(&self, mark: &[u8]) -> io::Result<bool> {
        self.try_sync(|file| file.set_mark(mark))
    }

    fn try_sync<T>(&self, sync: impl FnOnce(&dyn StorageFile) -> io::Result<T>) -> io::Result<T> {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(why) = &*lost {
            return Err(io::Error::other(why.clone()));
        }
        sync(&*self.file).inspect_err(|error| *lost = Some(error.to_string()))
    }
}

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
