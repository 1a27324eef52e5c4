//! Files in memory, with the faults of real ones.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wafer_drive::storage::{SharedMemory, Storage, StorageFile};

/// Unit that a loss of power keeps or loses, bytes.
const SECTOR: usize = 512;

/// An operation that a drive is about to do on its files.
#[derive(Clone, Copy, Debug)]
pub enum Operation<'a> {
    /// Opening a file; it may not exist.
    Open,
    /// Creating or truncating a file.
    Create,
    /// Renaming a file to this name.
    Rename(&'a Path),
    /// Setting the length.
    SetLen(u64),
    /// Reading so many bytes from an offset.
    Read(u64, usize),
    /// Writing data at an offset.
    Write(u64, &'a [u8]),
    /// Deallocating so many bytes from an offset.
    PunchHole(u64, u64),
    /// Making everything written durable.
    Sync,
}

/// What becomes of an operation.
#[derive(Debug)]
pub enum Verdict {
    /// It is done.
    Done,
    /// It fails without effect. A sync that fails loses what was not durable yet, see the crate's invariants.
    Fails(io::Error),
    /// The process dies in it: a write stores only so many bytes, and nothing else has an effect. What was written
    /// before stays as it is, so that the next process can still sync it.
    Torn(usize, io::Error),
}

/// Decides on each operation.
type Judge = dyn Fn(&Path, Operation<'_>) -> Verdict + Send + Sync;

/// Keeps files in memory. Clones share them, so that one can be reopened after the drive on it is gone.
#[derive(Clone, Default)]
pub struct FaultyStorage(Arc<Shared>);

#[derive(Default)]
struct Shared {
    files: Mutex<BTreeMap<PathBuf, Arc<Contents>>>,
    faults: Arc<Faults>,
}

struct Faults {
    sync: AtomicBool,
    /// Bytes that may still be written.
    space: AtomicU64,
    judge: Mutex<Option<Arc<Judge>>>,
}

impl Default for Faults {
    fn default() -> Self {
        Faults {
            sync: AtomicBool::new(false),
            space: AtomicU64::new(u64::MAX),
            judge: Mutex::default(),
        }
    }
}

impl Faults {
    fn judge(&self, path: &Path, operation: Operation<'_>) -> Verdict {
        let judge = self.judge.lock().unwrap_or_else(PoisonError::into_inner).clone();
        judge.map_or(Verdict::Done, |judge| judge(path, operation))
    }

    fn check(&self, path: &Path, operation: Operation<'_>) -> io::Result<()> {
        match self.judge(path, operation) {
            Verdict::Done => Ok(()),
            Verdict::Fails(error) | Verdict::Torn(_, error) => Err(error),
        }
    }

    fn judge_sync(&self, path: &Path) -> Verdict {
        if self.sync.load(Ordering::Relaxed) {
            return Verdict::Fails(io::Error::other("injected: sync failed"));
        }
        self.judge(path, Operation::Sync)
    }

    fn take_space(&self, bytes: usize) -> io::Result<()> {
        let taken = self.space.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            left.checked_sub(bytes as u64)
        });
        taken.map(|_| ()).map_err(|_| io::ErrorKind::StorageFull.into())
    }
}

/// A file: what programs see, and what a loss of power would leave.
#[derive(Default)]
struct Contents {
    bytes: Mutex<Bytes>,
    locked: AtomicBool,
}

#[derive(Clone, Default)]
struct Bytes {
    now: Vec<u8>,
    durable: Vec<u8>,
    /// Sectors that the next sync makes durable.
    dirty: BTreeSet<usize>,
}

impl Bytes {
    fn touch(&mut self, from: usize, to: usize) {
        self.dirty.extend(from / SECTOR..to.div_ceil(SECTOR));
    }

    fn sync(&mut self) {
        let Bytes { now, durable, dirty } = self;
        durable.resize(now.len(), 0);
        for sector in std::mem::take(dirty) {
            let from = (sector * SECTOR).min(now.len());
            let to = (from + SECTOR).min(now.len());
            durable[from..to].copy_from_slice(&now[from..to]);
        }
    }

