//! The device: what it is made of, and what can be asked of it.

use crate::attribution::{Attribution, Ledger};
use crate::command::Placement;
use crate::config::{DeviceConfig, Isolation};
use crate::counters::{Counters, HandleCounters};
use crate::death_time::DeathTimes;
use crate::error::ConfigError;
use crate::geometry::{Geometry, Relocation};
use crate::ids::{NsId, RgId, RuId, RuhId};
use crate::mapping::{Label, PageMap};
use crate::observer::{Observer, Owner};
use crate::policy::{self, VictimPolicy};
use crate::reclaim::{NOT_CLOSED, ReclaimUnits, RuIndex, State};
use crate::rng::{DeviceRng, Purpose};
use crate::segment::{NONE, Segments};
use crate::separate::Separator;
use crate::writers::Writers;

/// A simulated FDP drive.
///
/// Deterministic: configuration, seed and commands decide every counter. `O` sees what happens inside;
/// `()` sees nothing and costs nothing.
pub struct Device<O: Observer = ()> {
    pub(crate) geometry: Geometry,
    pub(crate) namespaces: Vec<NamespaceLayout>,
    pub(crate) map: PageMap,
    pub(crate) segments: Segments,
    /// Segments are merged when more are live.
    pub(crate) segment_limit: usize,
    pub(crate) rus: ReclaimUnits,
    /// Open reclaim units: `slots_per_group` for each group; see [`Slots`].
    pub(crate) slots: Vec<Slot>,
    pub(crate) layout: Slots,
    pub(crate) groups: Vec<Group>,
    pub(crate) policy: Box<dyn VictimPolicy>,
    pub(crate) policy_rng: DeviceRng,
    /// The rule of separation within handles, if there is one.
    pub(crate) separator: Option<Separator>,
    /// What separation by death time has learned.
    pub(crate) deaths: Option<DeathTimes>,
    /// When the host page at work is expected to die; 0: unknown.
    pub(crate) dies: u64,
    /// When the pages of the victim at work are.
    pub(crate) victim_dies: u64,
    pub(crate) counters: Counters,
    /// One for each handle, then one for the shared GC reclaim units.
    pub(crate) handles: Vec<HandleCounters>,
    /// Host pages written since the device was made; counters may be reset, this never is.
    pub(crate) clock: u64,
    /// Pages that open segments were made for or that were unmapped: between two moments at most
    /// so many became invalid, beside those for which segments were open at the first.
    pub(crate) granted: u64,
    /// Lists of (count, segment) for the collection at work; kept for their memory.
    pub(crate) scratch: [Vec<(u32, Label)>; 3],
    /// What attribution counts; empty unless the observer asks for it.
    pub(crate) ledger: Ledger,
    /// The handle whose write asked for space last.
    pub(crate) asking: RuhId,
    /// Through which handles commands wrote before the one at work.
    pub(crate) writers: Writers,
    /// The one of them for which the collection at work is made; see [`RuView::writer`](policy::RuView::writer).
    pub(crate) writer: u32,
    /// Reclaim units that took pages of the collection at work, and how many.
    pub(crate) moved: Vec<(RuIndex, u32)>,
    pub(crate) observer: O,
}

/// A namespace as the write path needs it.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct NamespaceLayout {
    pub(crate) first_page: u64,
    /// Logical blocks of the namespace.
    pub(crate) blocks: u64,
    /// The slot of each placement handle in group 0.
    pub(crate) slots: Vec<u32>,
}

impl NamespaceLayout {
    /// The slot of a write without directive or with a placement handle of group 0, the common
    /// cases.
    #[inline(always)]
    pub(crate) fn slot(&self, placement: Placement) -> Option<u32> {
        if placement == Placement::NONE {
            return self.slots.first().copied();
        }
        self.slots.get(usize::from(placement.0)).copied()
    }
}

/// One reclaim group.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) range: std::ops::Range<u32>,
    /// Forced GC runs while at most this many are free.
    pub(crate) forced_free: u32,
    /// Background GC runs while at most this many are free.
    pub(crate) background_free: u32,
    /// No candidate has fewer valid pages than this less [`Device::granted`].
    pub(crate) floor: u64,
}

/// An open reclaim unit and the segment that is written.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Slot {
    /// The reclaim unit, or [`NONE`].
    pub(crate) ru: RuIndex,
    /// The open segment, or [`NONE`].
    pub(crate) segment: Label,
    /// Pages that still fit into the segment.
    pub(crate) segment_room: u32,
    /// Pages that still fit into the reclaim unit, those of the segment included.
    pub(crate) room: u32,
}

impl Slot {
    pub(crate) const EMPTY: Slot = Slot { ru: NONE, segment: NONE, segment_room: 0, room: 0 };
}

/// How slots are numbered within a group: `handles` for hosts, then one for relocated data of
/// initially isolated handles, then for each handle one for each generation of its relocated data
/// that is kept apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots {
    pub(crate) handles: u32,
    pub(crate) generations: u32,
    /// Classes of what hosts write; the slots of all but the first come last.
    pub(crate) classes: u32,
    pub(crate) per_group: u32,
}

