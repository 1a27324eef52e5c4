//! The path of every command: map lookup, invalidate, append. Nothing here allocates, dispatches
//! dynamically or logs; what happens once a segment or a reclaim unit is out of line.

use crate::command::{Command, Op, Placement};
use crate::device::{Device, Slot};
use crate::event::FdpEvent;
use crate::ids::{LBA_BYTES, NsId, RgId, RuhId};
use crate::mapping::{self, Label, UNMAPPED};
use crate::observer::{Closed, Observer, Owner};
use crate::segment::{DIVIDED, NONE};

/// How many commands ahead the map is asked for: covers the latency of memory at 4 KiB random
/// writes; twice or half as many is slower by a few percent.
const LOOKAHEAD: usize = 128;
/// Pages whose segments are looked up together.
const CHUNK: usize = 64;
const _: () = assert!(CHUNK <= u64::BITS as usize);

impl<O: Observer> Device<O> {
    /// Applies commands in order. Batches of hundreds are fastest: memory latency is hidden by
    /// looking ahead within a batch.
    ///
    /// A command outside of its namespace, or for a namespace that does not exist, has no effect
    /// and is counted in [`Counters::rejected`](crate::Counters::rejected).
    pub fn apply(&mut self, commands: &[Command]) {
        let shift = (self.geometry.page_bytes / LBA_BYTES).trailing_zeros();
        for command in &commands[..LOOKAHEAD.min(commands.len())] {
            self.prefetch(command, shift);
        }
        let mut at = 0;
        while at < commands.len() {
            at += self.apply_single_pages(&commands[at..], shift);
            if let Some(command) = commands.get(at) {
                if let Some(ahead) = commands.get(at + LOOKAHEAD) {
                    self.prefetch(ahead, shift);
                }
                if let Some(ahead) = commands.get(at + CHUNK / 2) {
                    self.prefetch_segment(ahead, shift);
                }
                self.apply_one(command, shift);
                at += 1;
            }
        }
    }

    #[inline(always)]
    fn prefetch(&self, command: &Command, shift: u32) {
        // Namespace 0 is at page 0; others are rare enough to be looked up.
        let first = match command.namespace.0 {
            0 => 0,
            n => self.namespaces.get(usize::from(n)).map_or(0, |n| n.first_page),
        };
        let page = first.wrapping_add(command.lba >> shift);
        self.map.prefetch(page, u64::from(command.blocks) >> shift);
    }

    /// Asks for the segment of a command's first page, whose map entry has been asked for before.
    #[inline(always)]
    fn prefetch_segment(&self, command: &Command, shift: u32) {
        let namespace = self.namespaces.get(usize::from(command.namespace.0));
        let page = namespace.map_or(0, |n| n.first_page).wrapping_add(command.lba >> shift);
        if let Some(label) = self.map.as_slice().get(page as usize) {
            self.segments.prefetch(*label);
        }
    }

