//! The file of the journal, of which a part is the write log's: what both must know of its syncs.
//!
//! After a sync that failed, the system may take what it could not write for written, and later syncs succeed. Whoever
//! called for the sync, frames of both parts may be gone from the medium then. So the file counts the syncs that
//! failed: a sync that succeeds proves something only of what was written since the last one that failed.

use std::io;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::files::StorageFile;

/// The file of a journal.
pub struct JournalFile {
    file: Arc<dyn StorageFile>,
    /// Syncs that failed.
    failures: AtomicU64,
    /// Held during a sync: the system reports a failure only once.
    syncing: Mutex<()>,
}

impl JournalFile {
    /// Creates the file of a journal of one that is open, without syncs that failed.
    pub fn new(file: Arc<dyn StorageFile>) -> Arc<Self> {
        Arc::new(JournalFile { file, failures: AtomicU64::new(0), syncing: Mutex::new(()) })
    }

    /// Returns the number of syncs that failed.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Acquire)
    }

    /// Makes everything written since the last sync that failed survive a power loss, and returns how many failed.
    ///
    /// # Errors
    /// The medium fails.
    pub(crate) fn sync(&self) -> io::Result<u64> {
        let _syncing = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |_: &io::Error| {
            self.failures.fetch_add(1, Ordering::AcqRel);
        };
        self.file.sync().inspect_err(failed)?;
        Ok(self.failures())
    }

    /// Makes everything written since there were `since` failures survive a power loss.
    ///
    /// # Errors
    /// The medium fails, or a sync failed since.
    pub fn sync_since(&self, since: u64) -> io::Result<()> {
        if self.sync()? == since {
            return Ok(());
        }
        Err(io::Error::other("an earlier sync of the journal failed"))
    }
}

impl Deref for JournalFile {
    type Target = dyn StorageFile;

    fn deref(&self) -> &Self::Target {
        &*self.file
    }
}
