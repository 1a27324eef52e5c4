//! The path of every command: map lookup, invalidation, append. Nothing here allocates, dispatches dynamically or logs;
//! work done once per segment or reclaim unit is out of line.

use crate::device::{Device, Slot, Target};
use crate::flash::mapping;
use crate::flash::mapping::{Label, RuIndex, UNMAPPED};
use crate::flash::open::HostWrite;
use crate::flash::segment::{DIVIDED, NONE};
use wafer_interface::{
    Cause, Command, FdpEvent, LBA_BYTES, NsId, Observer, Op, Owner, Placement, RgId, RuhId,
};
use wafer_separation::Rule;

/// How many commands ahead the map is prefetched. This covers the latency of memory at 4 KiB random writes; twice or
/// half as many is a few percent slower.
const LOOKAHEAD: usize = 128;
/// Number of pages whose segments are looked up together.
const CHUNK: usize = 64;
const _: () = assert!(CHUNK <= u64::BITS as usize);
/// Number of pages whose map entries are checked at once before they are unmapped: 4 KiB of the map.
const UNMAP_BLOCK: u64 = 1024;
const _: () = assert!(UNMAPPED == 0);

impl<O: Observer> Device<O> {
    /// Applies commands in order. Batches of hundreds are fastest, because looking ahead within a batch hides memory
    /// latency.
    ///
    /// A command outside its namespace, one for a namespace that does not exist, and a reclaim unit
    /// update of a placement identifier that the namespace does not define have no effect and are
    /// counted in [`Counters::rejected`](wafer_interface::Counters::rejected). So are writes, deallocations and reclaim
    /// unit updates that begin once the device [is read-only](Self::check_writable).
    pub fn apply(&mut self, commands: &[Command]) {
        match self.caches.is_empty() {
            true => self.apply_behind(commands),
            false => self.apply_cached(commands),
        }
    }

    /// Like [`Self::apply`], for commands that were accepted earlier, which even a read-only device applies.
    pub fn apply_accepted(&mut self, commands: &[Command]) {
        self.refuses = false;
        self.apply(commands);
        self.refuses = true;
    }

    /// Returns whether a command is refused because the device is read-only.
    #[inline(always)]
    pub(crate) fn is_refused(&self, op: Op) -> bool {
        self.read_only && self.refuses && !matches!(op, Op::Read | Op::Flush)
    }

    /// Applies the commands that caches pass on.
    #[inline]
    pub(crate) fn apply_behind(&mut self, commands: &[Command]) {
        match self.tuner {
            None => self.apply_all(commands),
            Some(_) => self.apply_tuned(commands),
        }
    }

