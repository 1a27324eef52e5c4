//! Garbage collection: when it runs, of which victims and to where; what the policy sees and decides.
//!
//! Source: `docs/reference/device-model.md`, "When garbage is collected", "Where relocated pages go", "Victims" and
//! "Counters".

use wafer_interface::{Collection, FdpEvent, Owner, RgId, RuId};

use crate::arrangement::arrange;
use crate::attribution;
use crate::oracle::{Event, Oracle};
use crate::pages::SegmentId;
use crate::policy::{Asked, Candidate, Seen, View};
use crate::sizes::Relocation;
use crate::units::Log;

/// Limits of what one round of forced collection may cost.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// Number of full victims that the policy may choose.
    pub(crate) full_victims: usize,
    /// Minimum invalid pages of the emptiest candidate of a group, if there are several groups.
    pub(crate) least_invalid: u32,
}

impl Oracle {
    /// Collects until a group has more free reclaim units than its reserve. Returns false if there is no space to
    /// reclaim: no candidate or, with several groups, none with the minimum of invalid pages.
    ///
    /// After the policy has chosen the maximum number of full victims, the candidate with the fewest valid pages is
    /// taken.
    pub(crate) fn forced_collection(&mut self, group: u16, limits: &mut Limits) -> bool {
        while self.free[usize::from(group)].len() <= self.sizes.reserve(group) {
            let Some(least) = self.least_valid(group) else { return false };
            let invalid = self.sizes.unit_pages - self.valid(least);
            if self.sizes.groups > 1 && invalid < limits.least_invalid {
                return false;
            }
            let chosen = if limits.full_victims > 0 { self.ask_victim(group, true) } else { None };
            let victim = chosen.unwrap_or(least);
            if self.is_full(victim) {
                limits.full_victims = limits.full_victims.saturating_sub(1);
            }
            self.collect(group, victim, true);
        }
        true
    }

    fn is_full(&self, unit: u32) -> bool {
        self.valid(unit) == self.sizes.unit_pages
    }

    /// Collects nearly empty reclaim units while few are free, as long as the policy chooses them.
    pub(crate) fn background_collection(&mut self, group: u16) {
        let (free, most) = (self.sizes.background_free(group), self.sizes.background_valid());
        while free > 0 && self.free[usize::from(group)].len() <= free {
            let empty_enough = |oracle: &Oracle, unit| oracle.valid(unit) as usize <= most;
            if !self.least_valid(group).is_some_and(|least| empty_enough(self, least)) {
                return;
            }
            match self.ask_victim(group, false) {
                Some(victim) if empty_enough(self, victim) => self.collect(group, victim, false),
                _ => return,
            }
        }
    }

    /// Relocates the valid pages of a victim and erases it.
    fn collect(&mut self, group: u16, victim: u32, forced: bool) {
        let log = self.units[victim as usize].log;
        let class = self.class_of_relocated(victim);
        let writer = match forced && self.sizes.relocation == Relocation::ByWriter {
            true => self.writers.draw(self.asking, &mut self.random),
            false => 0,
        };
        let chosen = self.ask_class(group, victim, forced, writer);
        let writer = chosen.map_or(writer, u16::from);
        let to = self.destination(log.owner(), chosen.unwrap_or(class), writer);
        self.translate_moved(victim);
        self.attribute(victim);
        let valid = self.valid(victim);
        let moved = self.relocate(group, victim, to);
        self.mix_origins(victim, &moved);
        self.erase(victim);
        match forced {
            true => self.counters.forced_gc += 1,
            false => self.counters.background_gc += 1,
        }
        self.count(log.owner(), to, valid);
        self.tell(group, victim, log.owner(), valid, &moved, forced);
    }

    /// Reports a collection.
    pub(crate) fn tell(
        &mut self,
        group: u16,
        victim: u32,
        owner: Owner,
        valid: u32,
        moved: &[(u32, u32)],
        forced: bool,
    ) {
        let destination = |at: usize| moved.get(at).map(|(unit, _)| RuId(*unit));
        let destinations = [destination(0), destination(1)];
        let (victim, group) = (RuId(victim), RgId(group));
        let collection = Collection { victim, group, owner, valid, destinations, forced };
        self.events.push(Event::Collected(collection));
        if valid > 0 {
            let handle = if let Owner::Handle(handle) = owner { Some(handle) } else { None };
            let event = FdpEvent::MediaReallocated { group, handle, pages: valid };
            self.events.push(Event::Fdp(event));
        }
    }