    /// Applies the leading writes of exactly one page each that go the same way as the first, in
    /// loops that keep what they share in registers. Returns how many there were.
    #[inline(always)]
    fn apply_single_pages(&mut self, commands: &[Command], shift: u32) -> usize {
        if self.separator.is_some() {
            return 0;
        }
        let Some(first) = commands.first() else { return 0 };
        let Some(namespace) = self.namespaces.get(usize::from(first.namespace.0)) else { return 0 };
        let Some(slot) = namespace.slot(first.placement) else { return 0 };
        let (first_page, pages) = (namespace.first_page, namespace.blocks >> shift);
        let Slot { segment, segment_room, .. } = self.slots[slot as usize];
        // The last page of a segment takes the general path, which opens the next.
        let most = commands.len().min(segment_room.saturating_sub(1) as usize);
        let mask = (1u64 << shift) - 1;
        let way = first.way();
        if first.op != Op::Write || u64::from(first.blocks) != mask + 1 || most == 0 {
            return 0;
        }
        let by = self.handle_of(slot);
        if self.is_split(by) {
            return 0;
        }
        let mut done = 0;
        let mut old = [UNMAPPED; CHUNK];
        loop {
            // First the map of some pages, then the segments that they were in: the second random
            // access of one page overlaps with those of its neighbours.
            let chunk = &commands[done..most.min(done + CHUNK)];
            let ahead = &commands[(done + LOOKAHEAD).min(commands.len())..];
            let mut found = 0;
            let (mut sequential, mut next) = (0, self.next_page_of(by));
            {
                let entries = self.map.run_mut(first_page, pages);
                for command in chunk {
                    let same = command.way() == way && command.blocks == first.blocks;
                    if !same || command.lba & mask != 0 {
                        break;
                    }
                    let Some(entry) = entries.get_mut((command.lba >> shift) as usize) else {
                        break;
                    };
                    let label = std::mem::replace(entry, segment);
                    self.segments.prefetch(label);
                    if O::ATTRIBUTION {
                        let page = first_page + (command.lba >> shift);
                        sequential += u64::from(page == next);
                        next = page + 1;
                    }
                    old[found] = label;
                    if let Some(ahead) = ahead.get(found) {
                        let page = (ahead.lba >> shift) as usize;
                        mapping::prefetch(entries.as_ptr().wrapping_add(page));
                    }
                    found += 1;
                }
            }
            if O::ATTRIBUTION && found > 0 {
                self.ledger.written_singly(by, sequential, next);
            }
            self.invalidate_all(&old[..found], segment, by);
            done += found;
            if found < chunk.len() || done == most {
                break;
            }
        }
        let open = &mut self.slots[slot as usize];
        open.segment_room -= done as u32;
        open.room -= done as u32;
        self.count_host_write(slot, done as u64 * self.geometry.page_bytes, done as u64);
        self.writers.wrote(by, done as u32);
        done
    }

    /// One page of each label is valid no more; `new` is their label now.
    #[inline(always)]
    fn invalidate_all(&mut self, labels: &[Label], new: Label, by: u32) {
        let mut divided = 0u64;
        let invalid = if O::ATTRIBUTION { self.ledger.invalid_by(by) } else { &mut [] };
        for (i, label) in labels.iter().enumerate() {
            let segment = &mut self.segments.hot[*label as usize];
            if segment.ru & DIVIDED != 0 {
                divided |= 1 << i;
            } else {
                segment.valid = segment.valid.wrapping_sub(1);
                self.rus.invalidate(segment.ru, 1);
                if O::ATTRIBUTION {
                    let count = &mut invalid[segment.ru as usize];
                    *count = count.wrapping_add(1);
                }
            }
        }
        // Divided labels are rare: they wait, so that the loop above needs no call.
        while divided != 0 {
            self.invalidate_divided(labels[divided.trailing_zeros() as usize], 1, by);
            divided &= divided - 1;
        }
        for _ in labels {
            self.segments.log_written(new);
        }
    }

    #[inline(always)]
    fn apply_one(&mut self, command: &Command, shift: u32) {
        let blocks = u64::from(command.blocks);
        let namespace = match self.namespaces.get(usize::from(command.namespace.0)) {
            Some(n) if command.lba <= n.blocks && blocks <= n.blocks - command.lba => n,
            _ => {
                self.counters.rejected += 1;
                return;
            }
        };
        if blocks == 0 {
            return;
        }
        let mask = (1u64 << shift) - 1;
        let end = command.lba + blocks;
        match command.op {
            Op::Write => {
                let first = namespace.first_page + (command.lba >> shift);
                let last = namespace.first_page + ((end - 1) >> shift);
                let slot = match namespace.slot(command.placement) {
                    Some(slot) => slot,
                    None => self.resolve_placement(command.namespace, command.placement),
                };
                if (command.lba | end) & mask != 0 {
                    let head = u64::from(command.lba & mask != 0);
                    let tail = u64::from(end & mask != 0);
                    self.counters.rmw_pages += if first == last { 1 } else { head + tail };
                }
                let pages = last - first + 1;
                self.count_host_write(slot, blocks * LBA_BYTES, pages);
                if O::ATTRIBUTION {
                    let inside = command.lba & mask != 0;
                    self.ledger.written(self.handle_of(slot), first, last, inside);
                }
                if self.separator.is_some() || self.is_split(self.handle_of(slot)) {
                    self.append_separated(slot, first, pages);
                } else {
                    self.append(slot, first, pages);
                }
                self.writers.wrote(self.handle_of(slot), 1);
            }
            Op::Deallocate => {
                let first = namespace.first_page + ((command.lba + mask) >> shift);
                let last = namespace.first_page + (end >> shift);
                if first < last {
                    self.unmap(first, last - first);
                }
            }
            Op::Read => self.counters.read_bytes += blocks * LBA_BYTES,
        }
    }

