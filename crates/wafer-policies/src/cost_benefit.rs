//! Cost-benefit: the largest (1 - u) * age / u of the valid share u and the age, which is the host pages written
//! since the reclaim unit was closed.
//!
//! Old reclaim units are worth collecting at a higher valid share than young ones, which will get emptier by
//! themselves (Rosenblum and Ousterhout, LFS, SOSP '91; the form without the cost of reading, as in Kawaguchi et
//! al., USENIX '95).

use wafer_interface::RuId;

use super::interface::{PolicyInfo, RuView};

pub(super) const INFO: PolicyInfo =
    PolicyInfo::by_isolation("cost-benefit", "largest (1 - u) * age / u, u = valid share", |_| {
        Ok(Box::new(|rus: &mut RuView<'_>| rus.least_by(negative_benefit)))
    });

/// One page of age keeps the order by valid share among reclaim units closed just now.
fn negative_benefit(rus: &RuView<'_>, ru: RuId, valid: f64) -> f64 {
    -(f64::from(rus.pages_per_ru) - valid) * (rus.age(ru) + 1) as f64 / valid
}
