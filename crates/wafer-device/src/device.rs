//! The device: its parts and its queries.

use crate::attribution::Ledger;
use crate::config::DeviceConfig;
use crate::firmware::{Maintenance, Translated, caches};
use crate::flash::mapping::{Label, PageMap, RuIndex};
use crate::flash::segment::{NONE, Segments};
use crate::flash::writers::Writers;
use crate::geometry::Geometry;
use crate::layout::Layout;
use crate::slots::Slots;
use crate::tuning::Tuner;
use crate::tuning::arrangement::{self, Arrangement};
use wafer_interface::Attribution;
use wafer_interface::InvalidKey;
use wafer_interface::{
    Counters, HandleCounters, NsId, Observer, Owner, Placement, RgId, RuId, RuhId,
};
use wafer_policies::{self as policy, VictimPolicy};
use wafer_policies::{DeviceRng, Purpose};
use wafer_policies::{NOT_CLOSED, ReclaimUnits, State};
use wafer_separation::Rule;
use wafer_write_cache::WriteCache;

/// A simulated FDP drive.
///
/// It is deterministic: configuration, seed and commands determine every counter. `O` observes what happens inside;
/// `()` observes nothing and costs nothing.
pub struct Device<O: Observer = ()> {
    pub(crate) geometry: Geometry,
    pub(crate) layout: Layout,
    pub(crate) namespaces: Vec<NamespaceLayout>,
    pub(crate) map: PageMap,
    pub(crate) segments: Segments,
    /// Segments are merged when more than this many are live.
    pub(crate) segment_limit: usize,
    pub(crate) rus: ReclaimUnits,
    /// Open reclaim units, numbered by `numbering`.
    pub(crate) slots: Vec<Slot>,
    pub(crate) numbering: Slots,
    pub(crate) groups: Vec<Group>,
    pub(crate) policy: Box<dyn VictimPolicy>,
    pub(crate) policy_rng: DeviceRng,
    /// The rule that separates data within handles, if any.
    pub(crate) separation: Option<Rule>,
    pub(crate) counters: Counters,
    /// One for each handle, then one for the shared GC reclaim units.
    pub(crate) handles: Vec<HandleCounters>,
    /// Host pages written since the device was created; unlike counters, this is never reset.
    pub(crate) clock: u64,
    /// Pages that segments were opened for, plus pages unmapped. Between two moments, the number of pages that became
    /// invalid is at most the growth of this count plus the room of segments that were open at the first moment.
    pub(crate) granted: u64,
    /// Scratch memory of a collection: lists of (count, segment), empty between collections.
    pub(crate) scratch: [Vec<(u32, Label)>; 3],
    /// The state of attribution, if the observer requests it.
    pub(crate) ledger: Option<Box<Ledger>>,
    /// Recent write commands by handle.
    pub(crate) writers: Writers,
    /// Selects the arrangement, if the policy is adaptive.
    pub(crate) tuner: Option<Box<Tuner>>,
    /// Smaller devices that the tuner compares, one for each arrangement.
    pub(crate) miniatures: Vec<Device>,
    /// For each handle, the slot for writes that name no group.
    pub(crate) chosen: Vec<u32>,
    /// The caches that writes pass through before they reach reclaim units.
    pub(crate) caches: Vec<WriteCache>,
    /// Media maintenance, if configured.
    pub(crate) maintenance: Option<Box<Maintenance>>,
    /// The map, if it is not entirely in memory.
    pub(crate) translated: Option<Box<Translated>>,
    /// Whether the device is read-only, because it could not spare a worn reclaim unit.
    pub(crate) read_only: bool,
    /// Whether a read-only device refuses the current commands. Commands accepted earlier are not refused.
    pub(crate) refuses: bool,
    pub(crate) observer: O,
}

/// A namespace for the write path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NamespaceLayout {
    pub(crate) first_page: u64,
    /// Logical blocks of the namespace.
    pub(crate) blocks: u64,
    /// The slot of each placement handle in group 0.
    pub(crate) slots: Vec<u32>,
}

/// The target of a host write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) slot: u32,
    /// Whether the host named the reclaim group. If not, the device chooses it for each segment.
    pub(crate) directed: bool,
}

impl NamespaceLayout {
    /// Returns the target in the common cases: a write without a directive, given the slots chosen for the handles, or
    /// one with a placement handle of group 0.
    #[inline(always)]
    pub(crate) fn target(&self, placement: Placement, chosen: &[u32]) -> Option<Target> {
        if placement == Placement::NONE {
            let slot = *chosen.get(*self.slots.first()? as usize)?;
            return Some(Target { slot, directed: false });
        }
        let slot = self.slots.get(usize::from(placement.0)).copied()?;
        Some(Target { slot, directed: true })
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) range: std::ops::Range<u32>,
    /// Every candidate has at least this minus [`Device::granted`] valid pages.
    pub(crate) floor: u64,
}