    fn lose_power(&mut self, mut keep: impl FnMut(usize) -> bool) {
        let Bytes { now, durable, dirty } = self;
        durable.resize(now.len().max(durable.len()), 0);
        for (number, sector) in now.chunks(SECTOR).enumerate() {
            let at = number * SECTOR;
            let old = &mut durable[at..at + sector.len()];
            if old != sector && keep(number) {
                old.copy_from_slice(sector);
            }
        }
        now.clone_from(durable);
        dirty.clear();
    }
}

impl Contents {
    fn bytes(&self) -> MutexGuard<'_, Bytes> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FaultyStorage {
    /// Makes every sync fail, or succeed again.
    pub fn fail_syncs(&self, fail: bool) {
        self.0.faults.sync.store(fail, Ordering::Relaxed);
    }

    /// Fills the medium once so many more bytes are written.
    pub fn limit_space(&self, bytes: u64) {
        self.0.faults.space.store(bytes, Ordering::Relaxed);
    }

    /// Has `judge` decide on every operation from now on.
    pub fn set_judge(&self, judge: Arc<Judge>) {
        let mut current = self.0.faults.judge.lock().unwrap_or_else(PoisonError::into_inner);
        *current = Some(judge);
    }

    /// Loses power: of what was not synced, `keep` chooses the sectors that are on the medium all the same,
    /// by path and number. To be called when no file is open.
    pub fn lose_power(&self, mut keep: impl FnMut(&Path, usize) -> bool) {
        for (path, contents) in &*self.files() {
            contents.bytes().lose_power(|sector| keep(path, sector));
        }
    }

    /// Returns the bytes of a file, or `None` if it does not exist.
    pub fn contents(&self, path: &Path) -> Option<Vec<u8>> {
        self.files().get(path).map(|contents| contents.bytes().now.clone())
    }

    /// Replaces a file durably, or removes it. To be called when no file is open.
    pub fn replace(&self, path: &Path, contents: Option<Vec<u8>>) {
        let Some(now) = contents else {
            self.files().remove(path);
            return;
        };
        let bytes = Bytes { durable: now.clone(), now, dirty: BTreeSet::new() };
        let contents = Contents { bytes: Mutex::new(bytes), ..Contents::default() };
        self.files().insert(path.to_owned(), Arc::new(contents));
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Arc<Contents>>> {
        self.0.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self, path: &Path, operation: Operation<'_>) -> io::Result<File> {
        self.0.faults.check(path, operation)?;
        let contents = Arc::clone(self.files().entry(path.to_owned()).or_default());
        let faults = Arc::clone(&self.0.faults);
        Ok(File { path: path.to_owned(), contents, faults, lock: false })
    }
}

impl Storage for FaultyStorage {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn StorageFile>> {
        Ok(Arc::new(self.file(path, Operation::Open)?))
    }

