//! From bytes to requests: the interface of all formats, and the part that line formats share.

use wafer_interface::Op;

use super::request::{Names, Request};

/// Decoded requests, names and faults.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    pub(crate) requests: Vec<Request>,
    pub(crate) names: Names,
    pub(crate) faults: Faults,
    /// Number of lines or records passed so far, excluding the current one.
    pub(crate) position: u64,
}

/// A decoder of one format.
pub(crate) trait Decoder: Send {
    /// Decodes whole records from the start of `input` and returns the number of bytes consumed. The rest is
    /// passed again, followed by more input unless `last` is set. If `last` is set and a call decodes no
    /// request, the bytes it leaves are not passed again.
    fn decode(&mut self, input: &[u8], last: bool, out: &mut Decoded) -> usize;
}

/// Damaged records: all are counted, and the first few are kept.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Number of damaged records.
    pub count: u64,
    /// The first ones: line or record number from 1, and the reason.
    pub first: Vec<(u64, &'static str)>,
}

/// Number of faults that are kept.
const KEPT: usize = 8;

impl Faults {
    /// Records a damaged record.
    #[cold]
    pub(crate) fn add(&mut self, position: u64, reason: &'static str) {
        self.count += 1;
        if self.first.len() < KEPT {
            self.first.push((position, reason));
        }
    }
}

/// The result of a line: a request, nothing of interest, or an error.
pub(crate) type Parsed = Result<Option<Request>, &'static str>;

/// A line-based format.
pub(crate) trait LineFormat: Send {
    /// Parses one line without its line end; never an empty line or a comment (`#`).
    fn line(&mut self, line: &[u8], names: &mut Names) -> Parsed;
}

/// A line-based format in which one line can be several requests.
pub(crate) trait LineRequests: Send {
    /// Parses one line like [`LineFormat::line`], and appends its requests to `out`.
    fn requests(
        &mut self,
        line: &[u8],
        names: &mut Names,
        out: &mut Vec<Request>,
    ) -> Result<(), &'static str>;
}

impl<F: LineFormat> LineRequests for F {
    #[inline]
    fn requests(
        &mut self,
        line: &[u8],
        names: &mut Names,
        out: &mut Vec<Request>,
    ) -> Result<(), &'static str> {
        out.extend(self.line(line, names)?);
        Ok(())
    }
}

/// Maximum length of a line; longer ones are damaged.
pub(crate) const LONGEST_LINE: usize = 64 << 10;

/// Number of requests after which a decoder stops: a short line can stand for many.
const MOST_AT_ONCE: usize = 1 << 18;

/// A decoder of a line-based format.
pub(crate) struct Lines<F> {
    format: F,
    /// Whether the rest of an overlong line is being skipped.
    skipping: bool,
}

impl<F: LineRequests> Lines<F> {
    pub(crate) fn new(format: F) -> Self {
        Lines { format, skipping: false }
    }

    fn one(&mut self, line: &[u8], out: &mut Decoded) {
        out.position += 1;
        if std::mem::take(&mut self.skipping) {
            return;
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let nothing = match line.first() {
            None | Some(b'#') => true,
            Some(b' ' | b'\t') => line.trim_ascii().is_empty(),
            Some(_) => false,
        };
        if nothing {
            return;
        }
        if let Err(reason) = self.format.requests(line, &mut out.names, &mut out.requests) {
            out.faults.add(out.position, reason);
        }
    }
}

impl<F: LineRequests> Decoder for Lines<F> {
    fn decode(&mut self, input: &[u8], last: bool, out: &mut Decoded) -> usize {
        let mut at = 0;
        let first = out.requests.len();
        for end in memchr::memchr_iter(b'\n', input) {
            self.one(&input[at..end], out);
            at = end + 1;
            if out.requests.len() - first >= MOST_AT_ONCE {
                return at;
            }
        }
        let rest = &input[at..];
        if last {
            if !rest.is_empty() {
                self.one(rest, out);
            }
            return input.len();
        }
        if rest.len() > LONGEST_LINE {
            if !self.skipping {
                out.faults.add(out.position + 1, "the line is longer than 64 KiB");
            }
            self.skipping = true;
            return input.len();
        }
        at
    }
}

/// Bytes of a sector, the unit of addresses in most formats.
pub(crate) const SECTOR: u64 = 512;

/// Converts sectors to bytes.
pub(crate) fn sectors(count: u64) -> Result<u64, &'static str> {
    count.checked_mul(SECTOR).ok_or("an address of more than 2^64 bytes")
}

/// Maximum bytes of a read or write; a longer one is most likely a shifted column.
pub(crate) const LARGEST_TRANSFER: u64 = 4 << 30;
/// Maximum bytes of a deallocation, which may cover a whole drive.
pub(crate) const LARGEST: u64 = 1 << 50;

/// Refuses requests that no drive can serve.
#[inline]
pub(crate) fn checked(request: Request) -> Parsed {
    let most = if request.op == Op::Deallocate { LARGEST } else { LARGEST_TRANSFER };
    if request.bytes > most {
        return Err(if most == LARGEST {
            "a length of more than 1 PiB"
        } else {
            "a read or write of more than 4 GiB"
        });
    }
    match request.offset.checked_add(request.bytes) {
        None => Err("the address and length overflow"),
        Some(_) => Ok(Some(request)),
    }
}
