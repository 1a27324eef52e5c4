//! Checks the invariants of a device between two commands from scratch, for [`Device::restore`] and the tests. Nothing
//! here indexes with an unchecked number.

use std::ops::Range;

use super::error::StateError;
use crate::attribution::Ledger;
use crate::device::{Device, Slot};
use crate::flash::mapping::{Label, RuIndex, UNMAPPED};
use crate::flash::segment::{DIVIDED, NONE};
use crate::geometry::{Geometry, MAX_HANDLES, MAX_NAMESPACES};
use crate::layout::Relocation;
use wafer_interface::Isolation;
use wafer_interface::{NsId, Observer, Owner};
use wafer_policies::{Contents, NOT_CLOSED, ReclaimUnit, State};

/// No count of pages, bytes or events reaches this, so sums of a few do not overflow.
const MOST: u64 = 1 << 60;

type Check = Result<(), StateError>;

/// The role of a number in the segment table.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Role {
    Unused,
    Unmapped,
    Free,
    /// A label whose pages are in parts.
    Divided,
    /// A part that no reclaim unit has listed so far, and one that was listed.
    Part,
    ListedPart,
    Whole,
}

fn ensure(holds: bool, field: &'static str, message: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(StateError::damaged(field, message())) }
}

/// Returns the fault of an entry of a table, unless `holds`.
fn expect(holds: bool, fault: &'static str) -> Result<(), &'static str> {
    if holds { Ok(()) } else { Err(fault) }
}

/// Checks every entry of a table.
fn each<T: std::fmt::Debug>(
    field: &'static str,
    table: &[T],
    check: impl Fn(u32, &T) -> Result<(), &'static str>,
) -> Check {
    for (number, entry) in (0..).zip(table) {
        check(number, entry)
            .map_err(|fault| StateError::damaged(field, format!("{number}: {fault}: {entry:?}")))?;
    }
    Ok(())
}

/// Checks the namespaces of a state: each within the capacity, none overlapping.
pub(super) fn namespaces(all: &[(Range<u64>, Vec<u16>)], geometry: &Geometry) -> Check {
    const FIELD: &str = "namespaces";
    ensure(all.len() <= MAX_NAMESPACES, FIELD, || format!("{} of them", all.len()))?;
    each(FIELD, all, |_, (pages, handles)| {
        expect(pages.is_empty() == handles.is_empty(), "pages or handles without the other")?;
        let within = pages.start <= pages.end && pages.end <= geometry.logical_pages;
        expect(within, "pages beyond the capacity")?;
        expect(handles.len() <= usize::from(MAX_HANDLES), "too many handles")
    })?;
    let mut taken: Vec<&Range<u64>> =
        all.iter().map(|(pages, _)| pages).filter(|pages| !pages.is_empty()).collect();
    taken.sort_by_key(|pages| pages.start);
    let apart = taken.windows(2).all(|pair| pair[0].end <= pair[1].start);
    ensure(apart, FIELD, || "two have a page in common".to_owned())
}

impl<O: Observer> Device<O> {
    /// Checks that every mapped page is valid in exactly one place, that counts match the map, that every reclaim unit
    /// has one state, and that media bytes match the pages counted.
    ///
    /// # Errors
    /// Describes the violated invariant.
    pub fn check_invariants(&self) -> Result<(), String> {
        self.check().map_err(|error| error.to_string())?;
        self.ledger.as_ref().map_or(Ok(()), |ledger| self.check_attribution(ledger))
    }

    /// Checks everything that the paths of commands and collections rely on.
    pub(crate) fn check(&self) -> Check {
        self.check_tables()?;
        self.check_times()?;
        let roles = self.check_segments()?;
        self.check_slots(&roles)?;
        self.check_units()?;
        self.check_free()?;
        self.check_map(&roles)?;
        self.check_counters()?;
        self.check_firmware()?;
        self.miniatures.iter().try_for_each(Device::check)
    }

    fn check_tables(&self) -> Check {
        let (segments, rus) = (&self.segments, &self.rus);
        let (numbers, units) = (segments.hot.len(), self.geometry.ru_count as usize);
        ensure((1..DIVIDED as usize).contains(&numbers), "segments.hot", || {
            format!("{numbers} entries")
        })?;
        let births = self.separation.is_some() || self.tuner.is_some();
        let births = if births { numbers } else { 0 };
        let seen = if rus.seen.is_empty() { 0 } else { units };
        let slots = self.groups.len() * self.numbering.per_group as usize;
        for (field, length, expected) in [
            ("segments.labels", segments.labels.len(), numbers),
            ("segments.origins", segments.origins.len(), numbers),
            ("segments.born", segments.born.len(), births),
            ("segments.death_times", segments.death_times.len(), births),
            ("rus.units", rus.units.len(), units),
            ("rus.valid", rus.valid.len(), units + 1),
            ("rus.opened_at", rus.opened_at.len(), units),
            ("rus.closed_at", rus.closed_at.len(), units),
            ("rus.closed_order", rus.closed_order.len(), units),
            ("rus.free", rus.free.len(), self.groups.len()),
            ("rus.seen", rus.seen.len(), seen),
            ("slots", self.slots.len(), slots),
            ("handles", self.handles.len(), self.numbering.handles as usize + 1),
        ] {
            ensure(length == expected, field, || format!("{length} entries, not {expected}"))?;
        }
        let writers = usize::from(self.layout.counted_writers(&self.geometry));
        ensure(self.writers.is_whole(writers), "writers", || "counts that do not add up".to_owned())
    }

    /// Checks that no time is in the future, and that no count is near its limit.
    fn check_times(&self) -> Check {
        let (now, rus) = (self.clock, &self.rus);
        let past = |times: &[u64]| times.iter().all(|time| *time <= now);
        let ordered = rus.closed_order.iter().all(|order| *order <= rus.next_order);
        for (field, holds) in [
            ("clock", now <= MOST && self.granted <= MOST && rus.next_order <= MOST),
            ("rus.closed_at", past(&rus.closed_at)),
            ("rus.opened_at", past(&rus.opened_at)),
            ("segments.born", past(&self.segments.born)),
            ("rus.seen", rus.seen.iter().all(|seen| seen.at <= now)),
            ("rus.closed_order", ordered),
        ] {
            ensure(holds, field, || format!("beyond {now} pages or {} closed", rus.next_order))?;
        }
        Ok(())
    }

    /// Checks that every number of the segment table has one role, and that the tables agree on it.
    fn check_segments(&self) -> Result<Vec<Role>, StateError> {
        let segments = &self.segments;
        let mut roles = vec![Role::Unused; segments.hot.len()];
        let mut assign = |field, id: Label, from: Role, to: Role| {
            let role = roles.get_mut(id as usize).filter(|role| **role == from);
            let found = role.is_some();
            role.into_iter().for_each(|role| *role = to);
            ensure(found, field, || format!("{id} cannot be {to:?}"))
        };
        assign("segments.labels", UNMAPPED, Role::Unused, Role::Unmapped)?;
        let unmapped = (segments.hot[0].ru, segments.labels[0]);
        ensure(unmapped == (self.rus.unmapped(), 0), "segments.hot", || "0".to_owned())?;
        for id in &segments.free {
            assign("segments.free", *id, Role::Unused, Role::Free)?;
        }
        const DIVISIONS: &str = "segments.divisions";
        for (index, parts) in (0..).zip(&segments.divisions) {
            let Some(first) = parts.first() else { continue };
            let label = segments.labels.get(*first as usize).copied().unwrap_or(NONE);
            assign(DIVISIONS, label, Role::Unused, Role::Divided)?;
            let whole = segments.hot[label as usize];
            let known = (whole.ru, segments.labels[label as usize]) == (DIVIDED | index, label);
            ensure(known, DIVISIONS, || format!("{label} is not division {index}"))?;
            let mut held = 0;
            for part in parts {
                assign(DIVISIONS, *part, Role::Unused, Role::Part)?;
                let of = segments.labels[*part as usize];
                ensure(of == label, DIVISIONS, || format!("{part} is a part of {of}"))?;
                held += u64::from(segments.hot[*part as usize].valid);
            }
            ensure(held == u64::from(whole.valid), DIVISIONS, || {
                format!("the parts of {label} hold {held} pages, not {}", whole.valid)
            })?;
        }
        let mut listed = segments.free_divisions.clone();
        listed.sort_unstable();
        let free = (0..).zip(&segments.divisions).filter(|(_, parts)| parts.is_empty());
        let same = listed.into_iter().eq(free.map(|(index, _)| index));
        ensure(same, DIVISIONS, || "free ones other than listed".to_owned())?;
        for (ru, unit) in (0..).zip(&self.rus.units) {
            for id in &unit.segments {
                let field = "rus.units.segments";
                let label = segments.labels.get(*id as usize).copied().unwrap_or(NONE);
                let roles = match label == *id {
                    true => (Role::Unused, Role::Whole),
                    false => (Role::Part, Role::ListedPart),
                };
                assign(field, *id, roles.0, roles.1)?;
                let at = segments.hot[*id as usize].ru;
                ensure(at == ru, field, || format!("{id} is in {at}, not in {ru}"))?;
            }
        }
        let stray = roles.iter().position(|role| matches!(role, Role::Unused | Role::Part));
        ensure(stray.is_none(), "segments.hot", || format!("{stray:?} is in no reclaim unit"))?;
        let handles = self.numbering.handles;
        let known = segments.origins.iter().all(|origin| u32::from(*origin) < handles);
        ensure(known, "segments.origins", || "an unknown handle".to_owned())?;
        Ok(roles)
    }

    /// Checks that the layout allows every open reclaim unit in its slot, and that the open segment belongs to it.
    fn check_slots(&self, roles: &[Role]) -> Check {
        const FIELD: &str = "slots";
        let split = (0..self.numbering.handles).filter(|handle| self.is_split(*handle)).count();
        let most = usize::from(self.layout.split_handles);
        ensure(split <= most, "separation", || format!("{split} handles split"))?;
        each(FIELD, &self.slots, |number, slot| self.check_slot(number, *slot, roles))?;
        let mut open: Vec<RuIndex> = self.slots.iter().map(|slot| slot.ru).collect();
        open.retain(|ru| *ru != NONE);
        open.sort_unstable();
        let once = open.windows(2).all(|pair| pair[0] != pair[1]);
        ensure(once, FIELD, || "one reclaim unit in two".to_owned())?;
        let units = self.rus.units.iter().filter(|unit| unit.state == State::Open).count();
        ensure(units == open.len(), FIELD, || format!("{units} reclaim units are open"))
    }

    fn check_slot(&self, number: u32, slot: Slot, roles: &[Role]) -> Result<(), &'static str> {
        let (Slot { ru, segment, segment_room, room }, full) = (slot, self.geometry.pages_per_ru);
        if ru == NONE {
            let empty = segment == NONE && segment_room == 0 && room == 0;
            return expect(empty, "room without reclaim unit");
        }
        let range = &self.groups[usize::from(self.group_of(number))].range;
        expect(range.contains(&ru), "reclaim unit of another group")?;
        let unit = &self.rus.units[ru as usize];
        expect(unit.state == State::Open, "reclaim unit that is not open")?;
        expect(self.may_open(number), "never open")?;
        let ReclaimUnit { owner, generation, class, .. } = *unit;
        let data = Contents { owner, generation, class };
        expect(data == self.numbering.contents(number), "reclaim unit with other data")?;
        expect((1..=full).contains(&room) && segment_room <= room, "room of no reclaim unit")?;
        let valid = (self.rus.valid[ru as usize] & !NOT_CLOSED).checked_sub(segment_room);
        let fits = valid.is_some_and(|valid| valid <= full - room);
        expect(fits, "more valid pages than written")?;
        if segment == NONE {
            return expect(segment_room == 0, "room of no segment");
        }
        expect(roles.get(segment as usize) == Some(&Role::Whole), "no segment")?;
        let open = self.segments.hot[segment as usize];
        expect(open.ru == ru && segment_room <= open.valid, "segment of another reclaim unit")
    }

    /// Returns whether the layout ever opens this slot. `Layout::open_per_group` relies on it.
    pub(crate) fn may_open(&self, slot: u32) -> bool {
        let Contents { owner, generation, class } = self.numbering.contents(slot);
        // An adaptive device has slots for all arrangements.
        if u32::from(class) >= self.layout.host_classes()
            || generation > self.layout.relocation.generations().max(1)
        {
            return false;
        }
        match (self.layout.relocation, owner) {
            (_, Owner::Handle(handle)) if generation == 0 => {
                class == 0 || self.is_split(u32::from(handle.0))
            }
            (Relocation::Shared, _) => false,
            (Relocation::ByHandle(_), Owner::Gc) => self.tuner.is_some() && self.mixes(),
            (_, Owner::Gc) => self.mixes(),
            (Relocation::ByHandle(_), _) => true,
            (_, Owner::Handle(handle)) => {
                self.geometry.isolation[handle.index()] == Isolation::Persistently
            }
        }
    }

    /// Checks that only split handles have open reclaim units for data grouped by death time. A policy that chooses
    /// destinations could group more, but none of the built-in ones does.
    pub(super) fn check_grouped(&self) -> Check {
        each("slots", &self.slots, |number, slot| {
            let known = slot.ru == NONE || !self.groups_unsplit(number);
            expect(known, "grouped data of a handle that is not split")
        })
    }

    /// Returns whether a slot is for data grouped by death time of a handle that is not split.
    pub(crate) fn groups_unsplit(&self, slot: u32) -> bool {
        let Contents { owner, generation, .. } = self.numbering.contents(slot);
        let grouped = self.separation.as_ref().is_some_and(|rule| rule.is_grouped(generation));
        let split = match owner {
            Owner::Handle(handle) => self.is_split(u32::from(handle.0)),
            Owner::Gc => true,
        };
        grouped && !split
    }

    fn check_units(&self) -> Check {
        let full = u64::from(self.geometry.pages_per_ru);
        let listed = |unit: &ReclaimUnit| -> u64 {
            unit.segments.iter().map(|id| u64::from(self.segments.hot[*id as usize].valid)).sum()
        };
        each("rus.valid", &self.rus.valid[..self.rus.units.len()], |ru, valid| {
            let unit = &self.rus.units[ru as usize];
            let valid = (u64::from(valid & !NOT_CLOSED), valid & NOT_CLOSED == 0);
            let expected = (listed(unit), unit.state == State::Closed);
            expect(valid == expected && valid.0 <= full, "not what its segments hold")
        })?;
        let handles = usize::from(self.geometry.handles);
        let gc = self.gc_counters().is_some();
        each("rus.units", &self.rus.units, |_, unit| {
            let owner = match unit.owner {
                Owner::Handle(handle) => handle.0 < self.geometry.handles,
                Owner::Gc => matches!(unit.state, State::Free | State::Retired) || gc,
            };
            let class = u32::from(unit.class) < self.numbering.classes;
            let generation = u32::from(unit.generation) <= self.numbering.generations;
            expect(owner && class && generation, "data that the device does not have")?;
            let origins = unit.origins.is_empty() || unit.origins.len() == handles;
            let share = |pages: &f64| pages.is_finite() && *pages >= 0.0;
            expect(origins && unit.origins.iter().all(share), "no shares of handles")?;
            expect(unit.erases < u32::MAX / 2, "more erases than any device counts")?;
            let sound = match unit.state {
                State::Free | State::Retired => unit.segments.is_empty() && unit.written == 0,
                State::Open => true,
                State::Closed => (listed(unit)..=full).contains(&u64::from(unit.written)),
            };
            expect(sound, "pages written")
        })
    }

    /// Checks that each free list has all free reclaim units of its group exactly once, and that no candidate has fewer
    /// valid pages than the floor allows.
    fn check_free(&self) -> Check {
        for (group, free) in self.groups.iter().zip(&self.rus.free) {
            let state = |ru: RuIndex| self.rus.units[ru as usize].state;
            let mut listed: Vec<RuIndex> = free.iter().copied().collect();
            listed.sort_unstable();
            let known = group.range.clone().filter(|ru| state(*ru) == State::Free);
            ensure(listed.into_iter().eq(known), "rus.free", || "other than free".to_owned())?;
            ensure(!free.is_empty(), "rus.free", || "nothing is free".to_owned())?;
            let closed = group.range.clone().filter(|ru| state(*ru) == State::Closed);
            let least = closed.map(|ru| u64::from(self.rus.valid[ru as usize])).min();
            let floor = least.is_none_or(|least| group.floor <= least + self.granted);
            ensure(floor, "floors", || format!("{} above {least:?}", group.floor))?;
        }
        Ok(())
    }

    /// Checks that pages can have every label in the map, and that the number of pages with it matches the table.
    fn check_map(&self, roles: &[Role]) -> Check {
        let mut mapped = vec![0u32; roles.len()];
        for label in self.map.as_slice() {
            let Some(count) = mapped.get_mut(*label as usize) else {
                return Err(StateError::Map(format!("label {label} of {}", roles.len())));
            };
            *count = count.saturating_add(1);
        }
        let mut expected: Vec<u32> = self.segments.hot.iter().map(|hot| hot.valid).collect();
        for slot in self.slots.iter().filter(|slot| slot.segment != NONE) {
            expected[slot.segment as usize] -= slot.segment_room;
        }
        for (label, role) in roles.iter().enumerate().skip(1) {
            let pages = match role {
                Role::Whole | Role::Divided => expected[label],
                _ => 0,
            };
            if mapped[label] != pages {
                let message = format!("label {label} has {} pages, not {pages}", mapped[label]);
                return Err(StateError::Map(message));
            }
        }
        Ok(())
    }

    fn check_firmware(&self) -> Check {
        let size = self.geometry.blocks_per_page();
        let pages = |namespace: NsId| {
            self.namespaces.get(namespace.index()).map(|namespace| namespace.blocks / size)
        };
        for cache in &self.caches {
            cache.check(pages).map_err(|message| StateError::damaged("caches", message))?;
        }
        if let Some(translated) = &self.translated {
            let sound = translated.table.check();
            sound.map_err(|message| StateError::damaged("translated", message))?;
        }
        let retires = self.maintenance.as_ref().map_or(0, |maintenance| maintenance.spare);
        let retired = self.retired_rus() as u64;
        let most = u64::from(self.most_retired());
        let worn = self.geometry.firmware.retire_after > 0 && retires == 0;
        ensure(worn || !self.read_only, "read_only", || format!("{retires} more can retire"))?;
        ensure(u64::from(retires) + retired <= most, "maintenance", || {
            format!("{retired} retired and {retires} more, of {most}")
        })
    }

    fn check_counters(&self) -> Check {
        const FIELD: &str = "counters";
        let c = &self.counters;
        let bytes = [c.host_bytes, c.media_bytes, c.erased_bytes, c.read_bytes];
        let pages = [c.host_pages, c.relocated_pages, c.rmw_pages, c.deallocated_pages];
        let pages = pages.into_iter().chain([c.maintained_pages, c.parity_pages, c.cache_pages]);
        let pages = pages.chain([c.map_pages, c.map_reads]);
        let events = [c.commands, c.forced_gc, c.background_gc, c.maintained_rus];
        let own = self.handles.iter().flat_map(|h| [h.host_bytes, h.media_bytes, h.erased_bytes]);
        let all = bytes.into_iter().chain(pages).chain(events).chain(own);
        let small = c.rejected <= c.commands && all.into_iter().all(|count| count <= MOST);
        ensure(small, FIELD, || "more than any device counts".to_owned())?;
        let sum = |of: &dyn Fn(&wafer_interface::HandleCounters) -> u64| -> u128 {
            self.handle_counters().iter().map(|handle| u128::from(of(handle))).sum()
        };
        let page = u128::from(self.geometry.page_bytes);
        let media = u128::from(c.host_pages + c.relocated_pages) * page;
        let whole = media + u128::from(c.parity_pages + c.cache_pages + c.map_pages) * page;
        ensure(u128::from(c.media_bytes) == whole, FIELD, || {
            format!("{} media bytes, expected {whole}", c.media_bytes)
        })?;
        ensure(u128::from(c.host_bytes) == sum(&|h| h.host_bytes), FIELD, || {
            "host bytes of the handles do not add up".to_owned()
        })?;
        // A page is counted where it was relocated from. Pages that enter the shared GC unit are in the bytes of its
        // entry as well.
        let gc = self.handles[self.numbering.handles as usize];
        let again = gc.media_bytes.checked_sub(gc.host_bytes);
        let total = again.map(|again| sum(&|h| h.media_bytes) + u128::from(again));
        ensure(total == Some(media), FIELD, || {
            "media bytes of the handles do not add up".to_owned()
        })
    }

    /// Checks that all pages of a reclaim unit are valid, unwritten or invalidated by a handle, and that all relocated
    /// pages are attributed to a cause and to a handle that demanded space.
    fn check_attribution(&self, ledger: &Ledger) -> Result<(), String> {
        for (ru, unit) in self.rus.units.iter().enumerate() {
            let slot = self.slots.iter().find(|s| s.ru == ru as u32);
            let written = match unit.state {
                State::Free | State::Retired => 0,
                State::Closed => unit.written,
                State::Open => self.geometry.pages_per_ru - slot.map_or(0, |s| s.room),
            };
            let pending = slot.map_or(0, |s| s.segment_room);
            let valid = (self.rus.valid[ru] & !NOT_CLOSED) - pending;
            let invalid = ledger.invalid_pages(ru as u32);
            if valid + invalid != written {
                return Err(format!("{ru}: {valid} valid, {invalid} invalid, {written} written"));
            }
        }
        let totals = &ledger.totals;
        for table in [&totals.relocated, &totals.demanded] {
            let sum: u64 = table.iter().flatten().sum();
            if sum != self.counters.relocated_pages {
                let of = self.counters.relocated_pages;
                return Err(format!("{sum} of {of} relocated pages attributed"));
            }
        }
        Ok(())
    }
}
