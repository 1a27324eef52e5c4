//! Alibaba Cloud block traces (2020).
//!
//! `device_id,opcode,offset,length,timestamp`: `R` or `W`, bytes, microseconds. Each device is a volume.

use wafer_interface::Op;

use crate::decode::{LineFormat, Parsed, checked};
use crate::fields::{padded, split, time};
use crate::request::{Names, Request};

#[derive(Default)]
pub(super) struct Alibaba;

impl LineFormat for Alibaba {
    fn line(&mut self, line: &[u8], names: &mut Names) -> Parsed {
        let ([device, kind, offset, length, at], count) = split::<5>(line, b',');
        if count != 5 {
            return Err("expected 5 columns: device_id,opcode,offset,length,timestamp");
        }
        let op = match kind.trim_ascii() {
            b"W" | b"w" => Op::Write,
            b"R" | b"r" => Op::Read,
            b"opcode" => return Ok(None),
            _ => return Err("opcode: expected R or W"),
        };
        let offset = padded(offset).ok_or("offset: expected bytes")?;
        let length = padded(length).ok_or("length: expected bytes")?;
        let at = time(at, 1000).ok_or("timestamp: expected microseconds")?;
        let device = device.trim_ascii();
        if device.is_empty() {
            return Err("device_id: missing");
        }
        let volume = names.volume(device);
        checked(Request { volume, ..Request::new(op, at, offset, length) })
    }
}
