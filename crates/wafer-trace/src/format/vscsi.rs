//! CloudPhysics vSCSI traces, versions 1 and 2.
//!
//! Little-endian records. Version 1, 32 bytes: sequence u32, length u32, segments u32, command u16,
//! version u16, block u64, time u64. Version 2, 40 bytes: command u16, version u16, sequence u32, length
//! u32, segments u32, block u64, time u64, response u64. Lengths are in bytes, blocks in sectors of 512
//! bytes, times in microseconds; the version is in the upper byte of its field.

use super::scsi::op;
use crate::decode::{Decoded, Decoder, SECTOR, checked};
use crate::request::Request;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Version {
    One,
    Two,
}

impl Version {
    fn record(self) -> usize {
        match self {
            Version::One => 32,
            Version::Two => 40,
        }
    }
}

pub(super) struct Vscsi {
    version: Version,
}

#[inline]
fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|i| bytes[at + i])
}

/// Returns the version on which the first records agree.
pub(super) fn version(head: &[u8]) -> Option<Version> {
    let all = |version: Version| {
        let mut records = head.chunks_exact(version.record()).take(8).peekable();
        records.peek()?;
        let (command, number) = match version {
            Version::One => (12, 14),
            Version::Two => (0, 2),
        };
        let wanted = if version == Version::One { 1 } else { 2 };
        records
            .all(|r| {
                u16::from_le_bytes(field(r, number)) >> 8 == wanted
                    && op(u16::from_le_bytes(field(r, command))).is_some()
            })
            .then_some(version)
    };
    all(Version::One).or_else(|| all(Version::Two))
}

impl Vscsi {
    pub(super) fn new(head: &[u8]) -> Self {
        Vscsi { version: version(head).unwrap_or(Version::One) }
    }
}

impl Decoder for Vscsi {
    fn decode(&mut self, input: &[u8], last: bool, out: &mut Decoded) -> usize {
        let size = self.version.record();
        let records = input.chunks_exact(size);
        let rest = records.remainder().len();
        out.requests.reserve(input.len() / size);
        for record in records {
            out.position += 1;
            let (command, length, block, time) = match self.version {
                Version::One => (12, 4, 16, 24),
                Version::Two => (0, 8, 16, 24),
            };
            let Some(op) = op(u16::from_le_bytes(field(record, command))) else {
                out.faults.add(out.position, "unknown SCSI command");
                continue;
            };
            let length = u64::from(u32::from_le_bytes(field(record, length)));
            let time = u64::from_le_bytes(field(record, time)).wrapping_mul(1000);
            let parsed = match u64::from_le_bytes(field(record, block)).checked_mul(SECTOR) {
                Some(offset) => checked(Request::new(op, time, offset, length)),
                None => Err("an address of more than 2^64 bytes"),
            };
            match parsed {
                Ok(request) => out.requests.extend(request),
                Err(reason) => out.faults.add(out.position, reason),
            }
        }
        if last && rest > 0 {
            out.position += 1;
            out.faults.add(out.position, "the record is cut short");
            return input.len();
        }
        input.len() - rest
    }
}
