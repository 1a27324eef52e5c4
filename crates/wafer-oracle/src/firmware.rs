//! Caches in front of the reclaim units, uses of the map, parity, and maintenance of the media.
//!
//! Source: `docs/reference/device-model.md`, "Caches", "Map", "Parity" and "Care of the media".

use std::collections::BTreeSet;
use std::ops::Range;

use wafer_interface::{Bytes, Command, FdpEvent, NsId, Owner, RgId, RuhId};

use crate::oracle::{Cache, Care, Event, Oracle, Waiting};
use crate::translation::Map;
use crate::units::{Log, State};

impl Oracle {
    /// Sets up the caches, the map and the maintenance of a fresh device.
    pub(crate) fn equip(&mut self) {
        let firmware = &self.sizes.firmware;
        let pages = |size: Bytes| (size.0 / self.sizes.page_bytes) as usize;
        let cache = |slc, most| Cache { slc, most, places: Vec::new() };
        let all =
            [cache(false, pages(firmware.write_buffer)), cache(true, pages(firmware.slc_cache))];
        self.caches = all.into_iter().filter(|cache| cache.most > 0).collect();
        let (cache, entries) = (firmware.mapping_cache.0, firmware.mapping_entries.into());
        self.map = Map::new(self.sizes.pages, self.sizes.page_bytes, cache, entries);
        let most_retired = self.sizes.spare_units();
        let next_look = u64::from(self.sizes.unit_pages);
        self.care = Care { next_look, most_retired, ..Care::default() };
    }

    fn touched(&self, write: &Command) -> Range<u64> {
        let size = self.sizes.page_blocks();
        write.lba / size..(write.lba + u64::from(write.blocks)).div_ceil(size)
    }

    /// Passes a write to cache number `at`, or past the last one to the reclaim units.
    pub(crate) fn enter(&mut self, at: usize, write: &Command) {
        let Some(cache) = self.caches.get(at) else { return self.write_to_units(write) };
        let (size, slc, most) = (self.sizes.page_blocks(), cache.slc, cache.most);
        let end = write.lba + u64::from(write.blocks);
        let mut leaving = Vec::new();
        for number in self.touched(write) {
            let block = |block: u64| (write.lba..end).contains(&(number * size + block));
            let mut written: Vec<bool> = (0..size).map(block).collect();
            if slc {
                self.counters.cache_pages += 1;
                self.counters.media_bytes += self.sizes.page_bytes;
                self.counters.rmw_pages += u64::from(written.contains(&false));
                written.fill(true);
            }
            let page = (write.namespace, number);
            let places = &mut self.caches[at].places;
            let old = places.iter_mut().find(|place| place.page == page && !place.empty);
            match old {
                Some(old) if !slc => {
                    old.written.iter_mut().zip(written).for_each(|(old, new)| *old |= new);
                    old.write = *write;
                }
                old => {
                    if let Some(old) = old {
                        old.empty = true;
                    }
                    places.push(Waiting { page, write: *write, written, empty: false });
                }
            }
            // A buffer in memory keeps no empty places.
            places.retain(|place| slc || !place.empty);
            while places.len() > most {
                leaving.push(places.remove(0));
            }
        }
        for place in leaving {
            self.leave(at, &place);
        }
    }

    /// Passes a page from a cache on to the next, or to the reclaim units.
    fn leave(&mut self, at: usize, place: &Waiting) {
        if place.empty {
            return;
        }
        let size = self.sizes.page_blocks();
        let blocks = if place.written.contains(&false) { 1 } else { size as u32 };
        self.enter(at + 1, &Command { lba: place.page.1 * size, blocks, ..place.write });
    }

    /// Empties all caches.
    pub(crate) fn drain(&mut self) {
        for at in 0..self.caches.len() {
            for place in std::mem::take(&mut self.caches[at].places) {
                self.leave(at, &place);
            }
        }
    }

    /// Drops waiting pages of a namespace. Those that no reclaim unit holds count as deallocated.
    pub(crate) fn forget(&mut self, namespace: NsId, pages: Range<u64>, first: u64) {
        for page in pages {
            let mut waited = false;
            for place in self.caches.iter_mut().flat_map(|cache| &mut cache.places) {
                if place.page == (namespace, page) && !place.empty {
                    (place.empty, waited) = (true, true);
                }
            }
            if waited && self.pages.of(first + page).is_none() {
                self.counters.deallocated_pages += 1;
            }
        }
    }

    /// Returns whether a cache holds a whole page.
    fn waits_whole(&self, page: (NsId, u64)) -> bool {
        let places = self.caches.iter().flat_map(|cache| &cache.places);
        places.into_iter().any(|p| p.page == page && !p.empty && !p.written.contains(&false))
    }