impl Slots {
    pub(crate) fn shared_gc(self) -> u32 {
        self.handles
    }

    /// The slot of a handle's relocated data; `generation` counts from 0.
    pub(crate) fn own_gc(self, handle: u32, generation: u32) -> u32 {
        self.handles + 1 + handle * self.generations + generation
    }

    /// The first slot of the classes of hosts beside the first.
    fn classed(self) -> u32 {
        self.handles * (1 + self.generations) + 1
    }

    /// The slot of a class, from that of class 0, in any group.
    pub(crate) fn class_slot(self, home: u32, class: u8) -> u32 {
        if class == 0 {
            return home;
        }
        let (group, handle) = (home / self.per_group, home % self.per_group);
        let within = handle * (self.classes - 1) + u32::from(class) - 1;
        group * self.per_group + self.classed() + within
    }

    /// The handle and class of a slot for hosts within its group; `None` for one of relocation.
    pub(crate) fn host_of(self, slot: u32) -> Option<(u32, u8)> {
        match slot.checked_sub(self.classed()) {
            Some(within) => {
                let class = within % (self.classes - 1) + 1;
                Some((within / (self.classes - 1), class as u8))
            }
            None => (slot < self.handles).then_some((slot, 0)),
        }
    }

    /// How often data in a slot of its group has been moved, as far as it is kept apart.
    pub(crate) fn generation(self, slot: u32) -> u8 {
        match slot {
            s if s < self.handles => 0,
            s if s == self.handles => 1,
            s if s >= self.classed() => 0,
            s => ((s - self.handles - 1) % self.generations + 1) as u8,
        }
    }
}

impl Device<()> {
    /// A fresh device: nothing mapped, every handle with an empty open reclaim unit. `seed` feeds
    /// what the device draws (policies, divided segments).
    ///
    /// # Errors
    /// As [`Geometry::resolve`]; also when memory for the map is refused.
    pub fn new(config: &DeviceConfig, seed: u64) -> Result<Self, ConfigError> {
        Self::with_observer(config, seed, ())
    }
}

impl<O: Observer> Device<O> {
    /// As [`Device::new`], with an observer.
    ///
    /// # Errors
    /// As [`Device::new`].
    pub fn with_observer(
        config: &DeviceConfig,
        seed: u64,
        observer: O,
    ) -> Result<Self, ConfigError> {
        let policy = policy::make(&config.gc)?;
        Self::with_geometry(Geometry::resolve(config)?, policy, seed, observer)
    }

    /// A device of a resolved geometry with a policy that need not be one of
    /// [`POLICIES`](policy::POLICIES).
    ///
    /// # Errors
    /// When memory for the map is refused.
    pub fn with_geometry(
        geometry: Geometry,
        policy: Box<dyn VictimPolicy>,
        seed: u64,
        observer: O,
    ) -> Result<Self, ConfigError> {
        let map = PageMap::new(geometry.logical_pages).map_err(|e| {
            let message = format!("no memory for the map of {} pages: {e}", geometry.logical_pages);
            ConfigError::new("capacity", message)
        })?;
        let rus = ReclaimUnits::new(&geometry);
        let mut segments = Segments::new(rus.unmapped(), DeviceRng::new(seed, Purpose::Segments));
        if geometry.separation.is_some() {
            segments.keep_births();
        }
        let handles = u32::from(geometry.handles);
        let writers = Writers::new(geometry.counts_writers());
        let generations = u32::from(geometry.relocation.generations());
        let classes = geometry.host_classes();
        let per_group = handles * (classes + generations) + 1;
        let layout = Slots { handles, generations, classes, per_group };
        let groups = (0..geometry.groups)
            .map(|g| {
                let range = geometry.group_range(g);
                let count = range.end - range.start;
                Group {
                    forced_free: geometry.forced_free(count),
                    background_free: geometry.background_free(count),
                    floor: 0,
                    range,
                }
            })
            .collect::<Vec<_>>();
        let blocks_per_page = geometry.blocks_per_page();
        let namespaces = geometry
            .namespaces
            .iter()
            .zip(&geometry.namespace_handles)
            .map(|(pages, list)| NamespaceLayout {
                first_page: pages.start,
                blocks: (pages.end - pages.start) * blocks_per_page,
                // Without FDP there is one handle, whatever the lists say.
                slots: list.iter().map(|h| u32::from(*h).min(handles - 1)).collect(),
            })
            .collect();
        let ledger = if O::ATTRIBUTION {
            Ledger::new(geometry.ru_count, handles as usize)
        } else {
            Ledger::default()
        };
        let mut device = Device {
            segment_limit: geometry.segment_limit(),
            slots: vec![Slot::EMPTY; groups.len() * layout.per_group as usize],
            handles: vec![HandleCounters::default(); handles as usize + 1],
            separator: Separator::of(&geometry),
            deaths: DeathTimes::of(&geometry),
            dies: 0,
            victim_dies: 0,
            policy_rng: DeviceRng::new(seed, Purpose::Policy),
            geometry,
            namespaces,
            map,
            segments,
            rus,
            layout,
            groups,
            policy,
            counters: Counters::default(),
            clock: 0,
            granted: 0,
            scratch: Default::default(),
            ledger,
            asking: RuhId(0),
            writers,
            writer: 0,
            moved: Vec::new(),
            observer,
        };
        for group in 0..device.groups.len() {
            for handle in 0..handles {
                let slot = group as u32 * layout.per_group + handle;
                device.open_slot(slot);
            }
        }
        Ok(device)
    }

