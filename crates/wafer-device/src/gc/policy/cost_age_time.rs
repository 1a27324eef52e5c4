//! Cost-age-time: the least u / (1 - u) * erases / age, with u the valid share.
//!
//! Cost-benefit with wear in it: a reclaim unit erased often is spared (Chiang, Lee and Chang, "Using
//! data clustering to improve cleaning performance for flash memory", SP&E 1999: cost * time of
//! erasing / age).

use super::{PolicyInfo, RuView, VictimPolicy};
use crate::config::Destination;
use wafer_interface::RuId;

pub(super) const INFO: PolicyInfo = PolicyInfo {
    name: "cost-age-time",
    summary: "least u / (1 - u) * erases / age, u = valid share",
    destination: Destination::Isolation,
    separation: None,
    make: |_| Ok(Box::new(CostAgeTime)),
};

struct CostAgeTime;

impl VictimPolicy for CostAgeTime {
    fn select(&mut self, rus: &mut RuView<'_>) -> Option<RuId> {
        let pages = f64::from(rus.pages_per_ru());
        let mut best: Option<(f64, RuId)> = None;
        for (ru, valid) in rus.candidates() {
            if valid == 0 {
                return Some(ru);
            }
            let cost = f64::from(valid) / (pages - f64::from(valid));
            // One erase more, so that fresh reclaim units are told apart by cost and age.
            let score = cost * f64::from(rus.erases(ru) + 1) / (rus.age(ru) + 1) as f64;
            if best.is_none_or(|(least, _)| score < least) {
                best = Some((score, ru));
            }
        }
        best.map(|(_, ru)| ru)
    }
}
