//! libCacheSim's traces as CSV with a header that names the columns, in any order: `time`; an address (`lbn`,
//! sectors of 512 bytes) or an object (`obj_id`, `id`, `key`); `size` or `obj_size`; and optionally `op`.
//! `version,time,op,size,lbn` is libCacheSim's copy of a CloudPhysics trace (`cloudPhysicsIO.csv`).
//!
//! Units are seconds and bytes. An operation is a word (`read`, `get`, `write`, `set`, `delete`, ...) or a
//! SCSI command in hexadecimal digits. Without a column of operations, each request counts as a write, as in
//! `oracle_general.rs`. Objects are placed by first write (`objects.rs`).

use wafer_interface::Op;

use super::scsi;
use crate::decode::{LineRequests, checked, sectors};
use crate::fields::{Columns, padded, seconds};
use crate::objects::Objects;
use crate::request::{Names, Request};

/// The positions of the columns.
#[derive(Debug)]
struct Layout {
    time: usize,
    place: usize,
    /// Whether the place is an address in sectors.
    addressed: bool,
    size: usize,
    op: Option<usize>,
}

impl Layout {
    fn of(line: &[u8]) -> Option<Self> {
        let columns = Columns::of(line);
        let address = columns.find(&["lbn"]);
        let place = address.or_else(|| columns.find(&["obj_id", "obj-id", "id", "key"]))?;
        Some(Layout {
            time: columns.find(&["time", "timestamp", "clock_time", "real_time"])?,
            place,
            addressed: address.is_some(),
            size: columns.find(&["size", "obj_size", "obj-size"])?,
            op: columns.find(&["op", "operation"]),
        })
    }
}

/// Returns whether the first line is a header of this format.
pub(super) fn is_one(head: &[u8]) -> bool {
    let line = head.split(|b| *b == b'\n').next().unwrap_or_default();
    Layout::of(line.trim_ascii_end()).is_some()
}

#[derive(Default)]
pub(super) struct LibCacheSim {
    layout: Option<Layout>,
    objects: Objects,
}

/// Returns the operation that a word or a SCSI command stands for.
fn operation(word: &[u8]) -> Option<Op> {
    const WORDS: &[(&[&str], Op)] = &[
        (&["read", "r", "get", "gets", "get_lease"], Op::Read),
        (
            &["write", "w", "set", "set_lease", "add", "replace", "cas", "append", "prepend"],
            Op::Write,
        ),
        (&["delete", "del", "trim", "discard"], Op::Deallocate),
    ];
    let is = |words: &[&str]| words.iter().any(|w| word.eq_ignore_ascii_case(w.as_bytes()));
    if let Some((_, op)) = WORDS.iter().find(|(words, _)| is(words)) {
        return Some(*op);
    }
    let digits = std::str::from_utf8(word).ok()?;
    scsi::op(u16::from_str_radix(digits.trim_start_matches("0x"), 16).ok()?)
}

impl LineRequests for LibCacheSim {
    fn requests(
        &mut self,
        line: &[u8],
        _: &mut Names,
        out: &mut Vec<Request>,
    ) -> Result<(), &'static str> {
        let Some(layout) = &self.layout else {
            let layout = Layout::of(line);
            self.layout =
                Some(layout.ok_or("expected a header with time, size and lbn or obj_id")?);
            return Ok(());
        };
        let columns = Columns::of(line);
        let time = seconds(columns.get(layout.time)).ok_or("time: expected seconds")?;
        let size = padded(columns.get(layout.size)).ok_or("size: expected bytes")?;
        let op = match layout.op {
            None => Op::Write,
            Some(column) => operation(columns.get(column))
                .ok_or("op: expected read, write, get, set, delete or a SCSI command")?,
        };
        let place = columns.get(layout.place);
        if layout.addressed {
            let offset = sectors(padded(place).ok_or("lbn: expected sectors")?)?;
            out.extend(checked(Request::new(op, time, offset, size))?);
            return Ok(());
        }
        if place.is_empty() {
            return Err("obj_id: missing");
        }
        let object = Objects::number(place);
        match op {
            Op::Write if size > 0 => self.objects.write(object, size, time, out)?,
            Op::Read => out.extend(self.objects.read(object, size, time)),
            Op::Deallocate => out.extend(self.objects.delete(object, time)),
            _ => {}
        }
        Ok(())
    }
}
