//! Garbage collection: when, and what happens to the valid pages of a victim.

use crate::config::{Isolation, RelocationOrder};
use crate::device::{Device, Slot};
use crate::event::FdpEvent;
use crate::geometry::Relocation;
use crate::ids::{RgId, RuId};
use crate::mapping::Label;
use crate::observer::{Collection, Observer, Owner};
use crate::policy::RuView;
use crate::reclaim::{NOT_CLOSED, RuIndex};
use crate::segment::NONE;

/// How far ahead a victim's segments are asked for.
const LIST_AHEAD: usize = 16;

impl<O: Observer> Device<O> {
    /// Whether a group has more free reclaim units than forced GC asks for.
    pub(crate) fn above_reserve(&self, group: u16) -> bool {
        let group = usize::from(group);
        self.rus.free[group].len() > self.groups[group].forced_free as usize
    }

    /// Collects until a group is above its reserve. False if every candidate is full of valid pages,
    /// which [`crate::Geometry::resolve`] excludes for a device of one group.
    ///
    /// Policies that do not look at valid pages may take full reclaim units, which gains nothing: they may
    /// do so `patience` times, then the fewest valid pages decide.
    pub(crate) fn force_gc(&mut self, group: u16, patience: &mut usize) -> bool {
        while !self.above_reserve(group) {
            let Some(least) = self.view(group, true, |_, rus| rus.least_valid()) else {
                return false;
            };
            if self.groups.len() > 1 && self.is_full(least) {
                return false;
            }
            let chosen = if *patience > 0 { self.select(group, true) } else { None };
            let victim = chosen.unwrap_or(least);
            *patience -= usize::from(*patience > 0 && self.is_full(victim));
            self.collect(group, victim, true);
        }
        true
    }

    /// Full victims that a policy may take before a host gets space: enough to take each once, which
    /// shows that this will not change.
    pub(crate) fn patience(&self, group: u16) -> usize {
        2 * self.groups[usize::from(group)].range.len()
    }

    /// Collects what is nearly empty, while few reclaim units are free: the policy's choice if it is
    /// empty enough, and as long as some candidate is.
    pub(crate) fn background_gc(&mut self, group: u16) {
        let threshold = self.groups[usize::from(group)].background_free as usize;
        let most = self.geometry.background_max_valid;
        while self.rus.free[usize::from(group)].len() <= threshold && threshold > 0 {
            // Asked for every segment: nearly always the answer is known without looking.
            if self.groups[usize::from(group)].floor > self.granted + u64::from(most) {
                return;
            }
            let Some(least) = self.view(group, false, |_, rus| rus.least_valid()) else { return };
            if self.rus.valid[least.index()] > most {
                self.groups[usize::from(group)].floor = u64::MAX;
                return self.lower_floor(group, self.rus.valid[least.index()]);
            }
            match self.select(group, false) {
                Some(victim) if self.rus.valid[victim.index()] <= most => {
                    self.collect(group, victim, false);
                }
                _ => return,
            }
        }
    }

    /// Takes note of a candidate with so few valid pages.
    pub(crate) fn lower_floor(&mut self, group: u16, valid: u32) {
        let pending: u64 = self.slots.iter().map(|s| u64::from(s.segment_room)).sum();
        let floor = &mut self.groups[usize::from(group)].floor;
        *floor = (*floor).min((u64::from(valid) + self.granted).saturating_sub(pending));
    }

    fn is_full(&self, ru: RuId) -> bool {
        self.rus.valid[ru.index()] == self.geometry.pages_per_ru
    }

