//! Greedy: the fewest valid pages, the first of equals.
//!
//! Cheapest at the moment, and what today's firmware is taken to do (WARP, FAST '26, section 5).
//! Optimal for uniform random traffic (Hu et al., SYSTOR '09).

use super::{PolicyInfo, RuView, VictimPolicy};
use crate::config::Destination;
use wafer_interface::RuId;

pub(super) const INFO: PolicyInfo = PolicyInfo {
    name: "greedy",
    summary: "fewest valid pages; today's firmware",
    destination: Destination::Isolation,
    separation: None,
    make: |_| Ok(Box::new(Greedy)),
};

struct Greedy;

impl VictimPolicy for Greedy {
    fn select(&mut self, rus: &mut RuView<'_>) -> Option<RuId> {
        rus.least_valid()
    }
}
