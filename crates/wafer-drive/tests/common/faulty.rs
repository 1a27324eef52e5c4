//! Files in memory, with the faults of real ones.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wafer_drive::storage::{SharedMemory, Storage, StorageFile};

/// Unit that a loss of power keeps or loses, bytes.
const SECTOR: usize = 512;

/// Keeps files in memory. Clones share them, so that one can be reopened after the drive on it is gone.
#[derive(Clone, Debug, Default)]
pub(crate) struct FaultyStorage(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    files: Mutex<BTreeMap<PathBuf, Arc<Contents>>>,
    faults: Arc<Faults>,
}

#[derive(Debug)]
struct Faults {
    sync: AtomicBool,
    /// Bytes that may still be written.
    space: AtomicU64,
}

impl Default for Faults {
    fn default() -> Self {
        Faults { sync: AtomicBool::new(false), space: AtomicU64::new(u64::MAX) }
    }
}

impl Faults {
    fn check_sync(&self) -> io::Result<()> {
        if self.sync.load(Ordering::Relaxed) {
            return Err(io::Error::other("injected: sync failed"));
        }
        Ok(())
    }

    fn take_space(&self, bytes: usize) -> io::Result<()> {
        let taken = self.space.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            left.checked_sub(bytes as u64)
        });
        taken.map(|_| ()).map_err(|_| io::ErrorKind::StorageFull.into())
    }
}

/// A file: what programs see, and what a loss of power would leave.
#[derive(Debug, Default)]
struct Contents {
    bytes: Mutex<Bytes>,
    locked: AtomicBool,
}

#[derive(Clone, Debug, Default)]
struct Bytes {
    now: Vec<u8>,
    durable: Vec<u8>,
}

impl Contents {
    fn bytes(&self) -> MutexGuard<'_, Bytes> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FaultyStorage {
    /// Makes every sync fail, or succeed again.
    pub(crate) fn fail_syncs(&self, fail: bool) {
        self.0.faults.sync.store(fail, Ordering::Relaxed);
    }

    /// Fills the medium once so many more bytes are written.
    pub(crate) fn limit_space(&self, bytes: u64) {
        self.0.faults.space.store(bytes, Ordering::Relaxed);
    }

    /// Loses power: of what was not synced, `keep` chooses the sectors that are on the medium all the same,
    /// by path and number. To be called when no file is open.
    pub(crate) fn lose_power(&self, mut keep: impl FnMut(&Path, usize) -> bool) {
        for (path, contents) in &*self.files() {
            let mut bytes = contents.bytes();
            let Bytes { now, durable } = &mut *bytes;
            let mut left = durable.clone();
            left.resize(now.len().max(durable.len()), 0);
            for (number, sector) in now.chunks(SECTOR).enumerate() {
                let at = number * SECTOR;
                if left[at..at + sector.len()] != *sector && keep(path, number) {
                    left[at..at + sector.len()].copy_from_slice(sector);
                }
            }
            *now = left.clone();
            *durable = left;
        }
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Arc<Contents>>> {
        self.0.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self, path: &Path, lock: bool) -> File {
        let contents = Arc::clone(self.files().entry(path.to_owned()).or_default());
        File { contents, faults: Arc::clone(&self.0.faults), lock }
    }
}

impl Storage for FaultyStorage {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn StorageFile>> {
        Ok(Arc::new(self.file(path, false)))
    }

    fn open_locked(&self, path: &Path) -> io::Result<Arc<dyn StorageFile>> {
        let mut file = self.file(path, false);
        if file.contents.locked.swap(true, Ordering::Relaxed) {
            return Err(io::Error::other("another process serves this file"));
        }
        file.lock = true;
        Ok(Arc::new(file))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Write + Send>> {
        let file = self.file(path, false);
        file.set_len(0)?;
        Ok(Box::new(Appending(file)))
    }

    fn exists(&self, path: &Path) -> bool {
        self.files().contains_key(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.faults.check_sync()?;
        let mut files = self.files();
        let contents = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.insert(to.to_owned(), contents);
        Ok(())
    }
}

struct File {
    contents: Arc<Contents>,
    faults: Arc<Faults>,
    lock: bool,
}

impl Drop for File {
    fn drop(&mut self) {
        if self.lock {
            self.contents.locked.store(false, Ordering::Relaxed);
        }
    }
}

impl StorageFile for File {
    fn len(&self) -> io::Result<u64> {
        Ok(self.contents.bytes().now.len() as u64)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.contents.bytes().now.resize(length as usize, 0);
        Ok(())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let bytes = self.contents.bytes();
        let range = offset as usize..offset as usize + buffer.len();
        buffer.copy_from_slice(bytes.now.get(range).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.faults.take_space(data.len())?;
        let mut bytes = self.contents.bytes();
        let end = offset as usize + data.len();
        if bytes.now.len() < end {
            bytes.now.resize(end, 0);
        }
        bytes.now[offset as usize..end].copy_from_slice(data);
        Ok(())
    }

    fn punch_hole(&self, offset: u64, length: u64) -> io::Result<()> {
        let mut bytes = self.contents.bytes();
        let end = bytes.now.len().min((offset + length) as usize);
        if let Some(hole) = bytes.now.get_mut(offset as usize..end) {
            hole.fill(0);
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.faults.check_sync()?;
        let mut bytes = self.contents.bytes();
        bytes.durable = bytes.now.clone();
        Ok(())
    }

    fn map(&self) -> io::Result<Box<dyn SharedMemory>> {
        let (contents, faults) = (Arc::clone(&self.contents), Arc::clone(&self.faults));
        let bytes = contents.bytes().now.clone();
        Ok(Box::new(Mapped { bytes, contents, faults }))
    }
}

/// A mapped file. It has its bytes for itself until a sync or its end.
struct Mapped {
    bytes: Vec<u8>,
    contents: Arc<Contents>,
    faults: Arc<Faults>,
}

impl SharedMemory for Mapped {
    fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    fn sync(&self, length: usize) -> io::Result<()> {
        self.faults.check_sync()?;
        let mut bytes = self.contents.bytes();
        bytes.now.copy_from_slice(&self.bytes);
        let whole = bytes.now.len();
        bytes.durable.resize(whole, 0);
        bytes.durable[..length].copy_from_slice(&self.bytes[..length]);
        Ok(())
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        self.contents.bytes().now.copy_from_slice(&self.bytes);
    }
}

struct Appending(File);

impl Write for Appending {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.write_at(data, self.0.len()?)?;
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
