//! Joins the files that blktrace writes for each processor.
//!
//! `blktrace -d /dev/sda` writes `sda.blktrace.0`, `.1`, ...: one per processor, in order of time. Opening
//! the file of processor 0 opens all of them: the others beside it are merged with it, earliest record
//! first, as `blkparse -d` does.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use super::format::blktrace::{RECORD, frame};

/// Maximum number of files per trace: the processors of the largest machines.
const MOST: u32 = 4096;
/// Bytes joined at once.
const CHUNK: usize = 64 << 10;

/// Returns the files of a trace whose first is `path`, or `None` if it is the only one.
pub(super) fn files(path: &Path) -> Option<Vec<PathBuf>> {
    let name = path.file_name()?.to_str()?;
    let stem = name.strip_suffix(".blktrace.0")?;
    // Processors that were offline have no file.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let prefix = format!("{stem}.blktrace.");
    let mut numbers: Vec<u32> = std::fs::read_dir(folder.unwrap_or(Path::new(".")))
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_prefix(&prefix)?.parse().ok())
        .filter(|number| *number < MOST)
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    let files = numbers.iter().map(|n| path.with_file_name(format!("{prefix}{n}"))).collect();
    (numbers.len() > 1).then_some(files)
}

/// One processor's file.
struct Processor {
    bytes: BufReader<File>,
    /// Its next record.
    record: Vec<u8>,
}

impl Processor {
    /// Reads the next record and returns its time, or `None` at the end or where the file is damaged. The
    /// rest of a damaged file is then in `record`, and the decoder reports it.
    fn next(&mut self) -> io::Result<Option<u64>> {
        self.record.clear();
        self.bytes.by_ref().take(RECORD as u64).read_to_end(&mut self.record)?;
        let Some((time, payload)) = frame(&self.record) else { return Ok(None) };
        self.bytes.by_ref().take(payload as u64).read_to_end(&mut self.record)?;
        Ok((self.record.len() == RECORD + payload).then_some(time))
    }
}

/// All files in order of time.
pub(super) struct Joined {
    processors: Vec<Processor>,
    /// Time and processor of each file's next record.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    /// Damaged files, whose remaining bytes come at the end.
    damaged: Vec<usize>,
    buffer: Vec<u8>,
    at: usize,
}

impl Joined {
    pub(super) fn open(files: &[PathBuf]) -> io::Result<Self> {
        let mut joined = Joined {
            processors: Vec::new(),
            next: BinaryHeap::new(),
            damaged: Vec::new(),
            buffer: Vec::new(),
            at: 0,
        };
        for (number, file) in files.iter().enumerate() {
            let bytes = BufReader::with_capacity(CHUNK, File::open(file)?);
            joined.processors.push(Processor { bytes, record: Vec::new() });
            joined.advance(number)?;
        }
        Ok(joined)
    }

    fn advance(&mut self, number: usize) -> io::Result<()> {
        let processor = &mut self.processors[number];
        match processor.next()? {
            Some(time) => self.next.push(Reverse((time, number))),
            None if !processor.record.is_empty() => self.damaged.push(number),
            None => {}
        }
        Ok(())
    }

    fn fill(&mut self) -> io::Result<()> {
        self.buffer.clear();
        self.at = 0;
        while self.buffer.len() < CHUNK {
            let Some(Reverse((_, number))) = self.next.pop() else { break };
            self.buffer.extend_from_slice(&self.processors[number].record);
            self.advance(number)?;
        }
        while self.buffer.is_empty() {
            let Some(number) = self.damaged.last().copied() else { break };
            let processor = &mut self.processors[number];
            self.buffer.append(&mut processor.record);
            processor.bytes.by_ref().take(CHUNK as u64).read_to_end(&mut self.buffer)?;
            if self.buffer.is_empty() {
                self.damaged.pop();
            }
        }
        Ok(())
    }
}

impl Read for Joined {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == self.buffer.len() {
            self.fill()?;
        }
        let count = out.len().min(self.buffer.len() - self.at);
        out[..count].copy_from_slice(&self.buffer[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}
