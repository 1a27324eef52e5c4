//! A file system behind the page cache: files get their location when they are written back.

use std::collections::VecDeque;

use wafer_interface::{Command, Op};

use super::part::{Part, What};
use crate::model::area::{Area, Extent};

/// A file: its slot, and how often the slot has been reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileId {
    slot: u32,
    version: u32,
}

#[derive(Debug, Default)]
struct Slot {
    version: u32,
    /// Number of pages, while they are dirty.
    dirty: u64,
    extents: Vec<Extent>,
}

pub(super) struct FileSystem {
    part: Part,
    what: What,
    area: Area,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Files in the order in which they became dirty, with the time.
    queue: VecDeque<(FileId, f64)>,
    dirty: u64,
    created: u64,
    never_written: u64,
    without_room: u64,
}

impl FileSystem {
    pub(super) fn new(part: Part, what: What) -> Self {
        FileSystem {
            area: Area::new(part.pages),
            part,
            what,
            slots: Vec::new(),
            free: Vec::new(),
            queue: VecDeque::new(),
            dirty: 0,
            created: 0,
            never_written: 0,
            without_room: 0,
        }
    }

    pub(super) fn what(&self) -> What {
        self.what
    }

    /// Creates a file in the page cache.
    pub(super) fn create(&mut self, pages: u64, now: f64) -> FileId {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            (self.slots.len() - 1) as u32
        });
        let entry = &mut self.slots[slot as usize];
        entry.dirty = pages;
        let file = FileId { slot, version: entry.version };
        self.dirty += pages;
        self.created += 1;
        self.queue.push_back((file, now));
        file
    }

    /// Deletes a file; if it was never written back, nothing of it reaches the drive.
    pub(super) fn delete(&mut self, file: FileId, discard: bool, out: &mut Vec<Command>) {
        let slot = &mut self.slots[file.slot as usize];
        assert_eq!(slot.version, file.version, "deleted twice");
        slot.version = slot.version.wrapping_add(1);
        let dirty = std::mem::take(&mut slot.dirty);
        self.dirty -= dirty;
        self.never_written += u64::from(dirty > 0);
        let extents = std::mem::take(&mut slot.extents);
        self.area.free_extents(&extents);
        if discard {
            let part = &self.part;
            out.extend(extents.iter().map(|&(at, n)| part.command(Op::Deallocate, at, n)));
        }
        self.free.push(file.slot);
    }

    /// Returns the number of dirty pages.
    pub(super) fn dirty(&self) -> u64 {
        self.dirty
    }

    /// Returns the time at which the oldest dirty file became dirty.
    pub(super) fn oldest(&mut self) -> Option<f64> {
        while let Some(&(file, since)) = self.queue.front() {
            if self.slots[file.slot as usize].version == file.version {
                return Some(since);
            }
            self.queue.pop_front();
        }
        None
    }

    /// Allocates and writes the oldest dirty file.
    pub(super) fn write_oldest(&mut self, out: &mut Vec<Command>) {
        // `oldest` removes deleted files from the front of the queue.
        let _ = self.oldest();
        let Some((file, _)) = self.queue.pop_front() else { return };
        let slot = &mut self.slots[file.slot as usize];
        let pages = std::mem::take(&mut slot.dirty);
        self.dirty -= pages;
        match self.area.take(pages) {
            None => self.without_room += 1,
            Some(extents) => {
                let part = &self.part;
                out.extend(extents.iter().map(|&(at, n)| part.command(Op::Write, at, n)));
                slot.extents = extents;
            }
        }
    }

    /// Returns the number of files created, and of those deleted before they were written.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.created, self.never_written)
    }

    pub(super) fn without_room(&self) -> u64 {
        self.without_room
    }

    #[cfg(test)]
    pub(super) fn check_invariants(&self) {
        self.area.check_invariants();
        assert_eq!(self.dirty, self.slots.iter().map(|s| s.dirty).sum::<u64>());
        let placed: u64 = self.slots.iter().flat_map(|s| &s.extents).map(|e| e.1).sum();
        assert_eq!(placed, self.part.pages - self.area.free());
    }
}
