//! Hazard: the least rate at which waiting saves relocations, h V / (P - V).
//!
//! V of P pages are valid; h is the share of them invalidated per host page at this age in this class.
//! It is the gain of waiting one moment more for the dead space that is held meanwhile; with one
//! class and a constant h the order is that of greedy. A step from cost-benefit, whose age stands
//! for 1/h (Rosenblum and Ousterhout, LFS, SOSP '91), to a measured h.

use super::survival::{Index, Known, Track};
use super::{Learned, PolicyInfo, RuView, VictimPolicy};
use crate::config::Destination;
use wafer_interface::RuId;

pub(super) const INFO: PolicyInfo = PolicyInfo {
    name: "hazard",
    summary: "least h * V / (P - V), h = measured rate of invalidation by age and handle",
    destination: Destination::Isolation,
    separation: None,
    make: |_| Ok(Box::new(Hazard(Known::default()))),
};

struct Hazard(Known);

struct Rate;

impl Index for Rate {
    fn value(&self, known: &Known, track: &Track) -> f64 {
        let valid = f64::from(track.valid);
        known.hazard(track) * valid / (known.pages - valid) * known.device
    }
}

impl VictimPolicy for Hazard {
    fn select(&mut self, rus: &mut RuView<'_>) -> Option<RuId> {
        self.0.select(rus, &mut Rate)
    }

    fn save(&self) -> Option<Learned> {
        Some(Learned::pack(&self.0))
    }

    fn load(&mut self, learned: &Learned, rus: &RuView<'_>) -> Result<(), String> {
        self.0 = Known::load(learned, rus)?;
        Ok(())
    }
}
