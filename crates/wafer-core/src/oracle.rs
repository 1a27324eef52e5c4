//! The page-mapped device: slow and obvious, the oracle of the fast one.
//!
//! Every page has a place, every reclaim unit lists the pages written to it, and collection walks
//! that list page by page. It follows the same rules (thresholds, destinations, policies, counters)
//! written down a second time, and shares with [`Device`](crate::Device) only the sizes, the policies
//! and the types. A device whose segments are single pages must agree with it in every counter.

use std::collections::VecDeque;

use crate::attribution::Attribution;
use crate::command::{Command, Op, Placement};
use crate::config::{DeviceConfig, Isolation, RelocationOrder};
use crate::counters::{Counters, HandleCounters};
use crate::death_time::{DeathTimes, Old};
use crate::error::ConfigError;
use crate::event::FdpEvent;
use crate::geometry::{Geometry, Relocation};
use crate::ids::{LBA_BYTES, NsId, RgId, RuId, RuhId};
use crate::observer::Owner;
use crate::policy::{self, RuView, VictimPolicy};
use crate::reclaim::{NOT_CLOSED, ReclaimUnits, State, add_origins};
use crate::rng::{DeviceRng, Purpose};
use crate::separate::Separator;
use crate::writers::Writers;

#[derive(Clone)]
struct Unit {
    /// Pages in order of writing; a page is valid here if the map says that it is at this position.
    pages: Vec<u64>,
    /// Who invalidated pages here, one entry a page.
    dead: Vec<u16>,
    state: State,
    owner: Owner,
    generation: u8,
    class: u8,
    dies: u64,
    /// As in the fast device: counts in proportion, for policies to see.
    origins: Vec<f64>,
    erases: u32,
    closed_at: u64,
    closed_order: u64,
}

/// Who writes to an open reclaim unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Writer {
    /// A handle, and the class of its data where the drive separates.
    Host(u16, u8),
    SharedGc,
    OwnGc(u16, u8),
}

/// A page-mapped device with the interface of [`Device`](crate::Device).
pub struct PageMapped {
    geometry: Geometry,
    map: Vec<Option<(usize, usize)>>,
    /// Through which handle a host last wrote each page.
    origins: Vec<u16>,
    attribution: Attribution,
    /// Where the last command of each handle ended.
    next_page: Vec<Option<u64>>,
    asking: u16,
    writers: Writers,
    writer: u16,
    units: Vec<Unit>,
    free: Vec<VecDeque<usize>>,
    /// Open reclaim units by group and writer, and when a host's next look at background GC is due.
    open: std::collections::BTreeMap<(u16, Writer), (usize, u32)>,
    policy: Box<dyn VictimPolicy>,
    rng: DeviceRng,
    counters: Counters,
    handles: Vec<HandleCounters>,
    clock: u64,
    closed: u64,
    events: Vec<FdpEvent>,
    separator: Option<Separator>,
    /// Host pages written to the device when the host last wrote each page.
    born: Vec<u64>,
    deaths: Option<DeathTimes>,
    /// When each page is expected to die, and that at work.
    page_dies: Vec<u64>,
    dies: u64,
    victim_dies: u64,
    /// What the policy saw at its last look.
    seen: Vec<policy::Seen>,
}

impl PageMapped {
    /// A fresh device.
    ///
    /// # Errors
    /// As for [`Device::new`](crate::Device::new).
    pub fn new(config: &DeviceConfig, seed: u64) -> Result<Self, ConfigError> {
        Ok(Self::with_geometry(Geometry::resolve(config)?, policy::make(&config.gc)?, seed))
    }

