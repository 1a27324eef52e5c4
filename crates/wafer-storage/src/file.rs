//! Data in one sparse file; deallocating punches holes. Short writes and deallocation go through the write log.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::ATOMIC;
use super::store::Store;
use super::sync_note::SyncNote;
use super::write_log::{FRAME, LogWork, WriteLog};
use crate::files::StorageFile;

/// Longest deallocation that goes through the write log, bytes. A longer hole is worth a wait.
const SHORT_HOLE: u64 = 2 << 20;

/// The data of a drive. The file is locked, because two servers on one file would destroy each other's data.
///
/// After a failed sync, the system may have dropped dirty data although later syncs succeed. Therefore no sync succeeds
/// here after one has failed. Syncs exclude each other, because the system reports a failure only once.
pub struct DataFile {
    file: Arc<dyn StorageFile>,
    log: WriteLog,
    note: SyncNote,
    /// The error of the failed sync.
    lost: OnceLock<String>,
    /// Held during a sync.
    syncing: Mutex<()>,
    /// Operations on the file that are not in the log.
    operations: AtomicU64,
    /// How many of them a sync has made durable.
    durable: AtomicU64,
}

impl DataFile {
    /// Creates the data of a drive from an open file, its write log, and its sync note.
    pub fn new(file: Arc<dyn StorageFile>, log: WriteLog, note: SyncNote) -> Self {
        DataFile {
            file,
            log,
            note,
            lost: OnceLock::new(),
            syncing: Mutex::new(()),
            operations: AtomicU64::new(0),
            durable: AtomicU64::new(0),
        }
    }

    /// Returns the file.
    pub fn file(&self) -> &Arc<dyn StorageFile> {
        &self.file
    }

    /// Returns the error of the failed sync, if one failed.
    pub(crate) fn lost(&self) -> Option<String> {
        self.lost.get().cloned()
    }

    /// Returns whether a sync of an earlier server may have failed, so that everything written since its last
    /// checkpoint has to be rewritten.
    pub fn is_uncertain(&self) -> bool {
        self.note.is_inherited()
    }

    /// Records that all of that has been rewritten.
    pub fn written_again(&self) {
        self.note.written_again();
    }

    fn check_lost(&self) -> io::Result<()> {
        self.lost().map_or(Ok(()), |why| Err(io::Error::other(why)))
    }

    /// Makes everything written so far survive a power loss, in the log or in the file.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.check_lost()?;
        if !self.log.sync()? {
            self.empty_log()?;
        }
        let operations = self.operations.load(Ordering::Acquire);
        if self.durable.load(Ordering::Acquire) >= operations {
            return Ok(());
        }
        self.sync_file()
    }

    fn sync_file(&self) -> io::Result<()> {
        self.try_sync(|file| file.sync())
    }

    /// Takes over the contents of an earlier server's write log. Nothing may be written before.
    pub fn begin(&self) -> io::Result<()> {
        self.log.begin(&*self.file, &|| self.sync_file())
    }

    /// Empties the write log into the file, which then has everything durably. After a failed sync that is impossible,
    /// and nothing moves.
    pub fn empty_log(&self) -> io::Result<()> {
        self.check_lost()?;
        self.log.empty(&*self.file, &|| self.sync_file())
    }

    /// Empties the write log and overwrites its contents.
    pub fn erase_log(&self) -> io::Result<()> {
        self.log.erase(&*self.file, &|| self.sync_file())
    }

    /// Has `notify` called whenever [`Self::work`] would spare later writes from waiting.
    pub fn on_work(&self, notify: impl Fn(LogWork) + Send + Sync + 'static) {
        self.log.on_work(Box::new(notify));
    }

    /// Does work on the write log, if there is any.
    pub fn work(&self, work: LogWork) -> io::Result<()> {
        self.check_lost()?;
        match work {
            LogWork::Apply => self.log.apply(&*self.file),
            LogWork::Release => self.log.release(&|| self.sync_file()),
        }
    }

    /// Makes room in the log for this many bytes of frames, which fails after a failed sync.
    fn make_room(&self, bytes: usize) -> io::Result<()> {
        self.check_lost()?;
        self.log.make_room(&*self.file, bytes, &|| self.sync_file())
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
            self.make_room(FRAME + data.len())?;
        }
        Ok(())
    }

    fn compare_and_write(&self, offset: u64, expected: &[u8], data: &[u8]) -> io::Result<bool> {
        loop {
            match self.log.compare_and_write(&*self.file, offset, expected, data)? {
                Some(equal) => return Ok(equal),
                None => self.make_room(FRAME + data.len())?,
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

    /// Makes a range read as zeroes. Its space is freed now or, if the range is short, together with its neighbours.
    fn deallocate(&self, offset: u64, length: u64) -> io::Result<()> {
        if length == 0 || length > SHORT_HOLE {
            return self.punch_hole(offset, length);
        }
        while !self.log.deallocate(offset, length)? {
            self.make_room(FRAME)?;
        }
        Ok(())
    }

    fn in_place(
        &self,
        offset: u64,
        length: u64,
        data: Option<&[u8]>,
        operation: impl Fn() -> io::Result<()>,
    ) -> io::Result<()> {
        while let Some(bytes) = self.log.in_place(offset, length, data, &operation)? {
            self.make_room(bytes)?;
        }
        self.operations.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// Syncs and sets the mark. Returns whether the medium supports marks.
    pub fn set_mark(&self, mark: &[u8]) -> io::Result<bool> {
        self.try_sync(|file| file.set_mark(mark))
    }

    fn try_sync<T>(&self, sync: impl FnOnce(&dyn StorageFile) -> io::Result<T>) -> io::Result<T> {
        let _syncing = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        self.check_lost()?;
        let operations = self.operations.load(Ordering::Acquire);
        self.note.make()?;
        let synced = sync(&*self.file).inspect_err(|error| {
            let _ = self.lost.set(error.to_string());
        })?;
        self.durable.fetch_max(operations, Ordering::AcqRel);
        self.note.withdraw()?;
        Ok(synced)
    }
}

pub(crate) struct FileStore {
    data: Arc<DataFile>,
    base: u64,
}

impl FileStore {
    /// Creates a store of `size` bytes at `base` of the file, which is extended if it is too short.
    pub(crate) fn new(data: &Arc<DataFile>, base: u64, size: u64) -> io::Result<Self> {
        let end = base.checked_add(size).ok_or(io::ErrorKind::InvalidInput)?;
        if data.file.len()? < end {
            data.file.set_len(end)?;
            data.operations.fetch_add(1, Ordering::AcqRel);
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
        self.data.deallocate(self.base + offset, length)
    }
}
