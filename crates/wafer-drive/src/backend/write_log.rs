//! The write log: what makes writes to a file atomic. It has a region of the journal's file to itself.
//!
//! A write of at most [`ATOMIC`] bytes goes to the log, as one frame with a check, and to memory, where reads find it.
//! The data file gets it when the log is full, the drive is saved, or it ends, and only after the log is durable. So
//! neither a kill nor a loss of power leaves a part of such a write: its frame is whole and replaces what the data
//! file has, or the data file still has what was there before.
//!
//! Longer writes and deallocation go to the data file at once. What the log has for their range it then has anew: a
//! frame that said no more than that it is obsolete might survive a loss of power that the data file does not, and
//! bring back what was there before both.
//!
//! The region begins with two headers in sectors of their own, written in turn. Each time the log has been emptied its
//! epoch, which is part of each check, increments: what earlier epochs left is not mistaken for a frame.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

use wafer_nvme::crc32c;

use super::ATOMIC;
use crate::journal_file::JournalFile;
use crate::storage::StorageFile;

const MAGIC: [u8; 8] = *b"WAFERWLG";
/// Bytes of a header.
const HEADER: usize = 32;
/// Bytes from one header to the next, and from the second to the frames: a sector.
const SECTOR: u64 = 512;
/// Bytes of the region before the frames.
const FRAMES: u64 = 2 * SECTOR;
/// Bytes of a frame before its data: check, kind, offset and length.
const FRAME: usize = 24;
const WRITE: u32 = 1;
/// Whatever the log has for a range is zeroes now.
const ZEROES: u32 = 2;
/// How often a read begins again before it keeps others from changing what it reads.
const ATTEMPTS: u32 = 3;

/// The log of a data file. `state` is locked after `in_place`.
pub(crate) struct WriteLog {
    file: Arc<JournalFile>,
    /// Where the region begins in the file.
    base: u64,
    /// Bytes of frames that fit.
    capacity: u64,
    state: RwLock<State>,
    /// Shared by operations on the data file; exclusive while the log is emptied into it.
    in_place: RwLock<()>,
    /// Syncs of the file that had failed when the log was emptied last.
    failures: AtomicU64,
}

#[derive(Default)]
struct State {
    epoch: u64,
    /// Bytes of frames in this epoch.
    used: u64,
    /// Whether the headers in the file may be those of a later epoch: then its frames would not count.
    torn: bool,
    /// Counts how often something left `pending`: a read that saw the data file before looks again.
    version: u64,
    /// What the data file has yet to get, by offset. No two pieces overlap.
    pending: BTreeMap<u64, Vec<u8>>,
    /// The frame being assembled, kept for its memory.
    buffer: Vec<u8>,
}

/// Reads a little-endian number of `N` bytes.
fn number<const N: usize>(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + N].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn damaged() -> io::Error {
    io::Error::other("its write log is damaged; put the drive's journal back")
}

/// Returns the check of a frame, computed over everything behind it and over its place.
fn check(epoch: u64, at: u64, frame: &[u8]) -> u32 {
    let mut place = [0; 20];
    place[..8].copy_from_slice(&epoch.to_le_bytes());
    place[8..16].copy_from_slice(&at.to_le_bytes());
    place[16..].copy_from_slice(&crc32c(&frame[4..]).to_le_bytes());
    crc32c(&place)
}

impl State {
    /// Removes a range from what is pending.
    fn cut(&mut self, from: u64, end: u64) {
        while let Some((&begin, data)) = self.pending.range(..end).next_back()
            && begin + data.len() as u64 > from
        {
            let Some(mut data) = self.pending.remove(&begin) else { return };
            if begin + data.len() as u64 > end {
                self.pending.insert(end, data.split_off((end - begin) as usize));
            }
            if begin < from {
                data.truncate((from - begin) as usize);
                self.pending.insert(begin, data);
            }
            self.version += 1;
        }
    }

    fn put(&mut self, offset: u64, data: &[u8]) {
        if let Some(same) = self.pending.get_mut(&offset)
            && same.len() == data.len()
        {
            same.copy_from_slice(data);
            return;
        }
        self.cut(offset, offset + data.len() as u64);
        self.pending.insert(offset, data.to_vec());
    }