    /// A fresh device of a resolved geometry.
    pub fn with_geometry(geometry: Geometry, policy: Box<dyn VictimPolicy>, seed: u64) -> Self {
        let unit = Unit {
            pages: Vec::new(),
            dead: Vec::new(),
            state: State::Free,
            owner: Owner::Gc,
            generation: 0,
            class: 0,
            dies: 0,
            origins: Vec::new(),
            erases: 0,
            closed_at: 0,
            closed_order: 0,
        };
        let mut device = PageMapped {
            map: vec![None; geometry.logical_pages as usize],
            origins: vec![0; geometry.logical_pages as usize],
            attribution: Attribution::new(usize::from(geometry.handles)),
            next_page: vec![None; usize::from(geometry.handles)],
            asking: 0,
            writers: Writers::new(geometry.counts_writers()),
            writer: 0,
            units: vec![unit; geometry.ru_count as usize],
            free: (0..geometry.groups)
                .map(|g| geometry.group_range(g).map(|r| r as usize).collect())
                .collect(),
            open: Default::default(),
            policy,
            rng: DeviceRng::new(seed, Purpose::Policy),
            counters: Counters::default(),
            handles: vec![HandleCounters::default(); usize::from(geometry.handles) + 1],
            clock: 0,
            closed: 0,
            events: Vec::new(),
            separator: Separator::of(&geometry),
            born: vec![0; geometry.logical_pages as usize],
            deaths: DeathTimes::of(&geometry),
            page_dies: vec![0; geometry.logical_pages as usize],
            dies: 0,
            victim_dies: 0,
            seen: Vec::new(),
            geometry,
        };
        for group in 0..device.geometry.groups {
            for handle in 0..device.geometry.handles {
                device.open_for_host(group, handle, 0);
            }
        }
        device
    }

    /// Applies commands in order.
    pub fn apply(&mut self, commands: &[Command]) {
        for command in commands {
            self.apply_one(command);
        }
    }

    /// Counters since the device was made.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Counters of each handle, then of the shared GC reclaim units.
    pub fn all_handle_counters(&self) -> &[HandleCounters] {
        &self.handles
    }

    /// Whose writes caused relocations of whose data.
    pub fn attribution(&self) -> &Attribution {
        &self.attribution
    }

    /// FDP events so far, without those of relocation.
    pub fn events(&self) -> &[FdpEvent] {
        &self.events
    }

    /// Times a reclaim unit was erased.
    pub fn erase_count(&self, ru: RuId) -> u32 {
        self.units[ru.index()].erases
    }

    /// Valid pages of a reclaim unit, counted.
    pub fn valid_pages(&self, ru: RuId) -> u32 {
        self.valid_of(ru.index()).len() as u32
    }

    fn valid_of(&self, ru: usize) -> Vec<u64> {
        let here = |(at, page): (usize, &u64)| {
            (self.map[*page as usize] == Some((ru, at))).then_some(*page)
        };
        self.units[ru].pages.iter().enumerate().filter_map(here).collect()
    }

    fn apply_one(&mut self, command: &Command) {
        let per_page = self.geometry.blocks_per_page();
        let Some(range) = self.geometry.namespaces.get(usize::from(command.namespace.0)).cloned()
        else {
            self.counters.rejected += 1;
            return;
        };
        let (blocks, limit) = (u64::from(command.blocks), (range.end - range.start) * per_page);
        if command.lba.checked_add(blocks).is_none_or(|end| end > limit) {
            self.counters.rejected += 1;
            return;
        }
        let (start, end) = (command.lba, command.lba + blocks);
        if blocks == 0 {
            return;
        }
        match command.op {
            Op::Read => self.counters.read_bytes += blocks * LBA_BYTES,
            Op::Deallocate => {
                for page in start.div_ceil(per_page)..end / per_page {
                    let page = (range.start + page) as usize;
                    if let Some((ru, _)) = self.map[page].take() {
                        self.counters.deallocated_pages += 1;
                        self.units[ru].dead.push(self.origins[page]);
                    }
                }
            }
            Op::Write => {
                let (group, handle) = self.place(command.namespace, command.placement);
                let pages = start / per_page..(end - 1) / per_page + 1;
                let whole = |p: u64| p * per_page >= start && (p + 1) * per_page <= end;
                let host = &mut self.handles[usize::from(handle)];
                host.host_bytes += blocks * LBA_BYTES;
                host.media_bytes += (pages.end - pages.start) * self.geometry.page_bytes;
                self.counters.host_bytes += blocks * LBA_BYTES;
                self.counters.rmw_pages += pages.clone().filter(|p| !whole(*p)).count() as u64;
                self.counters.host_pages += pages.end - pages.start;
                self.counters.media_bytes += (pages.end - pages.start) * self.geometry.page_bytes;
                self.clock += pages.end - pages.start;
                let next = &mut self.next_page[usize::from(handle)];
                let first = range.start + pages.start;
                let inside = !start.is_multiple_of(per_page);
                if next.is_some_and(|n| first == n || (inside && first + 1 == n)) {
                    self.attribution.sequential[usize::from(handle)] += pages.end - pages.start;
                }
                *next = Some(range.start + pages.end);
                let split = self.deaths.as_ref().is_some_and(|d| d.splits(u32::from(handle)));
                for page in pages {
                    self.write_page(range.start + page, group, handle, split);
                }
                self.writers.wrote(u32::from(handle), 1);
            }
        }
    }

