//! Reclaim units: their state, their contents, and the free ones of each group.

use std::collections::VecDeque;
use std::ops::Range;

use wafer_interface::Owner;

/// A segment's number in the map and in the segment table.
pub type Label = u32;
/// Index of a reclaim unit in the tables. The last index stands for "unmapped".
pub type RuIndex = u32;

/// The data that an open reclaim unit receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contents {
    /// The owner of the data.
    pub owner: Owner,
    /// How often the data was moved, as far as that is kept apart; 0 for host writes.
    pub generation: u8,
    /// Class of host writes if the drive separates, otherwise 0.
    pub class: u8,
}

/// In `ReclaimUnits::valid`: the reclaim unit is open or free, so it is not a candidate. The bit makes its key larger
/// than every candidate's, so that a search for the smallest needs no second check.
pub const NOT_CLOSED: u32 = 1 << 31;

/// Reclaim units per block of the index for the smallest valid count.
const BLOCK_SHIFT: u32 = 8;

/// The part of a reclaim unit that only opening, closing and collecting access.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct ReclaimUnit {
    /// Segments and parts, in order of writing.
    pub segments: Vec<Label>,
    /// Pages written since the last erase.
    pub written: u32,
    /// Number of erases.
    pub erases: u32,
    /// The owner of the data.
    pub owner: Owner,
    /// For relocated data of several handles: pages moved here by the handle that first wrote them, as far as shares
    /// show. Empty for data of one handle.
    pub origins: Vec<f64>,
    /// Class of host writes if the drive separates, otherwise 0.
    pub class: u8,
    /// Predicted death time of the data, in host pages written to the device, if it was grouped by that, otherwise
    /// 0.
    pub death_time: u64,
    /// How often its data was moved, as far as that is kept apart; 0 for host writes.
    pub generation: u8,
    /// Whether it is free, open, closed or retired.
    pub state: State,
}

impl ReclaimUnit {
    /// Returns a reclaim unit that was never written.
    pub fn empty() -> Self {
        ReclaimUnit {
            segments: Vec::new(),
            written: 0,
            erases: 0,
            owner: Owner::Gc,
            origins: Vec::new(),
            generation: 0,
            class: 0,
            death_time: 0,
            state: State::Free,
        }
    }
}

/// The state of a reclaim unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum State {
    /// Erased.
    Free,
    /// Being written.
    Open,
    /// A candidate for collection.
    Closed,
    /// Worn out: no longer used.
    Retired,
}

/// The reclaim units of a device.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct ReclaimUnits {
    /// Valid pages of each reclaim unit, with [`NOT_CLOSED`]; one entry more for "unmapped".
    pub valid: Vec<u32>,
    /// The reclaim units by number.
    pub units: Vec<ReclaimUnit>,
    /// Host pages written to the device when each was opened.
    pub opened_at: Vec<u64>,
    /// Host pages written to the device when each was closed.
    pub closed_at: Vec<u64>,
    /// Position of each in the order of closing.
    pub closed_order: Vec<u64>,
    /// Reclaim units closed so far.
    pub next_order: u64,
    /// Free reclaim units of each group, taken from the front and returned at the back, which levels
    /// wear.
    pub free: Vec<VecDeque<RuIndex>>,
    /// Derived from `valid`.
    #[serde(skip)]
    pub index: MinIndex,
    /// Observations of policies when they last examined all units; empty before the first time.
    pub seen: Vec<Seen>,
}

/// The last observation of a reclaim unit.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Seen {
    /// Position in the order of closing, plus one: distinguishes current contents from earlier ones.
    pub order: u64,
    /// Valid pages at that time.
    pub valid: u32,
    /// Host pages written to the device when it was last seen to have lost valid pages.
    pub at: u64,
}

impl ReclaimUnits {
    /// Creates the reclaim units of groups with these numbers, all free.
    pub fn new(groups: impl Iterator<Item = Range<u32>>) -> Self {
        let free: Vec<VecDeque<RuIndex>> = groups.map(Iterator::collect).collect();
        let count = free.iter().map(VecDeque::len).sum();
        let unit = ReclaimUnit::empty();
        ReclaimUnits {
            valid: vec![NOT_CLOSED; count + 1],
            units: vec![unit; count],
            opened_at: vec![0; count],
            closed_at: vec![0; count],
            closed_order: vec![0; count],
            next_order: 0,
            free,
            index: MinIndex::new(count + 1),
            seen: Vec::new(),
        }
    }

    /// Returns the index that stands for "unmapped".
    pub fn unmapped(&self) -> RuIndex {
        self.units.len() as RuIndex
    }

    /// Takes a free reclaim unit of a group. `death_time` is that of the data, if it is grouped by that.
    pub fn open(&mut self, group: u16, contents: Contents, death_time: u64, now: u64) -> RuIndex {
        let ru = self.free[usize::from(group)].pop_front().expect("a free reclaim unit");
        let unit = &mut self.units[ru as usize];
        assert!(unit.state == State::Free && unit.written == 0 && unit.segments.is_empty());
        unit.state = State::Open;
        Contents { owner: unit.owner, generation: unit.generation, class: unit.class } = contents;
        unit.death_time = death_time;
        self.opened_at[ru as usize] = now;
        ru
    }

