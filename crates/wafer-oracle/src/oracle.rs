//! The device: its state, its commands and queries, and how reclaim units are opened, closed and erased.
//!
//! Source: `docs/reference/device-model.md`, "Open RUs".

use std::collections::{BTreeMap, VecDeque};

use wafer_device::{Attribution, DeviceConfig, Separation};
use wafer_interface::{
    Closed, Collection, Command, Counters, FdpEvent, HandleCounters, LBA_BYTES, NsId, Op, Owner,
    RgId, RuId, RuhId,
};

use crate::death_times::DeathTimes;
use crate::pages::Pages;
use crate::policy::{Asked, Policy, Seen};
use crate::random::Random;
use crate::separation::Lifespans;
use crate::sizes::{Namespace, Sizes};
use crate::translation::Map;
use crate::units::{Log, Open, State, Unit, fresh};
use crate::writers::Writers;

/// An event that an observer of the device receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A reclaim unit was closed.
    Closed(Closed),
    /// A reclaim unit was collected.
    Collected(Collection),
    /// An FDP event.
    Fdp(FdpEvent),
}

/// A device modelled page by page.
pub struct Oracle {
    pub(crate) sizes: Sizes,
    pub(crate) namespaces: Vec<Namespace>,
    pub(crate) pages: Pages,
    pub(crate) units: Vec<Unit>,
    /// Free reclaim units of each group, in order of erasure.
    pub(crate) free: Vec<VecDeque<u32>>,
    /// Open reclaim units by group and log.
    pub(crate) open: BTreeMap<(u16, Log), Open>,
    /// Number of host pages written.
    pub(crate) clock: u64,
    /// Number of reclaim units closed so far.
    pub(crate) closings: u64,
    pub(crate) lifespans: Option<Lifespans>,
    pub(crate) deaths: Option<DeathTimes>,
    pub(crate) writers: Writers,
    /// For each handle, the group in which its last segment was begun for a write that names no group.
    pub(crate) last_groups: Vec<u16>,
    /// The handle whose write last needed space.
    pub(crate) asking: u16,
    pub(crate) policy: Box<dyn Policy>,
    pub(crate) random: Random,
    /// What the policy last saw of each reclaim unit.
    pub(crate) seen: Vec<Seen>,
    pub(crate) asked: Vec<Asked>,
    pub(crate) events: Vec<Event>,
    pub(crate) counters: Counters,
    pub(crate) handles: Vec<HandleCounters>,
    /// Counters of the relocated data of all initially isolated handles.
    pub(crate) mixed: HandleCounters,
    pub(crate) attribution: Attribution,
    pub(crate) caches: Vec<Cache>,
    pub(crate) care: Care,
    pub(crate) map: Map,
    /// For each handle, the page after the last one that it wrote.
    next_page: Vec<Option<u64>>,
}

/// A page that waits in a cache, or a place in the SLC cache whose page was overwritten or deallocated.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) page: (NsId, u64),
    /// The newest write, whose placement identifier counts.
    pub(crate) write: Command,
    /// Whether each logical block was written.
    pub(crate) written: Vec<bool>,
    /// Whether this is only a place, without a page.
    pub(crate) empty: bool,
}

/// A write buffer, or an SLC cache.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    pub(crate) slc: bool,
    pub(crate) most: usize,
    /// The oldest first.
    pub(crate) places: Vec<Waiting>,
}

/// Times and counts that decide when maintenance moves data.
#[derive(Clone, Debug, Default)]
pub(crate) struct Care {
    /// Host pages written at the next check for what is due.
    pub(crate) next_look: u64,
    /// Reclaim units retired so far, and their maximum.
    pub(crate) retired: u64,
    pub(crate) most_retired: u64,
    /// Whether a reclaim unit wore out when no more could be retired: the device is read-only.
    pub(crate) ended: bool,
}

