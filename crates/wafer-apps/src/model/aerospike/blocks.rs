//! Write blocks: which records they hold, which are free, and which await defragmentation.

use std::collections::VecDeque;

/// The part of the store that fills a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writer {
    Clients = 0,
    Defrag = 1,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In the queue of free blocks.
    Free,
    /// In memory, being filled.
    Open,
    /// On the drive.
    Closed,
    /// On the drive, queued for defragmentation.
    Queued,
    /// Its live records were copied; becomes free when the copies are flushed.
    Vacated,
}

/// No record in a slot, or no slot for a record.
const NOTHING: u32 = u32::MAX;

pub(super) struct Blocks {
    per_block: u32,
    /// A closed block with fewer live records is defragmented.
    lwm: u32,
    /// Slot of each record's current copy: block * per_block + position.
    place: Vec<u32>,
    /// Record of each slot, including invalid copies: the current copy is where `place` points.
    record: Vec<u32>,
    live: Vec<u32>,
    state: Vec<State>,
    /// Number of flushes before the block's own.
    flushed_at: Vec<u64>,
    flushes: u64,
    free: VecDeque<u32>,
    to_defrag: VecDeque<u32>,
    vacated: Vec<u32>,
    /// Open block of each writer, and the number of its slots in use.
    open: [(u32, u32); 2],
    /// Blocks freed since the last call of [`Blocks::freed`].
    freed: Vec<u32>,
    stats: Stats,
}

/// Counts of defragmentation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stats {
    /// Records moved.
    pub(super) moved: u64,
    /// Slots of the blocks that became free.
    pub(super) slots_freed: u64,
    pub(super) defragmented: u64,
    /// Blocks taken above the low-water mark because no block was free.
    pub(super) forced: u64,
    /// Share of the blocks that are free.
    pub(super) free: f64,
}

/// With fewer free blocks, defragmentation takes any block. It needs one for the next flush of
/// clients, and one that it fills before it has emptied its first.
const LOW: usize = 4;

impl Blocks {
    pub(super) fn new(blocks: u32, per_block: u32, records: u64, lwm: u32) -> Self {
        let slots = blocks as usize * per_block as usize;
        let mut free: VecDeque<u32> = (0..blocks).collect();
        let mut state = vec![State::Free; blocks as usize];
        let mut open = || {
            let block = free.pop_front().expect("more than two blocks");
            state[block as usize] = State::Open;
            (block, 0)
        };
        let open = [open(), open()];
        Blocks {
            per_block,
            lwm,
            place: vec![NOTHING; records as usize],
            record: vec![NOTHING; slots],
            live: vec![0; blocks as usize],
            state,
            flushed_at: vec![0; blocks as usize],
            flushes: 0,
            free,
            to_defrag: VecDeque::new(),
            vacated: Vec::new(),
            open,
            freed: Vec::new(),
            stats: Stats::default(),
        }
    }

    /// Appends a record to a writer's block; returns whether the block is full and must be flushed.
    pub(super) fn append(&mut self, record: u32, writer: Writer) -> bool {
        let old = self.place[record as usize];
        let (block, taken) = &mut self.open[writer as usize];
        let slot = *block * self.per_block + *taken;
        self.live[*block as usize] += 1;
        *taken += 1;
        let full = *taken == self.per_block;
        self.record[slot as usize] = record;
        self.place[record as usize] = slot;
        if writer == Writer::Defrag {
            self.stats.moved += 1;
        }
        if old != NOTHING {
            self.invalidate(old / self.per_block);
        }
        full
    }

    /// Invalidates one record of a block.
    fn invalidate(&mut self, block: u32) {
        let b = block as usize;
        self.live[b] -= 1;
        if self.state[b] == State::Closed {
            self.reclaim(block);
        }
    }

    /// Frees a closed block without live records, or queues it when it is below the low-water mark.
    fn reclaim(&mut self, block: u32) {
        let b = block as usize;
        if self.live[b] == 0 {
            self.set_free(block);
        } else if self.live[b] < self.lwm {
            self.state[b] = State::Queued;
            self.to_defrag.push_back(block);
        }
    }

    fn set_free(&mut self, block: u32) {
        self.state[block as usize] = State::Free;
        self.free.push_back(block);
        self.freed.push(block);
        self.stats.slots_freed += u64::from(self.per_block);
    }

