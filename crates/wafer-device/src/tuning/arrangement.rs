//! Arrangements: the choices of an adaptive device, and the change from one to another.

use crate::config::DeviceConfig;
use crate::device::Device;
use crate::flash::mapping::UNMAPPED;
use crate::geometry::Geometry;
use crate::layout::{Layout, Relocation};
use crate::slots::Slots;
use crate::tuning::Tuner;
use wafer_interface::{Isolation, Observer, Owner};
use wafer_policies as policy;
use wafer_policies::{Contents, Destination, GcConfig, State};
use wafer_separation::Separation;

/// A policy with a destination and a separation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Arrangement {
    pub(crate) gc: GcConfig,
    pub(crate) layout: Layout,
}

type Choice = (&'static str, Option<Destination>, Option<Separation>);

/// Spare reclaim units below which the first arrangement is greedy, which keeps the fewest of them open.
const FEW_SPARE: u64 = 64;

/// Returns whether few reclaim units are spare.
pub(crate) fn few_spare(geometry: &Geometry) -> bool {
    let needed = geometry.logical_pages / u64::from(geometry.pages_per_ru);
    u64::from(geometry.ru_count).saturating_sub(needed) < FEW_SPARE
}

/// Arrangements to try in addition to the first and to `gittins` with the configured settings.
const CHOICES: &[Choice] = &[
    ("greedy", Some(Destination::Isolation), None),
    ("cost-benefit", Some(Destination::Isolation), None),
    ("cost-benefit", Some(Destination::Generation), None),
    ("cost-benefit", None, Some(Separation::Sepbit)),
    ("cost-benefit", None, Some(Separation::MultiLog)),
    ("gittins", Some(Destination::Isolation), None),
    ("gittins", None, Some(Separation::MultiLog)),
    ("look-ahead", None, Some(Separation::MultiLog)),
    ("cost-benefit", None, Some(Separation::AutoStream)),
    ("gittins", None, Some(Separation::AutoStream)),
    ("cost-benefit", None, Some(Separation::Fadac)),
    ("hazard", Some(Destination::Isolation), None),
    ("hazard", None, Some(Separation::MultiLog)),
];

/// Returns the arrangements that are possible with these sizes, starting with the initial one. If the configuration
/// sets destination or separation, that applies to all.
pub(crate) fn arrangements(config: &DeviceConfig, geometry: &Geometry) -> Vec<Arrangement> {
    let fixed = config.gc.destination.is_some() || config.gc.separation.is_some();
    let mut found: Vec<Arrangement> = Vec::new();
    let first = few_spare(geometry).then_some(CHOICES[0]);
    let default = ("gittins", config.gc.destination, config.gc.separation);
    for (policy, destination, separation) in first.iter().chain([&default]).chain(CHOICES) {
        let mut gc = GcConfig { policy: (*policy).to_owned(), ..config.gc.clone() };
        if !fixed {
            (gc.destination, gc.separation) = (*destination, *separation);
        }
        let config = DeviceConfig { gc: gc.clone(), ..config.clone() };
        let layout = Layout::resolve(&config, geometry);
        let works = layout.ok().filter(|layout| layout.missing(geometry, 1) == 0);
        match works {
            Some(layout) => {
                let arrangement = Arrangement { gc, layout };
                if !found.contains(&arrangement) {
                    found.push(arrangement);
                }
            }
            // Not even the first leaves room for a change.
            None if found.is_empty() => return found,
            None => {}
        }
    }
    found
}

/// Returns a numbering for the open reclaim units of all of these.
pub(crate) fn numbering(geometry: &Geometry, all: &[Arrangement]) -> Slots {
    let all = all.iter().map(|of| Slots::new(geometry, &of.layout));
    all.fold(Slots::of(geometry.handles.into(), 1, 1), |a, b| {
        Slots::of(a.handles, a.generations.max(b.generations), a.classes.max(b.classes))
    })
}

/// Returns whether any of these may relocate data of several handles into shared reclaim units.
pub(crate) fn mixes<'a>(geometry: &Geometry, mut all: impl Iterator<Item = &'a Layout>) -> bool {
    let by_isolation =
        |of: &Layout| matches!(of.relocation, Relocation::ByIsolation | Relocation::ByWriter);
    all.any(by_isolation) && geometry.isolation.contains(&Isolation::Initially)
}

impl<O: Observer> Device<O> {
    /// Continues with the current arrangement, which has learned nothing yet. Closes the partly written reclaim units
    /// that it would not open. Data stays where it is. If the separation rule changes, all data becomes unclassified,
    /// because a class of one rule means nothing to another. (Multi-log relocates data within its class: with the old
    /// classes, cold data would stay among the hot forever.)
    pub(crate) fn arrange(&mut self, tuner: &Tuner) {
        let Arrangement { gc, layout } = tuner.current();
        let other_rule = self.layout.separation != layout.separation;
        self.layout = layout.clone();
        self.policy = policy::make(gc).expect("resolved before");
        let sizes = layout.separation_sizes(&self.geometry);
        self.separation = layout.separation.map(|rule| rule.rule(&sizes));
        for slot in 0..self.slots.len() as u32 {
            let open = self.slots[slot as usize].ru != crate::flash::segment::NONE;
            // Data of a class that the new rule rarely uses would hold its reclaim unit and the space left in it
            // forever.
            let Contents { class, generation, .. } = self.numbering.contents(slot);
            let classed = other_rule && (class > 0 || generation > 0);
            if open && (classed || !self.may_open(slot) || self.groups_unsplit(slot)) {
                self.close_slot(slot);
            }
        }
        if other_rule {
            self.forget_classes(mixes(&self.geometry, tuner.layouts()));
        }
        // Predictions of another rule: this one has not split any handle.
        self.rus.units.iter_mut().for_each(|unit| unit.death_time = 0);
    }

    /// Gives closed reclaim units the class that the rule assigns to unknown data. Relocated data joins the relocated
    /// data shared by handles, if allowed: being mostly cold, it would otherwise be moved repeatedly along with newer
    /// data of a class.
    fn forget_classes(&mut self, mixes: bool) {
        let unknown = self.segments.content(UNMAPPED, &self.rus.units, self.clock);
        let rule = self.separation.as_ref().filter(|rule| rule.splits_all());
        let class = rule.map_or(0, |rule| rule.host_class(0, unknown, self.clock).0);
        let handles = usize::from(self.geometry.handles);
        let mut shared = 0;
        for (unit, valid) in self.rus.units.iter_mut().zip(&self.rus.valid) {
            let Owner::Handle(handle) = unit.owner else { continue };
            if unit.state != State::Closed {
                continue;
            }
            let may_share = self.geometry.isolation[handle.index()] == Isolation::Initially;
            if mixes && may_share && unit.generation > 0 {
                (unit.owner, unit.class, unit.generation) = (Owner::Gc, 0, 1);
                unit.origins = vec![0.0; handles];
                unit.origins[handle.index()] = f64::from(*valid);
                shared += u64::from(*valid) * self.geometry.page_bytes;
            } else {
                (unit.class, unit.generation) = (class, 0);
            }
        }
        let gc = &mut self.handles[handles];
        gc.host_bytes += shared;
        gc.media_bytes += shared;
    }
}
