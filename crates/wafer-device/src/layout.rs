//! The open reclaim units of a device: where data goes and how it is separated, what the policy asks for
//! where the configuration does not say, and whether the device can work so.

use crate::config::{Destination, DeviceConfig, Isolation};
use crate::error::ConfigError;
use crate::gc::policy;
use crate::gc::separation::{Separation, Sizes, death_time};
use crate::geometry::{Geometry, isolation, range};
use crate::relocation::Relocation;

/// Spare reclaim units for each generation of each handle that a policy asks for. Measured with
/// `adaptive` on WARP's three streams: with 4.6 for each handle one generation writes 12 % less than three, with 11 two
/// are best, from 15 on three.
const SPARE_PER_GENERATION: u64 = 5;

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
    pub(crate) fn new(geometry: &Geometry) -> Self {
        let handles = u32::from(geometry.handles);
        let generations = u32::from(geometry.relocation.generations());
        let classes = geometry.host_classes();
        Slots { handles, generations, classes, per_group: handles * (classes + generations) + 1 }
    }

    pub(crate) fn shared_gc(self) -> u32 {
        self.handles
    }

    /// Returns the slot of a handle's relocated data; `generation` counts from 0.
    pub(crate) fn own_gc(self, handle: u32, generation: u32) -> u32 {
        self.handles + 1 + handle * self.generations + generation
    }

    /// Returns the first slot of the classes of hosts beside the first.
    fn classed(self) -> u32 {
        self.handles * (1 + self.generations) + 1
    }

    /// Returns the slot of a class, from that of class 0, in any group.
    pub(crate) fn class_slot(self, home: u32, class: u8) -> u32 {
        if class == 0 {
            return home;
        }
        let (group, handle) = (home / self.per_group, home % self.per_group);
        let within = handle * (self.classes - 1) + u32::from(class) - 1;
        group * self.per_group + self.classed() + within
    }

    /// Returns the handle and class of a slot for hosts within its group; `None` for one of relocation.
    pub(crate) fn host_of(self, slot: u32) -> Option<(u32, u8)> {
        match slot.checked_sub(self.classed()) {
            Some(within) => {
                let class = within % (self.classes - 1) + 1;
                Some((within / (self.classes - 1), class as u8))
            }
            None => (slot < self.handles).then_some((slot, 0)),
        }
    }

    /// Returns how often data in a slot of its group has been moved, as far as it is kept apart.
    pub(crate) fn generation(self, slot: u32) -> u8 {
        match slot {
            s if s < self.handles => 0,
            s if s == self.handles => 1,
            s if s >= self.classed() => 0,
            s => ((s - self.handles - 1) % self.generations + 1) as u8,
        }
    }
}

impl Geometry {
    /// Checks a configuration and resolves its sizes and its layout.
    ///
    /// # Errors
    /// Names the key and, where there is one, the nearest value that works.
    pub fn resolve(config: &DeviceConfig) -> Result<Geometry, ConfigError> {
        let (mut geometry, key) = Geometry::sizes(config)?;
        geometry.relocation = relocation(config)?;
        geometry.separation = config.gc.separation;
        if config.gc.destination.is_none() && config.gc.separation.is_none() {
            geometry.fit_generations();
            geometry.separation = policy::separation(&config.gc.policy);
        }
        geometry.fit_separation(config.gc.separation.is_some());
        geometry.check_spare(key, config)?;
        Ok(geometry)
    }

    /// Where the policy asked for generations: no more than the spare reclaim units allow, for each keeps one
    /// open for each handle.
    fn fit_generations(&mut self) {
        let Relocation::ByHandle(generations) = self.relocation else { return };
        let logical = self.logical_pages.div_ceil(u64::from(self.pages_per_ru));
        let spare = u64::from(self.ru_count).saturating_sub(logical);
        let logs = u64::from(self.handles) * u64::from(self.groups);
        let most = (spare / (SPARE_PER_GENERATION * logs)).clamp(1, u64::from(generations));
        self.relocation = Relocation::ByHandle(most as u8);
    }

    /// Separation by death time has many open reclaim units for each handle that it splits: as many such
    /// handles as the spare reclaim units allow beside the generations, if any. One in any case where the
    /// configuration wants it.
    fn fit_separation(&mut self, wanted: bool) {
        let (Some(Separation::DeathTime), Relocation::ByHandle(generations)) =
            (self.separation, self.relocation)
        else {
            return;
        };
        let generations = generations - u8::from(wanted);
        let logical = self.logical_pages.div_ceil(u64::from(self.pages_per_ru));
        let open = u64::from(self.ru_count).saturating_sub(logical) / SPARE_PER_GENERATION;
        let others =
            u64::from(self.handles) * u64::from(self.groups) * (1 + u64::from(generations));
        let each = u64::from(self.groups) * u64::from(death_time::CLASSES + 1);
        let fit = open.saturating_sub(others) / each;
        self.split_handles = fit.clamp(u64::from(wanted), u64::from(self.handles)) as u16;
        if self.split_handles == 0 {
            self.separation = None;
        } else {
            self.relocation = Relocation::ByHandle(generations + 1);
        }
    }

    /// Returns how many handles have their commands counted, for [`Relocation::ByWriter`]; otherwise none.
    pub(crate) fn counts_writers(&self) -> u16 {
        if self.relocation == Relocation::ByWriter { self.handles } else { 0 }
    }

    /// Returns the number of open reclaim units of a handle for host writes: one for each class.
    pub(crate) fn host_classes(&self) -> u32 {
        self.separation.map_or(1, |rule| u32::from(rule.host_classes()))
    }

