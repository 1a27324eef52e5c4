//! Where a device puts data: how it relocates and separates data, and whether it can work with the reclaim units that
//! this keeps open.

use crate::config::DeviceConfig;
use crate::geometry::{
    Geometry, MOST_OVERPROVISIONING, isolation, overprovisioning_of, range, ru_count_key, units_of,
};
use wafer_interface::InvalidKey;
use wafer_interface::Isolation;
use wafer_policies as policy;
use wafer_policies::{Destination, GcConfig, RelocationOrder};
use wafer_separation::{Separation, Sizes, death_time};

/// Spare reclaim units required for each generation of each handle that a policy requests. Measured with `gittins` on
/// WARP's three streams: with 4.6 for each handle, one generation writes 12 % less than three; with 11, two are best;
/// from 15 on, three.
const SPARE_PER_GENERATION: u64 = 5;

/// Where garbage collection puts valid data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relocation {
    /// Into the open reclaim unit that the host writes through the same handle (one log).
    Shared,
    /// By isolation: one reclaim unit for all initially isolated handles of a group, one for each
    /// persistently isolated handle.
    ByIsolation,
    /// By handle and by how often the data was relocated, with at most this many generations.
    ByHandle(u8),
    /// By isolation of a handle that is writing at the time, whichever handle wrote the victim.
    ByWriter,
}

impl Relocation {
    /// Returns the number of generations of relocated data that are separated.
    pub(crate) fn generations(self) -> u8 {
        match self {
            Relocation::ByHandle(generations) => generations,
            Relocation::Shared | Relocation::ByIsolation | Relocation::ByWriter => 1,
        }
    }
}

/// Where a device puts data, resolved from its configuration and sizes, and from the requests of its policy if the
/// configuration leaves a choice open.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Where relocated data goes.
    pub relocation: Relocation,
    /// Which pages of a victim fill the open reclaim unit and which go to the next.
    pub order: RelocationOrder,
    /// Separation of data within handles.
    pub separation: Option<Separation>,
    /// Number of handles that may be split at once; all if the rule splits all.
    pub split_handles: u16,
}

impl DeviceConfig {
    /// Checks the configuration, and resolves the sizes and the layout of its device.
    ///
    /// # Errors
    /// Names the key and, if there is one, the nearest value that works.
    pub fn resolve(&self) -> Result<(Geometry, Layout), InvalidKey> {
        let geometry = Geometry::resolve(self)?;
        let layout = Layout::resolve(self, &geometry)?;
        Ok((geometry, layout))
    }
}

impl Layout {
    /// Resolves the layout of a device of these sizes.
    ///
    /// # Errors
    /// Names the key of a choice that contradicts another, or that of a size with which the device could run out of
    /// victims and the smallest size that works.
    pub fn resolve(config: &DeviceConfig, geometry: &Geometry) -> Result<Layout, InvalidKey> {
        let layout = Layout::place(config, geometry)?;
        match layout.missing(geometry, 0) {
            0 => Ok(layout),
            _ => Err(layout.too_few(config, geometry)),
        }
    }

    /// Like [`Self::resolve`], without checking whether there are enough reclaim units.
    fn place(config: &DeviceConfig, geometry: &Geometry) -> Result<Layout, InvalidKey> {
        let gc = &config.gc;
        let policy = policy::find(&gc.policy);
        let mut layout = Layout {
            relocation: relocation(config, policy.map(|policy| policy.destination))?,
            order: gc.order,
            separation: gc.separation,
            split_handles: geometry.handles,
        };
        if gc.destination.is_none() && gc.separation.is_none() {
            layout.fit_generations(geometry);
            layout.separation = policy.and_then(|policy| policy.separation);
            layout.fit_asked(geometry);
        }
        layout.fit_separation(geometry, gc.separation.is_some());
        Ok(layout)
    }

    /// Limits the generations that a policy requested to what the spare reclaim units allow: each generation keeps one
    /// reclaim unit open for each handle.
    fn fit_generations(&mut self, geometry: &Geometry) {
        if let Relocation::ByHandle(generations) = &mut self.relocation {
            let logs = u64::from(geometry.handles) * u64::from(geometry.groups);
            *generations = (most_open(geometry) / logs).clamp(1, u64::from(*generations)) as u8;
        }
    }

    /// Drops the separation that a policy requests unless the spare reclaim units allow it for all handles. With one
    /// log, there is none.
    fn fit_asked(&mut self, geometry: &Geometry) {
        let Some(rule) = self.separation.filter(|rule| *rule != Separation::DeathTime) else {
            return;
        };
        let logs = u64::from(geometry.handles) * u64::from(geometry.groups);
        let relocated = rule.relocated_classes(0);
        let open = logs * u64::from(rule.host_classes() + relocated);
        let fits = most_open(geometry) >= open;
        match &mut self.relocation {
            Relocation::ByHandle(classes) if fits => *classes = relocated,
            _ => self.separation = None,
        }
    }

