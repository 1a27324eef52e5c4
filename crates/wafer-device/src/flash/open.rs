//! Opening and closing of reclaim units and segments: work done once per segment or reclaim unit, off the path of page
//! writes.

use std::cmp::Reverse;
use std::ops::Range;

use crate::device::{Device, Slot};
use crate::flash::segment::{NONE, Written};
use crate::geometry::Geometry;
use wafer_interface::{Closed, FdpEvent, MediaWork, Observer, RgId, RuId, RuhId};

/// The context of a host write for opening segments and reclaim units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostWrite {
    /// The writing handle, on whose behalf space is reclaimed.
    pub(crate) handle: u32,
    /// Whether the host named the reclaim group.
    pub(crate) directed: bool,
    /// Predicted death time of the page, in host pages written to the device; 0: unknown.
    pub(crate) death_time: u64,
}

/// How far GC goes to reclaim space for a host in a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Maximum number of fully valid victims that the policy may select, which gains nothing. It suffices to select
    /// each one, which shows that nothing will change; after that, the unit with the fewest valid pages is collected.
    pub(crate) full_victims: usize,
    /// With several groups, the host writes to another group if every closed reclaim unit has at least this many valid
    /// pages.
    pub(crate) most_valid: u32,
}

impl Limits {
    /// Returns the limits for a group that was named or chosen. More than one page in 16 must be invalid: otherwise,
    /// each page written costs at least 15 relocated pages, which no group with reasonable spare space requires.
    fn new(geometry: &Geometry, group: &Range<u32>) -> Self {
        let most_valid = geometry.pages_per_ru - geometry.pages_per_ru / 16;
        Limits { full_victims: 2 * group.len(), most_valid }
    }
}

impl HostWrite {
    /// Returns the context of a directed write without a known death time.
    pub(crate) fn by(handle: u32) -> Self {
        HostWrite { handle, directed: true, death_time: 0 }
    }
}

impl<O: Observer> Device<O> {
    /// Opens a reclaim unit for each handle in each group of a fresh device.
    pub(crate) fn open_handles(&mut self) {
        for group in 0..self.groups.len() as u32 {
            for handle in 0..self.numbering.handles {
                self.open_slot(group * self.numbering.per_group + handle, HostWrite::by(handle));
            }
        }
    }

    /// Opens an empty reclaim unit of its group for a slot, and restores the reserve of free ones. Returns false if the
    /// group is too full, which only happens with several groups.
    pub(crate) fn open_slot(&mut self, slot: u32, write: HostWrite) -> bool {
        let mut limits = self.limits(slot);
        self.open_within(slot, write, &mut limits)
    }

    /// Like [`Self::open_slot`], within limits.
    fn open_within(&mut self, slot: u32, write: HostWrite, limits: &mut Limits) -> bool {
        let group = self.group_of(slot);
        let by = RuhId(write.handle as u16);
        self.slots[slot as usize] = Slot::EMPTY;
        if !self.above_reserve(group) && !self.force_gc(group, by, limits) {
            return false;
        }
        if self.slots[slot as usize].ru != NONE {
            // If host and GC share a log, the forced GC has already opened it.
            return true;
        }
        self.open_unit(slot, write.death_time);
        self.force_gc(group, by, limits);
        true
    }

    /// Returns the limits for a slot whose group was named or chosen.
    fn limits(&self, slot: u32) -> Limits {
        Limits::new(&self.geometry, &self.groups[usize::from(self.group_of(slot))].range)
    }

    /// Opens a free reclaim unit for a slot, for data with this predicted death time.
    pub(crate) fn open_unit(&mut self, slot: u32, death_time: u64) {
        let contents = self.numbering.contents(slot);
        let rule = self.separation.as_ref();
        let grouped =
            contents.class > 0 || rule.is_some_and(|rule| rule.is_grouped(contents.generation));
        let death_time = if grouped { death_time } else { 0 };
        let ru = self.rus.open(self.group_of(slot), contents, death_time, self.clock);
        let room = self.geometry.pages_per_ru;
        self.slots[slot as usize] = Slot { ru, segment: NONE, segment_room: 0, room };
    }

    pub(crate) fn close_slot(&mut self, slot: u32) {
        self.end_segment(slot);
        let Slot { ru, room, .. } = std::mem::replace(&mut self.slots[slot as usize], Slot::EMPTY);
        self.close_unit(self.group_of(slot), RuId(ru), room);
    }

    /// Closes an open reclaim unit with `room` unwritten pages.
    pub(crate) fn close_unit(&mut self, group: u16, ru: RuId, room: u32) {
        let unit = &mut self.rus.units[ru.index()];
        unit.written = self.geometry.pages_per_ru - room;
        let (owner, relocated, written) = (unit.owner, unit.generation > 0, unit.written);
        self.rus.close(ru.0, self.clock);
        self.count_parity(ru, written);
        let valid = self.rus.valid[ru.index()];
        self.lower_floor(group, valid);
        self.observer.closed(&Closed { ru, owner, relocated, valid, unwritten: room });
    }

    /// Counts the parity of a reclaim unit with `written` pages: one page for each complete or incomplete stripe.
    fn count_parity(&mut self, ru: RuId, written: u32) {
        let stripe = self.geometry.firmware.parity;
        if stripe > 0 && written > 0 {
            let pages = written.div_ceil(stripe);
            self.counters.parity_pages += u64::from(pages);
            self.counters.media_bytes += u64::from(pages) * self.geometry.page_bytes;
            if self.observer.wants_media() {
                self.observer.media(&MediaWork::Parity { ru, pages });
            }
        }
    }