    fn view<R>(
        &mut self,
        group: u16,
        forced: bool,
        ask: impl FnOnce(&mut dyn crate::policy::VictimPolicy, &mut RuView<'_>) -> R,
    ) -> R {
        let mut view = RuView {
            rus: &mut self.rus,
            range: self.groups[usize::from(group)].range.clone(),
            rng: &mut self.policy_rng,
            pages_per_ru: self.geometry.pages_per_ru,
            now: self.clock,
            forced,
            classes: self.geometry.destination_classes(),
            writer: self.writer,
        };
        ask(self.policy.as_mut(), &mut view)
    }

    /// Asks the policy. A choice that is not a candidate is a fault of the policy, not of the data.
    fn select(&mut self, group: u16, forced: bool) -> Option<RuId> {
        self.view(group, forced, |policy, rus| {
            let victim = policy.select(rus)?;
            assert!(
                rus.valid(victim).is_some(),
                "the policy chose {victim}, which is no candidate"
            );
            Some(victim)
        })
    }

    /// The class that the policy chose for a victim's data, if it did. One that there is not is a fault
    /// of the policy, not of the data.
    fn chosen_class(&mut self, group: u16, victim: RuId, forced: bool) -> Option<u8> {
        self.view(group, forced, |policy, rus| {
            let class = policy.destination(victim, rus)?;
            assert!(
                class < rus.classes,
                "the policy chose class {class} for relocated data; there are {}",
                rus.classes
            );
            Some(class)
        })
    }

    /// How often a victim's data was moved, or the class of its relocated data where the drive separates.
    fn generation_of(&mut self, victim: RuId) -> u8 {
        let unit = &self.rus.units[victim.index()];
        let (class, generation) = (unit.class, unit.generation);
        if let Some(deaths) = &self.deaths {
            return deaths.relocated_class(generation, unit.dies, self.clock);
        }
        match &mut self.separator {
            None => generation,
            Some(separator) => {
                let age = self.clock - self.rus.closed_at[victim.index()];
                separator.collected(class, generation, age);
                separator.relocated_class(class, generation, age)
            }
        }
    }

    /// Where relocated data of `owner` goes that was moved `generation` times before, or, where handles share
    /// theirs, that of `writer`.
    fn destination(&self, group: u16, owner: Owner, generation: u8, writer: u32) -> u32 {
        let base = u32::from(group) * self.layout.per_group;
        base + match (self.geometry.relocation, owner) {
            (Relocation::ByWriter, _) => self.by_isolation(writer),
            (Relocation::Shared, Owner::Handle(handle)) => u32::from(handle.0),
            (Relocation::Shared, Owner::Gc) => 0,
            (_, Owner::Gc) => self.layout.shared_gc(),
            (Relocation::ByIsolation, Owner::Handle(handle)) => {
                self.by_isolation(u32::from(handle.0))
            }
            (Relocation::ByHandle(generations), Owner::Handle(handle)) => {
                let generation = u32::from(generation.min(generations - 1));
                self.layout.own_gc(u32::from(handle.0), generation)
            }
        }
    }

    fn by_isolation(&self, handle: u32) -> u32 {
        match self.geometry.isolation[handle as usize] {
            Isolation::Initially => self.layout.shared_gc(),
            Isolation::Persistently => self.layout.own_gc(handle, 0),
        }
    }

    /// Moves the valid pages of a candidate and erases it. At least one reclaim unit of the group
    /// must be free.
    fn collect(&mut self, group: u16, victim: RuId, forced: bool) {
        let index = victim.0;
        let valid = self.rus.valid[victim.index()];
        assert!(valid & NOT_CLOSED == 0);
        let owner = self.rus.units[victim.index()].owner;
        let generation = self.generation_of(victim);
        self.victim_dies = self.rus.units[victim.index()].dies;
        // Drawn before the policy is asked, which may want to know.
        self.writer = match forced && self.geometry.relocation == Relocation::ByWriter {
            true => self.writers.draw(u32::from(self.asking.0), &mut self.policy_rng),
            false => 0,
        };
        let slot = match self.chosen_class(group, victim, forced) {
            None => self.destination(group, owner, generation, self.writer),
            Some(class) => self.destination(group, owner, class, u32::from(class)),
        };
        self.moved.clear();

        let mut list = std::mem::take(&mut self.rus.units[victim.index()].segments);
        if O::ATTRIBUTION {
            self.count_origins(owner, valid, &list);
            self.ledger.collected(index, owner, self.asking);
        }
        let open = self.slots[slot as usize];
        let room = if open.ru == NONE { self.geometry.pages_per_ru } else { open.room };
        if valid <= room {
            for (at, id) in list.iter().enumerate() {
                self.segments.prefetch_cold(list.get(at + LIST_AHEAD));
                match self.segments.hot[*id as usize].valid {
                    0 => self.segments.release(*id),
                    count => {
                        self.relocation_room(slot);
                        self.attach(slot, *id, count);
                    }
                }
            }
        } else {
            self.relocate_across(slot, valid, &list);
        }
        list.clear();
        self.rus.units[victim.index()].segments = list;
        self.note_origins(victim, owner);
        self.rus.valid[index as usize] = 0;
        self.rus.erase(index, group);
        self.count_collection(owner, slot, valid, forced);
        self.observer.collected(&Collection {
            victim,
            group: RgId(group),
            owner,
            valid,
            destinations: [0, 1].map(|i| self.moved.get(i).map(|(ru, _)| RuId(*ru))),
            forced,
        });
        if valid > 0 {
            let handle = match owner {
                Owner::Handle(handle) => Some(handle),
                Owner::Gc => None,
            };
            let event = FdpEvent::MediaReallocated { group: RgId(group), handle, pages: valid };
            self.observer.event(&event);
        }
    }

    /// Relocates a victim's segments, some to the open reclaim unit of `slot` until it is full and the
    /// others to the next: which, [`RelocationOrder`] says. Segments are chosen that fill the first
    /// exactly; where there are none, one is divided.
    fn relocate_across(&mut self, slot: u32, valid: u32, list: &[Label]) {
        let room = self.relocation_room(slot);
        let mut missing = room;
        let [mut first, mut second, mut by_count] = std::mem::take(&mut self.scratch);
        let spread = self.geometry.relocation_order == RelocationOrder::Spread;
        let mut seen = 0u64;
        for (at, id) in list.iter().enumerate() {
            self.segments.prefetch_cold(list.get(at + LIST_AHEAD));
            let count = self.segments.hot[*id as usize].valid;
            if count == 0 {
                self.segments.release(*id);
                continue;
            }
            seen += u64::from(count);
            // Spread: the first destination has had its share of what was seen so far, to the
            // nearest segment.
            let due = if spread { seen * u64::from(room) / u64::from(valid) } else { u64::MAX };
            let taken = u64::from(room - missing + count - count / 2);
            if count <= missing && taken <= due {
                missing -= count;
                first.push((count, *id));
            } else {
                second.push((count, *id));
            }
        }
        if missing > 0 {
            by_count.extend(second.iter().enumerate().map(|(at, (count, _))| (*count, at as u32)));
            by_count.sort_unstable();
            self.fill_exactly(missing, &mut first, &mut second, &by_count);
        }
        for (count, id) in first.drain(..).chain(second.drain(..)).filter(|(count, _)| *count > 0) {
            self.relocation_room(slot);
            self.attach(slot, id, count);
        }
        by_count.clear();
        self.scratch = [first, second, by_count];
    }

    /// Moves `missing` pages from `second` to `first`: the largest segments that fit, then one
    /// exchanged for one that is larger by what is still missing, then a part of the smallest, so
    /// that divided labels stay rare and small. `by_count` lists `second` by size; an entry of
    /// `second` that is used up has no pages.
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

    /// Pages that the open reclaim unit of a relocation slot can take, at least one. Opens the next
    /// one when it is needed, not before.
    fn relocation_room(&mut self, slot: u32) -> u32 {
        if self.slots[slot as usize].ru == NONE {
            let group = self.group_of(slot);
            let within = slot % self.layout.per_group;
            let generation = self.layout.generation(within);
            let class = self.layout.host_of(within).map_or(0, |(_, class)| class);
            let ru = self.rus.open(group, self.owner_of(slot), generation, class);
            if self.deaths.as_ref().is_some_and(|d| d.is_grouped(generation)) {
                self.rus.units[ru as usize].dies = self.victim_dies;
            }
            let room = self.geometry.pages_per_ru;
            self.slots[slot as usize] = Slot { ru, segment: NONE, segment_room: 0, room };
        }
        let Slot { ru, room, .. } = self.slots[slot as usize];
        if self.moved.last().is_none_or(|(last, _)| *last != ru) {
            self.moved.push((ru, 0));
        }
        room
    }

    fn attach(&mut self, slot: u32, id: Label, count: u32) {
        // In a log that host and GC share, what the host had begun ends here.
        self.end_segment(slot);
        let ru: RuIndex = self.slots[slot as usize].ru;
        #[cfg(test)]
        self.segments.log.push(crate::segment::Decision::Moved {
            label: self.segments.labels[id as usize],
            from: self.segments.hot[id as usize].ru,
            to: ru,
            count,
        });
        self.segments.hot[id as usize].ru = ru;
        self.rus.valid[ru as usize] += count;
        self.rus.units[ru as usize].segments.push(id);
        if let Some((_, moved)) = self.moved.last_mut() {
            *moved += count;
        }
        self.slots[slot as usize].room -= count;
        if self.slots[slot as usize].room == 0 {
            self.close_slot(slot);
        }
    }

    /// Counts a victim's valid pages by origin, for attribution.
    fn count_origins(&mut self, owner: Owner, valid: u32, list: &[Label]) {
        // Only relocated data of several handles is of several origins.
        let mixed = self.geometry.relocation == Relocation::ByWriter;
        if let (Owner::Handle(handle), false) = (owner, mixed) {
            self.ledger.valid[handle.index()] = valid;
            return;
        }
        for (at, id) in list.iter().enumerate() {
            self.segments.prefetch_cold(list.get(at + LIST_AHEAD));
            self.segments.prefetch_origin(list.get(at + LIST_AHEAD));
            let origin = self.segments.origins[*id as usize];
            self.ledger.valid[usize::from(origin)] += self.segments.hot[*id as usize].valid;
        }
    }

    /// Hands the victim's origins on to where its pages went, if data of several handles mixes there.
    fn note_origins(&mut self, victim: RuId, owner: Owner) {
        let origins = std::mem::take(&mut self.rus.units[victim.index()].origins);
        for (ru, pages) in &self.moved {
            if self.rus.units[*ru as usize].owner == Owner::Gc {
                self.rus.add_origins(*ru, *pages, owner, &origins);
            }
        }
        self.rus.units[victim.index()].origins = origins;
    }

    fn count_collection(&mut self, owner: Owner, slot: u32, valid: u32, forced: bool) {
        let moved = u64::from(valid) * self.geometry.page_bytes;
        let erased = u64::from(self.geometry.pages_per_ru) * self.geometry.page_bytes;
        self.counters.media_bytes += moved;
        self.counters.relocated_pages += u64::from(valid);
        self.counters.erased_bytes += erased;
        self.counters.forced_gc += u64::from(forced);
        self.counters.background_gc += u64::from(!forced);
        let from = self.owner_index(owner);
        self.handles[from].media_bytes += moved;
        self.handles[from].erased_bytes += erased;
        if owner != Owner::Gc && slot % self.layout.per_group == self.layout.shared_gc() {
            let shared = &mut self.handles[self.layout.handles as usize];
            shared.host_bytes += moved;
            shared.media_bytes += moved;
        }
    }
}
