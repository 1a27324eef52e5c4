//! The log in its file: two headers, and segments of frames.
//!
//! Each header is in its own sector, and each new header replaces the older of the two. A header contains the first
//! valid epoch. Each use of a segment has its own epoch, which increments by one from segment to segment and is part of
//! each check, so remains of an earlier use are never taken for frames.

use std::io;
use std::sync::Arc;

use wafer_nvme::crc32c;

use crate::ATOMIC;
use crate::journal_file::JournalFile;

const MAGIC: [u8; 8] = *b"WAFERWLG";
/// Bytes of a header.
const HEADER: usize = 32;
/// Bytes from one header to the next, and from the second to the segments: a sector.
pub(super) const SECTOR: u64 = 512;
/// Bytes of the region before the segments.
const SEGMENTS: u64 = 2 * SECTOR;
/// Bytes of a frame before its data: check, kind, offset and length.
pub(crate) const FRAME: usize = 24;
pub(super) const WRITE: u32 = 1;
/// Kind of a frame that zeroes a range.
pub(super) const ZEROES: u32 = 2;
/// Longest segment, bytes. The contents of two segments are kept in memory.
const SEGMENT: u64 = 16 << 20;
/// Exclusive upper limit of epochs and header numbers.
const MOST: u64 = 1 << 62;
/// Minimum number of segments.
const FEWEST: u64 = 4;

/// Reads a little-endian number of `N` bytes.
fn number<const N: usize>(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + N].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

pub(super) fn damaged() -> io::Error {
    io::Error::other("its write log is damaged; put the drive's journal back")
}

/// Returns the check of a frame, which covers everything after it and the position of the frame.
fn check(epoch: u64, at: u64, frame: &[u8]) -> u32 {
    let mut place = [0; 20];
    place[..8].copy_from_slice(&epoch.to_le_bytes());
    place[8..16].copy_from_slice(&at.to_le_bytes());
    place[16..].copy_from_slice(&crc32c(&frame[4..]).to_le_bytes());
    crc32c(&place)
}

/// A header.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Header {
    /// Number of the header; the greater one is current.
    pub(super) sequence: u64,
    /// First valid epoch.
    pub(super) first: u64,
}

/// A frame.
pub(super) struct Frame<'a> {
    pub(super) kind: u32,
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) data: &'a [u8],
}

/// The part of a file that belongs to a log.
pub(super) struct Region {
    pub(super) file: Arc<JournalFile>,
    base: u64,
    /// Number of segments.
    pub(super) segments: u64,
    /// Room for frames in a segment, in bytes.
    pub(super) capacity: u64,
}

impl Region {
    /// Divides `length` bytes of a file, starting at `base`, into segments.
    ///
    /// # Errors
    /// They are too few: the longest frame has to fit in an empty segment.
    pub(super) fn new(file: Arc<JournalFile>, base: u64, length: u64) -> io::Result<Self> {
        let length = length.checked_sub(SEGMENTS).ok_or_else(damaged)?;
        let segments = (length / SEGMENT).max(FEWEST);
        let capacity = length / segments / SECTOR * SECTOR;
        if capacity < ATOMIC + FRAME as u64 {
            return Err(damaged());
        }
        Ok(Region { file, base, segments, capacity })
    }

    /// Reads the current header, or `None` if the region was never used.
    ///
    /// # Errors
    /// The medium fails, or neither header is valid.
    pub(super) fn header(&self) -> io::Result<Option<Header>> {
        let mut headers = [0; SEGMENTS as usize];
        self.file.read_at(&mut headers, self.base)?;
        let whole = headers.chunks(SECTOR as usize).filter(|header| {
            header[..8] == MAGIC && number::<4>(header, 28) == u64::from(crc32c(&header[..28]))
        });
        let found = whole.map(|header| Header {
            sequence: number::<8>(header, 8),
            first: number::<8>(header, 16),
        });
        let last = found.max_by_key(|header| header.sequence);
        // A drive never reaches these numbers, so the header is not its own.
        let is_own = |header: &Header| header.sequence.max(header.first) < MOST;
        if !last.as_ref().map_or_else(|| headers.iter().all(|byte| *byte == 0), is_own) {
            return Err(damaged());
        }
        Ok(last)
    }

