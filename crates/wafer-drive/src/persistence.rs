//! The files of a drive, kept next to its data file, and when they are written.
//!
//! `FILE.state` is a checkpoint (`checkpoint.rs`): the device, its namespaces and its counters at one moment.
//! `FILE.journal` (`wafer-journal`) holds everything that happened since. The device is deterministic, so replaying the
//! journal on the checkpoint (`resume.rs`) restores the drive after a kill.
//!
//! Each file holds the drive's UUID. Checkpoint and journal also hold their generation, which each checkpoint
//! increments. A checkpoint writes, in this order: the mark of the data file (UUID and generation, if the file system
//! supports extended attributes), the state under a temporary name, its final name, the header of the journal, and a
//! mark that the journal has begun. A kill between any two steps leaves files that still belong together:
//!
//! | file | generation, if the checkpoint in the state file is *g* |
//! |---|---|
//! | mark of the data | *g*, or *g* + 1 before the next state has its final name |
//! | journal | *g*, or an earlier one that the state lists as superseded |
//!
//! A drive whose creation is incomplete has a journal of generation 0 and no state; opening it creates it anew.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wafer_interface::Command;
use wafer_journal::{Ending, Journal, Transferred};
use wafer_nvme::Status;

use super::change::Change;
use super::manage::uuid;
use super::{Drive, DriveError, Environment, Inner, Life, Namespace};
use wafer_storage::JournalFile;
use wafer_storage::{Storage, StorageFile};
use wafer_storage::{SyncNote, WriteLog};

/// Limits of the journal size. Within them it is as large as the map, because a checkpoint writes the map.
const JOURNAL_BYTES: std::ops::RangeInclusive<u64> = 4 << 20..=1 << 30;
/// Limits of the write log size, which is otherwise 1/32 of the drive. The larger it is, the more rarely the data file
/// is synced.
const LOG_BYTES: std::ops::RangeInclusive<u64> = 1 << 20..=256 << 20;

/// The files of a drive.
pub(super) struct Persistence {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) data: PathBuf,
    pub(super) journal: Journal,
    /// UUID of the drive.
    pub(super) uuid: [u8; 16],
    /// The newest checkpoint that the state file may hold.
    pub(super) generation: u64,
    /// The generation of the journal; older than `generation` if its header could not be written.
    pub(super) begun: u64,
    /// Whether the journal can take no more records before the next checkpoint.
    stuck: bool,
    /// The SMART values in the files, as far as no command changes them.
    recorded: Life,
    /// For a drive that is being created: the files to remove if that fails.
    leavings: Option<Vec<PathBuf>>,
}

/// Returns the file names of a drive: data, state, next state, journal.
pub(super) fn files(data: &Path) -> [PathBuf; 4] {
    ["", ".state", ".state.new", ".journal"].map(|extension| {
        let mut name = data.as_os_str().to_owned();
        name.push(extension);
        name.into()
    })
}

/// Removes the files of a drive that could not be created.
pub(super) fn discard(storage: &dyn Storage, names: &[PathBuf]) {
    for name in names {
        if storage.exists(name) {
            let _ = storage.remove(name);
        }
    }
}

impl Persistence {
    /// Opens the files of a drive, or creates those of a new one. Also returns the data file, which is locked.
    ///
    /// # Errors
    /// A file is missing or does not belong to a drive, in which case nothing is left behind, or it cannot be used.
    pub(super) fn open(
        environment: &Environment,
        data: &Path,
        logical_pages: u64,
    ) -> Result<(Arc<dyn StorageFile>, Self), DriveError> {
        let storage = &environment.storage;
        let names = files(data);
        let [_, state, _, journal] = &names;
        let missing = |file: &Path| {
            let reason = "this file of the drive is missing; put it back, or move the drive's other files away \
                          to make a new drive";
            DriveError::State { path: file.display().to_string(), reason: reason.to_owned() }
        };
        let (has_state, has_journal) = (storage.exists(state), storage.exists(journal));
        let existed = storage.exists(data);
        if !existed && (has_state || has_journal) {
            return Err(missing(data));
        }
        let file = storage.open_locked(data).map_err(|e| DriveError::io(data, e))?;
        let empty = file.is_empty().map_err(|e| DriveError::io(data, e))?;
        if has_state && !has_journal {
            return Err(missing(journal));
        }
        if !has_state && !has_journal && !empty {
            let reason = "the file has data but no drive state next to it; move it away";
            let path = data.display().to_string();
            return Err(DriveError::State { path, reason: reason.to_owned() });
        }
        if has_journal {
            let opened = storage.open(journal).map(JournalFile::new).and_then(Journal::open);
            match opened.map_err(|e| DriveError::io(journal, e))? {
                Ok(opened) if has_state => {
                    let files = Self::new(storage, data, opened, None);
                    return Ok((file, files));
                }
                Ok(opened) if opened.header().generation > 0 => return Err(missing(state)),
                Err(reason) if has_state || !empty => {
                    let path = journal.display().to_string();
                    let reason = format!("{reason}; put the drive's journal back");
                    return Err(DriveError::State { path, reason });
                }
                // A server was killed while creating the drive.
                _ => {}
            }
        }
        let bytes = (logical_pages * 4).clamp(*JOURNAL_BYTES.start(), *JOURNAL_BYTES.end());
        let log = (logical_pages * 128).clamp(*LOG_BYTES.start(), *LOG_BYTES.end());
        let drive = uuid(&*environment.random);
        let made = storage
            .open(journal)
            .and_then(|file| Journal::create(JournalFile::new(file), drive, bytes, log));
        // Keep a data file with contents, whoever owns it.
        let leavings = names[usize::from(!empty)..].to_vec();
        match made {
            Ok(made) => Ok((file, Self::new(storage, data, made, Some(leavings)))),
            Err(error) => {
                discard(&**storage, &leavings);
                Err(DriveError::io(journal, error))
            }
        }
    }

