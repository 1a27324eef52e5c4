//! The file shared by the journal and the write log, with a record of its failed syncs.
//!
//! After a failed sync, the system may consider dirty data written, and later syncs succeed. Whichever part requested
//! the sync, the medium may then lack frames of both. Therefore the file counts failed syncs: a successful sync covers
//! only what was written since the last failed one.

use std::io;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::files::StorageFile;

/// The file of a journal.
pub struct JournalFile {
    file: Arc<dyn StorageFile>,
    /// Number of failed syncs.
    failures: AtomicU64,
    /// Held during a sync, because the system reports a failure only once.
    syncing: Mutex<()>,
}

impl JournalFile {
    /// Creates a journal file from an open file, without failed syncs.
    pub fn new(file: Arc<dyn StorageFile>) -> Arc<Self> {
        Arc::new(JournalFile { file, failures: AtomicU64::new(0), syncing: Mutex::new(()) })
    }

    /// Returns the number of failed syncs.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Acquire)
    }

    /// Makes everything written since the last failed sync survive a power loss, and returns the number of failures.
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

    /// Makes everything written since the count of failures was `since` survive a power loss.
    ///
    /// # Errors
    /// The medium fails, or a sync has failed since then.
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
