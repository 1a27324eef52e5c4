//! The main area: segments, logs, owners of blocks, and cleaning victims.

/// Blocks of a segment: 2 MiB.
pub(super) const SEGMENT: u32 = 512;

/// The six logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Log {
    HotData = 0,
    WarmData = 1,
    ColdData = 2,
    /// Inodes of directories; the file server has none.
    #[expect(dead_code, reason = "the file server makes no directories")]
    HotNode = 3,
    WarmNode = 4,
    ColdNode = 5,
}

pub(super) const LOGS: usize = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    /// A log writes to it.
    Open,
    Used,
    /// Without valid blocks; free after the next checkpoint.
    Prefree,
}

/// No owner, or no block.
const NOTHING: u32 = u32::MAX;

/// Counts of the segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stats {
    pub(super) written: u64,
    /// Blocks written into invalid blocks of used segments.
    pub(super) reused: u64,
    pub(super) cleaned: u64,
    /// Blocks moved by cleaning.
    pub(super) moved: u64,
}

/// Main area of a file system.
pub(super) struct Segments {
    /// Owner of each block.
    owner: Vec<u32>,
    /// Block of each owner.
    place: Vec<u32>,
    valid: Vec<u16>,
    state: Vec<State>,
    /// Whether each segment holds nodes instead of data.
    node: Vec<bool>,
    free: std::collections::VecDeque<u32>,
    prefree: Vec<u32>,
    /// Segment of each log, and the next block to try.
    open: [Option<(u32, u32)>; LOGS],
    reserved: u32,
    ssr_below: u32,
    /// Segments changed since the last call of [`Segments::changed`].
    changed: Vec<u32>,
    is_changed: Vec<bool>,
    /// Blocks invalidated since the last call of [`Segments::invalidated`], if `remember`.
    invalidated: Vec<u32>,
    remember: bool,
    stats: Stats,
}

impl Segments {
    pub(super) fn new(
        segments: u32,
        owners: usize,
        reserved: u32,
        ssr_below: u32,
        remember: bool,
    ) -> Self {
        let count = segments as usize;
        Segments {
            owner: vec![NOTHING; count * SEGMENT as usize],
            place: vec![NOTHING; owners],
            valid: vec![0; count],
            state: vec![State::Free; count],
            node: vec![false; count],
            free: (0..segments).collect(),
            prefree: Vec::new(),
            open: [None; LOGS],
            reserved,
            ssr_below,
            changed: Vec::new(),
            is_changed: vec![false; count],
            invalidated: Vec::new(),
            remember,
            stats: Stats::default(),
        }
    }

    fn is_node(log: Log) -> bool {
        log as usize >= 3
    }

    fn touch(&mut self, segment: u32) {
        if !std::mem::replace(&mut self.is_changed[segment as usize], true) {
            self.changed.push(segment);
        }
    }

    /// Writes a block for a user or a checkpoint; when free segments are few, it may go into invalid
    /// blocks.
    pub(super) fn write(&mut self, owner: u32, log: Log) -> u32 {
        self.put(owner, log, true)
    }

    /// Moves a block out of a segment being cleaned; it may use the reserve.
    pub(super) fn relocate(&mut self, owner: u32, log: Log) -> u32 {
        let place = self.put(owner, log, false);
        self.stats.moved += 1;
        place
    }

    fn put(&mut self, owner: u32, log: Log, reuse: bool) -> u32 {
        let place = self.next_block(log, reuse);
        self.stats.written += 1;
        let old = std::mem::replace(&mut self.place[owner as usize], place);
        self.owner[place as usize] = owner;
        let segment = place / SEGMENT;
        self.valid[segment as usize] += 1;
        self.touch(segment);
        if old != NOTHING {
            self.invalidate(old);
        }
        place
    }

    fn invalidate(&mut self, place: u32) {
        self.owner[place as usize] = NOTHING;
        if self.remember {
            self.invalidated.push(place);
        }
        let segment = place / SEGMENT;
        self.valid[segment as usize] -= 1;
        self.touch(segment);
        if self.valid[segment as usize] == 0 && self.state[segment as usize] == State::Used {
            self.state[segment as usize] = State::Prefree;
            self.prefree.push(segment);
        }
    }

