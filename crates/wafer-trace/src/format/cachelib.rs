//! CacheLib's key-value traces as CSV with a header: `key,op,size,op_count,key_size` (2022) or
//! `op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase,sub_usecase` (2024).
//!
//! The requests go to the drive unchanged, as if there were no cache: each object is placed by its first write
//! (`objects.rs`). The application model `cachelib`, which reads the same files, simulates what CacheLib itself
//! would write. Units are bytes and seconds; an object comprises key and value. A request counts `op_count`
//! times; reads of objects never written are omitted. The `usecase` serves as the process.

use wafer_interface::Op;

use crate::decode::LineRequests;
use crate::fields::{Columns, padded, seconds};
use crate::objects::Objects;
use crate::request::{NO_PROCESS, Names, Request};

/// Maximum repetitions of one line; more are damage.
const MOST_REPEATED: u64 = 1 << 16;

/// The positions of the columns.
struct Layout {
    key: usize,
    op: usize,
    size: usize,
    count: Option<usize>,
    key_size: Option<usize>,
    time: Option<usize>,
    usecase: Option<usize>,
}

impl Layout {
    fn of(line: &[u8]) -> Option<Self> {
        let columns = Columns::of(line);
        let find = |name| columns.find(&[name]);
        let (count, key_size) = (find("op_count"), find("key_size"));
        // Only CacheLib has these columns; `time,key,op,size` is libCacheSim's.
        if find("time").is_some() || (find("op_time").is_none() && find("key")? != 0) {
            return None;
        }
        Some(Layout {
            key: find("key")?,
            op: find("op")?,
            size: find("size")?,
            count,
            key_size,
            time: find("op_time"),
            usecase: find("usecase"),
        })
    }
}

/// Returns whether the first line is a header of this format.
pub(super) fn is_one(head: &[u8]) -> bool {
    let line = head.split(|b| *b == b'\n').next().unwrap_or_default();
    Layout::of(line.trim_ascii_end()).is_some()
}

#[derive(Default)]
pub(super) struct CacheLib {
    layout: Option<Layout>,
    objects: Objects,
}

/// Returns the operation that a word names, as in `cachebench`.
fn operation(word: &[u8]) -> Option<Op> {
    match word.to_ascii_lowercase().as_slice() {
        b"get" | b"get_lease" | b"gets" | b"get_range" => Some(Op::Read),
        b"set" | b"set_lease" | b"add" | b"replace" | b"cas" => Some(Op::Write),
        b"delete" | b"del" => Some(Op::Deallocate),
        _ => None,
    }
}

/// Reads an optional column: `default` if the trace lacks it or the field is empty.
fn optional(
    columns: &Columns<'_>,
    column: Option<usize>,
    default: u64,
) -> Result<u64, &'static str> {
    match column.map(|column| columns.get(column)) {
        None | Some(b"") => Ok(default),
        Some(field) => padded(field).ok_or("op_count and key_size: expected numbers"),
    }
}

impl LineRequests for CacheLib {
    fn requests(
        &mut self,
        line: &[u8],
        names: &mut Names,
        out: &mut Vec<Request>,
    ) -> Result<(), &'static str> {
        let Some(layout) = &self.layout else {
            self.layout = Some(Layout::of(line).ok_or("expected a header with key, op and size")?);
            return Ok(());
        };
        let columns = Columns::of(line);
        let key = columns.get(layout.key);
        if key.is_empty() {
            return Err("key: missing");
        }
        let op = operation(columns.get(layout.op)).ok_or("op: expected get, set or delete")?;
        // Some releases write it as a fraction or leave it empty.
        let size = match columns.get(layout.size) {
            b"" => 0,
            field => crate::fields::time(field, 1).ok_or("size: expected bytes")?,
        };
        let size = size
            .checked_add(optional(&columns, layout.key_size, 0)?)
            .ok_or("size: expected bytes")?;
        let count = optional(&columns, layout.count, 1)?;
        if count > MOST_REPEATED {
            return Err("op_count: more than 65536 in one line");
        }
        let time = match layout.time {
            Some(column) => seconds(columns.get(column)).ok_or("op_time: expected seconds")?,
            None => 0,
        };
        let process = match layout.usecase.map(|column| columns.get(column)) {
            None | Some(b"") => NO_PROCESS,
            Some(name) => names.process(name),
        };
        let object = Objects::number(key);
        let first = out.len();
        for _ in 0..count {
            match op {
                Op::Write => self.objects.write(object, size, time, out)?,
                Op::Read => out.extend(self.objects.read(object, size, time)),
                _ => out.extend(self.objects.delete(object, time)),
            }
        }
        out[first..].iter_mut().for_each(|request| request.process = process);
        Ok(())
    }
}
