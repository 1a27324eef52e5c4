//! blktrace's binary records (`struct blk_io_trace`, version 7, in `include/uapi/linux/blktrace_api.h`).
//!
//! Each record has 48 bytes and a payload, in the byte order of the recording machine, which the magic
//! number reveals. As in blkparse's text, `D` (issue) counts if the beginning of the trace has it, else
//! `Q`. Process names come from notifications. blktrace writes one file per processor: `per_cpu.rs` joins
//! them.

use std::collections::HashMap;

use wafer_interface::Op;

use crate::decode::{Decoded, Decoder, SECTOR, checked};
use crate::request::{NO_PROCESS, Request};

/// Bytes of a record without its payload.
pub(crate) const RECORD: usize = 48;
/// "eat" in the upper three bytes, the version in the lowest.
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;

/// Categories, in the upper half of an action.
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const PASSED_THROUGH: u32 = 1 << 9;
const NOTIFY: u32 = 1 << 10;
const DISCARD: u32 = 1 << 13;
/// Actions, in the lower half. The bit above them announces a control group.
const QUEUE: u32 = 1;
const ISSUE: u32 = 7;
const CGROUP: u32 = 1 << 8;

#[derive(Clone, Copy, PartialEq)]
enum Order {
    Little,
    Big,
}

pub(super) struct BlkTrace {
    order: Order,
    /// The only action that counts.
    action: u32,
    /// Names by process number.
    processes: HashMap<u32, u32>,
    /// The latest process and its name: most requests repeat it.
    process: Option<(u32, u32)>,
    /// The latest device and its volume: most requests repeat it.
    device: Option<(u32, u32)>,
}

/// Returns the byte order of a trace that begins with `head`, or `None` if it is not blktrace's.
fn order(head: &[u8]) -> Option<Order> {
    let magic: [u8; 4] = head.get(..4)?.try_into().ok()?;
    let is = |magic: u32| magic & !0xff == MAGIC && head.len() >= RECORD;
    if is(u32::from_le_bytes(magic)) {
        Some(Order::Little)
    } else {
        is(u32::from_be_bytes(magic)).then_some(Order::Big)
    }
}

/// Returns the time and payload size of the record at the start of `bytes`.
pub(crate) fn frame(bytes: &[u8]) -> Option<(u64, usize)> {
    let record = Record::first(bytes, order(bytes)?)?;
    (record.u32(0) == MAGIC | VERSION).then(|| (record.u64(8), record.payload()))
}

pub(super) fn is_one(head: &[u8]) -> bool {
    order(head).is_some()
}

/// A record whose fields are located but not checked.
struct Record<'a> {
    bytes: &'a [u8; RECORD],
    order: Order,
}

impl<'a> Record<'a> {
    /// Returns the record at the start of `input` if it is complete.
    #[inline]
    fn first(input: &'a [u8], order: Order) -> Option<Self> {
        Some(Record { bytes: input.first_chunk()?, order })
    }

    #[inline]
    fn field<const N: usize>(&self, at: usize) -> [u8; N] {
        std::array::from_fn(|i| self.bytes[at + i])
    }

    #[inline]
    fn u32(&self, at: usize) -> u32 {
        match self.order {
            Order::Little => u32::from_le_bytes(self.field(at)),
            Order::Big => u32::from_be_bytes(self.field(at)),
        }
    }

    #[inline]
    fn u64(&self, at: usize) -> u64 {
        match self.order {
            Order::Little => u64::from_le_bytes(self.field(at)),
            Order::Big => u64::from_be_bytes(self.field(at)),
        }
    }

    #[inline]
    fn payload(&self) -> usize {
        usize::from(match self.order {
            Order::Little => u16::from_le_bytes(self.field(46)),
            Order::Big => u16::from_be_bytes(self.field(46)),
        })
    }
}

impl BlkTrace {
    pub(super) fn new(head: &[u8]) -> Self {
        let order = order(head).unwrap_or(Order::Little);
        let mut action = QUEUE;
        let mut rest = head;
        while let Some(record) = Record::first(rest, order) {
            let what = record.u32(28);
            if what & 0xff == ISSUE && (what >> 16) & NOTIFY == 0 {
                action = ISSUE;
                break;
            }
            rest = rest.get(RECORD + record.payload()..).unwrap_or_default();
        }
        BlkTrace { order, action, processes: HashMap::new(), process: None, device: None }
    }

    #[inline]
    fn one(&mut self, record: &Record<'_>, payload: &[u8], out: &mut Decoded) {
        let what = record.u32(28);
        let (category, action) = (what >> 16, what & 0xffff);
        let pid = record.u32(32);
        if category & NOTIFY != 0 {
            // Notification 0 names a process.
            if action & !CGROUP == 0 {
                let name = payload.split(|b| *b == 0).next().unwrap_or_default();
                let index = out.names.process(name);
                self.processes.insert(pid, index);
                self.process = None;
            }
            return;
        }
        if action & !CGROUP != self.action || category & PASSED_THROUGH != 0 {
            return;
        }
        let (sector, bytes) = (record.u64(16), u64::from(record.u32(24)));
        let op = match category {
            _ if bytes == 0 => Op::Flush,
            c if c & DISCARD != 0 => Op::Deallocate,
            c if c & WRITE != 0 => Op::Write,
            c if c & FLUSH != 0 => Op::Flush,
            _ => Op::Read,
        };
        let device = record.u32(36);
        let volume = match self.device {
            Some((known, volume)) if known == device => volume,
            _ => {
                let name = format!("{},{}", device >> 20, device & 0xf_ffff);
                let volume = out.names.volume(name.as_bytes());
                self.device = Some((device, volume));
                volume
            }
        };
        let process = match self.process {
            Some((known, process)) if known == pid => process,
            _ => {
                let process = self.processes.get(&pid).copied().unwrap_or(NO_PROCESS);
                self.process = Some((pid, process));
                process
            }
        };
        let Some(offset) = sector.checked_mul(SECTOR) else {
            return out.faults.add(out.position, "an address of more than 2^64 bytes");
        };
        let request = Request::new(op, record.u64(8), offset, bytes);
        match checked(Request { volume, process, ..request }) {
            Ok(request) => out.requests.extend(request),
            Err(reason) => out.faults.add(out.position, reason),
        }
    }
}

impl Decoder for BlkTrace {
    fn decode(&mut self, input: &[u8], last: bool, out: &mut Decoded) -> usize {
        let mut at = 0;
        // Most records are requests: one allocation instead of many.
        out.requests.reserve(input.len() / RECORD);
        while let Some(record) = Record::first(&input[at..], self.order) {
            let magic = record.u32(0);
            if magic & !0xff != MAGIC || magic & 0xff != VERSION {
                // The length of a damaged record is unknown: look for the next magic number.
                out.position += 1;
                out.faults.add(out.position, "expected a blktrace record of version 7");
                let wanted = match self.order {
                    Order::Little => (MAGIC | VERSION).to_le_bytes(),
                    Order::Big => (MAGIC | VERSION).to_be_bytes(),
                };
                match memchr::memmem::find(&input[at + 1..], &wanted) {
                    Some(next) => at += 1 + next,
                    None if last => return input.len(),
                    // The input may end with the first bytes of the next one.
                    None => return input.len() - 3,
                }
                continue;
            }
            let end = at + RECORD + record.payload();
            let Some(payload) = input.get(at + RECORD..end) else { break };
            out.position += 1;
            self.one(&record, payload, out);
            at = end;
        }
        if last && at < input.len() {
            out.position += 1;
            out.faults.add(out.position, "the record is cut short");
            return input.len();
        }
        at
    }
}
