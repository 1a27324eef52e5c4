//! DiskSim's default ASCII format, as SSDsim and MQSim read it.
//!
//! `arrival device start size operation`, separated by blanks: nanoseconds, a number, sectors of 512 bytes, sectors,
//! and **0 = write, 1 = read** (MQSim and SSDsim; the opposite of what one might guess). An arrival with a fraction is
//! in milliseconds, as in DiskSim itself.

use wafer_interface::Op;

use crate::decode::{LineFormat, Parsed, checked, sectors};
use crate::fields::{number, time, words};
use crate::request::{Names, Request};

#[derive(Default)]
pub(super) struct DiskSim;

impl LineFormat for DiskSim {
    fn line(&mut self, line: &[u8], names: &mut Names) -> Parsed {
        let ([at, device, start, size, kind], count) = words::<5>(line);
        if count != 5 {
            return Err("expected 5 columns: arrival device start size operation");
        }
        let op = match kind {
            b"0" => Op::Write,
            b"1" => Op::Read,
            _ => return Err("operation: expected 0 (write) or 1 (read)"),
        };
        let unit = if at.contains(&b'.') { 1_000_000 } else { 1 };
        let at = time(at, unit).ok_or("arrival: expected nanoseconds")?;
        let offset = sectors(number(start).ok_or("start: expected sectors")?)?;
        let size = sectors(number(size).ok_or("size: expected sectors")?)?;
        if number(device).is_none() {
            return Err("device: expected a number");
        }
        let volume = names.volume(device);
        checked(Request { volume, ..Request::new(op, at, offset, size) })
    }
}