    /// Copies what is pending of a range over `buffer`.
    fn patch(&self, offset: u64, buffer: &mut [u8]) {
        let end = offset + buffer.len() as u64;
        for (&begin, data) in self.pending.range(..end).rev() {
            let (from, until) = (begin.max(offset), end.min(begin + data.len() as u64));
            if from >= until {
                return;
            }
            let source = &data[(from - begin) as usize..(until - begin) as usize];
            buffer[(from - offset) as usize..(until - offset) as usize].copy_from_slice(source);
        }
    }

    /// Returns the parts of a range that are pending: begin and end.
    fn overlaps(&self, from: u64, end: u64) -> Vec<(u64, u64)> {
        let pieces = self.pending.range(..end).rev();
        let pieces = pieces.map(|(begin, data)| (*begin, begin + data.len() as u64));
        let parts = pieces.take_while(|(_, until)| *until > from);
        parts.map(|(begin, until)| (begin.max(from), until.min(end))).collect()
    }

    /// Makes what is pending of a range zeroes.
    fn clear(&mut self, from: u64, end: u64) {
        for (from, end) in self.overlaps(from, end) {
            self.put(from, &vec![0; (end - from) as usize]);
        }
    }
}

impl WriteLog {
    /// Reads the log in `length` bytes of a file from `base`. Changes nothing; [`Self::begin`] follows.
    ///
    /// # Errors
    /// The medium fails, or the log is damaged.
    pub(crate) fn open(file: Arc<JournalFile>, base: u64, length: u64) -> io::Result<Self> {
        let mut headers = [0; FRAMES as usize];
        file.read_at(&mut headers, base)?;
        let epochs = headers.chunks(SECTOR as usize).filter_map(|header| {
            let intact =
                header[..8] == MAGIC && number::<4>(header, 28) == u64::from(crc32c(&header[..28]));
            intact.then(|| number::<8>(header, 8))
        });
        let epoch = epochs.max();
        if epoch.is_none() && headers.iter().any(|byte| *byte != 0) {
            return Err(damaged());
        }
        let state = State { epoch: epoch.unwrap_or(0), ..State::default() };
        // What is written has to fit once the log is empty.
        let capacity = length.checked_sub(FRAMES).filter(|capacity| *capacity >= 2 * ATOMIC);
        let capacity = capacity.ok_or_else(damaged)?;
        let log = WriteLog {
            file,
            base,
            capacity,
            state: state.into(),
            in_place: RwLock::new(()),
            failures: AtomicU64::new(0),
        };
        if epoch.is_some() {
            log.load()?;
        }
        Ok(log)
    }

    /// Takes what the frames say, up to the first torn one.
    fn load(&self) -> io::Result<()> {
        let mut state = self.state();
        let mut frame = Vec::new();
        loop {
            let (at, epoch) = (state.used, state.epoch);
            if self.capacity - at < FRAME as u64 {
                return Ok(());
            }
            frame.resize(FRAME, 0);
            self.file.read_at(&mut frame, self.base + FRAMES + at)?;
            let kind = number::<4>(&frame, 4) as u32;
            let (offset, length) = (number::<8>(&frame, 8), number::<8>(&frame, 16));
            let data = if kind == WRITE { length } else { 0 };
            if data > ATOMIC.min(self.capacity - at - FRAME as u64) {
                return Ok(());
            }
            frame.resize(FRAME + data as usize, 0);
            self.file.read_at(&mut frame[FRAME..], self.base + FRAMES + at + FRAME as u64)?;
            if number::<4>(&frame, 0) != u64::from(check(epoch, at, &frame)) {
                return Ok(());
            }
            let end = offset.checked_add(length).ok_or_else(damaged)?;
            match kind {
                WRITE => state.put(offset, &frame[FRAME..]),
                ZEROES => state.clear(offset, end),
                _ => return Err(damaged()),
            }
            state.used += frame.len() as u64;
        }
    }