/// An open reclaim unit and its open segment.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Slot {
    /// The reclaim unit, or [`NONE`].
    pub(crate) ru: RuIndex,
    /// The open segment, or [`NONE`].
    pub(crate) segment: Label,
    /// Number of pages that still fit into the segment.
    pub(crate) segment_room: u32,
    /// Number of pages that still fit into the reclaim unit, including those of the segment.
    pub(crate) room: u32,
}

impl Slot {
    pub(crate) const EMPTY: Slot = Slot { ru: NONE, segment: NONE, segment_room: 0, room: 0 };
}

impl Device<()> {
    /// Creates a device. Nothing is mapped, and every handle has an empty open reclaim unit. `seed` is the seed of the
    /// device's random numbers (policies, divided segments).
    ///
    /// # Errors
    /// Like [`DeviceConfig::resolve`] and [`policy::make`]; also if there is no memory for the map.
    pub fn new(config: &DeviceConfig, seed: u64) -> Result<Self, InvalidKey> {
        Self::with_observer(config, seed, ())
    }
}

impl<O: Observer> Device<O> {
    /// Like [`Device::new`], with an observer.
    ///
    /// # Errors
    /// Like [`Device::new`].
    pub fn with_observer(
        config: &DeviceConfig,
        seed: u64,
        observer: O,
    ) -> Result<Self, InvalidKey> {
        let (geometry, layout) = config.resolve()?;
        let Some((tuner, small)) = Tuner::new(config, &geometry) else {
            let policy = policy::make(&config.gc)?;
            return Self::assemble(geometry, layout, None, policy, seed, observer);
        };
        let miniature = |Arrangement { gc, layout }: &Arrangement| {
            Device::assemble(small.clone(), layout.clone(), None, policy::make(gc)?, seed, ())
        };
        let miniatures = tuner.arrangements.iter().map(miniature).collect::<Result<_, _>>()?;
        let numbering = Some(arrangement::numbering(&geometry, &tuner.arrangements));
        let Arrangement { gc, layout } = tuner.current().clone();
        let policy = policy::make(&gc)?;
        let mut device = Self::assemble(geometry, layout, numbering, policy, seed, observer)?;
        (device.tuner, device.miniatures) = (Some(Box::new(tuner)), miniatures);
        device.allow_retirement();
        Ok(device)
    }

    /// Like [`Self::with_observer`], with a policy that need not be one of [`POLICIES`](policy::POLICIES).
    ///
    /// # Errors
    /// Like [`Device::new`].
    pub fn with_policy(
        config: &DeviceConfig,
        policy: Box<dyn VictimPolicy>,
        seed: u64,
        observer: O,
    ) -> Result<Self, InvalidKey> {
        let (geometry, layout) = config.resolve()?;
        Self::assemble(geometry, layout, None, policy, seed, observer)
    }

    /// Assembles a device. `numbering` is that of an adaptive device, for the layouts of all arrangements.
    fn assemble(
        geometry: Geometry,
        layout: Layout,
        numbering: Option<Slots>,
        policy: Box<dyn VictimPolicy>,
        seed: u64,
        observer: O,
    ) -> Result<Self, InvalidKey> {
        // Separation needs the birth times of segments. An adaptive device may separate later.
        let births = layout.separation.is_some() || numbering.is_some();
        let numbering = numbering.unwrap_or_else(|| Slots::new(&geometry, &layout));
        let map = PageMap::new(geometry.logical_pages).map_err(|e| {
            let message = format!("no memory for the map of {} pages: {e}", geometry.logical_pages);
            InvalidKey::new("capacity", message)
        })?;
        let rus = ReclaimUnits::new((0..geometry.groups).map(|group| geometry.group_range(group)));
        let rng = DeviceRng::new(seed, Purpose::Segments);
        let handles = usize::from(geometry.handles);
        let group = |number| Group { range: geometry.group_range(number), floor: 0 };
        let mut device = Device {
            namespaces: Vec::new(),
            map,
            segments: Segments::new(rus.unmapped(), births, rng),
            segment_limit: geometry.segment_limit(),
            rus,
            slots: vec![Slot::EMPTY; usize::from(geometry.groups) * numbering.per_group as usize],
            numbering,
            groups: (0..geometry.groups).map(group).collect(),
            policy,
            policy_rng: DeviceRng::new(seed, Purpose::Policy),
            separation: layout
                .separation
                .map(|rule| rule.rule(&layout.separation_sizes(&geometry))),
            counters: Counters::default(),
            handles: vec![HandleCounters::default(); handles + 1],
            clock: 0,
            granted: 0,
            scratch: Default::default(),
            ledger: observer
                .wants_attribution()
                .then(|| Box::new(Ledger::new(geometry.ru_count, handles))),
            writers: Writers::new(layout.counted_writers(&geometry)),
            tuner: None,
            miniatures: Vec::new(),
            chosen: Vec::new(),
            caches: caches(&geometry),
            maintenance: Maintenance::new(&geometry),
            translated: Translated::new(&geometry),
            read_only: false,
            refuses: true,
            observer,
            geometry,
            layout,
        };
        device.place_namespaces();
        // The round robin begins with the first group.
        let last = u32::from(device.geometry.groups) - 1;
        device.choose(|_| last);
        device.open_handles();
        device.allow_retirement();
        Ok(device)
    }

