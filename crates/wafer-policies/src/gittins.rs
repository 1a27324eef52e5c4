//! Gittins: wafer's policy. The fewest relocations saved by waiting, per dead space held in the meantime, including
//! later relocations of the same pages. `docs/concepts/gittins.md` derives the index:
//!
//! ```text
//! index = (1 + f) * max over t of (V - V(t)) / integral of (P - V(s)) ds from 0 to t
//! ```
//!
//! V of P pages are valid now and V(t) after waiting for t, by the survival of the class (`survival/`). A page of
//! the class costs f relocations later: with v the mean valid share of the class's victims, f = v (1 + f'), f' of
//! the class that takes their pages. Background GC takes only what holds nothing: waiting is worth more than a free
//! reclaim unit.
//!
//! A curve is wrong if addresses of one class are not all rewritten equally often: data that seems cold is collected
//! while nearly full. If space is scarce, that reinforces itself. So no victim may cost more than [`LIMIT`] times the
//! mean of recent victims, plus [`LIMIT_LEAST`], in pages moved per page reclaimed. Optimal shares of spare space need
//! a factor of about 3 (closed form T8: cold classes of 80/20 and JESD219).
//!
//! Relocated data is separated by handle and generation unless `gc.destination` says otherwise: what survives long
//! lives long. If there is enough space, the policy requests separation by inherited death times (`death_time.rs`).
//! State: see `survival/`, and 24 bytes per class.

use serde::{Deserialize, Serialize};

use super::interface::PolicyInfo;
use super::survival::{ByIndex, Index, Known, Track};
use crate::config::Destination;
use wafer_separation::Separation;

pub(super) const INFO: PolicyInfo = PolicyInfo {
    name: "gittins",
    summary: "wafer's: fewest relocations saved by waiting, including later ones, per space held",
    destination: Destination::Generation,
    separation: Some(Separation::DeathTime),
    make: |_| Ok(Box::new(ByIndex::<Costs>::default())),
};

/// Weight of one victim in the mean.
const MEAN_WEIGHT: f64 = 0.002;
/// Maximum cost of a victim, in pages moved per page reclaimed, relative to the mean of recent victims.
const LIMIT: f64 = 3.0;
/// Cost allowed in addition to that.
const LIMIT_LEAST: f64 = 1.0;

/// The victims of one class, decayed.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Flow {
    victims: f64,
    /// Sum of their valid shares.
    moved: f64,
    /// Expected later relocations of a page of the class.
    future: f64,
}

#[derive(Default, Serialize, Deserialize)]
struct Costs {
    flows: Vec<Flow>,
    /// Mean valid share of recent victims; `None` before the first.
    mean: Option<f64>,
}

impl Costs {
    fn future(&self, class: usize) -> f64 {
        self.flows.get(class).map_or(0.0, |flow| flow.future)
    }
}

impl Index for Costs {
    const MOVES_IN_BACKGROUND: bool = false;

    fn value(&self, known: &Known, track: &Track) -> f64 {
        let valid = f64::from(track.valid);
        // Waiting a moment; then ever longer.
        let mut best = known.hazard(track) * valid / (known.pages - valid);
        known.prospects(track, |then| {
            best = best.max((valid - then.valid) / (known.pages * then.wait - then.lived));
        });
        best * known.device * (1.0 + self.future(known.next(track.class.into())))
    }

    fn allowed(&self, known: &Known, track: &Track) -> bool {
        let Some(mean) = self.mean else { return true };
        let valid = f64::from(track.valid);
        valid / (known.pages - valid) <= LIMIT * mean / (1.0 - mean) + LIMIT_LEAST
    }

    fn chosen(&mut self, known: &Known, track: &Track) {
        let class = usize::from(track.class);
        if self.flows.len() <= class {
            self.flows.resize(class + 1, Flow::default());
        }
        let share = f64::from(track.valid) / known.pages;
        let flow = &mut self.flows[class];
        flow.victims += 1.0;
        flow.moved += share;
        let mean = self.mean.get_or_insert(share);
        *mean = (*mean + MEAN_WEIGHT * (share - *mean)).min(0.999);
    }

    fn refreshed(&mut self, known: &Known, fade: f64) {
        for class in 0..self.flows.len() {
            let flow = self.flows[class];
            if flow.victims <= 0.0 {
                continue;
            }
            let moved = flow.moved / flow.victims;
            let next = known.next(class);
            let future = if next == class {
                moved / (1.0 - moved).max(0.01)
            } else {
                moved * (1.0 + self.future(next))
            };
            let (victims, moved) = (flow.victims * fade, flow.moved * fade);
            self.flows[class] = Flow { victims, moved, future };
        }
    }

    fn check(&self, known: &Known) -> Result<(), String> {
        match self.flows.len() {
            classes if classes > known.classes() => Err(format!("{classes} classes have victims")),
            _ => Ok(()),
        }
    }
}
