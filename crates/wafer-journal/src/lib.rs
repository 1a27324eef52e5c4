//! The journal: everything that happened to a drive since its last checkpoint, in a preallocated file.
//!
//! A header of 64 bytes holds the drive's UUID, the generation and the capacity. The write log of `wafer-storage`
//! begins at the next sector. Frames follow: length, check, payload. A frame holds a batch of commands or one change of
//! the drive. It is written with a single write before any of its completions, so it survives a kill of the process.
//! The frames before the last [`Journal::sync`] also survive a power loss. The check covers the payload, its position
//! and the generation: reading stops at the first torn frame, and remains of an earlier generation are never taken for
//! frames.
//!
//! The crate stores changes as JSON and does not know what they are.

use std::io;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use wafer_interface::{Command, NsId, Op, Placement};
use wafer_nvme::crc32c;
use wafer_storage::{JournalFile, SyncNote, WriteLog};

const MAGIC: [u8; 8] = *b"WAFERJNL";
const VERSION: u32 = 4;
const HEADER: usize = 64;
/// Start of the write log.
const LOG: u64 = 512;
/// Position of the sync note, between the header and the log.
const NOTE: u64 = HEADER as u64;
/// Bytes of length and check, before a payload.
const FRAME: usize = 8;
/// Bytes of a batch, before its commands.
const BATCH: usize = 24;
const COMMAND: usize = 16;
/// Maximum number of commands per frame.
pub const MAX_COMMANDS: usize = 1 << 16;
/// Maximum bytes of a payload.
const MAX_PAYLOAD: usize = BATCH + MAX_COMMANDS * COMMAND;
/// Bytes read at a time.
const PIECE: u64 = 4 << 20;

/// How the last server of a journal ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It did not shut down cleanly.
    Killed = 0,
    /// It saved the drive.
    Clean = 1,
    /// Its data file failed to sync.
    DataLost = 2,
}

/// The header of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// UUID of the drive.
    pub drive: [u8; 16],
    /// The checkpoint that the frames follow; 0 before the first checkpoint.
    pub generation: u64,
    /// How the last server ended.
    pub ending: Ending,
    /// Room for frames, in bytes.
    capacity: u64,
    /// Size of the write log, in bytes.
    log: u64,
}

impl Header {
    /// Returns the offset of the first frame in the file.
    fn frames(&self) -> u64 {
        LOG + self.log
    }

    fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12] = self.ending as u8;
        bytes[16..32].copy_from_slice(&self.drive);
        bytes[32..40].copy_from_slice(&self.generation.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.capacity.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.log.to_le_bytes());
        let check = crc32c(&bytes[..60]);
        bytes[60..].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    /// Decodes the header of a journal in a file of `length` bytes.
    fn decode(bytes: &[u8; HEADER], length: u64) -> Result<Self, &'static str> {
        if bytes[..8] != MAGIC {
            return Err("not the journal of a drive");
        }
        if number::<4>(bytes, 8) != u64::from(VERSION) {
            return Err("written by another version of wafer");
        }
        if number::<4>(bytes, 60) != u64::from(crc32c(&bytes[..60])) {
            return Err("damaged");
        }
        let ending = match bytes[12] {
            0 => Ending::Killed,
            1 => Ending::Clean,
            2 => Ending::DataLost,
            _ => return Err("damaged"),
        };
        let mut drive = [0; 16];
        drive.copy_from_slice(&bytes[16..32]);
        let (generation, capacity) = (number::<8>(bytes, 32), number::<8>(bytes, 40));
        let log = number::<8>(bytes, 48);
        let end = capacity.checked_add(LOG).and_then(|end| end.checked_add(log));
        if end.is_none_or(|end| end > length) {
            return Err("truncated");
        }
        Ok(Header { drive, generation, ending, capacity, log })
    }
}

/// Reads a little-endian number of `N` bytes.
fn number<const N: usize>(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + N].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Numbers of data transfer commands, which SMART counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transferred {
    /// Read and compare commands.
    pub reads: u64,
    /// Write commands.
    pub writes: u64,
}

impl Transferred {
    /// Counts commands.
    pub fn by(commands: &[Command]) -> Self {
        let count = |op| commands.iter().filter(|command| command.op == op).count() as u64;
        Transferred { reads: count(Op::Read), writes: count(Op::Write) }
    }
}

/// One entry of a journal; `C` is a change of the drive other than commands of the device.
pub enum Entry<C> {
    /// Commands that completed together.
    Batch {
        /// The Timestamp feature at that time: milliseconds and attributes.
        timestamp: (u64, u8),
        /// The data transfer commands among those that hosts sent.
        transferred: Transferred,
        /// The commands of the device, in order.
        commands: Vec<Command>,
    },
    /// A change.
    Change(Box<C>),
}

/// An open journal.
pub struct Journal {
    file: Arc<JournalFile>,
    header: Header,
    /// Failed syncs of the file when this generation began.
    failures: u64,
    /// Bytes of frames written in this generation.
    used: u64,
    /// The frame being assembled, kept to reuse its memory.
    buffer: Vec<u8>,
}

