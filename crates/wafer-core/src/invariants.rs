//! What always holds, checked from scratch. Slow: walks the whole map.

use std::collections::BTreeMap;

use crate::device::Device;
use crate::mapping::{Label, UNMAPPED};
use crate::observer::Observer;
use crate::reclaim::{NOT_CLOSED, State};
use crate::segment::NONE;

impl<O: Observer> Device<O> {
    /// Checks that every mapped page is valid in exactly one place, that counts equal the map, that free,
    /// open and closed reclaim units are all there are, and that media bytes are host plus relocated
    /// pages.
    ///
    /// # Errors
    /// What does not hold.
    pub fn check_invariants(&self) -> Result<(), String> {
        let mut pages: BTreeMap<Label, u32> = BTreeMap::new();
        for label in self.map.as_slice() {
            if *label != UNMAPPED {
                *pages.entry(*label).or_default() += 1;
            }
        }
        self.check_labels(&pages)?;
        self.check_units()?;
        self.check_split()?;
        if O::ATTRIBUTION {
            self.check_attribution()?;
        }
        self.check_counters()
    }

    /// No more handles are split than there is room for, and no other has open reclaim units of classes.
    fn check_split(&self) -> Result<(), String> {
        let Some(deaths) = &self.deaths else { return Ok(()) };
        let handles = u32::from(self.geometry.handles);
        let split = (0..handles).filter(|handle| deaths.splits(*handle)).count();
        let most = self.geometry.split_handles;
        ensure(split <= usize::from(most), || format!("{split} handles are split, not {most}"))?;
        for (slot, open) in (0u32..).zip(&self.slots) {
            if let Some((handle, 1..)) = self.layout.host_of(slot % self.layout.per_group) {
                let known = open.ru == NONE || deaths.splits(handle);
                ensure(known, || format!("handle {handle} has classes but is not split"))?;
            }
        }
        Ok(())
    }

    fn check_labels(&self, pages: &BTreeMap<Label, u32>) -> Result<(), String> {
        let pending =
            |id: Label| self.slots.iter().find(|s| s.segment == id).map_or(0, |s| s.segment_room);
        for (label, count) in pages {
            let segment = self.segments.hot.get(*label as usize).ok_or("label out of range")?;
            let known = segment.valid - pending(*label);
            ensure(known == *count, || format!("segment {label}: {known} valid, {count} mapped"))?;
            if self.segments.is_divided(*label) {
                let of = |part: &Label| self.segments.hot[*part as usize].valid;
                let sum: u32 = self.segments.parts(*label).iter().map(of).sum();
                ensure(sum == *count, || format!("parts of {label} hold {sum} of {count}"))?;
            }
        }
        for id in self.segments.free_list() {
            ensure(!pages.contains_key(id), || format!("free segment {id} is in the map"))?;
        }
        Ok(())
    }

    fn check_units(&self) -> Result<(), String> {
        let full = self.geometry.pages_per_ru;
        let mut mapped = 0u64;
        let mut listed = vec![false; self.segments.hot.len()];
        for (ru, unit) in self.rus.units.iter().enumerate() {
            let slot = self.slots.iter().find(|s| s.ru == ru as u32);
            let pending = slot.map_or(0, |s| s.segment_room);
            let mut valid = 0;
            for id in &unit.segments {
                let segment = self.segments.hot[*id as usize];
                ensure(segment.ru == ru as u32, || {
                    format!("segment {id} of {ru} says {}", segment.ru)
                })?;
                ensure(!std::mem::replace(&mut listed[*id as usize], true), || {
                    format!("{id} listed twice")
                })?;
                valid += segment.valid;
            }
            let key = self.rus.valid[ru];
            ensure(key & !NOT_CLOSED == valid, || format!("{ru}: {key:#x} valid, {valid} listed"))?;
            ensure(valid <= full, || format!("{ru}: {valid} pages"))?;
            ensure((key & NOT_CLOSED == 0) == (unit.state == State::Closed), || {
                format!("{ru}: state")
            })?;
            ensure((unit.state == State::Open) == slot.is_some(), || {
                format!("{ru}: open without slot")
            })?;
            ensure(unit.state != State::Free || valid == 0, || format!("{ru}: free with data"))?;
            mapped += u64::from(valid - pending);
        }
        let in_map = self.map.as_slice().iter().filter(|l| **l != UNMAPPED).count() as u64;
        ensure(mapped == in_map, || format!("{mapped} pages in reclaim units, {in_map} mapped"))?;
        for (group, free) in self.rus.free.iter().enumerate() {
            let range = &self.groups[group].range;
            let states = range.clone().filter(|r| self.rus.units[*r as usize].state == State::Free);
            ensure(states.count() == free.len(), || format!("group {group}: free list"))?;
            ensure(free.iter().all(|r| range.contains(r)), || {
                format!("group {group}: foreign unit")
            })?;
            ensure(!free.is_empty(), || format!("group {group}: nothing free"))?;
        }
        Ok(())
    }

    /// Pages of a reclaim unit are valid, unwritten, or invalidated by some handle; what was moved has
    /// a cause and somebody who asked.
    fn check_attribution(&self) -> Result<(), String> {
        for (ru, unit) in self.rus.units.iter().enumerate() {
            let slot = self.slots.iter().find(|s| s.ru == ru as u32);
            let written = match unit.state {
                State::Free => 0,
                State::Closed => unit.written,
                State::Open => self.geometry.pages_per_ru - slot.map_or(0, |s| s.room),
            };
            let pending = slot.map_or(0, |s| s.segment_room);
            let valid = (self.rus.valid[ru] & !NOT_CLOSED) - pending;
            let invalid = self.ledger.invalid_pages(ru as u32);
            ensure(valid + invalid == written, || {
                format!("{ru}: {valid} valid, {invalid} invalidated, {written} written")
            })?;
        }
        let totals = &self.ledger.totals;
        for table in [&totals.relocated, &totals.demanded] {
            let sum: u64 = table.iter().flatten().sum();
            ensure(sum == self.counters.relocated_pages, || {
                format!("{sum} of {} relocated pages attributed", self.counters.relocated_pages)
            })?;
        }
        Ok(())
    }

    fn check_counters(&self) -> Result<(), String> {
        let c = &self.counters;
        let media = (c.host_pages + c.relocated_pages) * self.geometry.page_bytes;
        ensure(c.media_bytes == media, || {
            format!("{} media bytes, expected {media}", c.media_bytes)
        })?;
        let handles = self.handle_counters();
        let host: u64 = handles.iter().map(|h| h.host_bytes).sum();
        ensure(c.host_bytes == host, || "host bytes of the handles do not add up".to_owned())?;
        // A page is counted where it was moved from. What enters the shared GC entry is in that
        // entry's own bytes as well.
        let gc = self.handles[self.layout.handles as usize];
        let moved_again = gc.media_bytes - gc.host_bytes;
        let sum = handles.iter().map(|h| h.media_bytes).sum::<u64>() + moved_again;
        ensure(sum == c.media_bytes, || "media bytes of the handles do not add up".to_owned())
    }
}

fn ensure(holds: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message()) }
}