    /// Moves the most worn free reclaim unit of a group, the first of equals, to the front.
    pub fn offer_most_worn(&mut self, group: u16) {
        let free = &mut self.free[usize::from(group)];
        let erases = |at: &usize| self.units[free[*at] as usize].erases;
        let most = (0..free.len()).rev().max_by_key(erases);
        if let Some(ru) = most.and_then(|at| free.remove(at)) {
            free.push_front(ru);
        }
    }

    /// Closes an open reclaim unit, which makes it a candidate for collection.
    pub fn close(&mut self, ru: RuIndex, now: u64) {
        let unit = &mut self.units[ru as usize];
        assert_eq!(unit.state, State::Open);
        unit.state = State::Closed;
        self.closed_at[ru as usize] = now;
        self.closed_order[ru as usize] = self.next_order;
        self.next_order += 1;
        self.valid[ru as usize] &= !NOT_CLOSED;
        self.index.touch(ru);
    }

    /// Erases a reclaim unit that holds no valid page.
    pub fn erase(&mut self, ru: RuIndex, group: u16) {
        let unit = &mut self.units[ru as usize];
        assert!(unit.segments.is_empty() && self.valid[ru as usize] & !NOT_CLOSED == 0);
        unit.written = 0;
        unit.origins.clear();
        unit.erases += 1;
        unit.state = State::Free;
        self.valid[ru as usize] = NOT_CLOSED;
        self.index.touch(ru);
        self.free[usize::from(group)].push_back(ru);
    }

    /// Takes the most recently erased reclaim unit out of use.
    pub fn retire(&mut self, ru: RuIndex, group: u16) {
        assert_eq!(self.free[usize::from(group)].pop_back(), Some(ru));
        self.units[ru as usize].state = State::Retired;
    }

    /// Subtracts `count` valid pages. In the path of every write.
    #[inline(always)]
    pub fn invalidate(&mut self, ru: RuIndex, count: u32) {
        assert!((ru as usize) < self.valid.len());
        // SAFETY: just checked; `index` has a block for every entry of `valid`.
        unsafe {
            // The entry of "unmapped" counts modulo 2^32 and is never read.
            let valid = self.valid.get_unchecked_mut(ru as usize);
            *valid = valid.wrapping_sub(count);
            *self.index.changed.get_unchecked_mut((ru >> BLOCK_SHIFT) as usize) = 1;
        }
    }
}

/// Finds the candidate with the fewest valid pages without examining all reclaim units: the smallest of each block of
/// 256 is remembered until an entry of the block changes.
#[derive(Clone, Debug, Default)]
pub struct MinIndex {
    /// 1 where the block changed since `smallest` was computed.
    changed: Vec<u8>,
    smallest: Vec<u32>,
}

impl MinIndex {
    /// Creates the index with a number of entries.
    pub fn new(entries: usize) -> Self {
        let blocks = (entries >> BLOCK_SHIFT) + 1;
        MinIndex { changed: vec![1; blocks], smallest: vec![0; blocks] }
    }

    /// Records that an entry changed.
    #[inline(always)]
    pub fn touch(&mut self, ru: RuIndex) {
        self.changed[(ru >> BLOCK_SHIFT) as usize] = 1;
    }

    /// Returns the candidate in `range` with the fewest valid pages, the first of equals.
    pub fn least_valid(&mut self, valid: &[u32], range: Range<u32>) -> Option<RuIndex> {
        let mut best = (NOT_CLOSED, 0u32);
        let (mut at, end) = (range.start, range.end);
        while at < end {
            let block = (at >> BLOCK_SHIFT) as usize;
            let block_end = ((block as u32 + 1) << BLOCK_SHIFT).min(end);
            let slice = &valid[at as usize..block_end as usize];
            let whole = at & ((1 << BLOCK_SHIFT) - 1) == 0 && slice.len() == 1 << BLOCK_SHIFT;
            let smallest = if whole {
                if self.changed[block] == 1 {
                    self.smallest[block] = minimum(slice);
                    self.changed[block] = 0;
                }
                self.smallest[block]
            } else {
                minimum(slice)
            };
            if smallest < best.0 {
                best = (smallest, at);
            }
            at = block_end;
        }
        if best.0 >= NOT_CLOSED {
            return None;
        }
        let from = best.1 as usize;
        let offset = valid[from..range.end as usize].iter().position(|v| *v == best.0)?;
        Some((from + offset) as RuIndex)
    }
}

fn minimum(values: &[u32]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { minimum_avx2(values) };
    }
    minimum_of(values)
}

/// Compiles the same loop for wider registers: baseline x86-64 has no minimum of unsigned
/// numbers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn minimum_avx2(values: &[u32]) -> u32 {
    minimum_of(values)
}

#[inline(always)]
fn minimum_of(values: &[u32]) -> u32 {
    values.iter().fold(u32::MAX, |least, v| least.min(*v))
}
