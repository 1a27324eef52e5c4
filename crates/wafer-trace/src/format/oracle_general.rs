//! libCacheSim's `oracleGeneral`: cache requests in binary records of 24 bytes.
//!
//! Little-endian: time in seconds u32, object u64, bytes u32, the number of the next request for the object
//! i64 (-1 or the largest number: none). Layout: `oracleGeneralBin.h` of libCacheSim.
//!
//! There is no operation: each request counts as a write. Objects of block traces are sectors of 512 bytes
//! (`cloudPhysicsIO.oracleGeneral.bin` beside `cloudPhysicsIO.vscsi`). Objects are taken for sectors if the
//! beginning of the trace has only sizes in whole sectors and numbers below 2^40. Other objects are placed by
//! first write.

use wafer_interface::Op;

use crate::decode::{Decoded, Decoder, SECTOR, checked, sectors};
use crate::objects::Objects;
use crate::request::Request;

/// Bytes of a record.
const RECORD: usize = 24;
/// Number of records used to detect the format.
const SAMPLE: usize = 1000;
/// Numbers from here on cannot be sectors: 512 TiB.
const MOST_SECTORS: u64 = 1 << 40;
/// More requests than any trace has.
const MOST_REQUESTS: i64 = 1 << 48;

struct Record {
    seconds: u32,
    object: u64,
    bytes: u32,
    next: i64,
}

fn record(bytes: &[u8]) -> Record {
    fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
        std::array::from_fn(|i| bytes[at + i])
    }
    Record {
        seconds: u32::from_le_bytes(field(bytes, 0)),
        object: u64::from_le_bytes(field(bytes, 4)),
        bytes: u32::from_le_bytes(field(bytes, 12)),
        next: i64::from_le_bytes(field(bytes, 16)),
    }
}

fn sample(head: &[u8]) -> impl Iterator<Item = Record> {
    head.chunks_exact(RECORD).take(SAMPLE).map(record)
}

/// Returns whether times never go back in the beginning, and next requests come later.
pub(super) fn is_one(head: &[u8]) -> bool {
    let mut latest = 0;
    let mut sized = 0;
    let good = sample(head).zip(0i64..).all(|(record, number)| {
        let ordered = record.seconds >= latest;
        latest = record.seconds;
        sized += usize::from(record.bytes > 0);
        let last = matches!(record.next, -1 | i64::MAX);
        ordered && (last || (number + 1..MOST_REQUESTS).contains(&record.next))
    });
    good && sized >= 2
}

pub(super) struct OracleGeneral {
    /// The objects, unless the trace names sectors.
    objects: Option<Objects>,
}

impl OracleGeneral {
    pub(super) fn new(head: &[u8]) -> Self {
        let is_sector =
            |r: Record| r.object < MOST_SECTORS && u64::from(r.bytes).is_multiple_of(SECTOR);
        let objects = (!sample(head).all(is_sector)).then(Objects::default);
        OracleGeneral { objects }
    }

    fn one(&mut self, record: &Record, out: &mut Vec<Request>) -> Result<(), &'static str> {
        let (bytes, time) = (u64::from(record.bytes), u64::from(record.seconds) * 1_000_000_000);
        // Like libCacheSim, which omits requests without a size.
        if bytes == 0 {
            return Ok(());
        }
        if let Some(objects) = &mut self.objects {
            return objects.write(record.object, bytes, time, out);
        }
        let offset = sectors(record.object)?;
        out.extend(checked(Request::new(Op::Write, time, offset, bytes))?);
        Ok(())
    }
}

impl Decoder for OracleGeneral {
    fn decode(&mut self, input: &[u8], last: bool, out: &mut Decoded) -> usize {
        let records = input.chunks_exact(RECORD);
        let rest = records.remainder().len();
        out.requests.reserve(input.len() / RECORD);
        for bytes in records {
            out.position += 1;
            if let Err(reason) = self.one(&record(bytes), &mut out.requests) {
                out.faults.add(out.position, reason);
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