    pub(crate) fn apply_all(&mut self, commands: &[Command]) {
        self.counters.commands += commands.len() as u64;
        let shift = self.page_shift();
        if let [command] = commands {
            // A caller that applies commands one by one has already prefetched.
            return self.apply_one(command, shift);
        }
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

    /// Prefetches the map entries of a command that will be applied soon. A driver that applies commands one by one
    /// hides latency this way, as [`Self::apply`] does within a batch.
    #[inline]
    pub fn prefetch_map(&self, command: &Command) {
        self.prefetch(command, self.page_shift());
    }

    /// Prefetches the segment of a command whose [map entries](Self::prefetch_map) have arrived by now.
    #[inline]
    pub fn prefetch_segments(&self, command: &Command) {
        self.prefetch_segment(command, self.page_shift());
    }

    fn page_shift(&self) -> u32 {
        (self.geometry.page_bytes / LBA_BYTES).trailing_zeros()
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

    /// Prefetches the segment of a command's first page, whose map entry has been prefetched.
    #[inline(always)]
    fn prefetch_segment(&self, command: &Command, shift: u32) {
        let namespace = self.namespaces.get(usize::from(command.namespace.0));
        let page = namespace.map_or(0, |n| n.first_page).wrapping_add(command.lba >> shift);
        if let Some(label) = self.map.as_slice().get(page as usize) {
            self.segments.prefetch(*label);
        }
    }

    /// Applies the leading writes of exactly one page each that share the target of the first, in loops that keep
    /// shared state in registers. Returns their number.
    #[inline(always)]
    fn apply_single_pages(&mut self, commands: &[Command], shift: u32) -> usize {
        if self.separation.as_ref().is_some_and(Rule::splits_all) || self.one_by_one() {
            return 0;
        }
        let Some(first) = commands.first() else { return 0 };
        let Some(namespace) = self.namespaces.get(usize::from(first.namespace.0)) else { return 0 };
        let Some(Target { slot, .. }) = namespace.target(first.placement, &self.chosen) else {
            return 0;
        };
        let (first_page, pages) = (namespace.first_page, namespace.blocks >> shift);
        let Slot { ru, segment, segment_room, room } = self.slots[slot as usize];
        // The last page of a segment takes the general path, which opens the next segment.
        let most = commands.len().min(segment_room.saturating_sub(1) as usize);
        let mask = (1u64 << shift) - 1;
        let target = first.target();
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
            // First the map entries of some pages, then the segments that they were in, so that the second random
            // accesses of neighbouring pages overlap.
            let chunk = &commands[done..most.min(done + CHUNK)];
            let ahead = &commands[(done + LOOKAHEAD).min(commands.len())..];
            let mut found = 0;
            {
                let entries = self.map.run_mut(first_page, pages);
                for command in chunk {
                    let same = command.target() == target && command.blocks == first.blocks;
                    if !same || command.lba & mask != 0 {
                        break;
                    }
                    let Some(entry) = entries.get_mut((command.lba >> shift) as usize) else {
                        break;
                    };
                    let label = std::mem::replace(entry, segment);
                    self.segments.prefetch(label);
                    old[found] = label;
                    if let Some(ahead) = ahead.get(found) {
                        let page = (ahead.lba >> shift) as usize;
                        mapping::prefetch(entries.as_ptr().wrapping_add(page));
                    }
                    found += 1;
                }
            }
            if let Some(ledger) = &mut self.ledger {
                for command in &chunk[..found] {
                    let page = first_page + (command.lba >> shift);
                    ledger.written(by, page, page, false, command.blocks.into());
                }
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
        self.report_program(ru, room, done as u32, Cause::HostWrite(RuhId(by as u16)));
        self.count_host_write(slot, done as u64 * self.geometry.page_bytes, done as u64);
        self.writers.wrote(by, done as u32);
        done
    }

    /// Invalidates one page of each label; `new` is the new label of these pages.
    #[inline(always)]
    fn invalidate_all(&mut self, labels: &[Label], new: Label, by: u32) {
        let mut divided = 0u64;
        for (i, label) in labels.iter().enumerate() {
            let segment = &mut self.segments.hot[*label as usize];
            if segment.ru & DIVIDED != 0 {
                divided |= 1 << i;
            } else {
                segment.valid = segment.valid.wrapping_sub(1);
                self.rus.invalidate(segment.ru, 1);
            }
        }
        if let Some(ledger) = &mut self.ledger {
            let rus = labels.iter().map(|label| self.segments.hot[*label as usize].ru);
            rus.filter(|ru| ru & DIVIDED == 0).for_each(|ru| ledger.invalidate(ru, by, 1));
        }
        // Divided labels are rare, and handled afterwards so that the loop above needs no call.
        while divided != 0 {
            self.invalidate_divided(labels[divided.trailing_zeros() as usize], 1, by);
            divided &= divided - 1;
        }
        for _ in labels {
            self.segments.log_written(new);
        }
    }

    /// Returns whether commands are applied one by one, because each uses translation pages or may be refused.
    #[inline(always)]
    fn one_by_one(&self) -> bool {
        self.translated.is_some() || self.read_only
    }

    #[inline(always)]
    fn apply_one(&mut self, command: &Command, shift: u32) {
        let blocks = u64::from(command.blocks);
        let namespace = match self.namespaces.get(usize::from(command.namespace.0)) {
            Some(n)
                if command.lba <= n.blocks
                    && blocks <= n.blocks - command.lba
                    && !self.is_refused(command.op) =>
            {
                n
            }
            _ => {
                self.counters.rejected += 1;
                return;
            }
        };
        if blocks == 0 || !command.op.has_range() {
            if command.op == Op::Update {
                self.apply_update(command);
            }
            return;
        }
        let mask = (1u64 << shift) - 1;
        let end = command.lba + blocks;
        match command.op {
            Op::Write => {
                let first = namespace.first_page + (command.lba >> shift);
                let last = namespace.first_page + ((end - 1) >> shift);
                let target = match namespace.target(command.placement, &self.chosen) {
                    Some(target) => target,
                    None => self.resolve_placement(command.namespace, command.placement),
                };
                let Target { slot, directed } = target;
                if (command.lba | end) & mask != 0 {
                    let head = u64::from(command.lba & mask != 0);
                    let tail = u64::from(end & mask != 0);
                    self.counters.rmw_pages += if first == last { 1 } else { head + tail };
                }
                let pages = last - first + 1;
                self.count_host_write(slot, blocks * LBA_BYTES, pages);
                let by = self.handle_of(slot);
                if let Some(ledger) = &mut self.ledger {
                    ledger.written(by, first, last, command.lba & mask != 0, blocks);
                }
                if self.observer.wants_media() || self.maintenance.is_some() {
                    let cause = Cause::ReadModifyWrite(RuhId(by as u16));
                    if command.lba & mask != 0 {
                        self.read_pages(first, 1, cause);
                    }
                    if end & mask != 0 && (first != last || command.lba & mask == 0) {
                        self.read_pages(last, 1, cause);
                    }
                }
                if self.is_split(by) {
                    self.append_separated(target, first, pages);
                } else {
                    let write = HostWrite { directed, ..HostWrite::by(by) };
                    self.append(slot, first, pages, write);
                }
                self.writers.wrote(by, 1);
            }
            Op::Deallocate => {
                let first = namespace.first_page + ((command.lba + mask) >> shift);
                let last = namespace.first_page + (end >> shift);
                if first < last {
                    self.unmap(first, last - first);
                }
            }
            Op::Read => {
                self.counters.read_bytes += blocks * LBA_BYTES;
                let read = self.maintenance.is_some() || self.translated.is_some();
                if read || self.observer.wants_media() {
                    let first = namespace.first_page + (command.lba >> shift);
                    let last = namespace.first_page + ((end - 1) >> shift);
                    self.translate(first, last - first + 1, false);
                    self.read_pages(first, last - first + 1, Cause::HostRead);
                }
            }
            Op::Flush | Op::Update => {}
        }
    }

    #[cold]
    fn apply_update(&mut self, command: &Command) {
        if self.update_reclaim_unit(command.namespace, command.placement).is_none() {
            self.counters.rejected += 1;
        }
    }

    /// Returns the handle of a host's slot. The host slots of group g are `g * per_group + handle`; group 0 needs no
    /// division.
    #[inline(always)]
    pub(crate) fn handle_of(&self, slot: u32) -> u32 {
        let slot =
            if slot < self.numbering.per_group { slot } else { slot % self.numbering.per_group };
        if slot < self.numbering.handles { slot } else { self.handle_of_class(slot) }
    }

    #[cold]
    fn handle_of_class(&self, slot: u32) -> u32 {
        match self.numbering.contents(slot).owner {
            Owner::Handle(handle) => u32::from(handle.0),
            Owner::Gc => unreachable!("hosts write no shared GC reclaim unit"),
        }
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

    /// Returns whether the pages of a handle go to several open reclaim units.
    #[inline(always)]
    pub(crate) fn is_split(&self, handle: u32) -> bool {
        self.separation.as_ref().is_some_and(|rule| rule.splits(handle))
    }

    /// Appends a run of pages, each to the open reclaim unit of its class.
    fn append_separated(&mut self, to: Target, first: u64, pages: u64) {
        let Target { slot: home, directed } = to;
        let handle = self.handle_of(home);
        for page in first..first + pages {
            let label = self.map.as_slice()[page as usize];
            let old = self.segments.content(label, &self.rus.units, self.clock);
            let (class, death_time) = self.separation.as_mut().map_or((0, 0), |rule| {
                rule.write(page, handle, old);
                rule.host_class(handle, old, self.clock)
            });
            let slot = self.numbering.class_slot(home, class);
            self.append(slot, page, 1, HostWrite { handle, directed, death_time });
        }
    }

    /// Appends a run of pages to the open reclaim unit of `slot`.
    #[inline(always)]
    fn append(&mut self, home: u32, first: u64, pages: u64, mut write: HostWrite) {
        let (mut page, mut left, mut slot) = (first, pages, home);
        let by = write.handle;
        while left > 0 {
            if self.slots[slot as usize].segment_room == 0 {
                write.death_time = self.predict_segment(by, page);
                slot = self.next_segment(home, write);
            }
            let open = &mut self.slots[slot as usize];
            let count = left.min(u64::from(open.segment_room));
            let Slot { ru, room, .. } = *open;
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
            self.report_program(ru, room, count as u32, Cause::HostWrite(RuhId(by as u16)));
            if self.translated.is_some() {
                self.translate_written(page, count, label);
            }
            if full {
                self.close_slot(slot);
                self.open_slot(slot, write);
            }
            page += count;
            left -= count;
        }
    }

    /// Informs separation of the first page of a segment, and returns the segment's predicted death time.
    fn predict_segment(&mut self, by: u32, page: u64) -> u64 {
        let label = self.map.as_slice()[page as usize];
        let (old, now) = (self.segments.content(label, &self.rus.units, self.clock), self.clock);
        self.separation.as_mut().map_or(0, |rule| rule.begin_segment(by, old, now))
    }

    /// Assigns `label` to a run of pages. Neighbours are often in the same segment, so their old labels are counted in
    /// runs.
    #[inline]
    fn replace_run(&mut self, page: u64, count: u64, label: Label, by: u32) {
        let end = page + count;
        let mut at = page;
        while at < end {
            let entries = self.map.run_mut(at, end - at);
            let old = entries[0];
            let mut pages = 0;
            for entry in entries.iter_mut().take_while(|entry| **entry == old) {
                *entry = label;
                pages += 1;
            }
            self.invalidate(old, pages, by);
            at += u64::from(pages);
        }
    }

    /// Invalidates `count` pages of segment `label` on behalf of handle `by`.
    #[inline(always)]
    fn invalidate(&mut self, label: Label, count: u32, by: u32) {
        let segment = &mut self.segments.hot[label as usize];
        let ru = segment.ru;
        if ru & DIVIDED != 0 {
            return self.invalidate_divided(label, count, by);
        }
        // The count of the segment of unmapped pages is modulo 2^32 and never read.
        segment.valid = segment.valid.wrapping_sub(count);
        self.rus.invalidate(ru, count);
        if self.ledger.is_some() {
            self.attribute(ru, count, by);
        }
    }

    #[cold]
    fn invalidate_divided(&mut self, label: Label, count: u32, by: u32) {
        for _ in 0..count {
            let ru = self.segments.invalidate_divided(label);
            self.segments.hot[label as usize].valid -= 1;
            self.rus.invalidate(ru, 1);
            if self.ledger.is_some() {
                self.attribute(ru, 1, by);
            }
        }
    }

    /// Notes which handle invalidates pages. Out of line, because on the path of every page it would slow down users
    /// without attribution.
    #[cold]
    fn attribute(&mut self, ru: RuIndex, count: u32, by: u32) {
        if let Some(ledger) = &mut self.ledger {
            ledger.invalidate(ru, by, count);
        }
    }

    /// Unmaps a run of pages. If nothing is mapped, it only reads the map.
    pub(crate) fn unmap(&mut self, first: u64, pages: u64) {
        let end = first + pages;
        let mut page = first;
        while page < end {
            let next = end.min(page + UNMAP_BLOCK);
            // Without an early exit, the compiler generates a few wide instructions.
            let entries = &self.map.as_slice()[page as usize..next as usize];
            if entries.iter().fold(UNMAPPED, |all, label| all | label) != UNMAPPED {
                self.unmap_block(page, next);
            }
            page = next;
        }
    }

    fn unmap_block(&mut self, first: u64, end: u64) {
        for page in first..end {
            let old = self.map.replace(page, UNMAPPED);
            if old != UNMAPPED {
                let origin = self.segments.origins[old as usize];
                self.invalidate(old, 1, u32::from(origin));
                self.segments.log_written(UNMAPPED);
                self.granted += 1;
                self.counters.deallocated_pages += 1;
                self.translate(page, 1, true);
            }
        }
    }

    /// Returns the slot of a placement identifier, if the namespace defines it.
    pub(crate) fn defined_slot(&self, namespace: NsId, placement: Placement) -> Option<u32> {
        let (group, handle) = placement.split(self.geometry.groups);
        let slot = self.namespaces.get(namespace.index())?.slots.get(usize::from(handle))?;
        (group < self.geometry.groups).then_some(u32::from(group) * self.numbering.per_group + slot)
    }

    /// Returns the target of a placement identifier that is not a placement handle of group 0.
    #[cold]
    fn resolve_placement(&mut self, namespace: NsId, placement: Placement) -> Target {
        if let Some(slot) = self.defined_slot(namespace, placement) {
            return Target { slot, directed: true };
        }
        self.observer.event(&FdpEvent::InvalidPlacementIdentifier { namespace, placement });
        let slot = self.chosen[self.namespaces[namespace.index()].slots[0] as usize];
        Target { slot, directed: false }
    }

    /// Executes [`Op::Update`]: moves the handle of a placement identifier to an empty reclaim unit, unless the current
    /// one is empty. Returns the number of pages left unwritten in the previous unit, or `None` for an identifier that
    /// the namespace does not define.
    pub fn update_reclaim_unit(&mut self, namespace: NsId, placement: Placement) -> Option<u32> {
        let slot = self.defined_slot(namespace, placement)?;
        let Slot { ru, room, .. } = self.slots[slot as usize];
        if ru == NONE || room == self.geometry.pages_per_ru {
            return Some(0);
        }
        self.close_slot(slot);
        let by = self.handle_of(slot);
        self.observer.event(&FdpEvent::RuNotFullyWritten {
            group: RgId(self.group_of(slot)),
            handle: RuhId(by as u16),
            unwritten_pages: room,
        });
        self.open_slot(slot, HostWrite::by(by));
        Some(room)
    }
}
