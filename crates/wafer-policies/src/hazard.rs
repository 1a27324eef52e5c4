//! Hazard: the least rate at which waiting saves relocations, h V / (P - V).
//!
//! V of P pages are valid; h is the share of them invalidated per host page at this age in this class. The index is the
//! gain from waiting a moment longer, per dead space held in the meantime; with one class and a constant h, the order
//! is that of greedy. Cost-benefit's age stands for 1/h (Rosenblum and Ousterhout, LFS, SOSP '91); this policy measures
//! h instead.

use serde::{Deserialize, Serialize};

use super::interface::PolicyInfo;
use super::survival::{ByIndex, Index, Known, Track};

pub(super) const INFO: PolicyInfo = PolicyInfo::by_isolation(
    "hazard",
    "smallest h * V / (P - V), h = measured rate of invalidation by age and handle",
    |_| Ok(Box::new(ByIndex::<Rate>::default())),
);

#[derive(Default, Serialize, Deserialize)]
struct Rate;

impl Index for Rate {
    fn value(&self, known: &Known, track: &Track) -> f64 {
        let valid = f64::from(track.valid);
        known.hazard(track) * valid / (known.pages - valid) * known.device
    }
}