    fn new(
        storage: &Arc<dyn Storage>,
        data: &Path,
        journal: Journal,
        leavings: Option<Vec<PathBuf>>,
    ) -> Self {
        Persistence {
            storage: Arc::clone(storage),
            data: data.to_owned(),
            uuid: journal.header().drive,
            generation: 0,
            begun: 0,
            journal,
            stuck: false,
            recorded: Life::default(),
            leavings,
        }
    }

    /// Opens the write log and the sync note without changing them.
    ///
    /// # Errors
    /// They cannot be read or are damaged. A drive that is being created leaves no files behind then.
    pub(super) fn write_log(&self) -> Result<(WriteLog, SyncNote), DriveError> {
        let note = self.journal.sync_note();
        note.and_then(|note| Ok((self.journal.write_log()?, note))).map_err(|error| {
            discard(&*self.storage, &self.leavings());
            DriveError::io(&files(&self.data)[3], error)
        })
    }

    /// Returns whether the drive is being created.
    pub(super) fn is_new(&self) -> bool {
        self.leavings.is_some()
    }

    /// Returns the files to remove if the drive cannot be created.
    pub(super) fn leavings(&self) -> Vec<PathBuf> {
        self.leavings.clone().unwrap_or_default()
    }
}

impl Drive {
    /// Saves a new drive in its files.
    pub(super) fn keep(&self, files: Persistence) -> Result<(), DriveError> {
        let [_, state, _, journal] = self::files(&files.data);
        let mut inner = self.lock();
        if let Some(data) = self.backend.data_file() {
            data.begin().map_err(|error| DriveError::io(&journal, error))?;
            // Nothing has been written yet, whatever the journal's file held.
            data.written_again();
        }
        inner.persistence = Some(files);
        self.checkpoint(&mut inner).map_err(|error| DriveError::io(&state, error))
    }

    /// Writes a checkpoint and restarts the journal. On success the drive is healthy again.
    pub(super) fn checkpoint(&self, inner: &mut Inner) -> io::Result<()> {
        let Some(mut files) = inner.persistence.take() else { return Ok(()) };
        let result = self.write_checkpoint(inner, &mut files);
        // Records of a generation older than the state would be ignored.
        let stuck = files.generation > files.begun;
        if let Ok(life) = &result {
            files.recorded = *life;
            files.stuck = false;
            files.leavings = None;
        }
        inner.persistence = Some(files);
        match result {
            Ok(_) => {
                inner.frozen = None;
                self.set_health(inner, super::Health::Saved);
                Ok(())
            }
            Err(error) => {
                self.fail(inner, &error, stuck);
                Err(error)
            }
        }
    }

    /// Makes a change durable before it takes effect, after a checkpoint if the journal has no room.
    ///
    /// # Errors
    /// `WRITE_FAULT`: the drive cannot be saved, and the change must not take effect.
    pub(crate) fn commit(
        &self,
        inner: &mut Inner,
        change: &Change<&Namespace>,
    ) -> Result<(), Status> {
        if inner.persistence.is_none() {
            return Ok(());
        }
        self.try_commit(inner, change).map_err(|_| Status::WRITE_FAULT)
    }

