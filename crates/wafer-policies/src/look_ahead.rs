//! Look-ahead: the least gain of waiting, over any time of waiting.
//!
//! Collecting a reclaim unit with V of P pages valid costs c = V / (P - V) relocations per page reclaimed, and has held
//! d = W / (P - V) of dead space times time per page reclaimed, where W is summed since it was closed. The survival of
//! its class predicts c and d after waiting: the index is the largest (c0 - c1) / (d1 - d0). A reclaim unit about to be
//! invalidated entirely, such as that of a sequential stream, has a large index long before. This is the Lagrange
//! condition of least relocations in a given space, as for T8; this form is not known from any publication.

use serde::{Deserialize, Serialize};

use super::interface::PolicyInfo;
use super::survival::{ByIndex, Index, Known, Track};

pub(super) const INFO: PolicyInfo = PolicyInfo::by_isolation(
    "look-ahead",
    "fewest relocations saved per dead space held, over any waiting time",
    |_| Ok(Box::new(ByIndex::<Gain>::default())),
);

#[derive(Default, Serialize, Deserialize)]
struct Gain;

impl Index for Gain {
    fn value(&self, known: &Known, track: &Track) -> f64 {
        let valid = f64::from(track.valid);
        let dead = known.pages - valid;
        let (cost, held) = (valid / dead, track.waste / dead);
        let mut best = 0.0f64;
        known.prospects(track, |then| {
            let dead = known.pages - then.valid;
            let waste = track.waste + known.pages * then.wait - then.lived;
            let more = waste / dead - held;
            if more > 0.0 {
                best = best.max((cost - then.valid / dead) / more);
            }
        });
        best * known.device
    }
}
