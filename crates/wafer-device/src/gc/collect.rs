//! Garbage collection: when it runs, and what happens to the valid pages of a victim.

use std::ops::Range;

use crate::attribution::Ledger;
use crate::device::{Device, Slot};
use crate::flash::mapping::{Label, RuIndex};
use crate::flash::open::Limits;
use crate::flash::segment::NONE;
use crate::layout::Relocation;
use wafer_interface::Isolation;
use wafer_interface::{Cause, Collection, FdpEvent, MediaWork, Observer, Owner, RgId, RuId, RuhId};
use wafer_policies::RelocationOrder;
use wafer_policies::{Contents, NOT_CLOSED, ReclaimUnit};
use wafer_policies::{RuView, VictimPolicy};
use wafer_separation::Victim;

/// Number of segments of a victim that are prefetched ahead.
const LIST_AHEAD: usize = 16;

/// A collection in progress.
struct Collecting {
    group: u16,
    victim: RuId,
    forced: bool,
    /// The owner of the victim's data, and its number of valid pages.
    owner: Owner,
    valid: u32,
    /// Predicted death time of the data; 0: unknown.
    death_time: u64,
    /// The slot that receives the valid pages.
    slot: u32,
    /// Reclaim units that received pages, and their number: a victim's pages fit into the open one and one more.
    moved: [Option<(RuIndex, u32)>; 2],
}

impl Collecting {
    /// Counts pages moved to a reclaim unit.
    fn add(&mut self, ru: RuIndex, pages: u32) {
        let known = |entry: &Option<(RuIndex, u32)>| entry.is_none_or(|(to, _)| to == ru);
        let entry = self.moved.iter_mut().find(|entry| known(entry));
        entry.expect("two reclaim units take all pages").get_or_insert((ru, 0)).1 += pages;
    }
}

impl<O: Observer> Device<O> {
    /// Returns whether a group has more free reclaim units than forced GC requires.
    pub(crate) fn above_reserve(&self, group: u16) -> bool {
        self.spare(group) > 0
    }

    /// Returns how many more reclaim units of a group are free than forced GC requires.
    pub(crate) fn spare(&self, group: u16) -> usize {
        let reserve = self.geometry.forced_free(self.range_of(group).len() as u32);
        self.rus.free[usize::from(group)].len().saturating_sub(reserve as usize)
    }

    /// Collects until a group is above its reserve. Returns false if every candidate has too many valid pages; in a
    /// device of one group only if there is no candidate, which [`DeviceConfig::resolve`](crate::DeviceConfig::resolve)
    /// excludes.
    ///
    /// Policies that ignore valid pages may select full reclaim units, which gains nothing, as often as the limits
    /// allow. After that, the unit with the fewest valid pages is collected.
    pub(crate) fn force_gc(&mut self, group: u16, by: RuhId, limits: &mut Limits) -> bool {
        while !self.above_reserve(group) {
            let Some(least) = self.least_valid(group) else { return false };
            if self.groups.len() > 1 && self.rus.valid[least.index()] >= limits.most_valid {
                return false;
            }
            let chosen = if limits.full_victims > 0 { self.select(group, true) } else { None };
            let victim = chosen.unwrap_or(least);
            limits.full_victims -= usize::from(limits.full_victims > 0 && self.is_full(victim));
            self.collect(group, victim, true, by);
        }
        true
    }

    /// Collects nearly empty reclaim units while few are free: the policy's choice, as long as that is empty enough.
    pub(crate) fn background_gc(&mut self, group: u16, by: RuhId) {
        let rus = self.range_of(group).len() as u32;
        let threshold = self.geometry.background_free(rus) as usize;
        let most = self.geometry.background_max_valid;
        while self.rus.free[usize::from(group)].len() <= threshold && threshold > 0 {
            // Called for every segment. Nearly always, the floor rules out a candidate without a search.
            if self.groups[usize::from(group)].floor > self.granted + u64::from(most) {
                return;
            }
            let Some(least) = self.least_valid(group) else { return };
            if self.rus.valid[least.index()] > most {
                self.groups[usize::from(group)].floor = u64::MAX;
                return self.lower_floor(group, self.rus.valid[least.index()]);
            }
            match self.select(group, false) {
                Some(victim) if self.rus.valid[victim.index()] <= most => {
                    self.collect(group, victim, false, by);
                }
                _ => return,
            }
        }
    }