impl Journal {
    /// Creates a journal without a checkpoint, with room for `capacity` bytes of frames and `log` bytes of write log.
    pub fn create(
        file: Arc<JournalFile>,
        drive: [u8; 16],
        capacity: u64,
        log: u64,
    ) -> io::Result<Self> {
        let header = Header { drive, generation: 0, ending: Ending::Killed, capacity, log };
        // The file may hold the journal of a drive whose creation was interrupted.
        file.set_len(0)?;
        file.allocate(0, header.frames() + capacity)?;
        let mut journal = Journal { file, header, failures: 0, used: 0, buffer: Vec::new() };
        journal.write_header(header)?;
        Ok(journal)
    }

    /// Opens a journal. The inner error is the reason why the file is not a journal.
    pub fn open(file: Arc<JournalFile>) -> io::Result<Result<Self, &'static str>> {
        let length = file.len()?;
        if length < HEADER as u64 {
            return Ok(Err(if length == 0 { "empty" } else { "truncated" }));
        }
        let mut bytes = [0; HEADER];
        file.read_at(&mut bytes, 0)?;
        let header = Header::decode(&bytes, length);
        Ok(header.map(|header| Journal { file, header, failures: 0, used: 0, buffer: Vec::new() }))
    }

    /// Opens the write log without changing it.
    pub fn write_log(&self) -> io::Result<WriteLog> {
        WriteLog::open(Arc::clone(&self.file), LOG, self.header.log)
    }

    /// Reads the sync note of the data file.
    pub fn sync_note(&self) -> io::Result<SyncNote> {
        SyncNote::open(Arc::clone(&self.file), NOTE)
    }

    /// Returns the header.
    pub fn header(&self) -> Header {
        self.header
    }

    /// Begins a generation, without frames.
    pub fn begin(&mut self, generation: u64) -> io::Result<()> {
        let header = Header { generation, ending: Ending::Killed, ..self.header };
        self.failures = self.write_header(header)?;
        self.used = 0;
        Ok(())
    }

    /// Stores the header again. The last server may have written it without being able to sync it, so that a power loss
    /// would bring back an older one.
    pub fn confirm(&mut self) -> io::Result<()> {
        self.write_header(self.header).map(|_| ())
    }

    /// Stores how the server ended.
    pub fn end(&mut self, ending: Ending) -> io::Result<()> {
        self.write_header(Header { ending, ..self.header }).map(|_| ())
    }

    /// Stores a header durably and returns the number of syncs that had failed before.
    fn write_header(&mut self, header: Header) -> io::Result<u64> {
        let failures = self.file.failures();
        self.file.write_at(&header.encode(), 0)?;
        self.file.sync_since(failures)?;
        self.header = header;
        Ok(failures)
    }

    /// Returns whether a batch of this many commands still fits.
    pub fn has_room(&self, commands: usize) -> bool {
        self.fits(BATCH + commands * COMMAND)
    }

    fn fits(&self, payload: usize) -> bool {
        self.header.capacity - self.used >= (FRAME + payload) as u64
    }

    /// Writes a batch of at most [`MAX_COMMANDS`] commands, for which there must be room.
    pub fn batch(
        &mut self,
        timestamp: (u64, u8),
        transferred: Transferred,
        commands: &[Command],
    ) -> io::Result<()> {
        let most = |count: u64| u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes();
        self.buffer.clear();
        self.buffer.extend_from_slice(&[0; FRAME]);
        self.buffer.extend_from_slice(&[0, timestamp.1, 0, 0, 0, 0, 0, 0]);
        self.buffer.extend_from_slice(&timestamp.0.to_le_bytes());
        self.buffer.extend_from_slice(&most(transferred.reads));
        self.buffer.extend_from_slice(&most(transferred.writes));
        for command in commands {
            self.buffer.extend_from_slice(&command.lba.to_le_bytes());
            self.buffer.extend_from_slice(&command.blocks.to_le_bytes());
            self.buffer.extend_from_slice(&command.placement.0.to_le_bytes());
            self.buffer.extend_from_slice(&[command.op as u8, command.namespace.0]);
        }
        self.append()
    }

    /// Assembles the frame of a change and returns whether it fits.
    pub fn prepare(&mut self, change: &impl Serialize) -> io::Result<bool> {
        self.buffer.clear();
        self.buffer.extend_from_slice(&[0; FRAME]);
        self.buffer.push(1);
        serde_json::to_writer(&mut self.buffer, change)?;
        let payload = self.buffer.len() - FRAME;
        Ok(payload <= MAX_PAYLOAD && self.fits(payload))
    }

    /// Writes the prepared frame.
    pub fn append(&mut self) -> io::Result<()> {
        let payload = (self.buffer.len() - FRAME) as u32;
        let check = self.check(self.used, &self.buffer[FRAME..]);
        self.buffer[..4].copy_from_slice(&payload.to_le_bytes());
        self.buffer[4..FRAME].copy_from_slice(&check.to_le_bytes());
        self.file.write_at(&self.buffer, self.header.frames() + self.used)?;
        self.used += self.buffer.len() as u64;
        Ok(())
    }

    /// Returns the bytes of frames of this generation.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Removes the frames after the first `used` bytes.
    pub fn retract(&mut self, used: u64) -> io::Result<()> {
        self.used = used;
        self.file.write_at(&[0; FRAME], self.header.frames() + used)
    }

    fn check(&self, at: u64, payload: &[u8]) -> u32 {
        let mut place = [0; 24];
        place[..8].copy_from_slice(&self.header.generation.to_le_bytes());
        place[8..16].copy_from_slice(&at.to_le_bytes());
        place[16..20].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        place[20..].copy_from_slice(&crc32c(payload).to_le_bytes());
        crc32c(&place)
    }

    /// Returns a reader of the frames up to the first torn one.
    pub fn frames(&self) -> Frames<'_> {
        Frames { journal: self, at: 0, piece: Vec::new(), start: 0 }
    }

    /// Makes all frames survive a power loss.
    ///
    /// # Errors
    /// The medium fails, or a sync has failed in this generation, so a new generation has to begin.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_since(self.failures)
    }
}

