//! Host-written pages that wait in front of the reclaim units.
//!
//! # What it is
//! [`WriteCache`] is one of two things. A *write buffer* in memory holds each page once: a page that is written again
//! is merged with the waiting one. An *SLC cache* is a log in flash: each write takes a place in it, and the place of a
//! replaced page is wasted until its turn. In both, the page that has waited longest leaves first.
//!
//! # Invariants
//! - Each page waits at most once.
//! - A buffer holds at most its capacity in pages; a log has at most that many places in use.
//! - A page leaves as a write of the whole page or, if hosts wrote only a part of it, of its first logical block.
//!
//! # Error model
//! Commands must be those that a device accepts: within their namespace. [`WriteCache::check`] checks state from a
//! file.
//!
//! # What it does not implement
//! Counters and the map: they are the device's. Time.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use wafer_interface::{Command, NsId, Op, Placement};

/// Maximum number of logical blocks of a page: 64 KiB of 512 bytes.
const MOST_BLOCKS: u64 = 128;

/// A page of a namespace.
type Page = (u8, u64);

/// How pages wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Memory: a page that is written again is merged with the waiting one.
    Buffer,
    /// A log of flash pages: each write is programmed there as a whole page.
    Log,
}

/// A page that waits, or the place of one that no longer does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Entry {
    page: Page,
    /// Placement identifier of the newest write.
    placement: u16,
    /// Written logical blocks, one bit each.
    blocks: u128,
}

/// Pages that wait; see the [crate](self).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WriteCache {
    kind: Kind,
    /// Maximum number of pages, at least 1.
    most: u64,
    blocks_per_page: u64,
    /// Places in the order of writing; those without blocks are empty.
    entries: VecDeque<Entry>,
    /// Number of the first entry.
    #[serde(skip)]
    first: u64,
    /// Number of the entry of each page that waits.
    #[serde(skip)]
    waiting: FxHashMap<Page, u64>,
}

impl WriteCache {
    /// Creates an empty cache of at most `most` pages.
    pub fn new(kind: Kind, most: u64, blocks_per_page: u64) -> Self {
        let (entries, waiting) = (VecDeque::new(), FxHashMap::default());
        WriteCache { kind, most: most.max(1), blocks_per_page, entries, first: 0, waiting }
    }

    /// Returns how pages wait.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Takes a write. Writes of pages that leave to make room are appended to `out`. Returns how many of its pages are
    /// programmed into the cache, and how many of these only after the rest of the page is read.
    pub fn write(&mut self, command: &Command, out: &mut Vec<Command>) -> (u64, u64) {
        let (size, end) = (self.blocks_per_page, command.lba + u64::from(command.blocks));
        let (mut programmed, mut in_part) = (0, 0);
        for number in command.lba / size..end.div_ceil(size) {
            let from = command.lba.max(number * size) - number * size;
            let to = end.min((number + 1) * size) - number * size;
            let mut blocks = (u128::MAX >> (MOST_BLOCKS - (to - from))) << from;
            let page = (command.namespace.0, number);
            if self.kind == Kind::Log {
                programmed += 1;
                in_part += u64::from(blocks != self.whole());
                blocks = self.whole();
            }
            let placement = command.placement.0;
            match self.waiting.get(&page).map(|at| (at - self.first) as usize) {
                Some(at) if self.kind == Kind::Buffer => {
                    self.entries[at].blocks |= blocks;
                    self.entries[at].placement = placement;
                }
                old => {
                    if let Some(at) = old {
                        self.entries[at].blocks = 0;
                    }
                    self.waiting.insert(page, self.first + self.entries.len() as u64);
                    self.entries.push_back(Entry { page, placement, blocks });
                    self.make_room(out);
                }
            }
        }
        (programmed, in_part)
    }

    /// Drops the whole pages of a range of logical blocks of a namespace, and calls `lost` for each that waited.
    pub fn deallocate(&mut self, command: &Command, mut lost: impl FnMut(u64)) {
        let end = command.lba + u64::from(command.blocks);
        let pages = command.lba.div_ceil(self.blocks_per_page)..end / self.blocks_per_page;
        let namespace = command.namespace.0;
        if pages.is_empty() {
            return;
        }
        if pages.end - pages.start <= self.waiting.len() as u64 {
            pages.filter(|page| self.forget((namespace, *page))).for_each(lost);
        } else {
            for at in 0..self.entries.len() {
                let Entry { page: (of, page), blocks, .. } = self.entries[at];
                if of == namespace && blocks != 0 && pages.contains(&page) {
                    self.forget((of, page));
                    lost(page);
                }
            }
        }
        self.compact();
    }

    /// Drops all pages of a namespace.
    pub fn delete(&mut self, namespace: NsId) {
        for at in 0..self.entries.len() {
            let Entry { page, blocks, .. } = self.entries[at];
            if page.0 == namespace.0 && blocks != 0 {
                self.forget(page);
            }
        }
        self.compact();
    }

