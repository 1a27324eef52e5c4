//! Metadata of a file system: a journal ring, and blocks later written in place.

use std::collections::VecDeque;

use wafer_interface::{Command, Op};
use wafer_random::Rng;

use super::part::{PAGE, Part};

/// Journal and metadata blocks of a file system.
pub(super) struct Metadata {
    journal: Part,
    /// Next page of the ring.
    at: u64,
    blocks: Part,
    /// Blocks changed since the last commit, and whether each block is among them.
    changed: Vec<u32>,
    is_changed: Vec<bool>,
    /// Blocks not written in place since they changed, with the time, oldest first.
    dirty: VecDeque<(u32, f64)>,
    is_dirty: Vec<bool>,
}

/// Journal blocks of a commit besides the metadata: descriptor and commit record (JBD2).
const COMMIT_BLOCKS: u64 = 2;

impl Metadata {
    pub(super) fn new(journal: Part, blocks: Part) -> Self {
        let count = blocks.pages as usize;
        Metadata {
            journal,
            at: 0,
            blocks,
            changed: Vec::new(),
            is_changed: vec![false; count],
            dirty: VecDeque::new(),
            is_dirty: vec![false; count],
        }
    }

    /// Changes `count` random blocks.
    pub(super) fn touch(&mut self, count: u32, now: f64, rng: &mut Rng) {
        for _ in 0..count {
            let block = rng.below(self.blocks.pages) as u32;
            if !std::mem::replace(&mut self.is_changed[block as usize], true) {
                self.changed.push(block);
            }
            if !std::mem::replace(&mut self.is_dirty[block as usize], true) {
                self.dirty.push_back((block, now));
            }
        }
    }

    /// Writes the blocks changed since the last commit to the journal. Returns the bytes written.
    pub(super) fn commit(&mut self, out: &mut Vec<Command>) -> u64 {
        if self.changed.is_empty() {
            return 0;
        }
        let pages = self.changed.len() as u64 + COMMIT_BLOCKS;
        for block in self.changed.drain(..) {
            self.is_changed[block as usize] = false;
        }
        self.ring(pages, out);
        pages * PAGE
    }

    /// Appends pages to the ring.
    fn ring(&mut self, pages: u64, out: &mut Vec<Command>) {
        let mut left = pages;
        while left > 0 {
            let part = left.min(self.journal.pages - self.at);
            out.push(self.journal.command(Op::Write, self.at, part));
            self.at = (self.at + part) % self.journal.pages;
            left -= part;
        }
    }

    /// Writes blocks in place that have been dirty since `before`. Returns the bytes written.
    pub(super) fn write_expired(&mut self, before: f64, out: &mut Vec<Command>) -> u64 {
        let mut bytes = 0;
        while let Some(&(block, _)) = self.dirty.front().filter(|(_, since)| *since <= before) {
            self.dirty.pop_front();
            self.is_dirty[block as usize] = false;
            out.push(self.blocks.command(Op::Write, u64::from(block), 1));
            bytes += PAGE;
        }
        bytes
    }
}