    fn state(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes at most [`ATOMIC`] bytes to the log. Returns whether they fit; if not, it has to be emptied.
    ///
    /// # Errors
    /// The medium fails.
    pub(crate) fn write(&self, offset: u64, data: &[u8]) -> io::Result<bool> {
        let mut state = self.state();
        if !self.has_room(&state, FRAME + data.len()) {
            return Ok(false);
        }
        self.append(&mut state, WRITE, offset, data.len() as u64, data)?;
        state.put(offset, data);
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
        let mut frame = std::mem::take(&mut state.buffer);
        frame.clear();
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(&kind.to_le_bytes());
        frame.extend_from_slice(&offset.to_le_bytes());
        frame.extend_from_slice(&length.to_le_bytes());
        frame.extend_from_slice(data);
        let check = check(state.epoch, state.used, &frame);
        frame[..4].copy_from_slice(&check.to_le_bytes());
        let written = self.file.write_at(&frame, self.base + FRAMES + state.used);
        if written.is_ok() {
            state.used += frame.len() as u64;
        }
        state.buffer = frame;
        written
    }

    /// Reads from the data file, and what it has yet to get.
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

    /// Writes as [`Self::write`] does if `expected` is what a read finds now. Returns whether it is, or nothing if the log
    /// has to be emptied.
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
        // Longer operations, which have the data file to themselves, do not come between either.
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
        state.put(offset, data);
        Ok(Some(true))
    }

