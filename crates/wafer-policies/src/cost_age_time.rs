//! Cost-age-time: the least u / (1 - u) * erases / age: cost-benefit with wear in it, so that a reclaim unit erased
//! often is spared (Chiang, Lee and Chang, "Using data clustering to improve cleaning performance for flash
//! memory", SP&E 1999: cost * time of erasing / age).

use wafer_interface::RuId;

use super::interface::{PolicyInfo, RuView};

pub(super) const INFO: PolicyInfo = PolicyInfo::by_isolation(
    "cost-age-time",
    "smallest u / (1 - u) * erases / age, u = valid share",
    |_| Ok(Box::new(|rus: &mut RuView<'_>| rus.least_by(cost_age_time))),
);

/// One is added to the erases so that fresh reclaim units are distinguished by cost and age.
fn cost_age_time(rus: &RuView<'_>, ru: RuId, valid: f64) -> f64 {
    let cost = valid / (f64::from(rus.pages_per_ru) - valid);
    cost * f64::from(rus.erases(ru) + 1) / (rus.age(ru) + 1) as f64
}