    /// Returns the next block that a log writes.
    fn next_block(&mut self, log: Log, reuse: bool) -> u32 {
        loop {
            if let Some((segment, from)) = self.open[log as usize] {
                let next = (from..SEGMENT)
                    .find(|b| self.owner[(segment * SEGMENT + b) as usize] == NOTHING);
                if let Some(block) = next {
                    self.open[log as usize] = Some((segment, block + 1));
                    return segment * SEGMENT + block;
                }
                self.close(segment);
                self.open[log as usize] = None;
            }
            let few = self.free.len() as u32 <= self.reserved + self.ssr_below;
            let reused = if reuse && few && self.ssr_below > 0 {
                self.least_valid(Some(Segments::is_node(log)))
            } else {
                None
            };
            let segment = match reused.or_else(|| self.free.pop_front()) {
                Some(segment) => segment,
                // Cleaning keeps the reserve free; when that is full, a log takes any used segment.
                None => self.least_valid(None).expect("a segment has an invalid block"),
            };
            if self.state[segment as usize] == State::Used {
                self.stats.reused += u64::from(SEGMENT) - u64::from(self.valid[segment as usize]);
            }
            self.state[segment as usize] = State::Open;
            self.node[segment as usize] = Segments::is_node(log);
            self.open[log as usize] = Some((segment, 0));
        }
    }

    fn close(&mut self, segment: u32) {
        let empty = self.valid[segment as usize] == 0;
        self.state[segment as usize] = if empty { State::Prefree } else { State::Used };
        if empty {
            self.prefree.push(segment);
        }
    }

    /// Returns the used segment with the fewest valid blocks, among those of nodes, of data or of both;
    /// `None` if every block of them is valid.
    fn least_valid(&self, node: Option<bool>) -> Option<u32> {
        let used = (0..self.state.len()).filter(|&s| {
            self.state[s] == State::Used && node.is_none_or(|node| self.node[s] == node)
        });
        let best = used.min_by_key(|&s| self.valid[s])?;
        (u32::from(self.valid[best]) < SEGMENT).then_some(best as u32)
    }

    /// Returns whether the free segments have fallen into the reserve.
    pub(super) fn needs_cleaning(&self) -> bool {
        (self.free.len() as u32) < self.reserved
    }

    pub(super) fn has_prefree(&self) -> bool {
        !self.prefree.is_empty()
    }

    /// Returns the segment to clean.
    pub(super) fn victim(&self) -> Option<u32> {
        self.least_valid(None)
    }

    /// Returns the owner of a block of a segment, if the block is valid.
    pub(super) fn owner(&self, segment: u32, block: u32) -> Option<u32> {
        let owner = self.owner[(segment * SEGMENT + block) as usize];
        (owner != NOTHING).then_some(owner)
    }

    /// Counts a segment whose valid blocks were moved as cleaned.
    pub(super) fn cleaned(&mut self, segment: u32) {
        assert_eq!(self.valid[segment as usize], 0, "valid blocks are left");
        self.stats.cleaned += 1;
    }

    /// Frees and returns the segments that a checkpoint frees.
    pub(super) fn free_prefree(&mut self) -> Vec<u32> {
        let prefree = std::mem::take(&mut self.prefree);
        for &segment in &prefree {
            self.state[segment as usize] = State::Free;
            self.free.push_back(segment);
        }
        prefree
    }

    /// Returns the SIT blocks, of `entries` segments each, that changed since the last call.
    pub(super) fn changed(&mut self, entries: u64) -> Vec<u64> {
        for &segment in &self.changed {
            self.is_changed[segment as usize] = false;
        }
        let mut blocks: Vec<u64> =
            self.changed.drain(..).map(|segment| u64::from(segment) / entries).collect();
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    }

    /// Returns the blocks invalidated since the last call that were not written again.
    pub(super) fn invalidated(&mut self) -> Vec<u32> {
        let mut all = std::mem::take(&mut self.invalidated);
        all.retain(|place| self.owner[*place as usize] == NOTHING);
        all
    }

    pub(super) fn stats(&self) -> Stats {
        self.stats
    }

    #[cfg(test)]
    pub(super) fn check_invariants(&self) {
        let mut valid = vec![0u16; self.valid.len()];
        for (owner, &place) in self.place.iter().enumerate().filter(|(_, p)| **p != NOTHING) {
            assert_eq!(self.owner[place as usize] as usize, owner);
            valid[(place / SEGMENT) as usize] += 1;
        }
        assert_eq!(valid, self.valid);
        let held = self.owner.iter().filter(|o| **o != NOTHING).count();
        assert_eq!(held, valid.iter().map(|v| usize::from(*v)).sum::<usize>());
        let of = |state| self.state.iter().filter(|s| **s == state).count();
        assert_eq!(of(State::Free), self.free.len());
        assert_eq!(of(State::Prefree), self.prefree.len());
        for (segment, valid) in valid.iter().enumerate() {
            // Each log has one kind of block: see the test `log_separation`.
            match self.state[segment] {
                State::Free | State::Prefree => assert_eq!(*valid, 0),
                State::Used => assert!(*valid > 0),
                State::Open => {}
            }
        }
    }
}
