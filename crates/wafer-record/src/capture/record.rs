//! One record: 24 bytes.

use wafer_interface::{Command, NsId, Op, Placement};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{CaptureError, RECORD_BYTES};

/// One command or event of the recorded drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureRecord {
    /// Nanoseconds since the start of the recording; never decreases.
    pub time_ns: u64,
    /// The host that sent it; hosts are numbered from 0 in order of first connection.
    pub host: u16,
    /// The command or event.
    pub event: CaptureEvent,
}

/// The contents of a record: a command, or an administrative event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaptureEvent {
    /// A command as the device received it, with ranges in units of 512 bytes.
    Command(Command),
    /// A namespace was created.
    CreateNamespace {
        /// Its number, from 0.
        namespace: NsId,
        /// Capacity in units of 512 bytes.
        blocks: u64,
        /// The reclaim unit handles behind its placement handles.
        handles: Vec<u16>,
    },
    /// A namespace was deleted, and all its data deallocated.
    DeleteNamespace(NsId),
    /// Flexible Data Placement was enabled or disabled, which requires that there are no namespaces.
    SetFdp(bool),
}

/// Codes of the record's `op` field that are not those of [`Op`].
mod code {
    pub(super) const CREATE: u8 = 16;
    pub(super) const HANDLES: u8 = 17;
    pub(super) const DELETE: u8 = 18;
    pub(super) const FDP: u8 = 19;
    pub(super) const WAIT: u8 = 255;
}

/// Number of handles in one continuation record.
const HANDLES_PER_RECORD: usize = 4;
/// Maximum length of a placement handle list in the specification.
const MAX_HANDLES: u32 = 128;

/// The bytes of a record.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct Raw {
    lba: U64,
    blocks: U32,
    placement: U16,
    op: u8,
    namespace: u8,
    /// Nanoseconds since the previous record.
    delta_ns: U32,
    host: U16,
    reserved: U16,
}

const _: () = assert!(size_of::<Raw>() == RECORD_BYTES);

impl Raw {
    fn new(op: u8, namespace: u8, lba: u64, blocks: u32, placement: u16) -> Self {
        Raw {
            lba: lba.into(),
            blocks: blocks.into(),
            placement: placement.into(),
            op,
            namespace,
            delta_ns: 0.into(),
            host: 0.into(),
            reserved: 0.into(),
        }
    }
}

/// Appends a record. `last_ns` is the time of the previous record, and is set to that of this one. A time before
/// `last_ns`, possible when two threads read one clock, counts as `last_ns`.
pub(super) fn encode(record: &CaptureRecord, last_ns: &mut u64, out: &mut Vec<u8>) {
    const NONE: u16 = Placement::NONE.0;
    let mut delta = record.time_ns.saturating_sub(*last_ns);
    *last_ns = record.time_ns.max(*last_ns);
    if delta > u64::from(u32::MAX) {
        out.extend_from_slice(Raw::new(code::WAIT, 0, delta, 0, NONE).as_bytes());
        delta = 0;
    }
    let mut raw = match &record.event {
        CaptureEvent::Command(c) => {
            Raw::new(c.op as u8, c.namespace.0, c.lba, c.blocks, c.placement.0)
        }
        CaptureEvent::CreateNamespace { namespace, blocks, handles } => {
            Raw::new(code::CREATE, namespace.0, *blocks, handles.len() as u32, NONE)
        }
        CaptureEvent::DeleteNamespace(n) => Raw::new(code::DELETE, n.0, 0, 0, NONE),
        CaptureEvent::SetFdp(on) => Raw::new(code::FDP, 0, 0, u32::from(*on), NONE),
    };
    raw.delta_ns = (delta as u32).into();
    raw.host = record.host.into();
    out.extend_from_slice(raw.as_bytes());
    if let CaptureEvent::CreateNamespace { namespace, handles, .. } = &record.event {
        for part in handles.chunks(HANDLES_PER_RECORD) {
            let packed =
                part.iter().rev().fold(0u64, |packed, handle| packed << 16 | u64::from(*handle));
            let mut more = Raw::new(code::HANDLES, namespace.0, packed, part.len() as u32, NONE);
            more.host = record.host.into();
            out.extend_from_slice(more.as_bytes());
        }
    }
}

/// Assembles records from raw ones.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    time_ns: u64,
    number: u64,
    /// A namespace whose handle list is being read, and how many handles are still to come.
    creating: Option<(CaptureRecord, u32)>,
}

impl Decoder {
    /// Decodes the next raw record and returns the record that it completes, if any.
    pub(super) fn decode(&mut self, raw: &Raw) -> Result<Option<CaptureRecord>, CaptureError> {
        let number = self.number;
        let damaged = |reason: String| CaptureError::Record { number, reason };
        self.number += 1;
        let (op, namespace) = (raw.op, NsId(raw.namespace));
        let (lba, blocks) = (raw.lba.get(), raw.blocks.get());
        let placement = Placement(raw.placement.get());
        if op == code::WAIT {
            self.time_ns = self.time_ns.saturating_add(lba);
            return Ok(None);
        }
        self.time_ns = self.time_ns.saturating_add(u64::from(raw.delta_ns.get()));
        if op == code::HANDLES {
            let (mut record, missing) = self
                .creating
                .take()
                .ok_or_else(|| damaged("handles of no namespace".to_owned()))?;
            let CaptureEvent::CreateNamespace { handles, .. } = &mut record.event else {
                unreachable!("only a new namespace waits for handles");
            };
            if blocks == 0 || blocks > missing.min(HANDLES_PER_RECORD as u32) {
                return Err(damaged(format!("{blocks} handles, {missing} are missing")));
            }
            handles.extend((0..blocks).map(|i| (lba >> (16 * i)) as u16));
            return Ok(self.wait_for_handles(record, missing - blocks));
        }
        if self.creating.is_some() {
            return Err(damaged("a namespace without all of its handles".to_owned()));
        }
        let command = |op| CaptureEvent::Command(Command { lba, blocks, placement, op, namespace });
        let event = match op {
            code::CREATE if blocks <= MAX_HANDLES => {
                CaptureEvent::CreateNamespace { namespace, blocks: lba, handles: Vec::new() }
            }
            code::CREATE => return Err(damaged(format!("{blocks} placement handles"))),
            code::DELETE => CaptureEvent::DeleteNamespace(namespace),
            code::FDP => CaptureEvent::SetFdp(blocks != 0),
            other => match Op::from_code(other) {
                Some(op) => command(op),
                None => return Err(damaged(format!("unknown operation {other}"))),
            },
        };
        let record = CaptureRecord { time_ns: self.time_ns, host: raw.host.get(), event };
        let missing = if op == code::CREATE { blocks } else { 0 };
        Ok(self.wait_for_handles(record, missing))
    }

    fn wait_for_handles(&mut self, record: CaptureRecord, missing: u32) -> Option<CaptureRecord> {
        if missing == 0 {
            return Some(record);
        }
        self.creating = Some((record, missing));
        None
    }
}
