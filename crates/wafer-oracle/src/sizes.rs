//! Values derived from a configuration: counts, thresholds, destinations, namespaces.
//!
//! Source: `docs/reference/device-model.md`, "Sizes", "When garbage is collected", "Refused devices" and "Where
//! relocated pages go"; for the limits of what a policy requests, `docs/reference/policies.md`.

use std::ops::Range;

use wafer_device::policy::POLICIES;
use wafer_device::{
    Destination, DeviceConfig, GcConfig, Isolation, NamespaceConfig, RelocationOrder, Separation,
};
use wafer_interface::{FirmwareConfig, LBA_BYTES};

/// Number of classes of pages with a known death time, besides that of pages without one.
pub(crate) const DEATH_CLASSES: u8 = 12;

/// Spare reclaim units required for each log that a policy, not the configuration, requests.
const SPARE_PER_LOG: u64 = 5;

/// The handles whose relocated data shares a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relocation {
    /// The log that the host writes through the same handle.
    HostLog,
    /// One log for all initially isolated handles, one for each persistently isolated handle.
    ByIsolation,
    /// Logs of each handle, one for each class of relocated data.
    ByHandle,
    /// Like by isolation, but of a handle that is writing at the time.
    ByWriter,
}

/// A namespace; a deleted one has no pages and no handles.
#[derive(Clone, Debug, Default)]
pub(crate) struct Namespace {
    pub(crate) first: u64,
    pub(crate) pages: u64,
    /// The reclaim unit handle behind each placement handle.
    pub(crate) handles: Vec<u16>,
}

#[derive(Clone, Debug)]
pub(crate) struct Sizes {
    pub(crate) page_bytes: u64,
    /// Logical pages.
    pub(crate) pages: u64,
    pub(crate) unit_pages: u32,
    /// Number of reclaim units in all groups.
    pub(crate) units: u32,
    pub(crate) groups: u16,
    pub(crate) handles: u16,
    /// Whether each handle is persistently isolated.
    pub(crate) persistent: Vec<bool>,
    pub(crate) relocation: Relocation,
    /// Number of classes of a handle's relocated data.
    pub(crate) moved_classes: u8,
    pub(crate) separation: Option<Separation>,
    /// Maximum handles that separation by death time splits.
    pub(crate) split_handles: u16,
    pub(crate) firmware: FirmwareConfig,
    gc: GcConfig,
}

impl Sizes {
    /// Resolves a configuration that the device accepts.
    pub(crate) fn of(config: &DeviceConfig) -> Sizes {
        let unit_bytes = config.reclaim_unit.size.0;
        let units = match (config.reclaim_unit.count, config.overprovisioning) {
            (Some(count), _) => count,
            (None, op) => {
                let physical = config.capacity.0 as f64 * (1.0 + op.unwrap_or(0.0));
                (physical / unit_bytes as f64) as u64
            }
        };
        let handles = if config.fdp { config.handles } else { config.streams + 1 };
        let isolation = |handle: u16| {
            let own = config.handle_isolation.get(&handle.to_string());
            *own.unwrap_or(&config.isolation) == Isolation::Persistently
        };
        let mut sizes = Sizes {
            page_bytes: config.page.0,
            pages: config.capacity.0 / config.page.0,
            unit_pages: (unit_bytes / config.page.0) as u32,
            units: units as u32,
            groups: if config.fdp { config.groups } else { 1 },
            handles,
            persistent: (0..handles).map(isolation).collect(),
            relocation: Relocation::ByIsolation,
            moved_classes: 1,
            separation: None,
            split_handles: 0,
            firmware: config.firmware.clone(),
            gc: config.gc.clone(),
        };
        sizes.place_relocated_data(config.fdp);
        sizes
    }