    /// Limits the number of handles that separation by death time may split, each with many open reclaim units, to what
    /// the spare reclaim units allow in addition to the generations; at least one handle if the configuration names the
    /// rule. With one log, there is nothing to split.
    fn fit_separation(&mut self, geometry: &Geometry, named: bool) {
        if self.separation != Some(Separation::DeathTime) {
            return;
        }
        let Relocation::ByHandle(generations) = self.relocation else {
            self.separation = None;
            return;
        };
        let (handles, groups) = (u64::from(geometry.handles), u64::from(geometry.groups));
        let generations = generations - u8::from(named);
        let others = handles * groups * (1 + u64::from(generations));
        let each = groups * u64::from(death_time::CLASSES + 1);
        let fit = most_open(geometry).saturating_sub(others) / each;
        self.split_handles = fit.clamp(u64::from(named), handles) as u16;
        if self.split_handles == 0 {
            self.separation = None;
        } else {
            self.relocation = Relocation::ByHandle(generations + 1);
        }
    }

    /// Returns the maximum memory of a device in bytes: the map, the segment table at its limit, and the reclaim unit
    /// table.
    pub fn memory_bytes(&self, geometry: &Geometry) -> u64 {
        let births = if self.separation.is_some() { 16 } else { 0 };
        geometry.logical_pages * 4
            + geometry.segment_limit() as u64 * (21 + births)
            + u64::from(geometry.ru_count) * 128
    }

    /// Returns the number of handles whose commands are counted: all for [`Relocation::ByWriter`], otherwise none.
    pub(crate) fn counted_writers(&self, geometry: &Geometry) -> u16 {
        if self.relocation == Relocation::ByWriter { geometry.handles } else { 0 }
    }

    /// Returns the number of destinations among which a policy may choose for a victim.
    pub(crate) fn destination_classes(&self, geometry: &Geometry) -> u8 {
        // There are at most 128 handles.
        self.relocation.generations().max(self.counted_writers(geometry) as u8)
    }

    /// Returns the number of open reclaim units of a handle for host writes, one for each class.
    pub(crate) fn host_classes(&self) -> u32 {
        self.separation.map_or(1, |rule| u32::from(rule.host_classes()))
    }

    pub(crate) fn separation_sizes(&self, geometry: &Geometry) -> Sizes {
        Sizes {
            logical_pages: geometry.logical_pages,
            handles: geometry.handles,
            split_handles: self.split_handles,
            relocated_classes: self.relocation.generations(),
        }
    }

    /// Returns the maximum number of open reclaim units of a group: those of hosts and those of relocation.
    fn open_per_group(&self, geometry: &Geometry) -> u32 {
        let handles = u32::from(geometry.handles);
        let persistent = geometry.isolation.iter().filter(|i| **i == Isolation::Persistently);
        let persistent = persistent.count() as u32;
        match self.relocation {
            Relocation::Shared => handles,
            Relocation::ByIsolation | Relocation::ByWriter => {
                handles + persistent + u32::from(persistent < handles)
            }
            Relocation::ByHandle(generations) if self.separation == Some(Separation::DeathTime) => {
                handles * u32::from(generations)
                    + u32::from(self.split_handles) * self.host_classes()
            }
            Relocation::ByHandle(generations) => {
                handles * (self.host_classes() + u32::from(generations))
            }
        }
    }

    /// Returns how many reclaim units a device of one group can lose without running out of victims.
    pub(crate) fn may_retire(&self, geometry: &Geometry) -> u32 {
        // A device that changes its arrangement has one more reclaim unit open.
        let usable = usable(geometry, self.open_per_group(geometry) + 1);
        usable.saturating_sub(needed(geometry)) as u32
    }

    /// Returns how many more reclaim units the device needs so as never to run out of victims, with `more` additional
    /// open ones in each group.
    ///
    /// When GC is forced in a group, at most `forced_free` of its reclaim units are free and at most `open_per_group`
    /// plus `more` are open. If the rest can hold more than all logical pages, one of them has an invalid page, so
    /// collecting it gains space and the device cannot get stuck.
    pub(crate) fn missing(&self, geometry: &Geometry, more: u32) -> u64 {
        needed(geometry).saturating_sub(usable(geometry, self.open_per_group(geometry) + more))
    }

    /// Returns the error of a device that could run out of victims.
    fn too_few(&self, config: &DeviceConfig, geometry: &Geometry) -> InvalidKey {
        let smallest = match smallest(config, geometry) {
            Ok(smallest) => smallest,
            Err(invalid) => return invalid,
        };
        let groups = u32::from(geometry.groups);
        InvalidKey::new(
            ru_count_key(config),
            format!(
                "{} reclaim units leave no victim for garbage collection: {} hold the capacity, \
                 {} stay free and {} are open; {smallest}",
                geometry.ru_count,
                needed(geometry) - 1,
                geometry.forced_free(geometry.group_range(0).len() as u32) * groups,
                self.open_per_group(geometry) * groups,
            ),
        )
    }
}

