//! Random: any candidate with equal probability.
//!
//! WAF = (1 + OP) / OP under any traffic (closed form T4; Van Houdt, SIGMETRICS '13, d = 1).

use super::interface::{PolicyInfo, RuView};

pub(super) const INFO: PolicyInfo =
    PolicyInfo::by_isolation("random", "any with equal probability", |_| {
        Ok(Box::new(|rus: &mut RuView<'_>| rus.draw_candidate()))
    });