    /// The handle of a host's slot. Host slots of group g are `g * per_group + handle`; the division is
    /// skipped in group 0.
    #[inline(always)]
    pub(crate) fn handle_of(&self, slot: u32) -> u32 {
        let slot = if slot < self.layout.per_group { slot } else { slot % self.layout.per_group };
        if slot < self.layout.handles { slot } else { self.handle_of_class(slot) }
    }

    #[cold]
    fn handle_of_class(&self, slot: u32) -> u32 {
        self.layout.host_of(slot).map_or(slot, |(handle, _)| handle)
    }

    /// Where the last command of a handle ended, if attribution is kept.
    #[inline(always)]
    fn next_page_of(&self, handle: u32) -> u64 {
        if O::ATTRIBUTION { self.ledger.next_page(handle) } else { 0 }
    }

    #[inline(always)]
    fn count_host_write(&mut self, slot: u32, bytes: u64, pages: u64) {
        let media = pages * self.geometry.page_bytes;
        self.clock += pages;
        self.counters.host_bytes += bytes;
        self.counters.host_pages += pages;
        self.counters.media_bytes += media;
        let handle = self.handle_of(slot) as usize;
        let handle = &mut self.handles[handle];
        handle.host_bytes += bytes;
        handle.media_bytes += media;
    }

    /// Appends a run of pages to the open reclaim unit of `slot`.
    #[inline(always)]
    pub(crate) fn append(&mut self, home: u32, first: u64, pages: u64) {
        let (mut page, mut left, mut slot) = (first, pages, home);
        let by = self.handle_of(home);
        while left > 0 {
            if self.slots[slot as usize].segment_room == 0 {
                self.sample_death(by, page);
                slot = self.next_segment(home);
            }
            let open = &mut self.slots[slot as usize];
            let count = left.min(u64::from(open.segment_room));
            open.segment_room -= count as u32;
            open.room -= count as u32;
            let (label, full) = (open.segment, open.room == 0);
            if count == 1 {
                let old = self.map.replace(page, label);
                self.invalidate(old, 1, by);
                self.segments.log_written(label);
            } else {
                self.replace_run(page, count, label, by);
            }
            if full {
                self.close_slot(slot);
                self.open_slot(slot);
            }
            page += count;
            left -= count;
        }
    }

    /// Puts `label` on a run of pages. Neighbours often lie in one segment: what they were is
    /// counted in runs.
    #[inline]
    fn replace_run(&mut self, page: u64, count: u64, label: Label, by: u32) {
        let mut run: (Label, u32) = (UNMAPPED, 0);
        for i in 0..count {
            let old = self.map.replace(page + i, label);
            if old != run.0 {
                self.invalidate(run.0, run.1, by);
                run = (old, 0);
            }
            run.1 += 1;
        }
        self.invalidate(run.0, run.1, by);
    }

    /// `count` pages of segment `label` are valid no more, because of handle `by`.
    #[inline(always)]
    fn invalidate(&mut self, label: Label, count: u32, by: u32) {
        let segment = &mut self.segments.hot[label as usize];
        let ru = segment.ru;
        if ru & DIVIDED != 0 {
            return self.invalidate_divided(label, count, by);
        }
        // The segment of unmapped pages counts modulo 2^32 and is never looked at.
        segment.valid = segment.valid.wrapping_sub(count);
        self.rus.invalidate(ru, count);
        if O::ATTRIBUTION {
            self.ledger.invalidate(ru, by, count);
        }
    }