    /// Reclaim group and handle of a write.
    fn place(&mut self, namespace: NsId, placement: Placement) -> (u16, u16) {
        let list = &self.geometry.namespace_handles[usize::from(namespace.0)];
        let top = self.geometry.handles - 1;
        let default = (0, list[0].min(top));
        if placement == Placement::NONE {
            return default;
        }
        let rgif = (0..).find(|bits| 1u32 << bits >= u32::from(self.geometry.groups)).unwrap_or(0);
        let group = u32::from(placement.0) >> (16 - rgif);
        let handle = u32::from(placement.0) - (group << (16 - rgif));
        match list.get(handle as usize) {
            Some(ruh) if group < u32::from(self.geometry.groups) => (group as u16, (*ruh).min(top)),
            _ => {
                self.events.push(FdpEvent::InvalidPlacementIdentifier { namespace, placement });
                default
            }
        }
    }

    fn write_page(&mut self, page: u64, group: u16, handle: u16, split: bool) {
        let (mut group, by) = (group, u32::from(handle));
        let old = self.map[page as usize].map(|_| Old {
            by: u32::from(self.origins[page as usize]),
            lived: self.clock - self.born[page as usize],
            dies: self.page_dies[page as usize],
        });
        let class = match (&self.separator, &self.deaths) {
            (Some(separator), _) => separator.class(old.map(|old| old.lived)),
            (None, Some(deaths)) if split => {
                self.dies = deaths.dies(by, old, self.clock);
                deaths.class(by, self.dies, self.clock)
            }
            _ => 0,
        };
        // A segment begins: background GC looks around, and the place to write is settled.
        if self.open.get(&(group, Writer::Host(handle, class))).is_none_or(|(_, left)| *left == 0) {
            if let Some(deaths) = &mut self.deaths {
                deaths.sample(by, old, self.clock);
                self.dies = deaths.dies(by, old, self.clock);
            }
            self.asking = handle;
            self.background_gc(group);
            group = self.writable_group(group, handle, class);
            let (ru, _) = self.open[&(group, Writer::Host(handle, class))];
            let left = self.geometry.segment_size(self.room(ru));
            self.open.insert((group, Writer::Host(handle, class)), (ru, left));
        }
        (self.born[page as usize], self.page_dies[page as usize]) = (self.clock, self.dies);
        let slot = self.open.get_mut(&(group, Writer::Host(handle, class))).expect("settled above");
        slot.1 -= 1;
        let ru = slot.0;
        let place = Some((ru, self.units[ru].pages.len()));
        if let Some((old, _)) = std::mem::replace(&mut self.map[page as usize], place) {
            self.units[old].dead.push(handle);
        }
        self.origins[page as usize] = handle;
        self.units[ru].pages.push(page);
        if self.room(ru) == 0 {
            self.close(group, Writer::Host(handle, class));
            self.open_for_host(group, handle, class);
        }
    }

    fn writable_group(&mut self, group: u16, handle: u16, class: u8) -> u16 {
        if self.keep_open(group, handle, class) {
            return group;
        }
        let mut others: Vec<u16> = (0..self.geometry.groups).collect();
        others.sort_by_key(|g| std::cmp::Reverse(self.free[usize::from(*g)].len()));
        for other in others {
            if self.keep_open(other, handle, class) {
                self.events.push(FdpEvent::ImplicitlyModifiedRuh {
                    group: RgId(group),
                    handle: RuhId(handle),
                    used: RgId(other),
                });
                return other;
            }
        }
        unreachable!("some group has space");
    }

