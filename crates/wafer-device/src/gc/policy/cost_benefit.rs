//! Cost-benefit: the largest (1 - u) * age / u, with u the valid share and age the host pages written
//! since the reclaim unit was closed.
//!
//! Old reclaim units are worth collecting at a higher valid share than young ones, which will get
//! emptier by themselves (Rosenblum and Ousterhout, LFS, SOSP '91; the form without the cost of
//! reading, as in Kawaguchi et al., USENIX '95).

use super::{PolicyInfo, RuView, VictimPolicy};
use crate::config::Destination;
use wafer_interface::RuId;

pub(super) const INFO: PolicyInfo = PolicyInfo {
    name: "cost-benefit",
    summary: "largest (1 - u) * age / u, u = valid share",
    destination: Destination::Isolation,
    separation: None,
    make: |_| Ok(Box::new(CostBenefit)),
};

struct CostBenefit;

impl VictimPolicy for CostBenefit {
    fn select(&mut self, rus: &mut RuView<'_>) -> Option<RuId> {
        let pages = f64::from(rus.pages_per_ru());
        let mut best: Option<(f64, RuId)> = None;
        for (ru, valid) in rus.candidates() {
            if valid == 0 {
                return Some(ru);
            }
            // One page of age keeps the order by valid share among reclaim units closed just now.
            let age = (rus.age(ru) + 1) as f64;
            let score = (pages - f64::from(valid)) * age / f64::from(valid);
            if best.is_none_or(|(highest, _)| score > highest) {
                best = Some((score, ru));
            }
        }
        best.map(|(_, ru)| ru)
    }
}
