//! A note for the next server: a sync of the data file was started and is not known to have succeeded.
//!
//! After a failed sync, the system considers dirty data written, and no later sync writes it. A server that is then
//! killed, or cannot start, may be unable to report that. Therefore the note is made before each sync, and withdrawn
//! after a successful one. It is a byte in the journal file, and never synced: a power loss that loses it also loses
//! what was not durable.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::journal_file::JournalFile;

/// The note at a position in a file.
pub struct SyncNote {
    file: Arc<JournalFile>,
    at: u64,
    /// Whether it was left by an earlier server whose data has not been rewritten yet.
    inherited: AtomicBool,
}

impl SyncNote {
    /// Reads the note at a position in the file.
    ///
    /// # Errors
    /// The medium fails.
    pub fn open(file: Arc<JournalFile>, at: u64) -> io::Result<Self> {
        let mut note = [0];
        file.read_at(&mut note, at)?;
        Ok(SyncNote { file, at, inherited: AtomicBool::new(note != [0]) })
    }

    /// Returns whether an earlier server left the note, so that everything since its last checkpoint has to be
    /// rewritten.
    pub(super) fn is_inherited(&self) -> bool {
        self.inherited.load(Ordering::Acquire)
    }

    /// Records that all data has been rewritten, so that the next successful sync withdraws the note.
    pub(super) fn written_again(&self) {
        self.inherited.store(false, Ordering::Release);
    }

    /// Makes the note.
    ///
    /// # Errors
    /// The medium fails; the sync must not begin.
    pub(super) fn make(&self) -> io::Result<()> {
        self.file.write_at(&[1], self.at)
    }

    /// Withdraws the note.
    ///
    /// # Errors
    /// The medium fails, and the next server rewrites more than necessary.
    pub(super) fn withdraw(&self) -> io::Result<()> {
        if self.is_inherited() { Ok(()) } else { self.file.write_at(&[0], self.at) }
    }
}