    #[cold]
    fn invalidate_divided(&mut self, label: Label, count: u32, by: u32) {
        for _ in 0..count {
            let ru = self.segments.invalidate_divided(label);
            self.segments.hot[label as usize].valid -= 1;
            self.rus.invalidate(ru, 1);
            if O::ATTRIBUTION {
                self.ledger.invalidate(ru, by, 1);
            }
        }
    }

    pub(crate) fn unmap(&mut self, first: u64, pages: u64) {
        for page in first..first + pages {
            let old = self.map.replace(page, UNMAPPED);
            if old != UNMAPPED {
                let origin = self.segments.origins[old as usize];
                self.invalidate(old, 1, u32::from(origin));
                self.segments.log_written(UNMAPPED);
                self.granted += 1;
                self.counters.deallocated_pages += 1;
            }
        }
    }

    /// The slot of a placement identifier that is not a placement handle of group 0.
    #[cold]
    fn resolve_placement(&mut self, namespace: NsId, placement: Placement) -> u32 {
        let shift = self.placement_shift();
        let handles = &self.namespaces[usize::from(namespace.0)].slots;
        let default = handles[0];
        let group = u32::from(placement.0).checked_shr(shift).unwrap_or(0);
        let handle = u32::from(placement.0) & ((1u64 << shift) - 1) as u32;
        match handles.get(handle as usize) {
            Some(slot) if (group as usize) < self.groups.len() => {
                group * self.layout.per_group + slot
            }
            _ => {
                self.observer.event(&FdpEvent::InvalidPlacementIdentifier { namespace, placement });
                default
            }
        }
    }

    /// Gives a slot an empty open reclaim unit of its group, and restores the reserve of free ones.
    /// Returns false if the group has no space to reclaim, which only happens with several groups.
    pub(crate) fn open_slot(&mut self, slot: u32) -> bool {
        let mut patience = self.patience(self.group_of(slot));
        self.open_patiently(slot, &mut patience)
    }

    fn open_patiently(&mut self, slot: u32, patience: &mut usize) -> bool {
        let group = self.group_of(slot);
        self.slots[slot as usize] = Slot::EMPTY;
        self.asking = RuhId(self.handle_of(slot) as u16);
        if !self.above_reserve(group) && !self.force_gc(group, patience) {
            return false;
        }
        if self.slots[slot as usize].ru != NONE {
            // Where host and GC share a log, that GC has opened it.
            return true;
        }
        let owner = self.owner_of(slot);
        let class = self.layout.host_of(slot % self.layout.per_group).map_or(0, |(_, c)| c);
        let ru = self.rus.open(group, owner, 0, class);
        if class > 0 && self.deaths.is_some() {
            self.rus.units[ru as usize].dies = self.dies;
        }
        let room = self.geometry.pages_per_ru;
        self.slots[slot as usize] = Slot { ru, segment: NONE, segment_room: 0, room };
        self.force_gc(group, patience);
        true
    }

    /// Closes the reclaim unit of a slot.
    pub(crate) fn close_slot(&mut self, slot: u32) {
        let Slot { ru, segment, segment_room, room } = self.slots[slot as usize];
        if segment != NONE {
            self.segments.hot[segment as usize].valid -= segment_room;
            self.rus.valid[ru as usize] -= segment_room;
        }
        self.slots[slot as usize] = Slot::EMPTY;
        let unit = &mut self.rus.units[ru as usize];
        unit.written = self.geometry.pages_per_ru - room;
        let relocated = unit.generation > 0;
        self.rus.close(ru, self.clock);
        let group = self.group_of(slot);
        self.lower_floor(group, self.rus.valid[ru as usize]);
        self.observer.closed(&Closed {
            ru: crate::ids::RuId(ru),
            owner: self.owner_of(slot),
            relocated,
            valid: self.rus.valid[ru as usize],
            unwritten: room,
        });
    }

