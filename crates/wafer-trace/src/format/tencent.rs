//! Tencent CBS block traces (SNIA IOTTA 27917, 2018).
//!
//! `Timestamp,Offset,Size,IOType,VolumeID`: seconds, sectors of 512 bytes, 0 = read and 1 = write.

use wafer_interface::Op;

use crate::decode::{LineFormat, Parsed, checked, sectors};
use crate::fields::{padded, split, time};
use crate::request::{Names, Request};

#[derive(Default)]
pub(super) struct Tencent;

impl LineFormat for Tencent {
    fn line(&mut self, line: &[u8], names: &mut Names) -> Parsed {
        let ([at, offset, size, kind, volume], count) = split::<5>(line, b',');
        if count != 5 {
            return Err("expected 5 columns: Timestamp,Offset,Size,IOType,VolumeID");
        }
        let op = match kind.trim_ascii() {
            b"1" => Op::Write,
            b"0" => Op::Read,
            b"IOType" => return Ok(None),
            _ => return Err("IOType: expected 0 (read) or 1 (write)"),
        };
        let at = time(at, 1_000_000_000).ok_or("Timestamp: expected seconds")?;
        let offset = sectors(padded(offset).ok_or("Offset: expected sectors")?)?;
        let size = sectors(padded(size).ok_or("Size: expected sectors")?)?;
        let volume = volume.trim_ascii();
        if padded(volume).is_none() {
            return Err("VolumeID: expected a number");
        }
        let volume = names.volume(volume);
        checked(Request { volume, ..Request::new(op, at, offset, size) })
    }
}