    /// Decides where relocated data goes: as `gc.separation` or `gc.destination` says, else as the policy requests.
    fn place_relocated_data(&mut self, fdp: bool) {
        let gc = self.gc.clone();
        if let Some(rule) = gc.separation {
            self.relocation = Relocation::ByHandle;
            self.separation = Some(rule);
            self.moved_classes = match rule {
                Separation::Dac | Separation::AutoStream | Separation::Fadac => 6,
                Separation::Warcip => 5,
                _ => 4,
            };
            if rule == Separation::DeathTime {
                // The configuration requests it, so at least one handle may be split.
                self.moved_classes = gc.generations + 1;
                self.split_handles = self.split_handles_that_fit(gc.generations).max(1);
            }
            return;
        }
        if !fdp && !gc.separate {
            self.relocation = Relocation::HostLog;
            return;
        }
        let wish = POLICIES.iter().find(|policy| policy.name == gc.policy);
        let wished = wish.map_or(Destination::Isolation, |policy| policy.destination);
        (self.relocation, self.moved_classes) = match gc.destination.unwrap_or(wished) {
            Destination::Isolation | Destination::Shared => (Relocation::ByIsolation, 1),
            Destination::Host => (Relocation::HostLog, 1),
            Destination::Handle => (Relocation::ByHandle, 1),
            Destination::Generation => (Relocation::ByHandle, gc.generations),
            Destination::Writer => (Relocation::ByWriter, 1),
        };
        if gc.destination.is_some() || self.relocation != Relocation::ByHandle {
            return;
        }
        // The policy requests it: as many generations as fit the spare space, then as many split handles.
        let each = SPARE_PER_LOG * self.logs();
        self.moved_classes = (self.spare() / each).clamp(1, u64::from(self.moved_classes)) as u8;
        if wish.and_then(|policy| policy.separation) == Some(Separation::DeathTime) {
            self.split_handles = self.split_handles_that_fit(self.moved_classes);
            if self.split_handles > 0 {
                self.separation = Some(Separation::DeathTime);
                self.moved_classes += 1;
            }
        }
    }

    pub(crate) fn namespaces(&self, config: &DeviceConfig) -> Vec<Namespace> {
        // Without FDP there is one handle, whatever the lists name; with streams, every namespace has all handles.
        let every = !config.fdp && config.streams > 0;
        let known = |handles: Vec<u16>| match every {
            true => (0..=config.streams).collect(),
            false => handles.iter().map(|h| (*h).min(self.handles - 1)).collect(),
        };
        if config.namespaces.is_empty() {
            let handles = known((0..config.handles).collect());
            return vec![Namespace { first: 0, pages: self.pages, handles }];
        }
        let mut first = 0;
        let mut next = |namespace: &NamespaceConfig| {
            let pages = namespace.size.0 / self.page_bytes;
            let list = Some(namespace.handles.clone()).filter(|list| !list.is_empty());
            first += pages;
            Namespace { first: first - pages, pages, handles: known(list.unwrap_or(vec![0])) }
        };
        config.namespaces.iter().map(&mut next).collect()
    }

    /// Returns the number of reclaim units beyond those that the logical pages fill.
    fn spare(&self) -> u64 {
        u64::from(self.units).saturating_sub(self.pages.div_ceil(u64::from(self.unit_pages)))
    }

    /// Returns the number of handles over all groups.
    fn logs(&self) -> u64 {
        u64::from(self.handles) * u64::from(self.groups)
    }

    /// Returns how many handles may be split: each has 13 logs more in each group, and a fifth of the spare reclaim
    /// units may be open.
    fn split_handles_that_fit(&self, generations: u8) -> u16 {
        let may_be_open = self.spare() / SPARE_PER_LOG;
        let unsplit = self.logs() * (1 + u64::from(generations));
        let each = u64::from(self.groups) * u64::from(DEATH_CLASSES + 1);
        (may_be_open.saturating_sub(unsplit) / each).min(u64::from(self.handles)) as u16
    }

    /// Returns the reclaim units of a group.
    pub(crate) fn group(&self, group: u16) -> Range<u32> {
        let (units, groups) = (u64::from(self.units), u64::from(self.groups));
        let start = |group: u64| (units * group / groups) as u32;
        start(u64::from(group))..start(u64::from(group) + 1)
    }

    pub(crate) fn group_of(&self, unit: u32) -> u16 {
        (0..self.groups).find(|group| self.group(*group).contains(&unit)).expect("a reclaim unit")
    }

    /// Forced collection runs in a group while at most this many of its reclaim units are free.
    pub(crate) fn reserve(&self, group: u16) -> usize {
        ((self.gc.forced_free * self.group(group).len() as f64) as usize).max(1)
    }

    /// Background collection runs in a group while at most this many of its reclaim units are free.
    pub(crate) fn background_free(&self, group: u16) -> usize {
        (self.gc.background_free * self.group(group).len() as f64) as usize
    }

