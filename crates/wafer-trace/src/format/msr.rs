//! MSR Cambridge block traces (SNIA IOTTA 388).
//!
//! `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`: time as Windows FILETIME (100 ns since
//! 1601), `Read` or `Write`, bytes. A header is skipped. Each host and disk is a volume.

use wafer_interface::Op;

use crate::decode::{LineFormat, Parsed, checked};
use crate::fields::{padded, split, time};
use crate::request::{Names, Request};

#[derive(Default)]
pub(super) struct Msr {
    volume: Vec<u8>,
}

impl LineFormat for Msr {
    fn line(&mut self, line: &[u8], names: &mut Names) -> Parsed {
        let ([at, host, disk, kind, offset, size, _], count) = split::<7>(line, b',');
        if count != 7 {
            return Err(
                "expected 7 columns: Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
            );
        }
        let op = match kind.trim_ascii() {
            b"Write" => Op::Write,
            b"Read" => Op::Read,
            k if k.eq_ignore_ascii_case(b"write") => Op::Write,
            k if k.eq_ignore_ascii_case(b"read") => Op::Read,
            b"Type" => return Ok(None),
            _ => return Err("Type: expected Read or Write"),
        };
        let at = time(at, 100).ok_or("Timestamp: expected a number")?;
        let offset = padded(offset).ok_or("Offset: expected bytes")?;
        let size = padded(size).ok_or("Size: expected bytes")?;
        self.volume.clear();
        self.volume.extend_from_slice(host.trim_ascii());
        self.volume.push(b'.');
        self.volume.extend_from_slice(disk.trim_ascii());
        let volume = names.volume(&self.volume);
        checked(Request { volume, ..Request::new(op, at, offset, size) })
    }
}