    /// Starts the next segment of a host's slot, which is also when background GC runs. Returns the slot to write to:
    /// another group's if the host named none, or if its group has no space.
    #[cold]
    #[inline(never)]
    pub(crate) fn next_segment(&mut self, slot: u32, write: HostWrite) -> u32 {
        let slot = if write.directed { slot } else { self.choose_group(slot, write.handle) };
        self.background_gc(self.group_of(slot), RuhId(write.handle as u16));
        self.maintain(RuhId(write.handle as u16));
        if self.segments.live() >= self.segment_limit {
            self.merge_segments();
        }
        let slot = self.writable_slot(slot, write);
        let Slot { ru, room, segment_room, .. } = self.slots[slot as usize];
        if segment_room > 0 {
            // This is another group's slot, in the middle of a segment.
            return slot;
        }
        let pages = self.geometry.segment_size(room);
        // Counting the pages as valid from the start saves two additions per page.
        self.granted += u64::from(pages);
        let HostWrite { handle, death_time, .. } = write;
        let written = Written { origin: handle as u8, born: self.clock, death_time };
        let label = self.segments.allocate(ru, pages, written);
        self.clear_pages(label);
        self.rus.valid[ru as usize] += pages;
        self.rus.units[ru as usize].segments.push(label);
        let open = &mut self.slots[slot as usize];
        open.segment = label;
        open.segment_room = pages;
        slot
    }

    /// Opens a reclaim unit for a slot that has none. Returns false if its group is too full.
    fn keep_open(&mut self, slot: u32, write: HostWrite, mut limits: Limits) -> bool {
        // If host and GC share a log, the GC that restores the reserve may fill the opened unit. A policy that prefers
        // full victims would do so forever, so the limits apply to all rounds together.
        while self.slots[slot as usize].ru != NONE || self.open_within(slot, write, &mut limits) {
            if self.slots[slot as usize].ru != NONE {
                return true;
            }
        }
        false
    }

    /// Sets the group of each handle's writes that name no group.
    pub(crate) fn choose(&mut self, group: impl Fn(usize) -> u32) {
        let (handles, per_group) = (self.numbering.handles, self.numbering.per_group);
        self.chosen = (0..handles).map(|h| group(h as usize) * per_group + h).collect();
    }

    /// Chooses the group for the next segment of a host that names none. Groups in which space costs about the same
    /// take turns, so that all dies work. Returns the slot of the same handle and class in that group.
    fn choose_group(&mut self, slot: u32, handle: u32) -> u32 {
        let groups = self.groups.len() as u16;
        if groups == 1 {
            return slot;
        }
        let roomiest = (0..groups).map(|group| self.spare(group)).max().unwrap_or(0);
        let last = self.group_of(self.chosen[handle as usize]);
        // Groups with about as many free reclaim units, in turn.
        let turns = (1..=groups).map(|step| (last + step) % groups);
        let roomy: Vec<u16> = turns.filter(|group| self.spare(*group) + 1 >= roomiest).collect();
        let moves: Vec<u32> = roomy.iter().map(|group| self.least_valid_pages(*group)).collect();
        let most = moves.iter().min().map_or(0, |least| least + self.geometry.pages_per_ru / 16);
        let cheap = roomy.iter().zip(&moves).find(|(_, valid)| **valid <= most);
        let first = cheap.map_or(0, |(group, _)| u32::from(*group));
        let per_group = self.numbering.per_group;
        self.chosen[handle as usize] = first * per_group + handle;
        first * per_group + slot % per_group
    }

    /// Returns the fewest valid pages of any closed reclaim unit of a group; all pages if there is none.
    fn least_valid_pages(&mut self, group: u16) -> u32 {
        let least = self.least_valid(group);
        least.map_or(self.geometry.pages_per_ru, |ru| self.rus.valid[ru.index()])
    }

    /// Returns `slot`, or the same handle's slot in another group if its own is too full.
    fn writable_slot(&mut self, slot: u32, write: HostWrite) -> u32 {
        if self.keep_open(slot, write, self.limits(slot)) {
            return slot;
        }
        let within = slot % self.numbering.per_group;
        let mut groups: Vec<u16> = (0..self.groups.len() as u16).collect();
        groups.sort_by_cached_key(|group| {
            (Reverse(self.spare(*group)), self.least_valid_pages(*group))
        });
        for group in groups {
            let other = u32::from(group) * self.numbering.per_group + within;
            // At any cost.
            let limits = Limits { most_valid: self.geometry.pages_per_ru, ..self.limits(other) };
            if self.keep_open(other, write, limits) {
                if write.directed && other != slot {
                    self.observer.event(&FdpEvent::ImplicitlyModifiedRuh {
                        group: RgId(self.group_of(slot)),
                        handle: RuhId(self.handle_of(slot) as u16),
                        used: RgId(group),
                    });
                }
                return other;
            }
        }
        unreachable!("DeviceConfig::resolve leaves some group with space to reclaim");
    }

    /// Ends the open segment of a slot before it is full.
    pub(crate) fn end_segment(&mut self, slot: u32) {
        let open = &mut self.slots[slot as usize];
        if open.segment != NONE {
            self.segments.hot[open.segment as usize].valid -= open.segment_room;
            self.rus.valid[open.ru as usize] -= open.segment_room;
            open.segment = NONE;
            open.segment_room = 0;
        }
    }
}
