//! Random: any closed reclaim unit with equal probability.
//!
//! WAF = (1 + OP) / OP under any traffic (closed form T4; Van Houdt, SIGMETRICS '13, d = 1).

use super::{PolicyInfo, RuView, VictimPolicy};
use crate::config::Destination;
use wafer_interface::RuId;

pub(super) const INFO: PolicyInfo = PolicyInfo {
    name: "random",
    summary: "any with equal probability",
    destination: Destination::Isolation,
    separation: None,
    make: |_| Ok(Box::new(Random)),
};

struct Random;

impl VictimPolicy for Random {
    fn select(&mut self, rus: &mut RuView<'_>) -> Option<RuId> {
        rus.draw_candidate()
    }
}