    /// Closes a writer's block, which is written to the drive, and opens the next. Returns the closed block.
    pub(super) fn flush(&mut self, writer: Writer) -> u32 {
        let block = self.open[writer as usize].0;
        self.state[block as usize] = State::Closed;
        self.flushed_at[block as usize] = self.flushes;
        self.flushes += 1;
        self.reclaim(block);
        if writer == Writer::Defrag {
            for block in std::mem::take(&mut self.vacated) {
                self.set_free(block);
            }
        }
        // `next_defrag` keeps some blocks free. A second flush within one defragmentation finds the
        // block vacated by the previous defragmentation.
        let next = self.free.pop_front().expect("defragmentation keeps blocks free");
        self.state[next as usize] = State::Open;
        self.open[writer as usize] = (next, 0);
        block
    }

    /// Returns the next block to defragment.
    pub(super) fn next_defrag(&mut self) -> Option<u32> {
        if let Some(block) = self.to_defrag.pop_front() {
            return Some(block);
        }
        if self.free.len() >= LOW {
            return None;
        }
        let closed = (0..self.live.len()).filter(|&b| self.state[b] == State::Closed);
        let block = closed.min_by_key(|&b| self.live[b])? as u32;
        self.state[block as usize] = State::Queued;
        self.stats.forced += 1;
        Some(block)
    }

    /// Returns the first live record of a block at or after `slot`, with its slot.
    pub(super) fn live_from(&self, block: u32, slot: u32) -> Option<(u32, u32)> {
        (slot..self.per_block).find_map(|slot| {
            let at = block * self.per_block + slot;
            let record = self.record[at as usize];
            (record != NOTHING && self.place[record as usize] == at).then_some((slot, record))
        })
    }

    /// Frees a block whose live records were copied, as soon as the copies are flushed.
    pub(super) fn vacate(&mut self, block: u32) {
        assert_eq!(self.live[block as usize], 0, "live records of block {block} are left");
        self.stats.defragmented += 1;
        // No copy is left in memory: all are on the drive.
        if self.open[Writer::Defrag as usize].1 == 0 {
            self.set_free(block);
        } else {
            self.state[block as usize] = State::Vacated;
            self.vacated.push(block);
        }
    }

    /// Returns the block and slot of a record.
    pub(super) fn place(&self, record: u32) -> (u32, u32) {
        let slot = self.place[record as usize];
        (slot / self.per_block, slot % self.per_block)
    }

    /// Returns whether a block is read from memory: open, or among the last `queue` flushed.
    pub(super) fn in_memory(&self, block: u32, queue: u32) -> bool {
        self.state[block as usize] == State::Open
            || self.flushes - self.flushed_at[block as usize] <= u64::from(queue)
    }

    /// Returns the blocks freed since the last call.
    pub(super) fn freed(&mut self) -> std::vec::Drain<'_, u32> {
        self.freed.drain(..)
    }

    pub(super) fn stats(&self) -> Stats {
        Stats { free: self.free.len() as f64 / self.live.len() as f64, ..self.stats }
    }

    /// Recomputes everything from the places of the records.
    #[cfg(test)]
    pub(super) fn check_invariants(&self) {
        let mut live = vec![0; self.live.len()];
        for (record, &slot) in self.place.iter().enumerate().filter(|(_, s)| **s != NOTHING) {
            assert_eq!(self.record[slot as usize] as usize, record, "slot of record {record}");
            live[(slot / self.per_block) as usize] += 1;
        }
        assert_eq!(live, self.live);
        let of = |state| self.state.iter().filter(|s| **s == state).count();
        assert_eq!(of(State::Free), self.free.len());
        assert_eq!(of(State::Queued), self.to_defrag.len());
        assert_eq!(of(State::Vacated), self.vacated.len());
        assert_eq!(of(State::Open), 2);
        for (block, &live) in self.live.iter().enumerate() {
            match self.state[block] {
                State::Free | State::Vacated => assert_eq!(live, 0, "block {block}"),
                State::Closed => assert!(live >= self.lwm, "block {block} should be queued"),
                State::Queued | State::Open => {}
            }
        }
    }
}
