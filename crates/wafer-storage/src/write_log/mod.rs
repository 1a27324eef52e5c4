//! The write log, which makes writes to a file atomic. It owns a region of the journal file.
//!
//! A write of at most [`ATOMIC`] bytes goes to the log, as one frame with a check, and to memory, where reads find it.
//! The data file gets it later, and only after the frame is durable. So neither a kill nor a power loss leaves part of
//! such a write: either its frame is complete and replaces the contents of the data file, or the data file still has
//! the earlier contents.
//!
//! The log has segments, which are filled one after another. A full segment is *applied*: it is synced, and its
//! contents are written to the data file. Applied segments are *released* together, once the data file is synced, and
//! filled again. Both are meant for a background task ([`WriteLog::on_work`]); a write that finds no room does them
//! itself.
//!
//! Short deallocations go to the log in the same way: a file system may write the dirty part of a range before punching
//! a hole, so neighbours wait to become one hole.
//!
//! Longer writes and deallocations go to the data file directly. The parts of their range that are in the log are
//! logged again with the new contents: a frame that only marked them obsolete might survive a power loss that the data
//! file does not, and bring back what was there before both.

mod pending;
mod region;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockWriteGuard};

use pending::{Pending, Piece, Ranges, unite};
pub(crate) use region::FRAME;
use region::{Frame, Header, Region, WRITE, ZEROES, damaged};

use super::ATOMIC;
use crate::files::StorageFile;
use crate::journal_file::JournalFile;

/// Attempts of a read before it excludes changes to what it reads.
const ATTEMPTS: u32 = 3;

/// Space that deallocation may leave to the log before a segment is applied, full or not, bytes.
const MOST_DEALLOCATED: u64 = 256 << 20;

/// Work on a write log that spares later writes from waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogWork {
    /// Moving a full segment to the data file.
    Apply,
    /// Syncing the data file, so that segments can be filled again.
    Release,
}

type Notify = Box<dyn Fn(LogWork) + Send + Sync>;

/// Syncs a data file.
type SyncData<'a> = &'a dyn Fn() -> io::Result<()>;

/// The log of a data file. Locks are taken in the order of the fields.
pub struct WriteLog {
    region: Region,
    /// Held while a segment is applied.
    applying: Mutex<()>,
    /// Held while segments are released.
    releasing: Mutex<Releasing>,
    /// Shared by operations on the data file; exclusive when applied data leaves memory.
    in_place: RwLock<()>,
    state: RwLock<State>,
    notify: OnceLock<Notify>,
}

#[derive(Default)]
struct Releasing {
    /// The durable header.
    header: Header,
    /// First epoch whose data may not be durable in the data file.
    synced: u64,
}

#[derive(Default)]
struct State {
    /// First epoch whose frames a new process would find.
    first: u64,
    /// The epoch being filled.
    epoch: u64,
    /// Bytes of its frames.
    used: u64,
    /// Failed syncs of the file when it began.
    failures: u64,
    /// Its contents.
    pending: Pending,
    /// Bytes deallocated in it.
    deallocated: u64,
    /// The previous epoch, until the data file has all of it.
    full: Option<Arc<Full>>,
    /// Epochs that the data file has but that are not released.
    applied: VecDeque<(u64, Ranges)>,
    /// Counts how often data left memory, so that a read that saw the data file before that retries.
    version: u64,
    /// The frame being assembled, kept to reuse its memory.
    buffer: Vec<u8>,
}

/// A full segment.
struct Full {
    epoch: u64,
    used: u64,
    failures: u64,
    pending: Pending,
}

impl State {
    /// Overwrites `buffer` with the parts of a range that the data file may lack.
    fn patch(&self, offset: u64, buffer: &mut [u8]) {
        if let Some(full) = &self.full {
            full.pending.patch(offset, buffer);
        }
        self.pending.patch(offset, buffer);
    }

    /// Returns the parts of a range for which a new process would find frames, ascending: start and end.
    fn in_log(&self, from: u64, end: u64) -> Vec<(u64, u64)> {
        let full = self.full.iter().flat_map(|full| full.pending.overlaps(from, end));
        let applied = self.applied.iter().flat_map(|(_, ranges)| ranges.overlaps(from, end));
        unite(self.pending.overlaps(from, end).chain(full).chain(applied).collect())
    }