    /// Starts the next segment of a host's slot; the moment at which background GC looks around.
    /// Returns the slot to write to: another group's if this one has no space.
    #[cold]
    #[inline(never)]
    fn next_segment(&mut self, slot: u32) -> u32 {
        self.asking = RuhId(self.handle_of(slot) as u16);
        self.background_gc(self.group_of(slot));
        if self.segments.live() >= self.segment_limit {
            self.merge_segments();
        }
        let slot = self.writable_slot(slot);
        let Slot { ru, room, segment_room, .. } = self.slots[slot as usize];
        if segment_room > 0 {
            // Another group's slot, in the middle of a segment.
            return slot;
        }
        let pages = self.geometry.segment_size(room);
        // Counted as valid from the start: saves two additions a page.
        self.granted += u64::from(pages);
        let origin = self.handle_of(slot) as u8;
        let label = self.segments.allocate(ru, pages, origin);
        self.segments.set_born(label, self.clock, self.dies);
        self.rus.valid[ru as usize] += pages;
        self.rus.units[ru as usize].segments.push(label);
        let open = &mut self.slots[slot as usize];
        open.segment = label;
        open.segment_room = pages;
        slot
    }

    /// Opens a reclaim unit for a slot that has none. False if its group has no space.
    fn keep_open(&mut self, slot: u32) -> bool {
        // Where host and GC share a log, the GC that restores the reserve may fill what was opened. A
        // policy that prefers full victims would do so for ever: its patience is for all rounds.
        let mut patience = self.patience(self.group_of(slot));
        while self.slots[slot as usize].ru != NONE || self.open_patiently(slot, &mut patience) {
            if self.slots[slot as usize].ru != NONE {
                return true;
            }
        }
        false
    }

    /// `slot`, or the same handle's slot in the group with most free reclaim units.
    fn writable_slot(&mut self, slot: u32) -> u32 {
        if self.keep_open(slot) {
            return slot;
        }
        let within = slot % self.layout.per_group;
        let mut groups: Vec<usize> = (0..self.groups.len()).collect();
        groups.sort_by_key(|g| std::cmp::Reverse(self.rus.free[*g].len()));
        for group in groups {
            let other = group as u32 * self.layout.per_group + within;
            if self.keep_open(other) {
                self.observer.event(&FdpEvent::ImplicitlyModifiedRuh {
                    group: RgId(self.group_of(slot)),
                    handle: RuhId(self.handle_of(slot) as u16),
                    used: RgId(group as u16),
                });
                return other;
            }
        }
        unreachable!("Geometry::resolve leaves some group with space to reclaim");
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

    /// Reclaim unit update (I/O Management Send): the handle behind a placement identifier moves to an
    /// empty reclaim unit. Returns the pages left unwritten in the last; `None` for an identifier
    /// that the namespace does not have. Without effect if nothing was written to the current one.
    pub fn update_reclaim_unit(&mut self, namespace: NsId, placement: Placement) -> Option<u32> {
        let layout = self.namespaces.get(usize::from(namespace.0))?;
        let shift = self.placement_shift();
        let group = u32::from(placement.0).checked_shr(shift).unwrap_or(0);
        let handle = u32::from(placement.0) & ((1u64 << shift) - 1) as u32;
        if group as usize >= self.groups.len() {
            return None;
        }
        let slot = group * self.layout.per_group + layout.slots.get(handle as usize)?;
        let open = self.slots[slot as usize];
        if open.ru == NONE || open.room == self.geometry.pages_per_ru {
            return Some(0);
        }
        self.close_slot(slot);
        if let Owner::Handle(handle) = self.owner_of(slot) {
            self.observer.event(&FdpEvent::RuNotFullyWritten {
                group: RgId(group as u16),
                handle,
                unwritten_pages: open.room,
            });
        }
        self.open_slot(slot);
        Some(open.room)
    }
}