    /// Lowers the floor for a candidate with this many valid pages.
    pub(crate) fn lower_floor(&mut self, group: u16, valid: u32) {
        let pending: u64 = self.slots.iter().map(|s| u64::from(s.segment_room)).sum();
        let floor = &mut self.groups[usize::from(group)].floor;
        *floor = (*floor).min((u64::from(valid) + self.granted).saturating_sub(pending));
    }

    fn is_full(&self, ru: RuId) -> bool {
        self.rus.valid[ru.index()] == self.geometry.pages_per_ru
    }

    fn range_of(&self, group: u16) -> Range<u32> {
        self.groups[usize::from(group)].range.clone()
    }

    /// Returns the candidate of a group with the fewest valid pages.
    pub(crate) fn least_valid(&mut self, group: u16) -> Option<RuId> {
        self.rus.index.least_valid(&self.rus.valid, self.range_of(group)).map(RuId)
    }

    /// Calls `ask` with the policy and a view of a range of reclaim units.
    pub(crate) fn view<R>(
        &mut self,
        range: Range<u32>,
        forced: bool,
        writer: u32,
        ask: impl FnOnce(&mut dyn VictimPolicy, &mut RuView<'_>) -> R,
    ) -> R {
        let mut view = RuView {
            rus: &mut self.rus,
            rng: &mut self.policy_rng,
            range,
            pages_per_ru: self.geometry.pages_per_ru,
            handles: usize::from(self.geometry.handles),
            now: self.clock,
            forced,
            classes: self.layout.destination_classes(&self.geometry),
            writer: RuhId(writer as u16),
        };
        ask(self.policy.as_mut(), &mut view)
    }

    /// Asks the policy for a victim. A choice that is not a candidate is a bug of the policy, not damaged data.
    fn select(&mut self, group: u16, forced: bool) -> Option<RuId> {
        self.view(self.range_of(group), forced, 0, |policy, rus| {
            policy.select(rus).inspect(|ru| {
                assert!(rus.valid(*ru).is_some(), "the policy chose {ru}, which is no candidate");
            })
        })
    }

    /// Asks the policy for the class of a victim's data. A nonexistent class is a bug of the policy, not damaged data.
    fn chosen_class(&mut self, group: u16, victim: RuId, forced: bool, writer: u32) -> Option<u8> {
        self.view(self.range_of(group), forced, writer, |policy, rus| {
            let (class, classes) = (policy.destination(victim, rus)?, rus.classes);
            assert!(
                class < classes,
                "the policy chose class {class} for relocated data; there are {classes}"
            );
            Some(class)
        })
    }

    /// Returns the destination slot of relocated data of `owner` that was relocated `generation` times before; with
    /// [`Relocation::ByWriter`], that of `writer`.
    fn destination(&self, group: u16, owner: Owner, generation: u8, writer: u32) -> u32 {
        let base = u32::from(group) * self.numbering.per_group;
        base + match (self.layout.relocation, owner) {
            (Relocation::ByWriter, _) => self.by_isolation(writer),
            (Relocation::Shared, Owner::Handle(handle)) => u32::from(handle.0),
            (Relocation::Shared, Owner::Gc) => 0,
            (_, Owner::Gc) => self.numbering.shared_gc(),
            (Relocation::ByIsolation, Owner::Handle(handle)) => {
                self.by_isolation(u32::from(handle.0))
            }
            (Relocation::ByHandle(generations), Owner::Handle(handle)) => {
                let generation = u32::from(generation.min(generations - 1));
                self.numbering.own_gc(u32::from(handle.0), generation)
            }
        }
    }

    fn by_isolation(&self, handle: u32) -> u32 {
        match self.geometry.isolation[handle as usize] {
            Isolation::Initially => self.numbering.shared_gc(),
            Isolation::Persistently => self.numbering.own_gc(handle, 0),
        }
    }

    /// Returns the slot for a victim's valid pages, asking the policy.
    fn slot_for(&mut self, group: u16, victim: RuId, forced: bool, by: RuhId) -> u32 {
        let age = self.clock - self.rus.closed_at[victim.index()];
        let existed = self.clock - self.rus.opened_at[victim.index()];
        let ReclaimUnit { owner, class, generation, death_time, .. } =
            self.rus.units[victim.index()];
        let generation = self.separation.as_mut().map_or(generation, |rule| {
            rule.collect(&Victim { class, generation, age, existed, death_time }, self.clock)
        });
        // Drawn before the policy is asked, because the policy may use it.
        let writer = match forced && self.layout.relocation == Relocation::ByWriter {
            true => self.writers.draw(u32::from(by.0), &mut self.policy_rng),
            false => 0,
        };
        match self.chosen_class(group, victim, forced, writer) {
            None => self.destination(group, owner, generation, writer),
            Some(class) => self.destination(group, owner, class, u32::from(class)),
        }
    }

    /// Relocates the valid pages of a candidate and erases it, because handle `by` needs space. At least one reclaim
    /// unit of the group must be free.
    fn collect(&mut self, group: u16, victim: RuId, forced: bool, by: RuhId) {
        let slot = self.slot_for(group, victim, forced, by);
        let (mut at, list) = self.begin_collection(group, victim, forced, by, slot);
        let valid = at.valid;
        let open = self.slots[slot as usize];
        let room = if open.ru == NONE { self.geometry.pages_per_ru } else { open.room };
        if valid <= room {
            self.relocate_whole(&mut at, &list);
        } else {
            self.relocate_across(&mut at, &list);
        }
        self.counters.forced_gc += u64::from(forced);
        self.counters.background_gc += u64::from(!forced);
        let shared = slot % self.numbering.per_group == self.numbering.shared_gc();
        self.end_collection(&at, list, shared && at.owner != Owner::Gc);
    }

    /// Copies the valid pages of a candidate to a free reclaim unit for the same kind of data, and erases the
    /// candidate. At least one reclaim unit of the group must be free.
    pub(crate) fn copy_unit(&mut self, group: u16, victim: RuId, by: RuhId) {
        let (mut at, list) = self.begin_collection(group, victim, false, by, 0);
        if at.valid > 0 {
            let unit = &self.rus.units[victim.index()];
            let ReclaimUnit { owner, generation, class, .. } = *unit;
            let contents = Contents { owner, generation, class };
            let to = self.rus.open(group, contents, at.death_time, self.clock);
            for id in &list {
                match self.segments.hot[*id as usize].valid {
                    0 => self.segments.release(*id),
                    count => self.put(&mut at, *id, count, to),
                }
            }
            let pages = self.geometry.pages_per_ru;
            self.report_program(to, pages, at.valid, Cause::Relocation { victim });
            self.close_unit(group, RuId(to), pages - at.valid);
        } else {
            list.iter().for_each(|id| self.segments.release(*id));
        }
        self.counters.maintained_rus += 1;
        self.counters.maintained_pages += u64::from(at.valid);
        self.end_collection(&at, list, false);
    }

    /// Takes the segments of a victim, and counts and reports the pages that leave it.
    fn begin_collection(
        &mut self,
        group: u16,
        victim: RuId,
        forced: bool,
        by: RuhId,
        slot: u32,
    ) -> (Collecting, Vec<Label>) {
        let valid = self.rus.valid[victim.index()];
        assert!(valid & NOT_CLOSED == 0);
        let unit = &mut self.rus.units[victim.index()];
        let (owner, death_time) = (unit.owner, unit.death_time);
        let list = std::mem::take(&mut unit.segments);
        let moved = [None; 2];
        if self.translated.is_some() {
            self.translate_moved(&list);
        }
        if let Some(mut ledger) = self.ledger.take() {
            self.count_origins(&mut ledger, owner, valid, &list);
            ledger.collected(victim.0, owner, by);
            self.ledger = Some(ledger);
        }
        if self.observer.wants_media() && valid > 0 {
            let cause = Cause::Relocation { victim };
            self.observer.media(&MediaWork::Read { ru: victim, first: 0, pages: valid, cause });
        }
        (Collecting { group, victim, forced, owner, valid, death_time, slot, moved }, list)
    }

    /// Erases a victim, and counts and reports its collection; the allocation of `list` returns to the victim. `shared`
    /// tells whether data of a handle entered the shared GC reclaim unit.
    fn end_collection(&mut self, at: &Collecting, mut list: Vec<Label>, shared: bool) {
        list.clear();
        self.rus.units[at.victim.index()].segments = list;
        self.note_origins(at);
        self.rus.valid[at.victim.index()] = 0;
        self.erase(at.victim, at.group);
        if self.observer.wants_media() {
            self.observer.media(&MediaWork::Erase { ru: at.victim });
        }
        self.count_collection(at, shared);
        self.observe_collection(at);
    }

    fn observe_collection(&mut self, at: &Collecting) {
        let group = RgId(at.group);
        self.observer.collected(&Collection {
            victim: at.victim,
            group,
            owner: at.owner,
            valid: at.valid,
            destinations: at.moved.map(|entry| entry.map(|(ru, _)| RuId(ru))),
            forced: at.forced,
        });
        if at.valid > 0 {
            let handle = match at.owner {
                Owner::Handle(handle) => Some(handle),
                Owner::Gc => None,
            };
            self.observer.event(&FdpEvent::MediaReallocated { group, handle, pages: at.valid });
        }
    }

    /// Relocates a victim's segments, which all fit into the open reclaim unit.
    fn relocate_whole(&mut self, at: &mut Collecting, list: &[Label]) {
        for (i, id) in list.iter().enumerate() {
            self.segments.prefetch_cold(list.get(i + LIST_AHEAD));
            match self.segments.hot[*id as usize].valid {
                0 => self.segments.release(*id),
                count => {
                    self.relocation_room(at);
                    self.attach(at, *id, count);
                }
            }
        }
    }

    /// Relocates a victim's segments, some to the open reclaim unit until it is full and the others to the next, by
    /// [`RelocationOrder`]. It chooses segments that fill the first exactly or, if there are none, divides one.
    fn relocate_across(&mut self, at: &mut Collecting, list: &[Label]) {
        let room = self.relocation_room(at);
        let mut missing = room;
        let [mut first, mut second, mut by_count] = std::mem::take(&mut self.scratch);
        let spread = self.layout.order == RelocationOrder::Spread;
        let mut seen = 0u64;
        for (i, id) in list.iter().enumerate() {
            self.segments.prefetch_cold(list.get(i + LIST_AHEAD));
            let count = self.segments.hot[*id as usize].valid;
            if count == 0 {
                self.segments.release(*id);
                continue;
            }
            seen += u64::from(count);
            // With spread, the first destination receives its share of the pages seen so far, to the nearest segment.
            let due = if spread { seen * u64::from(room) / u64::from(at.valid) } else { u64::MAX };
            let taken = u64::from(room - missing + count - count / 2);
            if count <= missing && taken <= due {
                missing -= count;
                first.push((count, *id));
            } else {
                second.push((count, *id));
            }
        }
        if missing > 0 {
            by_count.extend(second.iter().enumerate().map(|(i, (count, _))| (*count, i as u32)));
            by_count.sort_unstable();
            self.fill_exactly(missing, &mut first, &mut second, &by_count);
        }
        for (count, id) in first.drain(..).chain(second.drain(..)).filter(|(count, _)| *count > 0) {
            self.relocation_room(at);
            self.attach(at, id, count);
        }
        by_count.clear();
        self.scratch = [first, second, by_count];
    }

    /// Moves `missing` pages from `second` to `first`: the largest segments that fit; if pages are still missing, it
    /// exchanges a segment for one that is larger by that number or else moves a part of the smallest, so divided
    /// labels remain rare and small. `by_count` lists `second` by size; used entries of `second` have no pages.
    fn fill_exactly(
        &mut self,
        mut missing: u32,
        first: &mut Vec<(u32, Label)>,
        second: &mut [(u32, Label)],
        by_count: &[(u32, u32)],
    ) {
        for (count, at) in by_count.iter().rev() {
            if *count <= missing {
                first.push(std::mem::replace(&mut second[*at as usize], (0, NONE)));
                missing -= count;
            }
        }
        if missing == 0 {
            return;
        }
        let exchange = first.iter().enumerate().find_map(|(i, (count, _))| {
            let larger = count + missing;
            let found = by_count.binary_search_by_key(&larger, |(c, _)| *c).ok()?;
            let at = by_count[found].1 as usize;
            (second[at].0 == larger).then_some((i, at))
        });
        if let Some((i, at)) = exchange {
            std::mem::swap(&mut first[i], &mut second[at]);
            return;
        }
        let smallest = by_count.iter().map(|(_, at)| *at as usize).find(|at| second[*at].0 > 0);
        let at = smallest.expect("a victim's pages that do not fit");
        let (count, id) = second[at];
        let (head, rest) = self.segments.divide(id, missing);
        first.push((missing, head));
        second[at] = (count - missing, rest);
    }

    /// Returns how many pages the open reclaim unit of a relocation slot can take, at least one. Opens a reclaim unit
    /// only when needed.
    fn relocation_room(&mut self, at: &Collecting) -> u32 {
        if self.slots[at.slot as usize].ru == NONE {
            self.open_unit(at.slot, at.death_time);
        }
        self.slots[at.slot as usize].room
    }

    fn attach(&mut self, at: &mut Collecting, id: Label, count: u32) {
        let slot = at.slot;
        // In a log that host and GC share, the segment that the host had begun ends here.
        self.end_segment(slot);
        let Slot { ru, room, .. } = self.slots[slot as usize];
        self.put(at, id, count, ru);
        self.report_program(ru, room, count, Cause::Relocation { victim: at.victim });
        self.slots[slot as usize].room -= count;
        if self.slots[slot as usize].room == 0 {
            self.close_slot(slot);
        }
    }

    /// Moves a segment to a reclaim unit.
    fn put(&mut self, at: &mut Collecting, id: Label, count: u32, ru: RuIndex) {
        #[cfg(test)]
        self.segments.log.push(crate::flash::segment::Decision::Moved {
            label: self.segments.labels[id as usize],
            from: self.segments.hot[id as usize].ru,
            to: ru,
            count,
        });
        self.segments.hot[id as usize].ru = ru;
        self.rus.valid[ru as usize] += count;
        self.rus.units[ru as usize].segments.push(id);
        at.add(ru, count);
    }

    /// Counts a victim's valid pages by origin, for attribution.
    fn count_origins(&self, ledger: &mut Ledger, owner: Owner, valid: u32, list: &[Label]) {
        // Only relocated data of several handles has several origins.
        let mixed = self.layout.relocation == Relocation::ByWriter;
        if let (Owner::Handle(handle), false) = (owner, mixed) {
            ledger.valid[handle.index()] = valid;
            return;
        }
        for (at, id) in list.iter().enumerate() {
            self.segments.prefetch_cold(list.get(at + LIST_AHEAD));
            self.segments.prefetch_origin(list.get(at + LIST_AHEAD));
            let origin = self.segments.origins[*id as usize];
            ledger.valid[usize::from(origin)] += self.segments.hot[*id as usize].valid;
        }
    }

    /// Adds the victim's origins to the reclaim units that received its pages, in proportion, if data of several
    /// handles mixes there.
    fn note_origins(&mut self, at: &Collecting) {
        let victim = std::mem::take(&mut self.rus.units[at.victim.index()].origins);
        for (ru, pages) in at.moved.iter().flatten() {
            let unit = &mut self.rus.units[*ru as usize];
            if unit.owner != Owner::Gc {
                continue;
            }
            unit.origins.resize(usize::from(self.geometry.handles), 0.0);
            match at.owner {
                Owner::Handle(handle) => unit.origins[handle.index()] += f64::from(*pages),
                Owner::Gc => {
                    let sum: f64 = victim.iter().sum();
                    for (count, of_victim) in unit.origins.iter_mut().zip(&victim) {
                        *count += f64::from(*pages) * of_victim / sum;
                    }
                }
            }
        }
    }

    fn count_collection(&mut self, at: &Collecting, shared: bool) {
        let moved = u64::from(at.valid) * self.geometry.page_bytes;
        let erased = u64::from(self.geometry.pages_per_ru) * self.geometry.page_bytes;
        self.counters.media_bytes += moved;
        self.counters.relocated_pages += u64::from(at.valid);
        self.counters.erased_bytes += erased;
        let from = &mut self.handles[match at.owner {
            Owner::Handle(handle) => handle.index(),
            Owner::Gc => self.numbering.handles as usize,
        }];
        from.media_bytes += moved;
        from.erased_bytes += erased;
        if shared {
            let shared = &mut self.handles[self.numbering.handles as usize];
            shared.host_bytes += moved;
            shared.media_bytes += moved;
        }
    }
}