impl Oracle {
    /// Creates a device with no pages mapped, every handle with an empty open reclaim unit in every group.
    pub fn new(config: &DeviceConfig, policy: Box<dyn Policy>, seed: u64) -> Self {
        let sizes = Sizes::of(config);
        let (free, units) = fresh(&sizes);
        let handles = usize::from(sizes.handles);
        let by_death = sizes.separation == Some(Separation::DeathTime);
        let mut oracle = Oracle {
            namespaces: sizes.namespaces(config),
            pages: Pages::new(sizes.pages, Random::of_segments(seed)),
            seen: vec![Seen::default(); units.len()],
            units,
            free,
            open: BTreeMap::new(),
            clock: 0,
            closings: 0,
            lifespans: Lifespans::new(sizes.separation, sizes.pages),
            deaths: by_death.then(|| DeathTimes::new(&sizes)),
            writers: Writers::new(sizes.handles),
            last_groups: vec![sizes.groups - 1; handles],
            asking: 0,
            policy,
            random: Random::of_policies(seed),
            asked: Vec::new(),
            events: Vec::new(),
            counters: Counters::default(),
            handles: vec![HandleCounters::default(); handles],
            mixed: HandleCounters::default(),
            attribution: Attribution::new(sizes.handles.into()),
            next_page: vec![None; handles],
            caches: Vec::new(),
            care: Care::default(),
            map: Map::default(),
            sizes,
        };
        oracle.equip();
        for group in 0..oracle.sizes.groups {
            for handle in 0..oracle.sizes.handles {
                oracle.open_first_class(group, handle);
            }
        }
        oracle
    }

    /// Applies a command.
    pub fn apply(&mut self, command: &Command) {
        self.counters.commands += 1;
        if self.care.ended && matches!(command.op, Op::Write | Op::Deallocate | Op::Update) {
            self.counters.rejected += 1;
            return;
        }
        let size = self.sizes.page_blocks();
        let blocks = u64::from(command.blocks);
        let end = command.lba.checked_add(blocks);
        let namespace = self.namespaces.get(command.namespace.index());
        let (Some(namespace), Some(end)) = (namespace, end) else {
            self.counters.rejected += 1;
            return;
        };
        if end > namespace.pages * size {
            self.counters.rejected += 1;
            return;
        }
        let (first, default) = (namespace.first, namespace.handles.first().copied().unwrap_or(0));
        match command.op {
            Op::Flush => {}
            Op::Update => {
                self.drain();
                if self.update_reclaim_unit(command.namespace, command.placement).is_none() {
                    self.counters.rejected += 1;
                }
            }
            _ if blocks == 0 => {}
            Op::Read => {
                self.counters.read_bytes += blocks * LBA_BYTES;
                self.read(command, first);
            }
            Op::Deallocate => {
                let pages = command.lba.div_ceil(size)..end / size;
                self.forget(command.namespace, pages.clone(), first);
                self.deallocate(first + pages.start..first + pages.end);
            }
            Op::Write => {
                let place = self.find_placement(command.namespace, command.placement);
                let handle = usize::from(place.map_or(default, |(_, handle)| handle));
                self.counters.host_bytes += blocks * LBA_BYTES;
                self.handles[handle].host_bytes += blocks * LBA_BYTES;
                self.enter(0, command);
            }
        }
    }

    /// Writes to reclaim units the data of a host write or of a page that leaves the last cache. Its host bytes are
    /// already counted.
    pub(crate) fn write_to_units(&mut self, command: &Command) {
        let size = self.sizes.page_blocks();
        let end = command.lba + u64::from(command.blocks);
        let first = self.namespaces[command.namespace.index()].first;
        let (group, handle) = self.place(command.namespace, command.placement);
        let touched = command.lba / size..end.div_ceil(size);
        let in_part = |page: &u64| page * size < command.lba || (page + 1) * size > end;
        let in_part: Vec<u64> = touched.clone().filter(in_part).collect();
        self.counters.rmw_pages += in_part.len() as u64;
        let pages = first + touched.start..first + touched.end;
        let number = pages.end - pages.start;
        let media = number * self.sizes.page_bytes;
        self.counters.media_bytes += media;
        self.counters.host_pages += number;
        self.handles[usize::from(handle)].media_bytes += media;
        self.clock += number;
        // A command that begins within a page continues the command that ended there.
        let within = !command.lba.is_multiple_of(size);
        let next = self.next_page[usize::from(handle)].replace(pages.end);
        if next == Some(pages.start) || (within && next == Some(pages.start + 1)) {
            self.attribution.sequential[usize::from(handle)] += u64::from(command.blocks);
        }
        for page in in_part {
            self.read_pages(vec![first + page]);
        }
        self.write(pages, group, handle);
        self.writers.wrote(handle);
    }

    /// Sets all counters to zero.
    pub fn reset_counters(&mut self) {
        self.counters = Counters::default();
        self.handles.fill(HandleCounters::default());
        self.mixed = HandleCounters::default();
        self.attribution = Attribution::new(self.sizes.handles.into());
    }

    /// Returns the counters of the device.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Returns the counters of each handle.
    pub fn handle_counters(&self) -> &[HandleCounters] {
        &self.handles
    }