    /// Reads the pages of a command, except those that a cache holds whole.
    pub(crate) fn read(&mut self, command: &Command, first: u64) {
        let pages: Vec<u64> = self.touched(command).collect();
        if self.caches.is_empty() {
            pages.iter().for_each(|page| self.translate(first + page, false));
            return self.read_pages(pages.iter().map(|page| first + page).collect());
        }
        // With caches, each page is read by itself.
        for page in pages {
            if !self.waits_whole((command.namespace, page)) {
                self.translate(first + page, false);
                self.read_pages(vec![first + page]);
            }
        }
    }

    /// Reads pages together, and moves the data of reclaim units that were read too often.
    pub(crate) fn read_pages(&mut self, pages: Vec<u64>) {
        let most = self.sizes.firmware.reads_before_move;
        if most == 0 || self.care.ended {
            return;
        }
        let units: Vec<u32> = pages.iter().filter_map(|page| self.unit_read(*page)).collect();
        for unit in &units {
            self.units[*unit as usize].reads += 1;
        }
        for unit in units {
            let of = &self.units[unit as usize];
            if of.reads >= most && of.state == State::Closed {
                let owner = of.log.owner();
                self.asking = if let Owner::Handle(handle) = owner { handle.0 } else { 0 };
                self.move_data(unit);
            }
        }
    }

    /// Returns the reclaim unit for which a read of a page counts: of a divided segment, that of the first part with
    /// valid pages.
    fn unit_read(&self, page: u64) -> Option<u32> {
        let segment = self.pages.of(page)?;
        let parts = segment.division.map(|division| &self.pages.divisions[&division]);
        let first = parts.and_then(|parts| parts.iter().find(|part| self.pages.valid(**part) > 0));
        Some(first.map_or(segment.unit, |part| self.pages[*part].unit))
    }

    /// Uses the map entry of a page.
    pub(crate) fn translate(&mut self, page: u64, changes: bool) {
        // Without translation pages the whole map is in memory.
        if let Some(page) = page.checked_div(self.map.entries) {
            self.use_translation_page(page, changes);
        }
    }

    fn use_translation_page(&mut self, page: u64, changes: bool) {
        let (reads, programs) = self.map.use_page(page, changes);
        self.counters.map_reads += reads;
        self.counters.map_pages += programs;
        self.counters.media_bytes += programs * self.sizes.page_bytes;
    }

    /// Uses the map entries of the pages moved from a reclaim unit, each translation page once, in order. A divided
    /// segment counts with the pages of all its parts.
    pub(crate) fn translate_moved(&mut self, unit: u32) {
        if self.map.entries == 0 {
            return;
        }
        let mut all = BTreeSet::new();
        for id in &self.units[unit as usize].segments {
            let segment = &self.pages[*id];
            if segment.pages.is_empty() {
                continue;
            }
            let parts = segment.division.map(|division| self.pages.divisions[&division].clone());
            for part in parts.unwrap_or_else(|| vec![*id]) {
                all.extend(self.pages[part].pages.iter().map(|page| page / self.map.entries));
            }
        }
        for page in all {
            self.use_translation_page(page, true);
        }
    }

