//! The text that `blkparse` prints by default.
//!
//! `8,0  3  1  0.000000000  697  D  WS 223490 + 8 [kjournald]`: device, processor, sequence, seconds, process, action,
//! RWBS, first sector, `+`, sectors, command. Only one action of each request counts: `D` (issued to the driver, after
//! merging) if the trace has it, else `Q` (queued), else `C` (completed). RWBS: `W` write, `R` read, `D` discard, a
//! lone `F` flush. Messages, passed-through commands and summaries are ignored; several concatenated outputs form one
//! trace.

use wafer_interface::Op;

use crate::decode::{LineFormat, Parsed, checked, sectors};
use crate::fields::{number, seconds};
use crate::request::{NO_PROCESS, Names, Request};

pub(super) struct BlkParse {
    /// The only action that counts.
    action: u8,
    /// Within a summary.
    summary: bool,
}

impl BlkParse {
    /// Chooses the action from the beginning of the trace.
    pub(super) fn new(head: &[u8]) -> Self {
        let has = |action: u8| {
            head.split(|b| *b == b'\n').any(|line| {
                let mut words = line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
                words.nth(5) == Some(&[action])
            })
        };
        let action = [b'D', b'Q', b'C'].into_iter().find(|action| has(*action)).unwrap_or(b'Q');
        BlkParse { action, summary: false }
    }
}

impl LineFormat for BlkParse {
    fn line(&mut self, line: &[u8], names: &mut Names) -> Parsed {
        if line.starts_with(b"CPU") || line.starts_with(b"Total (") {
            self.summary = true;
            return Ok(None);
        }
        let mut words = line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
        let mut word = || words.next().ok_or("expected: device cpu sequence time pid action RWBS");
        let device = word()?;
        if !device.first().is_some_and(u8::is_ascii_digit) || !device.contains(&b',') {
            if self.summary {
                return Ok(None);
            }
            return Err("expected a device such as 8,0 in the first column");
        }
        self.summary = false;
        let (_cpu, _sequence) = (word()?, word()?);
        let time = seconds(word()?).ok_or("time: expected seconds")?;
        let _pid = word()?;
        let action = word()?;
        if action != [self.action] {
            // Messages, other steps of the same request, and events without a request.
            return match action {
                [b'A'..=b'Z', ..] | [b'm'] => Ok(None),
                _ => Err("action: expected a letter"),
            };
        }
        let rwbs = word()?;
        let op = match rwbs.iter().find(|b| matches!(b, b'W' | b'R' | b'D')) {
            Some(b'W') => Op::Write,
            Some(b'R') => Op::Read,
            Some(_) => Op::Deallocate,
            None if rwbs.contains(&b'F') => Op::Flush,
            // N: neither reads nor writes, such as a passed-through command.
            None if rwbs.contains(&b'N') => return Ok(None),
            None => return Err("RWBS: expected one of R, W, D, F, N"),
        };
        let volume = names.volume(device);
        let (Some(sector), Some(plus)) = (words.next(), words.next()) else {
            // A flush has no address.
            return Ok(Some(Request { volume, ..Request::new(Op::Flush, time, 0, 0) }));
        };
        let Some(sector) = number(sector) else {
            return Ok(Some(Request { volume, ..Request::new(Op::Flush, time, 0, 0) }));
        };
        // A command passed through to the drive is followed by its bytes, such as `36 (12 00 ..)`.
        if plus.starts_with(b"(") {
            return Ok(None);
        }
        if plus != b"+" {
            return Err("expected `+` between sector and length");
        }
        let length = words.next().and_then(number).ok_or("length: expected sectors")?;
        // Names may contain blanks and brackets; nothing before them does.
        let line = line.trim_ascii_end();
        let process = match memchr::memchr(b'[', line) {
            Some(open) if line.ends_with(b"]") && self.action != b'C' => {
                names.process(&line[open + 1..line.len() - 1])
            }
            _ => NO_PROCESS,
        };
        let op = if length == 0 { Op::Flush } else { op };
        let request = Request::new(op, time, sectors(sector)?, sectors(length)?);
        checked(Request { volume, process, ..request })
    }
}
