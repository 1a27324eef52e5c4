//! SPC traces: Storage Performance Council file format 1.0 (Financial, WebSearch; UMass repository).
//!
//! `ASU,LBA,Size,Opcode,Timestamp`: sectors of 512 bytes, bytes, `r` or `w`, seconds. Each application
//! storage unit (ASU) is a volume. Optional further columns are ignored.

use wafer_interface::Op;

use crate::decode::{LineFormat, Parsed, checked, sectors};
use crate::fields::{padded, seconds, split};
use crate::request::{Names, Request};

#[derive(Default)]
pub(super) struct Spc;

impl LineFormat for Spc {
    fn line(&mut self, line: &[u8], names: &mut Names) -> Parsed {
        let ([asu, lba, size, kind, time], count) = split::<5>(line, b',');
        if count < 5 {
            return Err("expected 5 columns: ASU,LBA,Size,Opcode,Timestamp");
        }
        let op = match kind.trim_ascii() {
            b"w" | b"W" => Op::Write,
            b"r" | b"R" => Op::Read,
            b"Opcode" => return Ok(None),
            _ => return Err("Opcode: expected r or w"),
        };
        let offset = sectors(padded(lba).ok_or("LBA: expected sectors")?)?;
        let size = padded(size).ok_or("Size: expected bytes")?;
        let time = seconds(time).ok_or("Timestamp: expected seconds")?;
        let asu = asu.trim_ascii();
        if padded(asu).is_none() {
            return Err("ASU: expected a number");
        }
        let volume = names.volume(asu);
        checked(Request { volume, ..Request::new(op, time, offset, size) })
    }
}
