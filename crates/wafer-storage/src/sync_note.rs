//! A note for the next server: a sync of the data file began, and is not known to have succeeded.
//!
//! After a sync that failed, the system takes what it could not write for written, and no later sync would write it.
//! Whoever is killed then, or cannot start, may not get to say so. So the note is made before each sync, and withdrawn
//! after one that succeeded. It is a byte in the file of the journal, and never synced: a power loss, which may
//! take it, also takes what was not durable.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::journal_file::JournalFile;

/// The note, at its place in a file.
pub struct SyncNote {
    file: Arc<JournalFile>,
    at: u64,
    /// Whether it stands since an earlier server, whose data has not been written again yet.
    inherited: AtomicBool,
}

impl SyncNote {
    /// Reads the note at a place of the file.
    ///
    /// # Errors
    /// The medium fails.
    pub fn open(file: Arc<JournalFile>, at: u64) -> io::Result<Self> {
        let mut note = [0];
        file.read_at(&mut note, at)?;
        Ok(SyncNote { file, at, inherited: AtomicBool::new(note != [0]) })
    }

    /// Returns whether an earlier server left the note: what it wrote since its last checkpoint has to be written again.
    pub(super) fn is_inherited(&self) -> bool {
        self.inherited.load(Ordering::Acquire)
    }

    /// Lets the next sync that succeeds withdraw the note: all data was written again.
    pub(super) fn written_again(&self) {
        self.inherited.store(false, Ordering::Release);
    }

    /// Creates the note.
    ///
    /// # Errors
    /// The medium fails; the sync must not begin.
    pub(super) fn make(&self) -> io::Result<()> {
        self.file.write_at(&[1], self.at)
    }

    /// Withdraws the note.
    ///
    /// # Errors
    /// The medium fails; the next server writes more again than it has to.
    pub(super) fn withdraw(&self) -> io::Result<()> {
        if self.is_inherited() { Ok(()) } else { self.file.write_at(&[0], self.at) }
    }
}