    fn open_locked(&self, path: &Path) -> io::Result<Arc<dyn StorageFile>> {
        let mut file = self.file(path, Operation::Open)?;
        if file.contents.locked.swap(true, Ordering::Relaxed) {
            return Err(io::Error::other("another process serves this file"));
        }
        file.lock = true;
        Ok(Arc::new(file))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Write + Send>> {
        let file = self.file(path, Operation::Create)?;
        *file.contents.bytes() = Bytes::default();
        Ok(Box::new(Appending(file)))
    }

    fn exists(&self, path: &Path) -> bool {
        self.files().contains_key(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        if self.0.faults.sync.load(Ordering::Relaxed) {
            return Err(io::Error::other("injected: sync failed"));
        }
        self.0.faults.check(from, Operation::Rename(to))?;
        let mut files = self.files();
        let contents = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.insert(to.to_owned(), contents);
        Ok(())
    }
}

struct File {
    path: PathBuf,
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

impl File {
    fn store(&self, data: &[u8], offset: u64) {
        let mut bytes = self.contents.bytes();
        let (from, end) = (offset as usize, offset as usize + data.len());
        if bytes.now.len() < end {
            bytes.now.resize(end, 0);
        }
        bytes.now[from..end].copy_from_slice(data);
        bytes.touch(from, end);
    }
}

impl StorageFile for File {
    fn len(&self) -> io::Result<u64> {
        Ok(self.contents.bytes().now.len() as u64)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.faults.check(&self.path, Operation::SetLen(length))?;
        self.contents.bytes().now.resize(length as usize, 0);
        Ok(())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.faults.check(&self.path, Operation::Read(offset, buffer.len()))?;
        let bytes = self.contents.bytes();
        let range = offset as usize..offset as usize + buffer.len();
        buffer.copy_from_slice(bytes.now.get(range).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.faults.take_space(data.len())?;
        match self.faults.judge(&self.path, Operation::Write(offset, data)) {
            Verdict::Done => {
                self.store(data, offset);
                Ok(())
            }
            Verdict::Fails(error) => Err(error),
            Verdict::Torn(bytes, error) => {
                self.store(&data[..bytes.min(data.len())], offset);
                Err(error)
            }
        }
    }

    fn punch_hole(&self, offset: u64, length: u64) -> io::Result<()> {
        self.faults.check(&self.path, Operation::PunchHole(offset, length))?;
        let mut bytes = self.contents.bytes();
        let end = bytes.now.len().min((offset + length) as usize);
        let from = (offset as usize).min(end);
        bytes.now[from..end].fill(0);
        bytes.touch(from, end);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let verdict = self.faults.judge_sync(&self.path);
        let mut bytes = self.contents.bytes();
        match verdict {
            Verdict::Done => bytes.sync(),
            Verdict::Fails(error) => {
                bytes.dirty.clear();
                return Err(error);
            }
            Verdict::Torn(_, error) => return Err(error),
        }
        Ok(())
    }

    fn map(&self) -> io::Result<Box<dyn SharedMemory>> {
        let (contents, faults) = (Arc::clone(&self.contents), Arc::clone(&self.faults));
        let bytes = contents.bytes().now.clone();
        Ok(Box::new(Mapped { path: self.path.clone(), bytes, contents, faults }))
    }
}

/// A mapped file. It has its bytes for itself until a sync or its end.
struct Mapped {
    path: PathBuf,
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
        if let Verdict::Fails(error) | Verdict::Torn(_, error) = self.faults.judge_sync(&self.path)
        {
            return Err(error);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_sync_loses_what_was_not_durable() {
        let storage = FaultyStorage::default();
        let path = Path::new("file");
        let file = storage.open(path).unwrap();
        file.write_at(&[1; 1024], 0).unwrap();
        file.sync().unwrap();
        file.write_at(&[2; 512], 0).unwrap();
        storage.fail_syncs(true);
        file.sync().unwrap_err();
        storage.fail_syncs(false);
        file.write_at(&[3; 512], 512).unwrap();
        // It succeeds, but the page that the failed one was to write is not dirty any more.
        file.sync().unwrap();
        assert_eq!(storage.contents(path).unwrap()[..512], [2; 512]);
        drop(file);
        storage.lose_power(|_, _| false);
        let left = storage.contents(path).unwrap();
        assert_eq!((&left[..512], &left[512..]), (&[1; 512][..], &[3; 512][..]));
    }

    #[test]
    fn the_judge_fails_and_tears_writes() {
        let storage = FaultyStorage::default();
        storage.set_judge(Arc::new(|_, operation| match operation {
            Operation::Write(0, _) => Verdict::Done,
            Operation::Write(..) => Verdict::Torn(100, io::ErrorKind::StorageFull.into()),
            Operation::PunchHole(..) => Verdict::Fails(io::Error::other("no")),
            _ => Verdict::Done,
        }));
        let file = storage.open(Path::new("file")).unwrap();
        file.write_at(&[1; 512], 0).unwrap();
        assert_eq!(file.write_at(&[2; 512], 512).unwrap_err().kind(), io::ErrorKind::StorageFull);
        file.punch_hole(0, 512).unwrap_err();
        let found = storage.contents(Path::new("file")).unwrap();
        assert_eq!((found.len(), found[0], found[611]), (612, 1, 2));
    }
}
