//! The SLC cache: programs of one page of every plane, reads, and folds into the reclaim units.

use super::Media;
use crate::die::{Frees, Room};
use crate::time::Time;
use crate::work::Work;

/// The SLC cache of a drive, on all its dies in turn.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    /// Pages that are not part of a program yet: all written by hosts, and all in the buffer.
    pub(super) filling: u32,
    next_die: usize,
    /// Pages of a block with one bit per cell.
    block: u32,
    /// Pages programmed on each die since the last erase.
    programmed: Vec<u32>,
    /// Pages that leave the cache and have not been read yet.
    to_fold: u32,
}

impl Cache {
    pub(super) fn new(dies: u32, block: u64) -> Self {
        let block = u32::try_from(block).unwrap_or(u32::MAX).max(1);
        let programmed = vec![0; dies as usize];
        Cache { filling: 0, next_die: 0, block, programmed, to_fold: 0 }
    }
}

impl Media {
    /// Adds pages of a host to the programs of the cache, and starts the programs that are full.
    pub(super) fn fill_cache(&mut self, mut pages: u32, now: Time) {
        self.occupied.host += u64::from(pages) * self.shape.page_bytes;
        while pages > 0 {
            let count = pages.min(self.unit - self.cache.filling);
            self.cache.filling += count;
            pages -= count;
            if self.cache.filling == self.unit {
                self.program_cache(now);
            }
        }
    }

    /// Programs what the cache has received; a partial program is padded. If that fills the block, the next one in the
    /// ring is erased.
    pub(super) fn program_cache(&mut self, now: Time) {
        let pages = std::mem::take(&mut self.cache.filling);
        let die = self.cache.next_die;
        self.cache.next_die = (die + 1) % self.dies.len();
        let host = u64::from(pages) * self.shape.page_bytes;
        let room = Room { host, relocated: 0 };
        let length = self.times.cache_program;
        self.queue_program(die, now, pages, length, Work::HostProgram, room);
        self.cache.programmed[die] += pages;
        if self.cache.programmed[die] >= self.cache.block {
            self.cache.programmed[die] -= self.cache.block;
            if self.times.erase > 0 {
                self.erase_block(die, now);
            }
        }
    }

    /// Reads pages of the cache that leave it.
    pub(super) fn fold(&mut self, pages: u32, now: Time) {
        self.cache.to_fold += pages;
        while self.cache.to_fold >= self.unit {
            self.cache.to_fold -= self.unit;
            self.read_cache(now);
        }
    }

    /// Reads cells of the cache for background work.
    pub(super) fn read_cache(&mut self, now: Time) {
        let die = self.any_die();
        let length = self.times.cache_read;
        self.counts.dies.add(Work::BackgroundRead, length);
        self.occupied -=
            self.dies.push(die, Work::BackgroundRead, [now, now], length, Frees::default());
    }
}