    /// Returns the class of a victim's pages if the policy does not choose it. Separation learns from the victim.
    fn class_of_relocated(&mut self, victim: u32) -> u8 {
        let unit = &self.units[victim as usize];
        if let Some(lifespans) = &mut self.lifespans {
            let age = lifespans.age(unit, self.clock);
            lifespans.collected(unit.log, age);
            return lifespans.relocated(unit.log, age);
        }
        match &self.deaths {
            Some(deaths) => deaths.relocated(unit, self.clock),
            None => unit.log.generation(),
        }
    }

    /// Returns the log that takes relocated data.
    fn destination(&self, owner: Owner, class: u8, writer: u16) -> Log {
        let by_isolation = |handle: u16| match self.sizes.persistent[usize::from(handle)] {
            true => Log::Moved { handle, class: 0 },
            false => Log::Mixed,
        };
        match (self.sizes.relocation, owner) {
            (Relocation::ByWriter, _) => by_isolation(writer),
            (_, Owner::Gc) => Log::Mixed,
            (Relocation::HostLog, Owner::Handle(handle)) => {
                Log::Host { handle: handle.0, class: 0 }
            }
            (Relocation::ByIsolation, Owner::Handle(handle)) => by_isolation(handle.0),
            (Relocation::ByHandle, Owner::Handle(handle)) => {
                Log::Moved { handle: handle.0, class: class.min(self.sizes.moved_classes - 1) }
            }
        }
    }

    /// Relocates the valid pages of a victim. Returns the reclaim units that took some, and how many.
    fn relocate(&mut self, group: u16, victim: u32, to: Log) -> Vec<(u32, u32)> {
        let list = std::mem::take(&mut self.units[victim as usize].segments);
        let (mut segments, empty): (Vec<SegmentId>, Vec<SegmentId>) =
            list.into_iter().partition(|id| self.pages.valid(*id) > 0);
        empty.into_iter().for_each(|id| self.pages.release(id));
        let sizes: Vec<u32> = segments.iter().map(|id| self.pages.valid(*id)).collect();
        let open = self.open.get(&(group, to));
        let room = open.map_or(self.sizes.unit_pages, |open| self.room(open.unit));
        let death = self.units[victim as usize].death;
        let mut moved: Vec<(u32, u32)> = Vec::new();
        for piece in arrange(&sizes, room, self.sizes.spreads()) {
            let id = segments[piece.segment];
            if piece.pages < self.pages.valid(id) {
                segments[piece.segment] = self.pages.divide(id, piece.pages);
            }
            if !self.open.contains_key(&(group, to)) {
                let death = self.deaths.as_ref().map_or(0, |deaths| deaths.of_unit(to, death));
                self.open(group, to, death);
            }
            let open = self.open.get_mut(&(group, to)).expect("opened above");
            // In a log that host and collection share, the host's segment ends here.
            (open.segment, open.segment_room) = (None, 0);
            let unit = open.unit;
            self.pages.segments[id].unit = unit;
            self.units[unit as usize].segments.push(id);
            self.units[unit as usize].written += piece.pages;
            match moved.last_mut() {
                Some((last, pages)) if *last == unit => *pages += piece.pages,
                _ => moved.push((unit, piece.pages)),
            }
            if self.room(unit) == 0 {
                self.close(group, to);
            }
        }
        moved
    }

    /// Counts whose pages were relocated to a log that mixes them. Pages of a mixed victim count in the proportions in
    /// which they came to it.
    pub(crate) fn mix_origins(&mut self, victim: u32, moved: &[(u32, u32)]) {
        let from = self.units[victim as usize].clone();
        let of_victim: f64 = from.origins.iter().sum();
        for (unit, pages) in moved {
            let to = &mut self.units[*unit as usize];
            if to.log != Log::Mixed {
                continue;
            }
            to.origins.resize(usize::from(self.sizes.handles), 0.0);
            for (handle, count) in to.origins.iter_mut().enumerate() {
                *count += match from.log.owner() {
                    Owner::Handle(owner) if owner.index() == handle => f64::from(*pages),
                    Owner::Handle(_) => 0.0,
                    Owner::Gc => f64::from(*pages) * from.origins[handle] / of_victim,
                };
            }
        }
    }