    /// Does the maintenance that is due when a host begins a segment.
    pub(crate) fn maintain(&mut self) {
        let firmware = self.sizes.firmware.clone();
        if !firmware.maintains() || self.clock < self.care.next_look {
            return;
        }
        self.care.next_look = self.clock + u64::from(self.sizes.unit_pages);
        let pages = |writes: f64| (writes * self.sizes.pages as f64) as u64;
        let (open_limit, refresh) = (pages(firmware.open_limit), pages(firmware.refresh_after));
        if firmware.open_limit > 0.0 {
            self.close_overdue(open_limit);
        }
        for group in 0..self.sizes.groups {
            let oldest = |oracle: &Oracle| {
                let closed = oracle.closed(group).into_iter();
                closed.min_by_key(|unit| oracle.units[*unit as usize].closed_order)
            };
            while let Some(oldest) = oldest(self)
                && firmware.refresh_after > 0.0
                && self.clock - self.units[oldest as usize].closed_at > refresh
            {
                self.move_data(oldest);
            }
            if firmware.wear_difference > 0 {
                let erases = |unit: u32| self.units[unit as usize].erases;
                let most = self.sizes.group(group).map(erases).max().unwrap_or(0);
                let coldest = self.closed(group).into_iter().min_by_key(|unit| erases(*unit));
                match coldest {
                    Some(coldest) if most > erases(coldest) + firmware.wear_difference => {
                        // Cold data goes to the most worn free unit; at a tie, to the first.
                        let free = &self.free[usize::from(group)];
                        let worn = free.iter().map(|unit| erases(*unit)).max();
                        let at = free.iter().position(|unit| Some(erases(*unit)) == worn);
                        let free = &mut self.free[usize::from(group)];
                        let taken = at.and_then(|at| free.remove(at));
                        free.extend(taken);
                        free.rotate_right(1);
                        self.move_data(coldest);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Closes logs that have been open for too long, in the device's order: in each group those of hosts, that of mixed
    /// data, those of relocated data, and those of further host classes.
    fn close_overdue(&mut self, limit: u64) {
        let order = |log: &Log| match *log {
            Log::Host { handle, class: 0 } => (0, handle, 0),
            Log::Mixed => (1, 0, 0),
            Log::Moved { handle, class } => (2, handle, class),
            Log::Host { handle, class } => (3, handle, class),
        };
        let mut logs: Vec<(u16, Log)> = Vec::new();
        for group in 0..self.sizes.groups {
            let handles = 0..self.sizes.handles;
            let hosts = handles
                .clone()
                .flat_map(|handle| (0..32).map(move |class| Log::Host { handle, class }));
            let moved =
                handles.flat_map(|handle| (0..32).map(move |class| Log::Moved { handle, class }));
            let mut all: Vec<Log> = hosts.chain(moved).chain([Log::Mixed]).collect();
            all.sort_by_key(order);
            logs.extend(all.into_iter().map(|log| (group, log)));
        }
        for (group, log) in logs {
            let Some(open) = self.open.get(&(group, log)) else { continue };
            let (unit, unwritten_pages) = (open.unit, self.room(open.unit));
            let age = self.clock - self.units[unit as usize].opened_at;
            if self.units[unit as usize].written == 0 || age <= limit {
                continue;
            }
            self.close(group, log);
            if let Log::Host { handle, class } = log {
                let (group_id, handle_id) = (RgId(group), RuhId(handle));
                let event = FdpEvent::TimeLimitExceeded {
                    group: group_id,
                    handle: handle_id,
                    unwritten_pages,
                };
                self.events.push(Event::Fdp(event));
                if class == 0 {
                    let before = self.asking;
                    self.open_first_class(group, handle);
                    self.asking = before;
                }
            }
        }
    }

    /// Moves the data of a closed reclaim unit to a free one, which is closed at once.
    fn move_data(&mut self, from: u32) {
        let group = self.sizes.group_of(from);
        self.translate_moved(from);
        self.attribute(from);
        let (valid, old) = (self.valid(from), self.units[from as usize].clone());
        let mut moved = Vec::new();
        if valid > 0 {
            let to = self.free[usize::from(group)].pop_front().expect("a free reclaim unit");
            let kept = old.segments.iter().copied().filter(|id| self.pages.valid(*id) > 0);
            let kept: Vec<_> = kept.collect();
            kept.iter().for_each(|id| self.pages.segments[*id].unit = to);
            let unit = &mut self.units[to as usize];
            (unit.state, unit.log, unit.death) = (State::Open, old.log, old.death);
            (unit.opened_at, unit.segments, unit.written) = (self.clock, kept, valid);
            self.close_unit(to);
            moved.push((to, valid));
        }
        for id in std::mem::take(&mut self.units[from as usize].segments) {
            if self.pages.valid(id) == 0 {
                self.pages.release(id);
            }
        }
        self.mix_origins(from, &moved);
        self.erase(from);
        self.counters.maintained_rus += 1;
        self.counters.maintained_pages += u64::from(valid);
        // Counted for its own log: mixed data was mixed before.
        self.count(old.log.owner(), old.log, valid);
        self.tell(group, from, old.log.owner(), valid, &moved, false);
    }

    /// Returns whether a reclaim unit that was just erased, the last in its group's free list, is worn out and can be
    /// spared.
    pub(crate) fn retires(&mut self, unit: u32) -> bool {
        let middle = u64::from(self.sizes.firmware.retire_after);
        if middle == 0 {
            return false;
        }
        let tenth = middle / 10;
        let hashed = u64::from(unit).wrapping_mul(0x9e37_79b9_7f4a_7c15) / (1 << 32);
        let limit = middle - tenth + hashed * (2 * tenth + 1) / (1 << 32);
        if u64::from(self.units[unit as usize].erases) < limit {
            return false;
        }
        if self.care.retired == self.care.most_retired {
            self.care.ended = true;
            return false;
        }
        let others = self.free[usize::from(self.sizes.group_of(unit))].len() - 1;
        self.care.retired += u64::from(others > 0);
        others > 0
    }

    pub(crate) fn count_parity(&mut self, unit: u32) {
        let stripe = self.sizes.firmware.parity;
        if stripe > 0 {
            let pages = u64::from(self.units[unit as usize].written).div_ceil(stripe.into());
            self.counters.parity_pages += pages;
            self.counters.media_bytes += pages * self.sizes.page_bytes;
        }
    }
}