    /// Background collection takes a victim with at most this many valid pages, and never one that is full.
    pub(crate) fn background_valid(&self) -> usize {
        let most = (self.gc.background_max_valid * f64::from(self.unit_pages)) as usize;
        most.min(self.unit_pages as usize - 1)
    }

    /// Returns whether each run of a victim is spread over both destinations.
    pub(crate) fn spreads(&self) -> bool {
        self.gc.order == RelocationOrder::Spread
    }

    pub(crate) fn page_blocks(&self) -> u64 {
        self.page_bytes / LBA_BYTES
    }

    /// Returns the number of classes among which a policy may choose for relocated data.
    pub(crate) fn classes_to_choose(&self) -> u8 {
        match self.relocation {
            Relocation::ByWriter => self.handles as u8,
            _ => self.moved_classes,
        }
    }

    /// Returns the number of host-write classes of a handle; with separation by death time, of a split one.
    fn host_classes(&self) -> u32 {
        match self.separation {
            None => 1,
            Some(Separation::Sepbit | Separation::Midas) => 2,
            Some(Separation::MultiLog) => 4,
            Some(Separation::Dac | Separation::AutoStream | Separation::Fadac) => 6,
            Some(Separation::Warcip) => 5,
            Some(Separation::DeathTime) => 1 + u32::from(DEATH_CLASSES),
        }
    }

    /// Returns the maximum of open reclaim units in a group.
    fn most_open(&self) -> u32 {
        let (handles, moved) = (u32::from(self.handles), u32::from(self.moved_classes));
        let persistent = self.persistent.iter().filter(|persistent| **persistent).count() as u32;
        match self.relocation {
            Relocation::HostLog => handles,
            Relocation::ByIsolation | Relocation::ByWriter => {
                handles + persistent + u32::from(persistent < handles)
            }
            Relocation::ByHandle if self.separation == Some(Separation::DeathTime) => {
                handles * moved + u32::from(self.split_handles) * self.host_classes()
            }
            Relocation::ByHandle => handles * (moved + self.host_classes()),
        }
    }

    /// Returns whether collection can always gain space: units neither reserved nor open hold more than all pages.
    fn works(&self) -> bool {
        self.usable(0) * u64::from(self.unit_pages) > self.pages
    }

    /// Returns the number of reclaim units neither reserved nor open, with `more` open in each group.
    fn usable(&self, more: usize) -> u64 {
        let usable = |group| {
            let kept = self.reserve(group) + self.most_open() as usize + more;
            self.group(group).len().saturating_sub(kept) as u64
        };
        (0..self.groups).map(usable).sum()
    }

    /// Returns how many reclaim units can be retired while the rest, with one more open, holds more than all pages.
    pub(crate) fn spare_units(&self) -> u64 {
        let needed = self.pages / u64::from(self.unit_pages) + 1;
        self.usable(1).saturating_sub(needed)
    }

    /// Returns the number of pages of a segment: 1/64 reclaim unit.
    fn segment_pages(&self) -> u32 {
        (self.unit_pages / 64).max(1)
    }

    /// Returns the pages of a segment that begins with `left` pages of its reclaim unit left: at most half of them.
    pub(crate) fn segment_size(&self, left: u32) -> u32 {
        self.segment_pages().min(left / 2).max(1)
    }

    /// Returns how many segments may be in use before they are merged: with s segments of full size in a reclaim unit
    /// and b that halve towards its end, 4 (s + b) for each reclaim unit, or with many handles h 3 (s + b) + 2 h, plus
    /// 64.
    pub(crate) fn most_segments(&self) -> usize {
        let whole = self.unit_pages.div_ceil(self.segment_pages()) as usize;
        let bits = self.segment_pages().ilog2() as usize + 2;
        let handles = usize::from(self.handles);
        let each = (4 * (whole + bits)).max(3 * (whole + bits) + 2 * handles);
        self.units as usize * each + 64
    }
}

/// Returns the smallest `reclaim_unit.count` with which a device of this configuration works.
pub fn smallest_count(config: &DeviceConfig) -> u64 {
    let with = |count| {
        let mut config = config.clone();
        config.reclaim_unit.count = Some(count);
        Sizes::of(&config).works()
    };
    (1..).find(|count| with(*count)).expect("some number of reclaim units")
}