    /// Returns the counters of the relocated data of all initially isolated handles.
    pub fn gc_counters(&self) -> HandleCounters {
        self.mixed
    }

    /// Returns whose writes caused relocations of whose data.
    pub fn attribution(&self) -> &Attribution {
        &self.attribution
    }

    /// Returns whether the device is read-only.
    pub fn is_read_only(&self) -> bool {
        self.care.ended
    }

    /// Takes the events since the last call.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Takes what was requested of the policy since the last call.
    pub fn take_asked(&mut self) -> Vec<Asked> {
        std::mem::take(&mut self.asked)
    }

    /// Returns the reclaim units: owner unless free, whether closed, valid pages, erase count.
    pub fn reclaim_units(&self) -> Vec<(Option<Owner>, bool, u32, u32)> {
        let units = (0..).zip(&self.units);
        let row = |(number, unit): (u32, &Unit)| {
            let owner = (unit.state != State::Free).then(|| unit.log.owner());
            (owner, unit.state == State::Closed, self.valid(number), unit.erases)
        };
        units.map(row).collect()
    }

    /// Returns the number of free reclaim units of a group.
    pub fn free_units(&self, group: RgId) -> usize {
        self.free[group.index()].len()
    }

    /// Returns the number of pages that the open reclaim unit of a handle can still take.
    pub fn available_pages(&self, group: RgId, handle: RuhId) -> u32 {
        let log = Log::Host { handle: handle.0, class: 0 };
        self.open.get(&(group.0, log)).map_or(0, |open| self.room(open.unit))
    }

    /// Counts the valid pages of a reclaim unit.
    pub(crate) fn valid(&self, unit: u32) -> u32 {
        self.units[unit as usize].segments.iter().map(|id| self.pages.valid(*id)).sum()
    }

    pub(crate) fn closed(&self, group: u16) -> Vec<u32> {
        let units = self.sizes.group(group);
        units.filter(|unit| self.units[*unit as usize].state == State::Closed).collect()
    }

    /// Returns the closed reclaim unit with the fewest valid pages; at a tie, the first.
    pub(crate) fn least_valid(&self, group: u16) -> Option<u32> {
        self.closed(group).into_iter().min_by_key(|unit| self.valid(*unit))
    }

    /// Returns the number of pages that can still be written to a reclaim unit.
    pub(crate) fn room(&self, unit: u32) -> u32 {
        self.sizes.unit_pages - self.units[unit as usize].written
    }

    /// Opens the reclaim unit that has been free the longest.
    pub(crate) fn open(&mut self, group: u16, log: Log, death: u64) {
        let number = self.free[usize::from(group)].pop_front().expect("a free reclaim unit");
        let unit = &mut self.units[number as usize];
        assert!(unit.state == State::Free && unit.written == 0, "an erased reclaim unit");
        (unit.state, unit.log, unit.death) = (State::Open, log, death);
        unit.opened_at = self.clock;
        self.open.insert((group, log), Open { unit: number, segment: None, segment_room: 0 });
    }

    /// Closes the open reclaim unit of a log, which may be collected from now on.
    pub(crate) fn close(&mut self, group: u16, log: Log) {
        let number = self.open.remove(&(group, log)).expect("an open reclaim unit").unit;
        self.close_unit(number);
    }

    pub(crate) fn close_unit(&mut self, number: u32) {
        let unit = &mut self.units[number as usize];
        let log = unit.log;
        unit.state = State::Closed;
        (unit.closed_at, unit.closed_order) = (self.clock, self.closings);
        self.closings += 1;
        self.count_parity(number);
        self.events.push(Event::Closed(Closed {
            ru: RuId(number),
            owner: log.owner(),
            relocated: log.generation() > 0,
            valid: self.valid(number),
            unwritten: self.room(number),
        }));
    }

    /// Erases a reclaim unit. It goes to the end of the free list or, if it is worn out, to no list.
    pub(crate) fn erase(&mut self, number: u32) {
        let group = self.sizes.group_of(number);
        let unit = &mut self.units[number as usize];
        assert!(unit.segments.is_empty(), "an erased reclaim unit holds segments");
        unit.state = State::Free;
        unit.written = 0;
        unit.invalidated.clear();
        unit.origins.clear();
        unit.erases += 1;
        unit.reads = 0;
        self.free[usize::from(group)].push_back(number);
        if self.retires(number) {
            self.free[usize::from(group)].pop_back();
        }
    }
}
