//! AutoStream: a chunk of the logical space goes to a stream by how often and how recently hosts wrote to it; writes that
//! continue where the handle's last one ended stay in its stream (the SFR algorithm of Yang, Pandurangan, Choi and
//! Balakrishnan, "AutoStream: automatic stream management for multi-streamed SSDs", SYSTOR '17).
//!
//! The paper decays the count of a chunk continuously and in seconds. Here counts halve at the end of each period of
//! four writes for each chunk, whatever their size. A write of pages counts once, for its first page. Relocated pages
//! stay in their stream.
//!
//! State: 8 bytes for each chunk of at most 256 pages, 16 for each handle. Work: one count for each write that is not
//! sequential.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::content::{Content, Unknown};
use crate::separator::{Separator, Sizes, Victim};

/// Number of streams, the coldest first. The hottest has counts of 32 and more.
const STREAMS: u8 = 6;
/// Minimum number of chunks of a device, and maximum pages of a chunk: 1 MiB of 4 KiB.
const LEAST_CHUNKS: u64 = 1024;
const MOST_PAGES: u64 = 256;
/// Writes in a period for each chunk.
const PERIOD: u64 = 4;

/// State of each chunk and each handle.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AutoStream {
    #[serde(skip)]
    chunk_pages: u64,
    /// Number of counted writes.
    writes: u64,
    chunks: Vec<Chunk>,
    handles: Vec<Last>,
    /// Whether the caller sets the streams of writes, and none is counted.
    #[serde(skip)]
    told: bool,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Chunk {
    /// Number of writes, halved at the end of each period.
    count: u32,
    /// Period of the last write.
    period: u32,
}

/// The last write of a handle.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Last {
    /// The page behind it.
    next: u64,
    stream: u8,
}

impl AutoStream {
    /// Counts a write of some pages through a handle, and returns its stream.
    pub fn count(&mut self, pages: Range<u64>, handle: u32) -> u8 {
        self.write(pages.start, handle, None::<Unknown>);
        let last = &mut self.handles[handle as usize];
        last.next = pages.end;
        last.stream
    }

    /// Sets the stream of the next writes through a handle, and stops counting: for a copy of a device that sees only
    /// some of its pages, where short writes look rarer than they are.
    pub fn tell(&mut self, handle: u32, stream: u8) {
        self.told = true;
        self.handles[handle as usize].stream = stream;
    }

    /// Returns the period of the next write.
    fn period(&self) -> u32 {
        (self.writes / (PERIOD * self.chunks.len() as u64)) as u32
    }
}

impl Separator for AutoStream {
    const HOST_CLASSES: u8 = STREAMS;

    fn relocated_classes(_: u8) -> u8 {
        STREAMS
    }

    fn new(sizes: &Sizes) -> Self {
        let chunk_pages = (sizes.logical_pages / LEAST_CHUNKS).clamp(1, MOST_PAGES);
        let chunks = sizes.logical_pages.div_ceil(chunk_pages) as usize;
        AutoStream {
            chunk_pages,
            writes: 0,
            chunks: vec![Chunk::default(); chunks],
            // No page lies behind the last one: the first write of a handle counts.
            handles: vec![Last { next: u64::MAX, stream: 0 }; sizes.handles.into()],
            told: false,
        }
    }

    #[inline(always)]
    fn write(&mut self, page: u64, handle: u32, _: Option<impl Content>) {
        if self.told {
            return;
        }
        let period = self.period();
        let last = &mut self.handles[handle as usize];
        if page != last.next {
            let chunk = &mut self.chunks[(page / self.chunk_pages) as usize];
            let kept = chunk.count.checked_shr(period - chunk.period).unwrap_or(0);
            *chunk = Chunk { count: kept + 1, period };
            last.stream = chunk.count.ilog2().min(u32::from(STREAMS) - 1) as u8;
            self.writes += 1;
        }
        last.next = page + 1;
    }

    #[inline(always)]
    fn host_class(&self, handle: u32, _: Option<impl Content>, _: u64) -> (u8, u64) {
        (self.handles[handle as usize].stream, 0)
    }

    fn collect(&mut self, victim: &Victim, _: u64) -> u8 {
        victim.generation.checked_sub(1).unwrap_or(victim.class)
    }

    fn resume(&mut self, saved: Self, now: u64) -> Result<(), String> {
        if (saved.chunks.len(), saved.handles.len()) != (self.chunks.len(), self.handles.len()) {
            return Err("chunks or handles of another device".to_owned());
        }
        let most = (PERIOD * 2 * self.chunks.len() as u64).min(now);
        let chunk =
            |chunk: &Chunk| u64::from(chunk.count) <= most && chunk.period <= saved.period();
        if saved.writes > now || !saved.chunks.iter().all(chunk) {
            return Err(format!("more writes than the {now} pages written"));
        }
        if saved.handles.iter().any(|last| last.stream >= STREAMS) {
            return Err(format!("a stream of {STREAMS} or above"));
        }
        *self = AutoStream { chunk_pages: self.chunk_pages, told: self.told, ..saved };
        Ok(())
    }
}