    /// Returns the first epoch that has not been applied.
    fn unapplied(&self) -> u64 {
        self.full.as_ref().map_or(self.epoch, |full| full.epoch)
    }

    fn is_empty(&self) -> bool {
        self.used == 0 && self.full.is_none() && self.applied.is_empty()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl WriteLog {
    /// Opens the log in `length` bytes of a file from `base`, without changing it.
    ///
    /// # Errors
    /// The medium fails, or the log is damaged.
    pub fn open(file: Arc<JournalFile>, base: u64, length: u64) -> io::Result<Self> {
        let region = Region::new(file, base, length)?;
        let header = region.header()?.unwrap_or_default();
        Ok(WriteLog {
            region,
            applying: Mutex::default(),
            releasing: Releasing { header, synced: 0 }.into(),
            in_place: RwLock::default(),
            state: RwLock::default(),
            notify: OnceLock::new(),
        })
    }

    /// Has `notify` called whenever there is work. Only the first call has an effect.
    pub(crate) fn on_work(&self, notify: Notify) {
        let _ = self.notify.set(notify);
    }

    fn notify(&self, work: LogWork) {
        if let Some(notify) = self.notify.get() {
            notify(work);
        }
    }

    fn state(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes at most [`ATOMIC`] bytes to the log. Returns whether there is room; if not, call [`Self::make_room`].
    ///
    /// # Errors
    /// The medium fails.
    pub(crate) fn write(&self, offset: u64, data: &[u8]) -> io::Result<bool> {
        let mut state = self.state();
        if !self.has_room(&state, FRAME + data.len()) {
            return Ok(false);
        }
        self.append(&mut state, WRITE, offset, data.len() as u64, data)?;
        state.pending.put(offset, data);
        Ok(true)
    }

    /// Makes a range read as zeroes. Returns whether there is room; if not, call [`Self::make_room`].
    ///
    /// # Errors
    /// The medium fails.
    pub(crate) fn deallocate(&self, offset: u64, length: u64) -> io::Result<bool> {
        let mut state = self.state();
        if state.deallocated >= MOST_DEALLOCATED {
            // If the previous segment is not applied yet, continue with this one.
            self.begin_segment(&mut state);
        }
        if !self.has_room(&state, FRAME) {
            return Ok(false);
        }
        self.append(&mut state, ZEROES, offset, length, &[])?;
        state.pending.zero(offset, offset + length);
        state.deallocated += length;
        Ok(true)
    }

    fn append(
        &self,
        state: &mut State,
        kind: u32,
        offset: u64,
        length: u64,
        data: &[u8],
    ) -> io::Result<()> {
        let mut buffer = std::mem::take(&mut state.buffer);
        let frame = Frame { kind, offset, length, data };
        let written = self.region.write_frame(&mut buffer, (state.epoch, state.used), &frame);
        if written.is_ok() {
            state.used += buffer.len() as u64;
        }
        state.buffer = buffer;
        written
    }

    /// Reads from the data file and from what it has yet to receive.
    ///
    /// # Errors
    /// The medium fails.
    pub(crate) fn read(
        &self,
        data: &dyn StorageFile,
        offset: u64,
        buffer: &mut [u8],
    ) -> io::Result<()> {
        let shared = || self.state.read().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..ATTEMPTS {
            let version = shared().version;
            data.read_at(buffer, offset)?;
            let state = shared();
            if state.version == version {
                state.patch(offset, buffer);
                return Ok(());
            }
        }
        let state = shared();
        data.read_at(buffer, offset)?;
        state.patch(offset, buffer);
        Ok(())
    }

    /// Writes like [`Self::write`] if the current contents are `expected`. Returns whether they are, or `None` if there
    /// is no room.
    ///
    /// # Errors
    /// The medium fails.
    pub(crate) fn compare_and_write(
        &self,
        file: &dyn StorageFile,
        offset: u64,
        expected: &[u8],
        data: &[u8],
    ) -> io::Result<Option<bool>> {
        // This excludes longer operations, which write to the data file directly, too.
        let _exclusive = self.in_place.write().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.state();
        let mut found = vec![0; expected.len()];
        file.read_at(&mut found, offset)?;
        state.patch(offset, &mut found);
        if found != expected {
            return Ok(Some(false));
        }
        if !self.has_room(&state, FRAME + data.len()) {
            return Ok(None);
        }
        self.append(&mut state, WRITE, offset, data.len() as u64, data)?;
        state.pending.put(offset, data);
        Ok(Some(true))
    }

    /// Runs an operation that sets a range of the data file to `data` or zeroes, and logs that for the parts of the
    /// range that are in the log. If there is no room, returns the bytes it needs; the operation must then run again.
    ///
    /// # Errors
    /// The medium fails.
    pub(crate) fn in_place(
        &self,
        offset: u64,
        length: u64,
        data: Option<&[u8]>,
        operation: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<Option<usize>> {
        let _shared = self.in_place.read().unwrap_or_else(PoisonError::into_inner);
        operation()?;
        let mut state = self.state();
        let end = offset + length;
        let parts = state.in_log(offset, end);
        let bytes = |(from, end): &(u64, u64)| data.map_or(FRAME, |_| frames(end - from));
        let room = parts.iter().map(bytes).sum();
        if room > 0 && !self.has_room(&state, room) {
            return Ok(Some(room));
        }
        let Some(data) = data else {
            for (from, end) in parts {
                self.append(&mut state, ZEROES, from, end - from, &[])?;
                state.pending.zero(from, end);
            }
            return Ok(None);
        };
        for (from, end) in parts {
            let part = &data[(from - offset) as usize..(end - offset) as usize];
            for (at, piece) in (from..).step_by(ATOMIC as usize).zip(part.chunks(ATOMIC as usize)) {
                self.append(&mut state, WRITE, at, piece.len() as u64, piece)?;
                state.pending.put(at, piece);
            }
        }
        Ok(None)
    }

    /// Returns whether the segment has room for this many bytes of frames.
    fn has_room(&self, state: &State, bytes: usize) -> bool {
        state.used + bytes as u64 <= self.region.capacity
    }

    /// Makes everything in the log survive a power loss. Returns whether it does: after a failed sync it may not, until
    /// the log has been emptied.
    ///
    /// # Errors
    /// The medium fails.
    pub(crate) fn sync(&self) -> io::Result<bool> {
        let failures = self.region.file.sync()?;
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let full = state.full.as_ref().is_none_or(|full| full.failures == failures);
        Ok(full && state.failures == failures)
    }

    /// Starts using the log in this process, by moving its contents to the data file.
    ///
    /// # Errors
    /// The medium fails, or the log is damaged; nothing has changed then.
    pub(crate) fn begin(&self, data: &dyn StorageFile, sync: SyncData<'_>) -> io::Result<()> {
        let mut releasing = locked(&self.releasing);
        let first = releasing.header.first;
        let (mut pending, next) = (Pending::default(), first + self.region.segments);
        for epoch in first..next {
            self.region.read_frames(epoch, |frame| {
                if frame.kind == WRITE {
                    pending.put(frame.offset, frame.data);
                } else {
                    pending.zero(frame.offset, frame.offset + frame.length);
                }
                Ok(())
            })?;
        }
        if pending.end() > data.len()? {
            return Err(damaged());
        }
        let failures = self.region.file.failures();
        self.region.file.sync_since(failures)?;
        write(data, &pending)?;
        sync()?;
        self.write_header(&mut releasing, next)?;
        let mut state = self.state();
        (state.first, state.epoch, state.failures) = (next, next, failures);
        Ok(())
    }

    fn write_header(&self, releasing: &mut Releasing, first: u64) -> io::Result<()> {
        let header = Header { sequence: releasing.header.sequence + 1, first };
        self.region.write_header(header, self.region.file.failures())?;
        *releasing = Releasing { header, synced: first };
        Ok(())
    }

    /// Begins the next segment unless this one has room for this many bytes of frames. Returns whether there is room.
    fn turn(&self, bytes: usize) -> bool {
        let mut state = self.state();
        self.has_room(&state, bytes) || self.begin_segment(&mut state)
    }

    /// Begins the next segment. Returns false if there is none, or if the previous one is not applied.
    fn begin_segment(&self, state: &mut State) -> bool {
        let live = state.epoch - state.first + 1;
        if state.full.is_some() || live >= self.region.segments {
            return false;
        }
        let full = Full {
            epoch: state.epoch,
            used: std::mem::take(&mut state.used),
            failures: state.failures,
            pending: std::mem::take(&mut state.pending),
        };
        state.full = Some(full.into());
        state.deallocated = 0;
        state.epoch += 1;
        state.failures = self.region.file.failures();
        self.notify(LogWork::Apply);
        true
    }

    /// Waits for or makes room for this many bytes of frames. Another write may take it before the caller does.
    ///
    /// # Errors
    /// The medium fails or is full. The log then keeps its contents.
    pub(crate) fn make_room(
        &self,
        data: &dyn StorageFile,
        bytes: usize,
        sync: SyncData<'_>,
    ) -> io::Result<()> {
        if bytes as u64 > self.region.capacity {
            return self.empty(data, sync);
        }
        if self.turn(bytes) {
            return Ok(());
        }
        self.apply(data)?;
        if !self.turn(bytes) {
            self.release(sync)?;
            self.turn(bytes);
        }
        Ok(())
    }

    /// Applies the full segment, if there is one.
    ///
    /// # Errors
    /// The medium fails or is full. The log then keeps its contents.
    pub(crate) fn apply(&self, data: &dyn StorageFile) -> io::Result<()> {
        let _applying = locked(&self.applying);
        let full = self.state.read().unwrap_or_else(PoisonError::into_inner).full.clone();
        let Some(full) = full else { return Ok(()) };
        // A write must be entirely durable here before the data file has any part of it.
        let failures = self.region.file.failures();
        if failures != full.failures {
            self.region.write_again(full.epoch, full.used)?;
        }
        self.region.file.sync_since(failures)?;
        write(data, &full.pending)?;
        let ranges = full.pending.ranges();
        // Exclude a longer operation that changed the data file before this did and still has to find its range in the
        // log.
        let exclusive = self.in_place.write().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.state();
        state.applied.push_back((full.epoch, ranges));
        state.full = None;
        state.version += 1;
        let due = state.applied.len() as u64 >= self.region.segments / 2;
        drop((state, exclusive));
        if due {
            self.notify(LogWork::Release);
        }
        Ok(())
    }

    /// Releases the applied segments.
    ///
    /// # Errors
    /// The medium fails. The next attempt syncs only what was not synced before.
    pub(crate) fn release(&self, sync: SyncData<'_>) -> io::Result<()> {
        let mut releasing = locked(&self.releasing);
        let until = self.state.read().unwrap_or_else(PoisonError::into_inner).unapplied();
        if until == releasing.header.first {
            return Ok(());
        }
        if releasing.synced < until {
            sync()?;
            releasing.synced = until;
        }
        self.write_header(&mut releasing, until)?;
        let mut state = self.state();
        state.first = until;
        while state.applied.front().is_some_and(|(epoch, _)| *epoch < until) {
            state.applied.pop_front();
        }
        Ok(())
    }

    /// Moves everything written so far to the data file, which `sync` makes durable, and empties the log.
    ///
    /// # Errors
    /// The medium fails or is full. The log then keeps its contents.
    pub(crate) fn empty(&self, data: &dyn StorageFile, sync: SyncData<'_>) -> io::Result<()> {
        let end = {
            let state = self.state();
            if state.is_empty() {
                drop(state);
                return sync();
            }
            if state.used > 0 { state.epoch + 1 } else { state.epoch }
        };
        loop {
            self.apply(data)?;
            let mut state = self.state();
            if state.unapplied() >= end {
                break;
            }
            let begun = self.begin_segment(&mut state);
            drop(state);
            if !begun {
                self.release(sync)?;
            }
        }
        self.release(sync)
    }

    /// Empties the log like [`Self::empty`], and overwrites its contents.
    ///
    /// # Errors
    /// As [`Self::empty`].
    pub(crate) fn erase(&self, data: &dyn StorageFile, sync: SyncData<'_>) -> io::Result<()> {
        loop {
            self.empty(data, sync)?;
            let state = self.state();
            if state.is_empty() {
                return self.region.erase();
            }
        }
    }
}

/// Returns the size of the frames for a range of data.
fn frames(length: u64) -> usize {
    length as usize + length.div_ceil(ATOMIC) as usize * FRAME
}

/// Writes pending data to the data file.
fn write(file: &dyn StorageFile, pending: &Pending) -> io::Result<()> {
    for (offset, piece) in pending.pieces() {
        match piece {
            Piece::Data(data) if data.iter().any(|byte| *byte != 0) => {
                file.write_at(data, offset)?
            }
            Piece::Data(data) => file.punch_hole(offset, data.len() as u64)?,
            Piece::Zeroes(length) => file.punch_hole(offset, *length)?,
        }
    }
    Ok(())
}