/// Reads the frames of a journal, one piece of the file at a time.
pub struct Frames<'a> {
    journal: &'a Journal,
    /// Offset of the next frame from the first frame.
    at: u64,
    piece: Vec<u8>,
    /// Offset of the piece.
    start: u64,
}

impl Frames<'_> {
    /// Returns bytes at the position of the next frame, or `None` beyond the capacity.
    fn bytes(&mut self, count: usize) -> io::Result<Option<&[u8]>> {
        let (end, capacity) = (self.at + count as u64, self.journal.header.capacity);
        if end > capacity {
            return Ok(None);
        }
        if end > self.start + self.piece.len() as u64 {
            let length = PIECE.max(count as u64).min(capacity - self.at);
            self.piece.resize(length as usize, 0);
            self.start = self.at;
            let at = self.journal.header.frames() + self.start;
            self.journal.file.read_at(&mut self.piece, at)?;
        }
        let from = (self.at - self.start) as usize;
        Ok(self.piece.get(from..from + count))
    }

    /// Returns the next entry.
    pub fn next_entry<C: DeserializeOwned>(&mut self) -> io::Result<Option<Entry<C>>> {
        let Some(head) = self.bytes(FRAME)? else { return Ok(None) };
        let (length, check) = (number::<4>(head, 0) as usize, number::<4>(head, 4) as u32);
        if length == 0 || length > MAX_PAYLOAD {
            return Ok(None);
        }
        let at = self.at;
        let journal = self.journal;
        let Some(frame) = self.bytes(FRAME + length)? else { return Ok(None) };
        let payload = &frame[FRAME..];
        if journal.check(at, payload) != check {
            return Ok(None);
        }
        let entry = decode(payload)?;
        self.at += (FRAME + length) as u64;
        Ok(Some(entry))
    }

    /// Returns whether the frame that ended the reading is damaged, that is, followed by an intact one. A kill never
    /// causes that; a power loss may keep a later frame but not this one.
    pub fn is_damaged<C: DeserializeOwned>(&mut self) -> io::Result<bool> {
        let length = self.bytes(FRAME)?.map_or(0, |head| number::<4>(head, 0));
        self.at += FRAME as u64 + length;
        Ok(length <= MAX_PAYLOAD as u64 && self.next_entry::<C>()?.is_some())
    }
}

/// Decodes a payload whose check is correct.
fn decode<C: DeserializeOwned>(payload: &[u8]) -> io::Result<Entry<C>> {
    let damaged = || io::Error::other("damaged");
    match payload[0] {
        0 if payload.len() >= BATCH && (payload.len() - BATCH).is_multiple_of(COMMAND) => {
            let command = |bytes: &[u8]| {
                Some(Command {
                    lba: number::<8>(bytes, 0),
                    blocks: number::<4>(bytes, 8) as u32,
                    placement: Placement(number::<2>(bytes, 12) as u16),
                    op: Op::from_code(bytes[14])?,
                    namespace: NsId(bytes[15]),
                })
            };
            let commands: Option<Vec<Command>> =
                payload[BATCH..].chunks_exact(COMMAND).map(command).collect();
            Ok(Entry::Batch {
                timestamp: (number::<8>(payload, 8), payload[1]),
                transferred: Transferred {
                    reads: number::<4>(payload, 16),
                    writes: number::<4>(payload, 20),
                },
                commands: commands.ok_or_else(damaged)?,
            })
        }
        1 => Ok(Entry::Change(serde_json::from_slice(&payload[1..])?)),
        _ => Err(damaged()),
    }
}

#[cfg(test)]
mod tests;
