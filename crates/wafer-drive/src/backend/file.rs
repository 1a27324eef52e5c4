//! Data in one sparse file; deallocating punches holes. Short writes go through the write log.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use super::ATOMIC;
use super::store::Store;
use super::write_log::WriteLog;
use crate::storage::StorageFile;

/// The data of a drive. The file is locked: two servers on one file would destroy each other's data.
///
/// After a sync that failed, the system may have dropped what was to be written, and later syncs succeed. So no sync
/// succeeds here after one that failed. Syncs exclude each other, because the system reports a failure only once.
pub(crate) struct DataFile {
    file: Arc<dyn StorageFile>,
    log: WriteLog,
    /// Why a sync failed.
    lost: Mutex<Option<String>>,
}

impl DataFile {
    pub(crate) fn new(file: Arc<dyn StorageFile>, log: WriteLog) -> Self {
        DataFile { file, log, lost: Mutex::new(None) }
    }

    pub(crate) fn file(&self) -> &Arc<dyn StorageFile> {
        &self.file
    }

    /// Returns why a sync failed, if one did.
    pub(crate) fn lost(&self) -> Option<String> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn check_lost(&self) -> io::Result<()> {
        self.lost().map_or(Ok(()), |why| Err(io::Error::other(why)))
    }

    /// Makes everything written before survive a loss of power.
    pub(crate) fn sync(&self) -> io::Result<()> {
        if self.log.sync()? { self.sync_file() } else { self.empty_log() }
    }

    fn sync_file(&self) -> io::Result<()> {
        self.try_sync(|file| file.sync())
    }

    /// Takes over what an earlier server left in the write log. Nothing may be written before.
    pub(crate) fn begin(&self) -> io::Result<()> {
        self.log.begin(&*self.file, || self.sync_file())
    }

    /// Empties the write log into the file, which has everything then and is durable. After a sync that failed it
    /// never is: nothing moves then, or every write to a full log would move all of it.
    pub(crate) fn empty_log(&self) -> io::Result<()> {
        self.check_lost()?;
        self.log.empty(&*self.file, || self.sync_file())
    }

    /// Empties the write log and overwrites what it held.
    pub(crate) fn erase_log(&self) -> io::Result<()> {
        self.log.erase(&*self.file, || self.sync_file())
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.log.read(&*self.file, offset, buffer)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if data.len() as u64 > ATOMIC {
            let length = data.len() as u64;
            return self.in_place(offset, length, Some(data), || self.file.write_at(data, offset));
        }
        while !self.log.write(offset, data)? {
            self.empty_log()?;
        }
        Ok(())
    }

    fn compare_and_write(&self, offset: u64, expected: &[u8], data: &[u8]) -> io::Result<bool> {
        loop {
            match self.log.compare_and_write(&*self.file, offset, expected, data)? {
                Some(equal) => return Ok(equal),
                None => self.empty_log()?,
            }
        }
    }

    /// Makes a range read as zeroes and frees its space.
    pub(crate) fn punch_hole(&self, offset: u64, length: u64) -> io::Result<()> {
        if length == 0 {
            return Ok(());
        }
        self.in_place(offset, length, None, || self.file.punch_hole(offset, length))
    }

    fn in_place(
        &self,
        offset: u64,
        length: u64,
        data: Option<&[u8]>,
        operation: impl Fn() -> io::Result<()>,
    ) -> io::Result<()> {
        while !self.log.in_place(offset, length, data, &operation)? {
            self.empty_log()?;
        }
        Ok(())
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
    data: Arc<DataFile>,
    base: u64,
}

impl FileStore {
    /// Makes a store of `size` bytes at `base` of the file, which is extended if it ends before.
    pub(crate) fn new(data: &Arc<DataFile>, base: u64, size: u64) -> io::Result<Self> {
        let end = base.checked_add(size).ok_or(io::ErrorKind::InvalidInput)?;
        if data.file.len()? < end {
            data.file.set_len(end)?;
        }
        Ok(FileStore { data: Arc::clone(data), base })
    }
}

impl Store for FileStore {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.data.read(self.base + offset, buffer)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.data.write(self.base + offset, data)
    }

    fn compare_and_write(&self, offset: u64, expected: &[u8], data: &[u8]) -> io::Result<bool> {
        self.data.compare_and_write(self.base + offset, expected, data)
    }

    fn deallocate(&self, offset: u64, length: u64) -> io::Result<()> {
        self.data.punch_hole(self.base + offset, length)
    }
}
