//! Open reclaim units and segments: what happens once a segment or a reclaim unit, out of the line of page writes.

use crate::device::{Device, Slot};
use crate::flash::segment::{NONE, Written};
use wafer_interface::{Closed, FdpEvent, MediaWork, Observer, RgId, RuId, RuhId};

/// What the path of a host write hands on to whatever opens segments and reclaim units for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostWrite {
    /// The handle that writes, on whose behalf space is reclaimed.
    pub(crate) handle: u32,
    /// Predicted death time of the page, in host pages written to the device; 0: unknown.
    pub(crate) death_time: u64,
}

impl HostWrite {
    /// Returns the context of a write without known death time.
    pub(crate) fn by(handle: u32) -> Self {
        HostWrite { handle, death_time: 0 }
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

    /// Gives a slot an empty open reclaim unit of its group, and restores the reserve of free ones.
    /// Returns false if the group has no space to reclaim, which only happens with several groups.
    pub(crate) fn open_slot(&mut self, slot: u32, write: HostWrite) -> bool {
        let mut full_victims = self.most_full_victims(self.group_of(slot));
        self.open_within(slot, write, &mut full_victims)
    }

    /// As [`Self::open_slot`], taking at most `full_victims` full victims.
    fn open_within(&mut self, slot: u32, write: HostWrite, full_victims: &mut usize) -> bool {
        let group = self.group_of(slot);
        let by = RuhId(write.handle as u16);
        self.slots[slot as usize] = Slot::EMPTY;
        if !self.above_reserve(group) && !self.force_gc(group, by, full_victims) {
            return false;
        }
        if self.slots[slot as usize].ru != NONE {
            // Where host and GC share a log, that GC has opened it.
            return true;
        }
        self.open_unit(slot, write.death_time);
        self.force_gc(group, by, full_victims);
        true
    }

    /// Gives a slot a free reclaim unit for data with this predicted death time.
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

    /// Closes the reclaim unit of a slot.
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

    /// Counts the parity of a reclaim unit with so many pages: one page for each whole or begun stripe.
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

    /// Starts the next segment of a host's slot; the moment at which background GC looks around.
    /// Returns the slot to write to: another group's if this one has no space.
    #[cold]
    #[inline(never)]
    pub(crate) fn next_segment(&mut self, slot: u32, write: HostWrite) -> u32 {
        self.background_gc(self.group_of(slot), RuhId(write.handle as u16));
        self.maintain(RuhId(write.handle as u16));
        if self.segments.live() >= self.segment_limit {
            self.merge_segments();
        }
        let slot = self.writable_slot(slot, write);
        let Slot { ru, room, segment_room, .. } = self.slots[slot as usize];
        if segment_room > 0 {
            // Another group's slot, in the middle of a segment.
            return slot;
        }
        let pages = self.geometry.segment_size(room);
        // Counted as valid from the start: saves two additions a page.
        self.granted += u64::from(pages);
        let HostWrite { handle, death_time } = write;
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

    /// Opens a reclaim unit for a slot that has none. False if its group has no space.
    fn keep_open(&mut self, slot: u32, write: HostWrite) -> bool {
        // Where host and GC share a log, the GC that restores the reserve may fill what was opened. A
        // policy that prefers full victims would do so for ever: the limit is for all rounds.
        let mut full_victims = self.most_full_victims(self.group_of(slot));
        while self.slots[slot as usize].ru != NONE
            || self.open_within(slot, write, &mut full_victims)
        {
            if self.slots[slot as usize].ru != NONE {
                return true;
            }
        }
        false
    }

    /// Returns `slot`, or the same handle's slot in the group with most free reclaim units.
    fn writable_slot(&mut self, slot: u32, write: HostWrite) -> u32 {
        if self.keep_open(slot, write) {
            return slot;
        }
        let within = slot % self.numbering.per_group;
        let mut groups: Vec<usize> = (0..self.groups.len()).collect();
        groups.sort_by_key(|g| std::cmp::Reverse(self.rus.free[*g].len()));
        for group in groups {
            let other = group as u32 * self.numbering.per_group + within;
            if self.keep_open(other, write) {
                self.observer.event(&FdpEvent::ImplicitlyModifiedRuh {
                    group: RgId(self.group_of(slot)),
                    handle: RuhId(self.handle_of(slot) as u16),
                    used: RgId(group as u16),
                });
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