    /// Returns the sizes of the device.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Returns the counters since the device was created or since [`Self::reset_counters`].
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Returns the counters of each handle.
    pub fn handle_counters(&self) -> &[HandleCounters] {
        &self.handles[..self.numbering.handles as usize]
    }

    /// Returns the counters of the reclaim units that hold relocated data of all initially isolated handles; `None` if
    /// relocated data of several handles never shares reclaim units.
    pub fn gc_counters(&self) -> Option<HandleCounters> {
        self.mixes().then(|| self.handles[self.numbering.handles as usize])
    }

    /// Returns whether relocated data of several handles may share reclaim units.
    pub(crate) fn mixes(&self) -> bool {
        let one = std::slice::from_ref(&self.layout);
        match &self.tuner {
            Some(tuner) => arrangement::mixes(&self.geometry, tuner.layouts()),
            None => arrangement::mixes(&self.geometry, one.iter()),
        }
    }

    /// Returns the attribution of relocations since the device was created or since [`Self::reset_counters`]; `None`
    /// unless the observer requests it.
    pub fn attribution(&self) -> Option<&Attribution> {
        self.ledger.as_ref().map(|ledger| &ledger.totals)
    }

    /// Returns the arrangements of an adaptive device since it was created or since [`Self::reset_counters`], each with
    /// the host pages written before it; at most the newest 256 changes. Empty for a device whose policy never changes.
    pub fn arrangements(&self) -> Vec<(u64, crate::GcConfig)> {
        let pages = self.clock - self.counters.host_pages..self.clock;
        self.tuner.as_ref().map_or(Vec::new(), |tuner| tuner.followed(pages))
    }

    /// Sets all counters to zero, for example after preconditioning; data and erase counts are kept.
    pub fn reset_counters(&mut self) {
        self.counters = Counters::default();
        self.handles.fill(HandleCounters::default());
        if let Some(ledger) = &mut self.ledger {
            ledger.totals = Attribution::new(ledger.next_page.len());
        }
    }

    /// Returns the observer.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// Returns the observer, mutably.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Returns [`Geometry::handle`] of this device.
    pub fn handle(&self, namespace: NsId, placement: Placement) -> Option<RuhId> {
        self.geometry.handle(namespace, placement)
    }

    /// Returns the placement identifiers of a namespace in the order in which Reclaim Unit Handle Status lists
    /// them (for each placement handle, for each group), which is the order that fio's `plids` index.
    pub fn placements(&self, namespace: NsId) -> Vec<Placement> {
        let Some(layout) = self.namespaces.get(usize::from(namespace.0)) else { return Vec::new() };
        let groups = self.geometry.groups;
        (0..layout.slots.len() as u16)
            .flat_map(|handle| (0..groups).map(move |group| Placement::of(groups, group, handle)))
            .collect()
    }

    /// Returns the number of valid pages of a reclaim unit.
    pub fn valid_pages(&self, ru: RuId) -> u32 {
        let pending = self.slots.iter().find(|s| s.ru == ru.0).map_or(0, |s| s.segment_room);
        (self.rus.valid[ru.index()] & !NOT_CLOSED) - pending
    }

    /// Returns the erase count of a reclaim unit.
    pub fn erase_count(&self, ru: RuId) -> u32 {
        self.rus.units[ru.index()].erases
    }

    /// Returns the owner of a reclaim unit's data; `None` if it is free or retired.
    pub fn owner(&self, ru: RuId) -> Option<Owner> {
        let unit = &self.rus.units[ru.index()];
        matches!(unit.state, State::Open | State::Closed).then_some(unit.owner)
    }

    /// Returns whether a reclaim unit is closed, and therefore a candidate for collection.
    pub fn is_closed(&self, ru: RuId) -> bool {
        self.rus.units[ru.index()].state == State::Closed
    }

    /// Returns whether a reclaim unit is retired.
    pub fn is_retired(&self, ru: RuId) -> bool {
        self.rus.units[ru.index()].state == State::Retired
    }

    /// Returns the number of retired reclaim units.
    pub fn retired_rus(&self) -> usize {
        self.rus.units.iter().filter(|unit| unit.state == State::Retired).count()
    }

    /// Returns the number of free reclaim units of a group.
    pub fn free_rus(&self, group: RgId) -> usize {
        self.rus.free[group.index()].len()
    }

    /// Returns the number of pages that can still be written to the open reclaim unit of a handle (RUAMW).
    pub fn available_pages(&self, group: RgId, handle: RuhId) -> u32 {
        self.slots[group.index() * self.numbering.per_group as usize + handle.index()].room
    }

    pub(crate) fn group_of(&self, slot: u32) -> u16 {
        (slot / self.numbering.per_group) as u16
    }
}
