//! Reading a capture.

use std::io::{BufRead as _, BufReader, ErrorKind, Read};

use zerocopy::FromBytes as _;

use super::record::{Decoder, Raw};
use super::{CaptureError, CaptureHeader, CaptureRecord, MAGIC, MAX_HEADER, RECORD_BYTES, VERSION};

/// Reads a capture: an iterator of records.
///
/// A truncated file yields all records of its whole frames and then ends; [`Self::is_truncated`] then returns true.
pub struct CaptureReader<R: Read> {
    header: CaptureHeader,
    records: zstd::stream::read::Decoder<'static, BufReader<R>>,
    decoder: Decoder,
    buffer: Vec<u8>,
    /// Number of bytes of the buffer that hold records, and number of those that were taken.
    filled: usize,
    taken: usize,
    truncated: bool,
    done: bool,
}

/// Bytes of records decompressed at once.
const BUFFER: usize = 4096 * RECORD_BYTES;

impl<R: Read> CaptureReader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// The input is not a capture of this version, or cannot be read.
    pub fn new(mut input: R) -> Result<Self, CaptureError> {
        let mut fixed = [0; 16];
        input.read_exact(&mut fixed).map_err(|e| match e.kind() {
            ErrorKind::UnexpectedEof => CaptureError::NotACapture,
            _ => CaptureError::Io(e),
        })?;
        if fixed[..8] != MAGIC {
            return Err(CaptureError::NotACapture);
        }
        let version = u16::from_le_bytes([fixed[8], fixed[9]]);
        if version != VERSION {
            return Err(CaptureError::Version(version));
        }
        let length = u32::from_le_bytes([fixed[12], fixed[13], fixed[14], fixed[15]]);
        if length > MAX_HEADER {
            return Err(CaptureError::Header(format!("{length} bytes of JSON")));
        }
        let mut json = Vec::new();
        let read = input.by_ref().take(u64::from(length)).read_to_end(&mut json)?;
        if read < length as usize {
            return Err(CaptureError::Header("the file ends in it".to_owned()));
        }
        let header =
            serde_json::from_slice(&json).map_err(|e| CaptureError::Header(one_line(&e)))?;
        let mut input = BufReader::with_capacity(1 << 17, input);
        // Without a command there is no frame, and the file is not truncated.
        let done = input.fill_buf()?.is_empty();
        Ok(CaptureReader {
            header,
            records: zstd::stream::read::Decoder::with_buffer(input)?,
            decoder: Decoder::default(),
            buffer: vec![0; BUFFER],
            filled: 0,
            taken: 0,
            truncated: false,
            done,
        })
    }

    /// Returns the header.
    pub fn header(&self) -> &CaptureHeader {
        &self.header
    }

    /// Reports whether the file was truncated; known once the iterator has ended.
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    fn next_record(&mut self) -> Result<Option<CaptureRecord>, CaptureError> {
        loop {
            if self.filled - self.taken < RECORD_BYTES && !self.refill()? {
                return Ok(None);
            }
            let bytes = &self.buffer[self.taken..self.taken + RECORD_BYTES];
            let raw = Raw::read_from_bytes(bytes).expect("as many bytes as a record has");
            self.taken += RECORD_BYTES;
            if let Some(record) = self.decoder.decode(&raw)? {
                return Ok(Some(record));
            }
        }
    }

    /// Decompresses until there is a whole record; returns false at the end.
    fn refill(&mut self) -> Result<bool, CaptureError> {
        self.buffer.copy_within(self.taken..self.filled, 0);
        self.filled -= self.taken;
        self.taken = 0;
        while self.filled < RECORD_BYTES {
            match self.records.read(&mut self.buffer[self.filled..]) {
                Ok(0) => {
                    self.truncated |= self.filled > 0;
                    return Ok(false);
                }
                Ok(count) => self.filled += count,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::UnexpectedEof => {
                    self.truncated = true;
                    return Ok(false);
                }
                Err(e) => return Err(e.into()),
            }
        }
        Ok(true)
    }
}

impl<R: Read> Iterator for CaptureReader<R> {
    type Item = Result<CaptureRecord, CaptureError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let next = self.next_record().transpose();
        self.done = !matches!(next, Some(Ok(_)));
        next
    }
}

/// Escapes line breaks and other control characters in an error, which may quote the file.
fn one_line(error: &impl ToString) -> String {
    let escape = |c: char| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    error.to_string().chars().map(escape).collect()
}
