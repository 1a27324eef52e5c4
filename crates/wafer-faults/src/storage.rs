//! Files in memory, with the faults of real ones.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wafer_storage::{Storage, StorageFile};

/// The unit, in bytes, that a power loss keeps or loses.
const SECTOR: usize = 512;

/// An operation that a drive is about to perform on its files.
#[derive(Clone, Copy, Debug)]
pub enum Operation<'a> {
    /// Opening a file; it may not exist.
    Open,
    /// Creating or truncating a file.
    Create,
    /// Renaming a file to this name.
    Rename(&'a Path),
    /// Making a file's new name durable.
    SyncName,
    /// Removing a file.
    Remove,
    /// Setting the length.
    SetLen(u64),
    /// Reading this many bytes from an offset.
    Read(u64, usize),
    /// Writing data at an offset.
    Write(u64, &'a [u8]),
    /// Allocating this many bytes from an offset.
    Allocate(u64, u64),
    /// Deallocating this many bytes from an offset.
    PunchHole(u64, u64),
    /// Reading the mark of a file.
    Mark,
    /// Making everything written durable.
    Sync,
}

/// The outcome of an operation.
#[derive(Debug)]
pub enum Verdict {
    /// It succeeds.
    Done,
    /// It fails without effect. A failed sync loses what was not yet durable: see the crate's invariants.
    Fails(io::Error),
    /// The process dies during it: a write stores only this many bytes, and no other operation has an effect.
    /// Earlier writes are kept, and the next process can still sync them.
    Torn(usize, io::Error),
}

/// Decides on each operation.
type Judge = dyn Fn(&Path, Operation<'_>) -> Verdict + Send + Sync;

/// Keeps files in memory. Clones share them, so they can be reopened after the drive on them is gone.
#[derive(Clone, Default)]
pub struct FaultyStorage(Arc<Shared>);

#[derive(Default)]
struct Shared {
    files: Mutex<BTreeMap<PathBuf, Arc<Contents>>>,
    faults: Arc<Faults>,
}

struct Faults {
    sync: AtomicBool,
    /// Operations so far.
    operations: AtomicU64,
    /// Bytes that may still be written.
    space: AtomicU64,
    /// Whether files have no marks.
    markless: AtomicBool,
    judge: Mutex<Option<Arc<Judge>>>,
}

impl Default for Faults {
    fn default() -> Self {
        Faults {
            sync: AtomicBool::new(false),
            operations: AtomicU64::new(0),
            markless: AtomicBool::new(false),
            space: AtomicU64::new(u64::MAX),
            judge: Mutex::default(),
        }
    }
}

impl Faults {
    fn judge(&self, path: &Path, operation: Operation<'_>) -> Verdict {
        self.operations.fetch_add(1, Ordering::Relaxed);
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

    fn take_space(&self, bytes: u64) -> io::Result<()> {
        let taken = self
            .space
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        taken.map(|_| ()).map_err(|_| io::ErrorKind::StorageFull.into())
    }
}

/// A file: its current content, and what a power loss would leave.
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
    mark: Option<Vec<u8>>,
    /// Number of bytes from the start for which space is allocated.
    allocated: u64,
}

impl Bytes {
    fn touch(&mut self, from: usize, to: usize) {
        self.dirty.extend(from / SECTOR..to.div_ceil(SECTOR));
    }

    fn sync(&mut self) {
        let Bytes { now, durable, dirty, .. } = self;
        durable.resize(now.len(), 0);
        for sector in std::mem::take(dirty) {
            let from = (sector * SECTOR).min(now.len());
            let to = (from + SECTOR).min(now.len());
            durable[from..to].copy_from_slice(&now[from..to]);
        }
    }

    /// Loses power; `keep` chooses how many bytes of an unsynced sector are on the medium.
    fn lose_power(&mut self, mut keep: impl FnMut(usize) -> usize) {
        let Bytes { now, durable, dirty, .. } = self;
        durable.resize(now.len().max(durable.len()), 0);
        for (number, sector) in now.chunks(SECTOR).enumerate() {
            let at = number * SECTOR;
            let old = &mut durable[at..at + sector.len()];
            if old != sector {
                let kept = keep(number).min(sector.len());
                old[..kept].copy_from_slice(&sector[..kept]);
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

    /// Fills the medium once this many more bytes are written.
    pub fn limit_space(&self, bytes: u64) {
        self.0.faults.space.store(bytes, Ordering::Relaxed);
    }

    /// Lets `judge` decide every operation from now on.
    pub fn set_judge(&self, judge: Arc<Judge>) {
        let mut current = self.0.faults.judge.lock().unwrap_or_else(PoisonError::into_inner);
        *current = Some(judge);
    }

    /// Fails operations without effect if `choice` returns an error, by number, file and kind.
    pub fn fail(
        &self,
        choice: impl Fn(u64, &Path, Operation<'_>) -> Option<io::Error> + Send + Sync + 'static,
    ) {
        let faults = Arc::downgrade(&self.0.faults);
        self.set_judge(Arc::new(move |path, operation| {
            let number = faults.upgrade().map_or(0, |f| f.operations.load(Ordering::Relaxed) - 1);
            choice(number, path, operation).map_or(Verdict::Done, Verdict::Fails)
        }));
    }

    /// Fails one operation, given by its number counted from now.
    pub fn fail_nth(&self, nth: u64, error: i32) {
        let nth = self.operations() + nth;
        self.fail(move |number, _, _| (number == nth).then(|| io::Error::from_raw_os_error(error)));
    }

    /// Ends all faults except a full medium.
    pub fn heal(&self) {
        *self.0.faults.judge.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.fail_syncs(false);
    }

    /// Returns the number of operations so far.
    pub fn operations(&self) -> u64 {
        self.0.faults.operations.load(Ordering::Relaxed)
    }

    /// Stores no marks of files, like some file systems.
    pub fn without_marks(self) -> Self {
        self.0.faults.markless.store(true, Ordering::Relaxed);
        self
    }

    /// Loses power. Of the unsynced sectors, `keep` chooses those that are on the medium anyway, by path
    /// and number. Must be called while no file is open.
    pub fn lose_power(&self, mut keep: impl FnMut(&Path, usize) -> bool) {
        self.tear(|path, number| if keep(path, number) { SECTOR } else { 0 });
    }

    /// Loses power like [`Self::lose_power`]; `keep` chooses how many bytes of a sector are on the medium.
    pub fn tear(&self, mut keep: impl FnMut(&Path, usize) -> usize) {
        for (path, contents) in &*self.files() {
            contents.bytes().lose_power(|sector| keep(path, sector));
        }
    }

    /// Returns a copy of all files, none of them locked.
    pub fn copy(&self) -> Self {
        let copy = FaultyStorage::default();
        for (path, contents) in &*self.files() {
            let bytes = Mutex::new(contents.bytes().clone());
            let contents = Contents { bytes, locked: AtomicBool::new(false) };
            copy.files().insert(path.clone(), Arc::new(contents));
        }
        copy
    }

    /// Copies a file with its mark from another storage, or removes it if it does not exist there.
    pub fn take(&self, other: &Self, path: &Path) {
        match other.copy().files().get(path) {
            Some(contents) => self.files().insert(path.to_owned(), Arc::clone(contents)),
            None => self.files().remove(path),
        };
    }

    /// Changes the content of a file durably.
    pub fn change(&self, path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        let contents = Arc::clone(&self.files()[path]);
        let mut bytes = contents.bytes();
        change(&mut bytes.now);
        bytes.durable = bytes.now.clone();
    }

    /// Returns the names of all files.
    pub fn names(&self) -> Vec<PathBuf> {
        self.files().keys().cloned().collect()
    }

    /// Returns the bytes of a file, or `None` if it does not exist.
    pub fn contents(&self, path: &Path) -> Option<Vec<u8>> {
        self.files().get(path).map(|contents| contents.bytes().now.clone())
    }

    /// Replaces the content of a file durably, or removes it. Its mark stays. No file may be open.
    pub fn replace(&self, path: &Path, contents: Option<Vec<u8>>) {
        let Some(now) = contents else {
            self.files().remove(path);
            return;
        };
        let mark = self.files().get(path).and_then(|old| old.bytes().mark.clone());
        let bytes = Bytes { durable: now.clone(), now, mark, ..Bytes::default() };
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
        drop(files);
        self.0.faults.check(to, Operation::SyncName)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.faults.check(path, Operation::Remove)?;
        self.files().remove(path).map(|_| ()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn is_same(&self, one: &Path, other: &Path) -> bool {
        one == other
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
        if offset + data.len() as u64 > self.contents.bytes().allocated {
            self.faults.take_space(data.len() as u64)?;
        }
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

    fn allocate(&self, offset: u64, length: u64) -> io::Result<()> {
        self.faults.check(&self.path, Operation::Allocate(offset, length))?;
        let mut bytes = self.contents.bytes();
        let end = offset + length;
        self.faults.take_space(end.saturating_sub(bytes.allocated))?;
        bytes.allocated = bytes.allocated.max(end);
        if (bytes.now.len() as u64) < end {
            bytes.now.resize(end as usize, 0);
        }
        Ok(())
    }

    fn mark(&self) -> io::Result<Option<Vec<u8>>> {
        self.faults.check(&self.path, Operation::Mark)?;
        Ok(self.contents.bytes().mark.clone())
    }

    fn set_mark(&self, mark: &[u8]) -> io::Result<bool> {
        let kept = !self.faults.markless.load(Ordering::Relaxed);
        if kept {
            self.contents.bytes().mark = Some(mark.to_vec());
        }
        self.sync()?;
        Ok(kept)
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
        // It succeeds, but the page that the failed one should have written is no longer dirty.
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