    fn try_commit(&self, inner: &mut Inner, change: &Change<&Namespace>) -> io::Result<()> {
        inner.check_durable()?;
        if let Change::Create(_) | Change::Format { .. } = change {
            // Sync the size of the data file, and the holes of earlier namespaces.
            self.sync_data(inner)?;
        }
        self.make_room(inner, |journal| journal.prepare(change))?;
        let Some(files) = &mut inner.persistence else { return Ok(()) };
        let before = files.journal.used();
        let written = files.journal.append().and_then(|()| files.journal.sync());
        if let Err(error) = &written {
            let stuck = files.journal.retract(before).is_err();
            self.fail(inner, error, stuck);
        }
        written
    }

    /// Adds a change that has already happened to the journal. Returns whether that worked.
    pub(crate) fn note(&self, inner: &mut Inner, change: &Change<&Namespace>) -> bool {
        self.add(inner, |journal| journal.prepare(change), Journal::append)
    }

    /// Adds a batch of commands to the journal, if the drive has one.
    ///
    /// # Errors
    /// `WRITE_FAULT`: it could not be added. After a restart, the commands would be unknown, and their data would not
    /// be rewritten if it failed to reach the medium.
    pub(crate) fn journal_batch(
        &self,
        inner: &mut Inner,
        timestamp: (u64, u8),
        transferred: Transferred,
        commands: &[Command],
    ) -> Result<(), Status> {
        let added = self.add(
            inner,
            |journal| Ok(journal.has_room(commands.len())),
            |journal| journal.batch(timestamp, transferred, commands),
        );
        if added || inner.persistence.is_none() { Ok(()) } else { Err(Status::WRITE_FAULT) }
    }

    /// Adds a frame to the journal unless it is stuck; if that fails, it is. Returns whether the frame was added.
    fn add(
        &self,
        inner: &mut Inner,
        fits: impl Fn(&mut Journal) -> io::Result<bool>,
        append: impl FnOnce(&mut Journal) -> io::Result<()>,
    ) -> bool {
        if inner.persistence.as_ref().is_none_or(|files| files.stuck) {
            return false;
        }
        let room = self.make_room(inner, fits);
        let added = room.and_then(|()| match &mut inner.persistence {
            Some(files) => append(&mut files.journal),
            None => Ok(()),
        });
        if let Err(error) = &added {
            self.fail(inner, error, true);
        }
        added.is_ok()
    }

    /// Makes room for a frame in the journal, with a checkpoint if necessary.
    fn make_room(
        &self,
        inner: &mut Inner,
        fits: impl Fn(&mut Journal) -> io::Result<bool>,
    ) -> io::Result<()> {
        let fits = |inner: &mut Inner| {
            inner.persistence.as_mut().map_or(Ok(true), |files| fits(&mut files.journal))
        };
        if fits(inner)? {
            return Ok(());
        }
        self.checkpoint(inner)?;
        match fits(inner)? {
            true => Ok(()),
            false => Err(io::Error::other("larger than the journal")),
        }
    }

    /// Makes all records of the journal survive a power loss.
    pub(crate) fn sync_journal(&self, inner: &mut Inner) -> io::Result<()> {
        let Some(files) = &inner.persistence else { return Ok(()) };
        let synced = files.journal.sync();
        synced.inspect_err(|error| self.fail(inner, error, false))
    }

    /// Makes all data survive a power loss, under the lock.
    pub(crate) fn sync_data(&self, inner: &mut Inner) -> io::Result<()> {
        self.backend.flush().inspect_err(|error| self.fail(inner, error, false))
    }
}

impl Inner {
    /// Returns the UUID of a drive with files.
    pub(crate) fn drive_uuid(&self) -> Option<[u8; 16]> {
        self.persistence.as_ref().map(|files| files.uuid)
    }

    /// Returns whether the journal can take no more records before the next checkpoint.
    pub(crate) fn is_stuck(&self) -> bool {
        self.persistence.as_ref().is_some_and(|files| files.stuck)
    }

    pub(crate) fn set_stuck(&mut self) {
        if let Some(files) = &mut self.persistence {
            files.stuck = true;
        }
    }

    /// Returns the SMART values in the files, as far as no command changes them.
    pub(crate) fn recorded_life(&self) -> Option<Life> {
        self.persistence.as_ref().map(|files| files.recorded)
    }

    pub(crate) fn set_recorded_life(&mut self, life: Life) {
        if let Some(files) = &mut self.persistence {
            files.recorded = life;
        }
    }

    /// Records for the next server that the data file failed to sync. If this fails too, that server detects an unsafe
    /// shutdown.
    pub(crate) fn record_loss(&mut self) {
        if let Some(files) = &mut self.persistence {
            let _ = files.journal.end(Ending::DataLost);
        }
    }

    /// Records for the next server that the drive is saved.
    pub(crate) fn end_persistence(&mut self) -> io::Result<()> {
        self.persistence.as_mut().map_or(Ok(()), |files| files.journal.end(Ending::Clean))
    }
}