    /// Writes a header in place of the older one, durably.
    ///
    /// # Errors
    /// The medium fails. Either header may then be current.
    pub(super) fn write_header(&self, header: Header, failures: u64) -> io::Result<()> {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&header.sequence.to_le_bytes());
        bytes[16..24].copy_from_slice(&header.first.to_le_bytes());
        let check = crc32c(&bytes[..28]);
        bytes[28..].copy_from_slice(&check.to_le_bytes());
        self.file.write_at(&bytes, self.base + header.sequence % 2 * SECTOR)?;
        self.file.sync_since(failures)
    }

    fn place(&self, epoch: u64) -> u64 {
        self.base + SEGMENTS + epoch % self.segments * self.capacity
    }

    /// Assembles a frame in `buffer` and writes it to the segment of an epoch, at offset `at`.
    ///
    /// # Errors
    /// The medium fails.
    pub(super) fn write_frame(
        &self,
        buffer: &mut Vec<u8>,
        (epoch, at): (u64, u64),
        frame: &Frame<'_>,
    ) -> io::Result<()> {
        buffer.clear();
        buffer.extend_from_slice(&[0; 4]);
        buffer.extend_from_slice(&frame.kind.to_le_bytes());
        buffer.extend_from_slice(&frame.offset.to_le_bytes());
        buffer.extend_from_slice(&frame.length.to_le_bytes());
        buffer.extend_from_slice(frame.data);
        let check = check(epoch, at, buffer);
        buffer[..4].copy_from_slice(&check.to_le_bytes());
        self.file.write_at(buffer, self.place(epoch) + at)
    }

    /// Reads the frames of an epoch up to the first torn one.
    ///
    /// # Errors
    /// The medium fails, `take` fails, or a frame has an unknown kind.
    pub(super) fn read_frames(
        &self,
        epoch: u64,
        mut take: impl FnMut(Frame<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let (mut at, mut frame) = (0, Vec::new());
        while self.capacity - at >= FRAME as u64 {
            frame.resize(FRAME, 0);
            self.file.read_at(&mut frame, self.place(epoch) + at)?;
            let kind = number::<4>(&frame, 4) as u32;
            let (offset, length) = (number::<8>(&frame, 8), number::<8>(&frame, 16));
            let data = if kind == WRITE { length } else { 0 };
            if data > ATOMIC.min(self.capacity - at - FRAME as u64) {
                return Ok(());
            }
            frame.resize(FRAME + data as usize, 0);
            self.file.read_at(&mut frame[FRAME..], self.place(epoch) + at + FRAME as u64)?;
            if number::<4>(&frame, 0) != u64::from(check(epoch, at, &frame)) {
                return Ok(());
            }
            let end = offset.checked_add(length);
            if ![WRITE, ZEROES].contains(&kind) || length == 0 || end.is_none() {
                return Err(damaged());
            }
            take(Frame { kind, offset, length, data: &frame[FRAME..] })?;
            at += frame.len() as u64;
        }
        Ok(())
    }

    /// Rewrites the first `used` bytes of an epoch: after a failed sync, a later one would not write them.
    ///
    /// # Errors
    /// The medium fails.
    pub(super) fn write_again(&self, epoch: u64, used: u64) -> io::Result<()> {
        let mut piece = vec![0; used.min(1 << 20) as usize];
        for at in (0..used).step_by(piece.len().max(1)) {
            let count = (used - at).min(piece.len() as u64) as usize;
            self.file.read_at(&mut piece[..count], self.place(epoch) + at)?;
            self.file.write_at(&piece[..count], self.place(epoch) + at)?;
        }
        Ok(())
    }

    /// Overwrites all segments, durably.
    ///
    /// # Errors
    /// The medium fails.
    pub(super) fn erase(&self) -> io::Result<()> {
        let end = self.segments * self.capacity;
        let zeroes = vec![0; end.min(1 << 20) as usize];
        for at in (0..end).step_by(zeroes.len()) {
            let count = (end - at).min(zeroes.len() as u64) as usize;
            self.file.write_at(&zeroes[..count], self.base + SEGMENTS + at)?;
        }
        self.file.sync().map(|_| ())
    }
}
