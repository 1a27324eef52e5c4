//! Files in memory, with the faults of real ones.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wafer_drive::storage::{Storage, StorageFile};

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

/// What a drive asks of its storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Open,
    Create,
    Rename,
    Remove,
    Read,
    Write,
    Resize,
    Allocate,
    Punch,
    Sync,
}

/// Chooses the operations that fail, by number, file and kind, and their error.
type Choice = Box<dyn Fn(u64, &Path, Operation) -> Option<io::Error> + Send + Sync>;

struct Faults {
    choice: Mutex<Option<Choice>>,
    /// Operations so far.
    operations: AtomicU64,
    /// Bytes that may still be written.
    space: AtomicU64,
    /// Whether there are no marks.
    markless: AtomicBool,
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faults").finish_non_exhaustive()
    }
}

impl Default for Faults {
    fn default() -> Self {
        Faults {
            choice: Mutex::default(),
            operations: AtomicU64::new(0),
            space: AtomicU64::new(u64::MAX),
            markless: AtomicBool::new(false),
        }
    }
}

impl Faults {
    /// Counts an operation and returns its error if it is one that fails.
    fn check(&self, path: &Path, operation: Operation) -> io::Result<()> {
        let number = self.operations.fetch_add(1, Ordering::Relaxed);
        let choice = self.choice.lock().unwrap_or_else(PoisonError::into_inner);
        match choice.as_ref().and_then(|choice| choice(number, path, operation)) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn take_space(&self, bytes: u64) -> io::Result<()> {
        let taken = self
            .space
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
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
    mark: Option<Vec<u8>>,
    /// Bytes from the start that have their space.
    allocated: u64,
}

impl Contents {
    fn bytes(&self) -> MutexGuard<'_, Bytes> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FaultyStorage {
    /// Makes the operations fail that `choice` has an error for, by number, file and kind.
    pub(crate) fn fail(
        &self,
        choice: impl Fn(u64, &Path, Operation) -> Option<io::Error> + Send + Sync + 'static,
    ) {
        *self.choice() = Some(Box::new(choice));
    }

    /// Makes one operation fail, by its number from now.
    pub(crate) fn fail_nth(&self, nth: u64, error: i32) {
        let nth = self.operations() + nth;
        self.fail(move |number, _, _| (number == nth).then(|| io::Error::from_raw_os_error(error)));
    }

    /// Makes every sync and rename fail, or succeed again.
    pub(crate) fn fail_syncs(&self, fail: bool) {
        if fail {
            self.fail(|_, _, operation| {
                let fails = matches!(operation, Operation::Sync | Operation::Rename);
                fails.then(|| io::Error::other("injected: sync failed"))
            });
        } else {
            self.heal();
        }
    }

    /// Ends all faults but a full medium.
    pub(crate) fn heal(&self) {
        *self.choice() = None;
    }

    fn choice(&self) -> MutexGuard<'_, Option<Choice>> {
        self.0.faults.choice.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of operations so far.
    pub(crate) fn operations(&self) -> u64 {
        self.0.faults.operations.load(Ordering::Relaxed)
    }

    /// Fills the medium once so many more bytes are written.
    pub(crate) fn limit_space(&self, bytes: u64) {
        self.0.faults.space.store(bytes, Ordering::Relaxed);
    }

    /// Keeps no marks of files, as some file systems do.
    pub(crate) fn without_marks(self) -> Self {
        self.0.faults.markless.store(true, Ordering::Relaxed);
        self
    }

    /// Loses power: of what was not synced, `keep` chooses the sectors that are on the medium all the same,
    /// by path and number. To be called when no file is open.
    pub(crate) fn lose_power(&self, mut keep: impl FnMut(&Path, usize) -> bool) {
        self.tear(|path, number| if keep(path, number) { SECTOR } else { 0 });
    }

    /// Loses power as [`Self::lose_power`] does; `keep` chooses how many bytes of a sector are on the medium.
    pub(crate) fn tear(&self, mut keep: impl FnMut(&Path, usize) -> usize) {
        for (path, contents) in &*self.files() {
            let mut bytes = contents.bytes();
            let Bytes { now, durable, .. } = &mut *bytes;
            let mut left = durable.clone();
            left.resize(now.len().max(durable.len()), 0);
            for (number, sector) in now.chunks(SECTOR).enumerate() {
                let at = number * SECTOR;
                if left[at..at + sector.len()] != *sector {
                    let kept = keep(path, number).min(sector.len());
                    left[at..at + kept].copy_from_slice(&sector[..kept]);
                }
            }
            *now = left.clone();
            *durable = left;
        }
    }

    /// Returns a copy of all files, of which nothing is locked.
    pub(crate) fn copy(&self) -> Self {
        let copy = FaultyStorage::default();
        for (path, contents) in &*self.files() {
            let bytes = Mutex::new(contents.bytes().clone());
            let contents = Contents { bytes, locked: AtomicBool::new(false) };
            copy.files().insert(path.clone(), Arc::new(contents));
        }
        copy
    }

    /// Copies a file over from another storage, or removes it if it is not there.
    pub(crate) fn take(&self, other: &Self, path: &Path) {
        match other.copy().files().get(path) {
            Some(contents) => self.files().insert(path.to_owned(), Arc::clone(contents)),
            None => self.files().remove(path),
        };
    }

    /// Changes what a file holds.
    pub(crate) fn change(&self, path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        let contents = Arc::clone(&self.files()[path]);
        let mut bytes = contents.bytes();
        change(&mut bytes.now);
        bytes.durable = bytes.now.clone();
    }

    /// Makes a file that holds these bytes.
    pub(crate) fn write(&self, path: &Path, bytes: &[u8]) {
        self.files().insert(path.to_owned(), Arc::default());
        self.change(path, |now| now.extend_from_slice(bytes));
    }

    /// Returns the names of all files.
    pub(crate) fn names(&self) -> Vec<PathBuf> {
        self.files().keys().cloned().collect()
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Arc<Contents>>> {
        self.0.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self, path: &Path, lock: bool) -> File {
        let contents = Arc::clone(self.files().entry(path.to_owned()).or_default());
        File { contents, faults: Arc::clone(&self.0.faults), path: path.to_owned(), lock }
    }
}

impl Storage for FaultyStorage {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn StorageFile>> {
        self.0.faults.check(path, Operation::Open)?;
        Ok(Arc::new(self.file(path, false)))
    }

    fn open_locked(&self, path: &Path) -> io::Result<Arc<dyn StorageFile>> {
        self.0.faults.check(path, Operation::Open)?;
        let mut file = self.file(path, false);
        if file.contents.locked.swap(true, Ordering::Relaxed) {
            return Err(io::Error::other("another process serves this file"));
        }
        file.lock = true;
        Ok(Arc::new(file))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Write + Send>> {
        self.0.faults.check(path, Operation::Create)?;
        let file = self.file(path, false);
        file.contents.bytes().now.clear();
        Ok(Box::new(Appending(file)))
    }

    fn exists(&self, path: &Path) -> bool {
        self.files().contains_key(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.faults.check(from, Operation::Rename)?;
        let mut files = self.files();
        let contents = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.insert(to.to_owned(), contents);
        drop(files);
        // As the sync of the folder: this fails when the new name is there already.
        self.0.faults.check(to, Operation::Rename)
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
    contents: Arc<Contents>,
    faults: Arc<Faults>,
    path: PathBuf,
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
    fn check(&self, operation: Operation) -> io::Result<()> {
        self.faults.check(&self.path, operation)
    }
}

impl StorageFile for File {
    fn len(&self) -> io::Result<u64> {
        Ok(self.contents.bytes().now.len() as u64)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.check(Operation::Resize)?;
        self.contents.bytes().now.resize(length as usize, 0);
        Ok(())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.check(Operation::Read)?;
        let bytes = self.contents.bytes();
        let range = offset as usize..offset as usize + buffer.len();
        buffer.copy_from_slice(bytes.now.get(range).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.check(Operation::Write)?;
        let mut bytes = self.contents.bytes();
        let end = offset as usize + data.len();
        if end as u64 > bytes.allocated {
            self.faults.take_space(data.len() as u64)?;
        }
        if bytes.now.len() < end {
            bytes.now.resize(end, 0);
        }
        bytes.now[offset as usize..end].copy_from_slice(data);
        Ok(())
    }

    fn punch_hole(&self, offset: u64, length: u64) -> io::Result<()> {
        self.check(Operation::Punch)?;
        let mut bytes = self.contents.bytes();
        let end = bytes.now.len().min((offset + length) as usize);
        if let Some(hole) = bytes.now.get_mut(offset as usize..end) {
            hole.fill(0);
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.check(Operation::Sync)?;
        let mut bytes = self.contents.bytes();
        bytes.durable = bytes.now.clone();
        Ok(())
    }

    fn allocate(&self, offset: u64, length: u64) -> io::Result<()> {
        self.check(Operation::Allocate)?;
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
        self.check(Operation::Read)?;
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
