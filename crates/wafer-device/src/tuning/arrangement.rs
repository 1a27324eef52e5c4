//! Arrangements: the choices of an adaptive device.

use crate::config::DeviceConfig;
use crate::geometry::Geometry;
use crate::layout::{Layout, Relocation};
use crate::slots::Slots;
use wafer_interface::Isolation;
use wafer_policies::{Destination, GcConfig};
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