    pub(crate) fn attribute(&mut self, victim: u32) {
        let unit = &self.units[victim as usize];
        let segments = unit.segments.iter().map(|id| &self.pages[*id]);
        let of_pages = |segment: &crate::pages::Segment| vec![segment.origin; segment.pages.len()];
        let origins: Vec<u16> = segments.flat_map(of_pages).collect();
        let owner = unit.log.owner();
        let totals = &mut self.attribution;
        attribution::count(totals, owner, self.asking, &origins, &unit.invalidated);
    }

    /// Counts a collection. Pages count for the handle from which they were relocated; the entry of mixed data also
    /// counts the pages that come to it from handles.
    pub(crate) fn count(&mut self, owner: Owner, to: Log, valid: u32) {
        let moved = u64::from(valid) * self.sizes.page_bytes;
        let erased = u64::from(self.sizes.unit_pages) * self.sizes.page_bytes;
        self.counters.media_bytes += moved;
        self.counters.relocated_pages += u64::from(valid);
        self.counters.erased_bytes += erased;
        let from = match owner {
            Owner::Handle(handle) => &mut self.handles[handle.index()],
            Owner::Gc => &mut self.mixed,
        };
        from.media_bytes += moved;
        from.erased_bytes += erased;
        if owner != Owner::Gc && to == Log::Mixed {
            self.mixed.host_bytes += moved;
            self.mixed.media_bytes += moved;
        }
    }

    fn view(&mut self, group: u16, forced: bool, writer: u16) -> View {
        let (mut candidates, mut origins) = (Vec::new(), Vec::new());
        for number in self.closed(group) {
            let valid = self.valid(number);
            let (unit, seen) = (&self.units[number as usize], &mut self.seen[number as usize]);
            if seen.closed_order != Some(unit.closed_order) {
                let closed_order = Some(unit.closed_order);
                *seen = Seen { closed_order, valid, at: unit.closed_at };
            } else if seen.valid != valid {
                (seen.valid, seen.at) = (valid, self.clock);
            }
            let owner = unit.log.owner();
            let sum: f64 = unit.origins.iter().sum();
            for handle in 0..usize::from(self.sizes.handles) {
                origins.push(match owner {
                    Owner::Handle(owner) => f32::from(u8::from(owner.index() == handle)),
                    Owner::Gc => (unit.origins[handle] / sum) as f32,
                });
            }
            candidates.push(Candidate {
                ru: RuId(number),
                valid,
                age: self.clock - unit.closed_at,
                closed_order: unit.closed_order,
                owner,
                generation: unit.log.generation(),
                host_class: unit.log.host_class(),
                death: Some(unit.death).filter(|death| *death > 0),
                erases: unit.erases,
                since_invalidation: self.clock - seen.at,
            });
        }
        View {
            group: self.sizes.group(group),
            candidates,
            origins,
            unit_pages: self.sizes.unit_pages,
            now: self.clock,
            forced,
            classes: self.sizes.classes_to_choose(),
            writer,
        }
    }

    /// Requests a victim from the policy.
    pub(crate) fn ask_victim(&mut self, group: u16, forced: bool) -> Option<u32> {
        let view = self.view(group, forced, 0);
        let choice = self.policy.select(&view, &mut self.random);
        let known = |ru: RuId| view.candidates.iter().any(|candidate| candidate.ru == ru);
        assert!(choice.is_none_or(known), "the policy chose {choice:?}, which is no candidate");
        self.asked.push(Asked::Victim(view, choice));
        choice.map(|ru| ru.0)
    }

    /// Requests from the policy the class of a victim's relocated data.
    pub(crate) fn ask_class(
        &mut self,
        group: u16,
        victim: u32,
        forced: bool,
        writer: u16,
    ) -> Option<u8> {
        let (view, victim) = (self.view(group, forced, writer), RuId(victim));
        let choice = self.policy.destination(victim, &view, &mut self.random);
        assert!(
            choice.is_none_or(|class| class < view.classes),
            "the policy chose class {choice:?}"
        );
        self.asked.push(Asked::Class(view, victim, choice));
        choice
    }
}