    fn keep_open(&mut self, group: u16, handle: u16, class: u8) -> bool {
        let mut patience = 2 * self.rus(group);
        loop {
            if self.open.contains_key(&(group, Writer::Host(handle, class))) {
                return true;
            }
            if !self.open_patiently(group, handle, class, &mut patience) {
                return false;
            }
        }
    }

    fn room(&self, ru: usize) -> u32 {
        self.geometry.pages_per_ru - self.units[ru].pages.len() as u32
    }

    fn take(&mut self, group: u16, writer: Writer, owner: Owner) {
        let ru = self.free[usize::from(group)].pop_front().expect("a free reclaim unit");
        assert!(self.units[ru].pages.is_empty());
        self.units[ru].state = State::Open;
        self.units[ru].owner = owner;
        self.units[ru].generation = match writer {
            Writer::Host(..) => 0,
            Writer::SharedGc => 1,
            Writer::OwnGc(_, before) => before + 1,
        };
        self.units[ru].class = match writer {
            Writer::Host(_, class) => class,
            _ => 0,
        };
        let deaths = self.deaths.as_ref();
        self.units[ru].dies = match writer {
            Writer::Host(_, class) if class > 0 && deaths.is_some() => self.dies,
            Writer::OwnGc(_, before) if deaths.is_some_and(|d| d.is_grouped(before + 1)) => {
                self.victim_dies
            }
            _ => 0,
        };
        self.open.insert((group, writer), (ru, 0));
    }

    fn close(&mut self, group: u16, writer: Writer) {
        let (ru, _) = self.open.remove(&(group, writer)).expect("an open reclaim unit");
        let unit = &mut self.units[ru];
        unit.state = State::Closed;
        unit.closed_at = self.clock;
        unit.closed_order = self.closed;
        self.closed += 1;
    }

    fn open_for_host(&mut self, group: u16, handle: u16, class: u8) -> bool {
        let mut patience = 2 * self.rus(group);
        self.open_patiently(group, handle, class, &mut patience)
    }

    fn open_patiently(&mut self, group: u16, handle: u16, class: u8, patience: &mut u32) -> bool {
        self.asking = handle;
        if !self.above_reserve(group) && !self.force_gc(group, patience) {
            return false;
        }
        if self.open.contains_key(&(group, Writer::Host(handle, class))) {
            return true;
        }
        self.take(group, Writer::Host(handle, class), Owner::Handle(RuhId(handle)));
        self.force_gc(group, patience);
        true
    }

    fn rus(&self, group: u16) -> u32 {
        let range = self.geometry.group_range(group);
        range.end - range.start
    }

    fn above_reserve(&self, group: u16) -> bool {
        let reserve = self.geometry.forced_free(self.rus(group));
        self.free[usize::from(group)].len() > reserve as usize
    }

    fn force_gc(&mut self, group: u16, patience: &mut u32) -> bool {
        let full = self.geometry.pages_per_ru;
        while !self.above_reserve(group) {
            let closed = self.geometry.group_range(group).filter(|r| self.is_closed(*r));
            let Some(least) = closed.min_by_key(|r| self.valid_pages(RuId(*r))) else {
                return false;
            };
            if self.geometry.groups > 1 && self.valid_pages(RuId(least)) == full {
                return false;
            }
            let victim =
                if *patience > 0 { self.select(group, true) } else { None }.unwrap_or(RuId(least));
            if *patience > 0 && self.valid_pages(victim) == full {
                *patience -= 1;
            }
            self.collect(group, victim, true);
        }
        true
    }

    fn background_gc(&mut self, group: u16) {
        let threshold = self.geometry.background_free(self.rus(group)) as usize;
        while threshold > 0 && self.free[usize::from(group)].len() <= threshold {
            let closed = self.geometry.group_range(group).filter(|r| self.is_closed(*r));
            let least = closed.map(|r| self.valid_pages(RuId(r))).min();
            if least.is_none_or(|valid| valid > self.geometry.background_max_valid) {
                return;
            }
            match self.select(group, false) {
                Some(victim) if self.valid_pages(victim) <= self.geometry.background_max_valid => {
                    self.collect(group, victim, false);
                }
                _ => return,
            }
        }
    }

