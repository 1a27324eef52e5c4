//! MSR Cambridge block traces (SNIA IOTTA 388).
//!
//! `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`: time as Windows FILETIME (100 ns since
//! 1601), `Read` or `Write`, bytes. No header. Each host and disk is a volume.

use super::decode::{LineFormat, Parsed, checked};
use super::fields::{number, split};
use super::request::{Kind, Names, Request};

#[derive(Default)]
pub(super) struct Msr {
    volume: Vec<u8>,
}

impl LineFormat for Msr {
    fn line(&mut self, line: &[u8], names: &mut Names) -> Parsed {
        let ([time, host, disk, kind, offset, size, _], count) = split::<7>(line, b',');
        if count != 7 {
            return Err(
                "expected 7 columns: Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
            );
        }
        let kind = match kind {
            b"Write" => Kind::Write,
            b"Read" => Kind::Read,
            _ => return Err("Type: expected Read or Write"),
        };
        let time = number(time).ok_or("Timestamp: expected a whole number")?;
        let offset = number(offset).ok_or("Offset: expected bytes")?;
        let size = number(size).ok_or("Size: expected bytes")?;
        self.volume.clear();
        self.volume.extend_from_slice(host);
        self.volume.push(b'.');
        self.volume.extend_from_slice(disk);
        let volume = names.volume(&self.volume);
        checked(Request { volume, ..Request::new(kind, time.wrapping_mul(100), offset, size) })
    }
}
