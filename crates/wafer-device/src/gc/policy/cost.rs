//! Cost policies: the best of a score of the valid share u and the age, which is the host pages written
//! since the reclaim unit was closed.
//!
//! Cost-benefit, the largest (1 - u) * age / u: old reclaim units are worth collecting at a higher valid
//! share than young ones, which will get emptier by themselves (Rosenblum and Ousterhout, LFS, SOSP '91;
//! the form without the cost of reading, as in Kawaguchi et al., USENIX '95).
//!
//! Cost-age-time, the least u / (1 - u) * erases / age: cost-benefit with wear in it, so that a reclaim unit
//! erased often is spared (Chiang, Lee and Chang, "Using data clustering to improve cleaning performance
//! for flash memory", SP&E 1999: cost * time of erasing / age).

use super::{PolicyInfo, RuView};
use wafer_interface::RuId;

pub(super) const BENEFIT: PolicyInfo =
    PolicyInfo::by_isolation("cost-benefit", "largest (1 - u) * age / u, u = valid share", |_| {
        Ok(Box::new(|rus: &mut RuView<'_>| least(rus, negative_benefit)))
    });

pub(super) const AGE_TIME: PolicyInfo = PolicyInfo::by_isolation(
    "cost-age-time",
    "least u / (1 - u) * erases / age, u = valid share",
    |_| Ok(Box::new(|rus: &mut RuView<'_>| least(rus, cost_age_time))),
);

/// Returns the candidate with the least score, or the first without valid pages.
fn least(rus: &RuView<'_>, score: fn(&RuView<'_>, RuId, f64) -> f64) -> Option<RuId> {
    let mut best: Option<(f64, RuId)> = None;
    for (ru, valid) in rus.candidates() {
        if valid == 0 {
            return Some(ru);
        }
        let score = score(rus, ru, f64::from(valid));
        if best.is_none_or(|(least, _)| score < least) {
            best = Some((score, ru));
        }
    }
    best.map(|(_, ru)| ru)
}

/// One page of age keeps the order by valid share among reclaim units closed just now.
fn negative_benefit(rus: &RuView<'_>, ru: RuId, valid: f64) -> f64 {
    -(f64::from(rus.pages_per_ru) - valid) * (rus.age(ru) + 1) as f64 / valid
}

/// One erase more tells fresh reclaim units apart by cost and age.
fn cost_age_time(rus: &RuView<'_>, ru: RuId, valid: f64) -> f64 {
    let cost = valid / (f64::from(rus.pages_per_ru) - valid);
    cost * f64::from(rus.erases(ru) + 1) / (rus.age(ru) + 1) as f64
}