    fn is_closed(&self, ru: u32) -> bool {
        self.units[ru as usize].state == State::Closed
    }

    /// Shows the policy the reclaim units as they are, counted afresh.
    fn ask<R>(
        &mut self,
        group: u16,
        forced: bool,
        ask: impl FnOnce(&mut dyn VictimPolicy, &mut RuView<'_>) -> R,
    ) -> R {
        let mut rus = ReclaimUnits::new(&self.geometry);
        for (ru, unit) in self.units.iter().enumerate() {
            let flag = if unit.state == State::Closed { 0 } else { NOT_CLOSED };
            rus.valid[ru] = self.valid_pages(RuId(ru as u32)) | flag;
            rus.closed_at[ru] = unit.closed_at;
            rus.closed_order[ru] = unit.closed_order;
            rus.units[ru].owner = unit.owner;
            rus.units[ru].erases = unit.erases;
            rus.units[ru].generation = unit.generation;
            (rus.units[ru].class, rus.units[ru].dies) = (unit.class, unit.dies);
            rus.units[ru].origins.clone_from(&unit.origins);
        }
        rus.seen = std::mem::take(&mut self.seen);
        let mut view = RuView {
            rus: &mut rus,
            range: self.geometry.group_range(group),
            rng: &mut self.rng,
            pages_per_ru: self.geometry.pages_per_ru,
            now: self.clock,
            forced,
            classes: self.geometry.destination_classes(),
            writer: u32::from(self.writer),
        };
        let answer = ask(self.policy.as_mut(), &mut view);
        self.seen = rus.seen;
        answer
    }

    fn select(&mut self, group: u16, forced: bool) -> Option<RuId> {
        self.ask(group, forced, |policy, rus| policy.select(rus))
    }

    fn collect(&mut self, group: u16, victim: RuId, forced: bool) {
        let owner = self.units[victim.index()].owner;
        let unit = &self.units[victim.index()];
        let (class, before, age) = (unit.class, unit.generation, self.clock - unit.closed_at);
        self.victim_dies = unit.dies;
        let class = match (&mut self.separator, &self.deaths) {
            (Some(separator), _) => {
                separator.collected(class, before, age);
                separator.relocated_class(class, before, age)
            }
            (None, Some(deaths)) => deaths.relocated_class(before, unit.dies, self.clock),
            (None, None) => before,
        };
        self.writer = match forced && self.geometry.relocation == Relocation::ByWriter {
            true => self.writers.draw(u32::from(self.asking), &mut self.rng) as u16,
            false => 0,
        };
        let chosen = self.ask(group, forced, |policy, rus| policy.destination(victim, rus));
        let class = chosen.unwrap_or(class);
        let (writer, to) = match (self.geometry.relocation, owner) {
            (Relocation::ByWriter, _) => {
                let handle = chosen.map_or(self.writer, u16::from);
                match self.geometry.isolation[usize::from(handle)] {
                    Isolation::Initially => (Writer::SharedGc, Owner::Gc),
                    Isolation::Persistently => {
                        (Writer::OwnGc(handle, 0), Owner::Handle(RuhId(handle)))
                    }
                }
            }
            (Relocation::Shared, Owner::Handle(h)) => (Writer::Host(h.0, 0), owner),
            (Relocation::ByHandle(generations), Owner::Handle(h)) => {
                (Writer::OwnGc(h.0, class.min(generations - 1)), owner)
            }
            (_, Owner::Handle(h))
                if self.geometry.isolation[h.index()] == Isolation::Persistently =>
            {
                (Writer::OwnGc(h.0, 0), owner)
            }
            _ => (Writer::SharedGc, Owner::Gc),
        };
        let pages = self.valid_of(victim.index());
        let handles = 0..self.geometry.handles;
        let count = |of: &dyn Fn(u16) -> usize| handles.clone().map(|h| of(h) as u32).collect();
        let valid: Vec<u32> =
            count(&|h| pages.iter().filter(|p| self.origins[**p as usize] == h).count());
        let dead = &self.units[victim.index()].dead;
        let invalid: Vec<u32> = count(&|h| dead.iter().filter(|d| **d == h).count());
        self.attribution.collection(owner, RuhId(self.asking), &valid, &invalid);
        let mut moved: Vec<(usize, u32)> = Vec::new();
        for page in &self.in_order(&pages, group, writer) {
            if !self.open.contains_key(&(group, writer)) {
                self.take(group, writer, to);
            }
            let slot = self.open.get_mut(&(group, writer)).expect("taken above");
            // In a log that host and GC share, the host's segment ends here.
            slot.1 = 0;
            let ru = slot.0;
            self.map[*page as usize] = Some((ru, self.units[ru].pages.len()));
            self.units[ru].pages.push(*page);
            match moved.last_mut() {
                Some((last, count)) if *last == ru => *count += 1,
                _ => moved.push((ru, 1)),
            }
            if self.room(ru) == 0 {
                self.close(group, writer);
            }
        }
        let origins = std::mem::take(&mut self.units[victim.index()].origins);
        for (ru, count) in moved {
            if self.units[ru].owner == Owner::Gc {
                let handles = usize::from(self.geometry.handles);
                add_origins(&mut self.units[ru].origins, handles, count, owner, &origins);
            }
        }
        let moved = pages.len() as u64 * self.geometry.page_bytes;
        let erased = u64::from(self.geometry.pages_per_ru) * self.geometry.page_bytes;
        let unit = &mut self.units[victim.index()];
        unit.pages.clear();
        unit.dead.clear();
        unit.state = State::Free;
        unit.erases += 1;
        self.free[usize::from(group)].push_back(victim.index());
        self.counters.media_bytes += moved;
        self.counters.relocated_pages += pages.len() as u64;
        self.counters.erased_bytes += erased;
        self.counters.forced_gc += u64::from(forced);
        self.counters.background_gc += u64::from(!forced);
        let shared = self.handles.len() - 1;
        let from = match owner {
            Owner::Handle(h) => h.index(),
            Owner::Gc => shared,
        };
        self.handles[from].media_bytes += moved;
        self.handles[from].erased_bytes += erased;
        if writer == Writer::SharedGc && owner != Owner::Gc {
            self.handles[shared].host_bytes += moved;
            self.handles[shared].media_bytes += moved;
        }
    }

    /// A victim's valid pages in the order in which they are moved.
    fn in_order(&self, pages: &[u64], group: u16, writer: Writer) -> Vec<u64> {
        let open = self.open.get(&(group, writer));
        let room = open.map_or(self.geometry.pages_per_ru, |(ru, _)| self.room(*ru)) as usize;
        if self.geometry.relocation_order == RelocationOrder::Written || pages.len() <= room {
            return pages.to_vec();
        }
        // Of the first n pages, n * room / pages go to the first reclaim unit.
        let share = |n: usize| n * room / pages.len();
        let (first, second): (Vec<_>, Vec<_>) =
            pages.iter().enumerate().partition(|(n, _)| share(n + 1) > share(*n));
        first.into_iter().chain(second).map(|(_, page)| *page).collect()
    }

    /// Reclaim unit update, as [`Device::update_reclaim_unit`](crate::Device::update_reclaim_unit).
    pub fn update_reclaim_unit(&mut self, namespace: NsId, placement: Placement) -> Option<u32> {
        if usize::from(namespace.0) >= self.geometry.namespaces.len()
            || placement == Placement::NONE
        {
            return None;
        }
        let events = self.events.len();
        let (group, handle) = self.place(namespace, placement);
        if self.events.len() > events {
            self.events.truncate(events);
            return None;
        }
        let class = 0;
        let Some((ru, _)) = self.open.get(&(group, Writer::Host(handle, class))).copied() else {
            return Some(0);
        };
        let unwritten = self.room(ru);
        if unwritten == self.geometry.pages_per_ru {
            return Some(0);
        }
        self.close(group, Writer::Host(handle, class));
        self.events.push(FdpEvent::RuNotFullyWritten {
            group: RgId(group),
            handle: RuhId(handle),
            unwritten_pages: unwritten,
        });
        self.open_for_host(group, handle, class);
        Some(unwritten)
    }
}
