//! Greedy: the fewest valid pages.
//!
//! The first of equals. Cheapest in the short term, and assumed to be what today's firmware does (WARP, FAST '26,
//! section 5). Optimal for uniform random traffic (Hu et al., SYSTOR '09).

use super::interface::{PolicyInfo, RuView};

pub(super) const INFO: PolicyInfo =
    PolicyInfo::by_isolation("greedy", "fewest valid pages; today's firmware", |_| {
        Ok(Box::new(|rus: &mut RuView<'_>| rus.least_valid()))
    });