/// Returns a text with the smallest number of reclaim units, or over-provisioning, with which a device never runs out
/// of victims.
fn smallest(config: &DeviceConfig, geometry: &Geometry) -> Result<String, InvalidKey> {
    if u32::try_from(needed(geometry)).is_err() {
        return Err(InvalidKey::new("reclaim_unit.size", "too small for the capacity"));
    }
    let by_op = ru_count_key(config) == "overprovisioning";
    let most = 100 * (needed(geometry) + 1000);
    let mut count = u64::from(geometry.ru_count);
    // Over-provisioning in ten-thousandths, as printed.
    let mut op = 0;
    loop {
        if by_op {
            op = (overprovisioning_of(config, count) * 1e4).ceil() as u64;
            let units = |op: u64| units_of(config, op as f64 / 1e4);
            // If nothing was rounded up, binary fractions may lose one unit.
            op += u64::from(units(op) < count);
            count = units(op);
        }
        let ru_count = u32::try_from(count).ok().filter(|count| u64::from(*count) <= most);
        let ru_count = ru_count.ok_or_else(|| {
            let message = format!("{} leaves no reclaim unit for data", config.gc.forced_free);
            InvalidKey::new("gc.forced_free", message)
        })?;
        let larger = Geometry { ru_count, ..geometry.clone() };
        // With more spare reclaim units, a policy may keep more of them open.
        match Layout::place(config, &larger)?.missing(&larger, 0) {
            0 => break,
            missing => count += missing,
        }
    }
    Ok(match (by_op, op as f64 / 1e4) {
        (true, op) if op > MOST_OVERPROVISIONING => {
            format!("it would take {op:.4}, and {MOST_OVERPROVISIONING} is the most")
        }
        (true, op) => format!("the smallest value that works is {op:.4}"),
        (false, _) => format!("the smallest value that works is {count}"),
    })
}

/// Returns the number of reclaim units that hold more than all logical pages.
fn needed(geometry: &Geometry) -> u64 {
    geometry.logical_pages / u64::from(geometry.pages_per_ru) + 1
}

/// Returns the number of reclaim units that can hold data when GC is forced, while `open` are open in each group.
fn usable(geometry: &Geometry, open: u32) -> u64 {
    let of_group = |group| {
        let rus = geometry.group_range(group).len() as u32;
        u64::from(rus.saturating_sub(geometry.forced_free(rus)).saturating_sub(open))
    };
    (0..geometry.groups).map(of_group).sum()
}

/// Returns the number of reclaim units that a policy may keep open for separated data.
fn most_open(geometry: &Geometry) -> u64 {
    let logical = geometry.logical_pages.div_ceil(u64::from(geometry.pages_per_ru));
    u64::from(geometry.ru_count).saturating_sub(logical) / SPARE_PER_GENERATION
}

/// Returns where relocated data goes: where the configuration specifies or else where the policy requests.
fn relocation(config: &DeviceConfig, asked: Option<Destination>) -> Result<Relocation, InvalidKey> {
    let GcConfig { separation, destination, generations, separate, .. } = config.gc;
    range("gc.generations", generations.into(), 8)?;
    let one_log = !config.fdp && !separate;
    if let Some(rule) = separation {
        InvalidKey::unless(destination.is_none() && !one_log, "gc.separation", || {
            "places relocated data itself: not with gc.destination or gc.separate = false"
                .to_owned()
        })?;
        return Ok(Relocation::ByHandle(rule.relocated_classes(generations)));
    }
    if one_log {
        let holds = matches!(destination, None | Some(Destination::Host));
        InvalidKey::unless(holds, "gc.destination", || {
            "gc.separate = false already says that relocated data goes where the host writes"
                .to_owned()
        })?;
        return Ok(Relocation::Shared);
    }
    Ok(match destination.or(asked).unwrap_or(Destination::Isolation) {
        Destination::Host => Relocation::Shared,
        Destination::Isolation => Relocation::ByIsolation,
        Destination::Handle => Relocation::ByHandle(1),
        Destination::Generation => Relocation::ByHandle(generations),
        Destination::Writer => Relocation::ByWriter,
        Destination::Shared => {
            let all = isolation(config)?;
            let persistent = all.iter().position(|i| *i == Isolation::Persistently);
            InvalidKey::unless(persistent.is_none(), "gc.destination", || {
                let handle = persistent.unwrap_or_default();
                format!(
                    "\"shared\" would mix data of handle {handle}, which is persistently isolated"
                )
            })?;
            Relocation::ByIsolation
        }
    })
}