    /// Sizes of the device.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Counters since the device was made or [`Self::reset_counters`].
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Counters of each handle.
    pub fn handle_counters(&self) -> &[HandleCounters] {
        &self.handles[..self.layout.handles as usize]
    }

    /// Counters of the reclaim units that hold relocated data of all initially isolated handles;
    /// `None` where relocated data never mixes so.
    pub fn gc_counters(&self) -> Option<HandleCounters> {
        let by_isolation =
            matches!(self.geometry.relocation, Relocation::ByIsolation | Relocation::ByWriter);
        let mixes = by_isolation && self.geometry.isolation.contains(&Isolation::Initially);
        mixes.then(|| self.handles[self.layout.handles as usize])
    }

    /// Whose writes caused relocations of whose data since the device was made or
    /// [`Self::reset_counters`]; `None` unless the observer asks for it.
    pub fn attribution(&self) -> Option<&Attribution> {
        O::ATTRIBUTION.then_some(&self.ledger.totals)
    }

    /// Sets all counters to zero, as after preconditioning; data and erase counts stay.
    pub fn reset_counters(&mut self) {
        self.counters = Counters::default();
        self.handles.fill(HandleCounters::default());
        self.ledger.reset();
    }

    /// The observer.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// The observer, to change.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// The placement identifiers of a namespace in the order in which Reclaim Unit Handle Status lists
    /// them (for each placement handle, for each group), which is the order that fio's `plids` index.
    pub fn placements(&self, namespace: NsId) -> Vec<Placement> {
        let Some(layout) = self.namespaces.get(usize::from(namespace.0)) else { return Vec::new() };
        let shift = self.placement_shift();
        (0..layout.slots.len() as u32)
            .flat_map(|handle| {
                (0..self.groups.len() as u32)
                    .map(move |g| Placement(((g << shift) | handle) as u16))
            })
            .collect()
    }

    /// Bits of a placement identifier below its reclaim group: 16 - RGIF.
    pub(crate) fn placement_shift(&self) -> u32 {
        16 - (self.groups.len() as u32).next_power_of_two().trailing_zeros()
    }

    /// Pages of a reclaim unit that are valid.
    pub fn valid_pages(&self, ru: RuId) -> u32 {
        let pending = self.slots.iter().find(|s| s.ru == ru.0).map_or(0, |s| s.segment_room);
        (self.rus.valid[ru.index()] & !NOT_CLOSED) - pending
    }

    /// Times a reclaim unit was erased.
    pub fn erase_count(&self, ru: RuId) -> u32 {
        self.rus.units[ru.index()].erases
    }

    /// Whose data a reclaim unit holds; `None` if it is free.
    pub fn owner(&self, ru: RuId) -> Option<Owner> {
        let unit = &self.rus.units[ru.index()];
        (unit.state != State::Free).then_some(unit.owner)
    }

    /// Whether a reclaim unit is closed: full, and a candidate for collection.
    pub fn is_closed(&self, ru: RuId) -> bool {
        self.rus.units[ru.index()].state == State::Closed
    }

    /// Free reclaim units of a group.
    pub fn free_rus(&self, group: RgId) -> usize {
        self.rus.free[group.index()].len()
    }

    /// RUAMW: pages that can still be written to the open reclaim unit of a handle.
    pub fn available_pages(&self, group: RgId, handle: RuhId) -> u32 {
        self.slots[group.index() * self.layout.per_group as usize + handle.index()].room
    }

    pub(crate) fn group_of(&self, slot: u32) -> u16 {
        (slot / self.layout.per_group) as u16
    }

    pub(crate) fn owner_of(&self, slot: u32) -> Owner {
        match slot % self.layout.per_group {
            s if s < self.layout.handles => Owner::Handle(RuhId(s as u16)),
            s if s == self.layout.shared_gc() => Owner::Gc,
            s => {
                let handle = match self.layout.host_of(s) {
                    Some((handle, _)) => handle,
                    None => (s - self.layout.handles - 1) / self.layout.generations,
                };
                Owner::Handle(RuhId(handle as u16))
            }
        }
    }

    pub(crate) fn owner_index(&self, owner: Owner) -> usize {
        match owner {
            Owner::Handle(handle) => handle.index(),
            Owner::Gc => self.layout.handles as usize,
        }
    }
}
