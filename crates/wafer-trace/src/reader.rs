//! A trace file as a stream of requests.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::decode::{Decoded, Decoder, Faults};
use super::error::TraceError;
use super::format::records;
use super::format::{FORMATS, Format, detect, foreign};
use super::input::{self, HEAD, Input};
use super::request::{Names, Request};

/// Bytes decoded at once: small enough for the cache, far longer than any record.
const CHUNK: usize = 256 << 10;

/// Reads a trace from its beginning, in pieces of bounded size.
pub struct TraceReader {
    path: PathBuf,
    format: Format,
    input: Box<dyn Read + Send>,
    decoder: Box<dyn Decoder>,
    buffer: Vec<u8>,
    /// The undecoded part of `buffer`.
    start: usize,
    end: usize,
    ended: bool,
    decoded: Decoded,
    /// The JSON header of a capture.
    header: Option<Vec<u8>>,
    /// Whether the file unpacks to more than the limit.
    too_large: bool,
}

impl TraceReader {
    /// Opens a trace: plain, gzip, zstd or xz. Without `format`, detects the format.
    ///
    /// # Errors
    /// If the file cannot be read, or its format is unknown.
    pub fn open(path: &Path, format: Option<Format>) -> Result<Self, TraceError> {
        let input = input::open(path).map_err(|source| TraceError::io(path, source))?;
        Self::from_input(path, input, format)
    }

    /// Like [`Self::open`], but reads `bytes`; messages name `path` as their source.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn from_bytes(
        path: &Path,
        bytes: Box<dyn Read + Send>,
        format: Option<Format>,
    ) -> Result<Self, TraceError> {
        let input = input::unpack(bytes).map_err(|source| TraceError::io(path, source))?;
        Self::from_input(path, input, format)
    }

    fn from_input(path: &Path, input: Input, format: Option<Format>) -> Result<Self, TraceError> {
        let Input { bytes: mut input, capture } = input;
        let mut buffer = vec![0; HEAD];
        let ended;
        let mut decoded = Decoded::default();
        let end = match fill(&mut input, &mut buffer) {
            Ok(end) => {
                ended = end < HEAD;
                end
            }
            Err((end, error)) if end > 0 => {
                ended = true;
                decoded.faults.add(0, damage(&error));
                end
            }
            Err((_, error)) => return Err(TraceError::io(path, error)),
        };
        // A byte order mark, as Windows editors put before text.
        let start = if buffer[..end].starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let head = &buffer[start..end];
        let (format, decoder): (Format, Box<dyn Decoder>) = match (&capture, format) {
            (Some(_), _) => (FORMATS[0], Box::new(records::Records::default())),
            (None, Some(format)) => (format, (format.decoder)(head)),
            (None, None) => {
                if let Some(what) = foreign(head) {
                    let error = io::Error::new(io::ErrorKind::InvalidData, what);
                    return Err(TraceError::io(path, error));
                }
                let format = detect(head).ok_or_else(|| {
                    let empty = head.trim_ascii().is_empty();
                    TraceError::Unknown { path: path.to_owned(), empty }
                })?;
                (format, (format.decoder)(head))
            }
        };
        Ok(TraceReader {
            path: path.to_owned(),
            format,
            input,
            decoder,
            buffer,
            start,
            end,
            ended,
            decoded,
            header: capture,
            too_large: false,
        })
    }

    /// Returns the path of the file, as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the names of volumes and processes seen so far.
    pub fn names(&self) -> &Names {
        &self.decoded.names
    }

    /// Returns the damaged records seen so far.
    pub fn faults(&self) -> &Faults {
        &self.decoded.faults
    }

    /// Returns the JSON header, if the trace is a capture.
    pub fn header(&self) -> Option<&[u8]> {
        self.header.as_deref()
    }

    /// Returns the reason for which the trace is not read to its end, if it is not damage.
    pub(super) fn refusal(&self) -> Option<String> {
        let ratio = input::RATIO;
        let reason =
            || format!("unpacks to more than {ratio} times its size; unpack it to read it");
        self.too_large.then(reason)
    }

    /// Returns messages on the first damaged records, each `FILE:LINE: reason`.
    pub fn messages(&self) -> Vec<String> {
        let path = self.path.display();
        let word = self.format.record;
        let told = |(position, reason): &(u64, &str)| match (word, position) {
            (_, 0) => format!("{path}: {reason}"),
            ("line", _) => format!("{path}:{position}: {reason}"),
            _ => format!("{path}: record {position}: {reason}"),
        };
        self.decoded.faults.first.iter().map(told).collect()
    }

    /// Appends the next requests to `out`; returns false at the end of the trace. A damaged file (truncated
    /// compression, a read error) ends there with a fault.
    pub fn read(&mut self, out: &mut Vec<Request>) -> bool {
        let before = out.len();
        std::mem::swap(&mut self.decoded.requests, out);
        while self.decoded.requests.len() == before {
            if self.start == self.end && self.ended {
                break;
            }
            let stop = self.end.min(self.start + CHUNK);
            let last = self.ended && stop == self.end;
            let input = &self.buffer[self.start..stop];
            let used = self.decoder.decode(input, last, &mut self.decoded).min(input.len());
            self.start += used;
            if last {
                if self.decoded.requests.len() == before {
                    self.start = self.end;
                }
            } else if used == 0 || self.start == self.end {
                self.more();
            }
        }
        std::mem::swap(&mut self.decoded.requests, out);
        out.len() > before
    }

    /// Reads more input after the undecoded part of the buffer.
    fn more(&mut self) {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        // A record longer than the chunk: make room to see all of it next time.
        if self.end >= CHUNK {
            self.buffer.resize(self.buffer.len().max(self.end + CHUNK), 0);
        }
        match fill(&mut self.input, &mut self.buffer[self.end..]) {
            Ok(0) => self.ended = true,
            Ok(more) => self.end += more,
            Err((more, error)) => {
                self.end += more;
                self.ended = true;
                self.too_large |= error.kind() == io::ErrorKind::FileTooLarge;
                self.decoded.faults.add(self.decoded.position + 1, damage(&error));
            }
        }
    }
}

impl std::fmt::Debug for TraceReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TraceReader")
            .field("path", &self.path)
            .field("format", &self.format)
            .finish()
    }
}

/// Returns why a file cannot be read to its end.
fn damage(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            "the file is cut off within its compression; what follows is lost"
        }
        io::ErrorKind::FileTooLarge => "the file unpacks to more than is read",
        _ => "the file cannot be read on from here (damaged compression?); what follows is lost",
    }
}

/// Reads until the buffer is full or the input ends. Returns the bytes read, even with an error.
fn fill(input: &mut dyn Read, buffer: &mut [u8]) -> Result<usize, (usize, io::Error)> {
    let mut at = 0;
    while at < buffer.len() {
        match input.read(&mut buffer[at..]) {
            Ok(0) => break,
            Ok(n) => at += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err((at, e)),
        }
    }
    Ok(at)
}
