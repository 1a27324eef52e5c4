//! Alibaba Cloud block traces (2020).
//!
//! `device_id,opcode,offset,length,timestamp`: `R` or `W`, bytes, microseconds. Each device is a volume.

use super::decode::{LineFormat, Parsed, checked};
use super::fields::{number, split};
use super::request::{Kind, Names, Request};

#[derive(Default)]
pub(super) struct Alibaba;

impl LineFormat for Alibaba {
    fn line(&mut self, line: &[u8], names: &mut Names) -> Parsed {
        let ([device, kind, offset, length, time], count) = split::<5>(line, b',');
        if count != 5 {
            return Err("expected 5 columns: device_id,opcode,offset,length,timestamp");
        }
        let kind = match kind {
            b"W" => Kind::Write,
            b"R" => Kind::Read,
            b"opcode" => return Ok(None),
            _ => return Err("opcode: expected R or W"),
        };
        let offset = number(offset).ok_or("offset: expected bytes")?;
        let length = number(length).ok_or("length: expected bytes")?;
        let time = number(time).ok_or("timestamp: expected microseconds")?;
        if device.is_empty() {
            return Err("device_id: missing");
        }
        let volume = names.volume(device);
        checked(Request { volume, ..Request::new(kind, time.wrapping_mul(1000), offset, length) })
    }
}
