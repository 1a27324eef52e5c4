//! fio's iolog, versions 2 and 3 (`write_iolog`).
//!
//! The first line is `fio version 2 iolog`, followed by `FILE add`, `open`, `close`; `FILE
//! read|write|trim OFFSET LENGTH` in bytes; `FILE sync|datasync`; `FILE wait MICROSECONDS`. Version 3
//! begins every action with its time in microseconds (as fio 3.33 writes it; its manual says
//! milliseconds) and has no `wait`. Each file is a volume.

use wafer_interface::Op;

use crate::decode::{LineFormat, Parsed, checked};
use crate::fields::{number, words};
use crate::request::{Names, Request};

#[derive(Default)]
pub(super) struct FioIolog {
    /// Version 3: each action begins with a time.
    timed: bool,
    /// Version 2: time of the next action, summed from the waits.
    clock: u64,
}

const ACTIONS: &str = "expected add, open, close, read, write, trim, sync, datasync or wait";

/// Returns the version in a header line.
pub(super) fn version(head: &[u8]) -> Option<u8> {
    let line = head.split(|b| *b == b'\n').next()?.trim_ascii_end();
    match line.strip_prefix(b"fio version ")?.strip_suffix(b" iolog")? {
        [digit @ (b'2' | b'3')] => Some(digit - b'0'),
        _ => None,
    }
}

impl FioIolog {
    pub(super) fn new(head: &[u8]) -> Self {
        FioIolog { timed: version(head) == Some(3), clock: 0 }
    }
}

impl LineFormat for FioIolog {
    fn line(&mut self, line: &[u8], names: &mut Names) -> Parsed {
        if line.starts_with(b"fio version ") {
            return match version(line) {
                Some(version) => {
                    self.timed = version == 3;
                    Ok(None)
                }
                None => Err("an iolog version other than 2 and 3"),
            };
        }
        let (fields, count) = words::<5>(line);
        let mut fields = &fields[..count.min(5)];
        if self.timed {
            let (time, rest) = fields.split_first().ok_or("expected a time in microseconds")?;
            self.clock = number(time)
                .and_then(|t| t.checked_mul(1_000))
                .ok_or("expected a time in microseconds")?;
            fields = rest;
        }
        let (file, action, rest) = match fields {
            [file, action, rest @ ..] => (*file, *action, rest),
            _ => return Err("expected a file and an action"),
        };
        let op = match action {
            b"write" => Op::Write,
            b"read" => Op::Read,
            b"trim" => Op::Deallocate,
            b"sync" | b"datasync" => {
                let volume = names.volume(file);
                return Ok(Some(Request { volume, ..Request::new(Op::Flush, self.clock, 0, 0) }));
            }
            b"wait" => {
                let wait =
                    rest.first().and_then(|w| number(w)).ok_or("wait: expected microseconds")?;
                self.clock = self.clock.saturating_add(wait.saturating_mul(1000));
                return Ok(None);
            }
            b"add" | b"open" | b"close" => return Ok(None),
            _ => return Err(ACTIONS),
        };
        let [offset, length] = rest else { return Err("expected an offset and a length") };
        let offset = number(offset).ok_or("offset: expected bytes")?;
        let length = number(length).ok_or("length: expected bytes")?;
        let volume = names.volume(file);
        checked(Request { volume, ..Request::new(op, self.clock, offset, length) })
    }
}