    /// Returns the sizes that rules of separation depend on.
    pub(crate) fn separation_sizes(&self) -> Sizes {
        Sizes {
            logical_pages: self.logical_pages,
            handles: self.handles,
            split_handles: self.split_handles,
            relocated_classes: self.relocation.generations(),
        }
    }

    /// Returns the number of destinations among which a policy may choose for a victim.
    pub(crate) fn destination_classes(&self) -> u8 {
        match self.relocation {
            // At most 128.
            Relocation::ByWriter => self.handles as u8,
            relocation => relocation.generations(),
        }
    }

    /// Returns the most open reclaim units of one group: one for each handle and those of relocation.
    pub fn open_per_group(&self) -> u32 {
        let persistent =
            self.isolation.iter().filter(|i| **i == Isolation::Persistently).count() as u32;
        let shared = u32::from(persistent < u32::from(self.handles));
        match self.relocation {
            Relocation::Shared => u32::from(self.handles),
            Relocation::ByIsolation | Relocation::ByWriter => {
                u32::from(self.handles) + persistent + shared
            }
            Relocation::ByHandle(generations) if self.separation == Some(Separation::DeathTime) => {
                u32::from(self.handles) * u32::from(generations)
                    + u32::from(self.split_handles) * self.host_classes()
            }
            Relocation::ByHandle(generations) => {
                u32::from(self.handles) * (self.host_classes() + u32::from(generations))
            }
        }
    }

    /// Refuses a device that could run out of victims.
    ///
    /// When GC is forced in a group at most `forced_free` of its reclaim units are free and at
    /// most `open_per_group` open. If the rest can hold more than all logical pages, one of them
    /// has a page that is not valid, so collecting it gains space: the device cannot get stuck.
    fn check_spare(&self, key: &str, config: &DeviceConfig) -> Result<(), ConfigError> {
        let needed = u32::try_from(self.logical_pages / u64::from(self.pages_per_ru) + 1)
            .map_err(|_| ConfigError::new("reclaim_unit.size", "too small for the capacity"))?;
        let usable = |geometry: &Geometry| -> u64 {
            (0..geometry.groups)
                .map(|g| {
                    let range = geometry.group_range(g);
                    let rus = range.end - range.start;
                    u64::from(rus)
                        .saturating_sub(u64::from(geometry.forced_free(rus)))
                        .saturating_sub(u64::from(geometry.open_per_group()))
                })
                .sum()
        };
        if usable(self) >= u64::from(needed) {
            return Ok(());
        }
        let mut smallest = Geometry { ru_count: needed.max(self.ru_count), ..self.clone() };
        while usable(&smallest) < u64::from(needed) {
            let step = (u64::from(needed) - usable(&smallest)).max(1) as u32;
            smallest.ru_count = smallest.ru_count.checked_add(step).ok_or_else(|| {
                ConfigError::new("gc.forced_free", "leaves no reclaim unit for data")
            })?;
            if u64::from(smallest.ru_count) > 100 * (u64::from(needed) + 1000) {
                let message = format!("{} leaves no reclaim unit for data", config.gc.forced_free);
                return Err(ConfigError::new("gc.forced_free", message));
            }
        }
        let first = self.group_range(0);
        let reason = format!(
            "{} reclaim units leave no victim for garbage collection: {} hold the capacity, {} stay free and {} are open",
            self.ru_count,
            needed - 1,
            self.forced_free(first.end - first.start) * u32::from(self.groups),
            self.open_per_group() * u32::from(self.groups),
        );
        let value = if key == "overprovisioning" {
            let physical = u128::from(smallest.ru_count) * u128::from(config.reclaim_unit.size.0);
            let exact = physical as f64 / config.capacity.0 as f64 - 1.0;
            format!("{:.4}", (exact * 1e4).ceil() / 1e4)
        } else {
            smallest.ru_count.to_string()
        };
        Err(ConfigError::new(key, format!("{reason}; the smallest value that works is {value}")))
    }
}

/// Returns where relocated data goes: what the configuration says, or else what the policy asks for.
fn relocation(config: &DeviceConfig) -> Result<Relocation, ConfigError> {
    let gc = &config.gc;
    range("gc.generations", u64::from(gc.generations), 1, 8)?;
    if let Some(rule) = gc.separation {
        return if gc.destination.is_some() || (!config.fdp && !gc.separate) {
            let message =
                "places relocated data itself: not with gc.destination or gc.separate = false";
            Err(ConfigError::new("gc.separation", message))
        } else {
            Ok(Relocation::ByHandle(rule.relocated_classes(gc.generations)))
        };
    }
    if !config.fdp && !gc.separate {
        return match gc.destination {
            None | Some(Destination::Host) => Ok(Relocation::Shared),
            Some(_) => Err(ConfigError::new(
                "gc.destination",
                "gc.separate = false already says that relocated data goes where the host writes",
            )),
        };
    }
    match gc.destination.unwrap_or(policy::destination(&gc.policy)) {
        Destination::Isolation => Ok(Relocation::ByIsolation),
        Destination::Host => Ok(Relocation::Shared),
        Destination::Handle => Ok(Relocation::ByHandle(1)),
        Destination::Generation => Ok(Relocation::ByHandle(gc.generations)),
        Destination::Writer => Ok(Relocation::ByWriter),
        Destination::Shared => {
            let persistent = |(_, i): &(usize, Isolation)| *i == Isolation::Persistently;
            match isolation(config)?.into_iter().enumerate().find(persistent) {
                None => Ok(Relocation::ByIsolation),
                Some((handle, _)) => Err(ConfigError::new(
                    "gc.destination",
                    format!(
                        "\"shared\" would mix data of handle {handle}, which is persistently isolated"
                    ),
                )),
            }
        }
    }
}