    /// Empties the cache; the writes are appended to `out`.
    pub fn drain(&mut self, out: &mut Vec<Command>) {
        while let Some(entry) = self.pop() {
            out.extend(self.leaving(entry));
        }
    }

    /// Returns whether the whole page of a namespace waits, so that reading it reads no reclaim unit.
    pub fn holds(&self, namespace: NsId, page: u64) -> bool {
        let at = self.waiting.get(&(namespace.0, page));
        at.is_some_and(|at| self.entries[(at - self.first) as usize].blocks == self.whole())
    }

    /// Returns whether a page of a namespace waits, in whole or in part.
    pub fn waits(&self, namespace: NsId, page: u64) -> bool {
        self.waiting.contains_key(&(namespace.0, page))
    }

    /// Restores a saved cache of the same sizes. `pages` returns the number of pages of a namespace, if it exists.
    ///
    /// # Errors
    /// What is wrong with the saved cache.
    pub fn resume(
        &mut self,
        saved: WriteCache,
        pages: impl Fn(NsId) -> Option<u64>,
    ) -> Result<(), String> {
        let sizes = |of: &Self| (of.kind, of.most, of.blocks_per_page);
        if sizes(self) != sizes(&saved) {
            return Err("another kind or size of cache than configured".to_owned());
        }
        *self = saved;
        self.first = 0;
        self.waiting.clear();
        for (at, entry) in (0..).zip(&self.entries).filter(|(_, entry)| entry.blocks != 0) {
            self.waiting.insert(entry.page, at);
        }
        self.check(pages)
    }

    /// Checks the invariants.
    ///
    /// # Errors
    /// The invariant that does not hold.
    pub fn check(&self, pages: impl Fn(NsId) -> Option<u64>) -> Result<(), String> {
        let waiting = self.entries.iter().filter(|entry| entry.blocks != 0);
        if waiting.clone().count() != self.waiting.len() {
            return Err("a page waits twice".to_owned());
        }
        let used = match self.kind {
            Kind::Buffer => self.waiting.len(),
            Kind::Log => self.entries.len(),
        };
        if used as u64 > self.most {
            return Err(format!("{used} pages in {}", self.most));
        }
        for Entry { page: (namespace, page), blocks, .. } in waiting {
            if pages(NsId(*namespace)).is_none_or(|pages| *page >= pages) {
                return Err(format!("page {page} of namespace {namespace} does not exist"));
            }
            if blocks & !self.whole() != 0 || (self.kind == Kind::Log && *blocks != self.whole()) {
                return Err(format!("blocks of page {page} that it does not have"));
            }
        }
        Ok(())
    }

    /// Returns the blocks of a whole page.
    fn whole(&self) -> u128 {
        u128::MAX >> (MOST_BLOCKS - self.blocks_per_page)
    }

    fn make_room(&mut self, out: &mut Vec<Command>) {
        let over = |cache: &Self| match cache.kind {
            Kind::Buffer => cache.waiting.len() as u64 > cache.most,
            Kind::Log => cache.entries.len() as u64 > cache.most,
        };
        while over(self) {
            let Some(entry) = self.pop() else { return };
            out.extend(self.leaving(entry));
        }
    }

    /// Removes the oldest place.
    fn pop(&mut self) -> Option<Entry> {
        let entry = self.entries.pop_front()?;
        self.first += 1;
        if entry.blocks != 0 {
            self.waiting.remove(&entry.page);
        }
        Some(entry)
    }

    /// Returns the write of a page that leaves, unless its place is empty.
    fn leaving(&self, entry: Entry) -> Option<Command> {
        let blocks = match entry.blocks {
            0 => return None,
            all if all == self.whole() => self.blocks_per_page as u32,
            _ => 1,
        };
        let (namespace, page) = entry.page;
        let lba = page * self.blocks_per_page;
        let placement = Placement(entry.placement);
        Some(Command { lba, blocks, placement, op: Op::Write, namespace: NsId(namespace) })
    }

    /// Empties the place of a page. Returns whether it waited.
    fn forget(&mut self, page: Page) -> bool {
        let at = self.waiting.remove(&page);
        if let Some(at) = at {
            self.entries[(at - self.first) as usize].blocks = 0;
        }
        at.is_some()
    }

    /// Removes the empty places of a buffer if they are the majority: in memory they cost only search time.
    fn compact(&mut self) {
        if self.kind == Kind::Buffer && self.entries.len() > 2 * self.waiting.len() + 64 {
            self.entries.retain(|entry| entry.blocks != 0);
            self.first = 0;
            for (at, entry) in (0..).zip(&self.entries) {
                self.waiting.insert(entry.page, at);
            }
        }
    }
}
