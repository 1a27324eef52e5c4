//! Writing a capture.

use std::io::{self, Write};

use super::record::encode;
use super::{CaptureHeader, CaptureRecord, MAGIC, VERSION};

/// Bytes of records in a frame.
const FRAME_BYTES: usize = 1 << 20;
/// The compression level of zstd: fast enough for recording, and within a few percent of the default level's size for
/// such records.
const LEVEL: i32 = 1;

/// Writes a capture, frame by frame.
///
/// Records are collected in memory until they fill a frame or until [`Self::flush`]. Dropping a writer loses records
/// that were not flushed; [`Self::finish`] does not.
pub struct CaptureWriter<W: Write> {
    out: W,
    pending: Vec<u8>,
    last_ns: u64,
    compressor: zstd::bulk::Compressor<'static>,
}

impl<W: Write> CaptureWriter<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// `out` cannot be written.
    pub fn new(out: W, header: &CaptureHeader) -> io::Result<Self> {
        Self::with_level(out, header, LEVEL)
    }

    /// Like [`Self::new`], with another compression level of zstd, from 1 (fastest) to 22.
    ///
    /// # Errors
    /// `out` cannot be written.
    pub fn with_level(mut out: W, header: &CaptureHeader, level: i32) -> io::Result<Self> {
        let json = serde_json::to_vec(header)?;
        out.write_all(&MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        out.write_all(&[0; 2])?;
        out.write_all(&(json.len() as u32).to_le_bytes())?;
        out.write_all(&json)?;
        out.flush()?;
        let mut compressor = zstd::bulk::Compressor::new(level)?;
        compressor.include_checksum(true)?;
        Ok(CaptureWriter { out, pending: Vec::with_capacity(FRAME_BYTES), last_ns: 0, compressor })
    }

    /// Adds a record.
    ///
    /// # Errors
    /// A frame is full and `out` cannot be written.
    pub fn record(&mut self, record: &CaptureRecord) -> io::Result<()> {
        encode(record, &mut self.last_ns, &mut self.pending);
        // A namespace's list of handles may make the frame a little longer.
        if self.pending.len() >= FRAME_BYTES { self.flush() } else { Ok(()) }
    }

    /// Ends the frame, so that the records so far survive whatever happens to the recorder.
    ///
    /// # Errors
    /// `out` cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let frame = self.compressor.compress(&self.pending)?;
        self.pending.clear();
        self.out.write_all(&frame)?;
        self.out.flush()
    }

    /// Ends the last frame and returns `out`.
    ///
    /// # Errors
    /// `out` cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush()?;
        Ok(self.out)
    }
}
