//! Tencent CBS block traces (SNIA IOTTA 27917, 2018).
//!
//! `Timestamp,Offset,Size,IOType,VolumeID`: seconds, sectors of 512 bytes, 0 = read and 1 = write.

use super::decode::{LineFormat, Parsed, checked, sectors};
use super::fields::{number, split};
use super::request::{Kind, Names, Request};

#[derive(Default)]
pub(super) struct Tencent;

impl LineFormat for Tencent {
    fn line(&mut self, line: &[u8], names: &mut Names) -> Parsed {
        let ([time, offset, size, kind, volume], count) = split::<5>(line, b',');
        if count != 5 {
            return Err("expected 5 columns: Timestamp,Offset,Size,IOType,VolumeID");
        }
        let kind = match kind {
            b"1" => Kind::Write,
            b"0" => Kind::Read,
            b"IOType" => return Ok(None),
            _ => return Err("IOType: expected 0 (read) or 1 (write)"),
        };
        let time = number(time).ok_or("Timestamp: expected seconds")?;
        let offset = sectors(number(offset).ok_or("Offset: expected sectors")?)?;
        let size = sectors(number(size).ok_or("Size: expected sectors")?)?;
        if number(volume).is_none() {
            return Err("VolumeID: expected a number");
        }
        let volume = names.volume(volume);
        let time = time.wrapping_mul(1_000_000_000);
        checked(Request { volume, ..Request::new(kind, time, offset, size) })
    }
}