    /// Runs an operation that makes a range of the data file `data`, or zeroes, and takes that over for what the log has
    /// of the range. Returns whether the log has room for it; if not, it has to be emptied, and the operation to run again.
    ///
    /// # Errors
    /// The medium fails.
    pub(crate) fn in_place(
        &self,
        offset: u64,
        length: u64,
        data: Option<&[u8]>,
        operation: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<bool> {
        let _shared = self.in_place.read().unwrap_or_else(PoisonError::into_inner);
        operation()?;
        let mut state = self.state();
        let parts = state.overlaps(offset, offset + length);
        let Some(data) = data else {
            if parts.is_empty() {
                return Ok(true);
            }
            if !self.has_room(&state, FRAME) {
                return Ok(false);
            }
            self.append(&mut state, ZEROES, offset, length, &[])?;
            state.clear(offset, offset + length);
            return Ok(true);
        };
        let bytes = parts.iter().map(|(from, end)| FRAME + (end - from) as usize).sum();
        if !parts.is_empty() && !self.has_room(&state, bytes) {
            return Ok(false);
        }
        for (from, end) in parts {
            let part = &data[(from - offset) as usize..(end - offset) as usize];
            self.append(&mut state, WRITE, from, end - from, part)?;
            state.put(from, part);
        }
        Ok(true)
    }

    /// Returns whether the log takes so many bytes of frames.
    fn has_room(&self, state: &State, bytes: usize) -> bool {
        !state.torn && state.used + bytes as u64 <= self.capacity
    }

    /// Makes everything in the log survive a loss of power. Returns whether it does: after a sync that failed it may
    /// not, until the log has been emptied.
    ///
    /// # Errors
    /// The medium fails.
    pub(crate) fn sync(&self) -> io::Result<bool> {
        let failures = self.file.sync()?;
        Ok(self.failures.load(Ordering::Acquire) == failures)
    }

    /// Makes the log one of this process: what it holds goes to the data file.
    ///
    /// # Errors
    /// As [`Self::empty`].
    pub(crate) fn begin(
        &self,
        data: &dyn StorageFile,
        sync: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        let _exclusive = self.in_place.write().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.state();
        let end = state.pending.last_key_value().map_or(0, |(at, bytes)| at + bytes.len() as u64);
        if end > data.len()? {
            return Err(damaged());
        }
        self.move_to(data, &mut state, sync)
    }

    /// Moves everything to the data file, which `sync` makes durable, and empties the log.
    ///
    /// # Errors
    /// The medium fails, or is full. The log keeps what it has then.
    pub(crate) fn empty(
        &self,
        data: &dyn StorageFile,
        sync: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        let _exclusive = self.in_place.write().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.state();
        if state.used == 0 {
            return sync();
        }
        self.move_to(data, &mut state, sync)
    }

    /// Empties the log as [`Self::empty`] does, and overwrites what it held.
    ///
    /// # Errors
    /// As [`Self::empty`].
    pub(crate) fn erase(
        &self,
        data: &dyn StorageFile,
        sync: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        let _exclusive = self.in_place.write().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.state();
        self.move_to(data, &mut state, sync)?;
        let zeroes = vec![0; self.capacity.min(1 << 20) as usize];
        for at in (0..self.capacity).step_by(zeroes.len()) {
            let count = (self.capacity - at).min(zeroes.len() as u64) as usize;
            self.file.write_at(&zeroes[..count], self.base + FRAMES + at)?;
        }
        self.file.sync().map(|_| ())
    }

    fn move_to(
        &self,
        data: &dyn StorageFile,
        state: &mut State,
        sync: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        // Before the data file has a part of a write, the whole of it is durable here.
        let failures = self.file.failures();
        if failures != self.failures.load(Ordering::Acquire) {
            self.write_again(state.used)?;
        }
        self.file.sync_since(failures)?;
        for (offset, bytes) in &state.pending {
            if bytes.iter().all(|byte| *byte == 0) {
                data.punch_hole(*offset, bytes.len() as u64)?;
            } else {
                data.write_at(bytes, *offset)?;
            }
        }
        sync()?;
        let epoch = state.epoch + 1;
        if let Err(error) = self.write_header(epoch, failures) {
            // The next server must not find the new epoch while frames of this one follow: back to the header before.
            state.torn = self.remove_header(epoch).is_err();
            return Err(error);
        }
        state.torn = false;
        self.failures.store(failures, Ordering::Release);
        state.epoch = epoch;
        state.used = 0;
        state.version += 1;
        state.pending.clear();
        Ok(())
    }

    /// Writes all frames again: after a sync that failed, a later one would not write them.
    fn write_again(&self, used: u64) -> io::Result<()> {
        let mut piece = vec![0; used.min(1 << 20) as usize];
        for at in (0..used).step_by(piece.len().max(1)) {
            let count = (used - at).min(piece.len() as u64) as usize;
            let place = self.base + FRAMES + at;
            self.file.read_at(&mut piece[..count], place)?;
            self.file.write_at(&piece[..count], place)?;
        }
        Ok(())
    }

    /// Writes the header of an epoch in place of that of the last but one, durably.
    fn write_header(&self, epoch: u64, failures: u64) -> io::Result<()> {
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(&MAGIC);
        header[8..16].copy_from_slice(&epoch.to_le_bytes());
        let check = crc32c(&header[..28]);
        header[28..].copy_from_slice(&check.to_le_bytes());
        self.file.write_at(&header, self.base + epoch % 2 * SECTOR)?;
        self.file.sync_since(failures)
    }

    fn remove_header(&self, epoch: u64) -> io::Result<()> {
        self.file.write_at(&[0; HEADER], self.base + epoch % 2 * SECTOR)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::storage::{Files, Storage as _};

    const LENGTH: u64 = 1 << 18;

    fn open(folder: &Path, length: u64) -> io::Result<WriteLog> {
        let file = Files.open(&folder.join("log"))?;
        file.set_len(LENGTH)?;
        WriteLog::open(JournalFile::new(file), 0, length)
    }

    #[test]
    fn a_damaged_log_is_refused_and_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let data = Files.open(&folder.path().join("data")).unwrap();
        data.set_len(1 << 20).unwrap();
        let log = open(folder.path(), LENGTH).unwrap();
        log.begin(&*data, || Ok(())).unwrap();
        assert!(log.write(1 << 19, &[1; 512]).unwrap());
        drop(log);
        let refused = |length| open(folder.path(), length).err().unwrap().to_string();
        // No room for anything.
        for length in [0, FRAMES, FRAMES + ATOMIC] {
            assert!(refused(length).contains("damaged"), "{length}");
        }
        // What the log has lies beyond the data.
        data.set_len(1 << 19).unwrap();
        let log = open(folder.path(), LENGTH).unwrap();
        let error = log.begin(&*data, || Ok(())).unwrap_err();
        assert!(error.to_string().contains("damaged"), "{error}");
        assert_eq!(data.len().unwrap(), 1 << 19);
        // Neither header is whole; one is enough.
        let file = Files.open(&folder.path().join("log")).unwrap();
        file.write_at(&[1], 0).unwrap();
        open(folder.path(), LENGTH).unwrap();
        file.write_at(&[1], SECTOR).unwrap();
        assert!(refused(LENGTH).contains("damaged"));
    }
}
