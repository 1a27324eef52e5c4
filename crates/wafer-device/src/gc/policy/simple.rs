//! Policies of valid counts and the order of closing, which keep nothing between two choices.

use super::{PolicyInfo, RuView};
use crate::error::ensure;
use wafer_interface::RuId;

/// The first of equals. Cheapest at the moment, and what today's firmware is taken to do (WARP, FAST '26,
/// section 5). Optimal for uniform random traffic (Hu et al., SYSTOR '09).
pub(super) const GREEDY: PolicyInfo =
    PolicyInfo::by_isolation("greedy", "fewest valid pages; today's firmware", |_| {
        Ok(Box::new(|rus: &mut RuView<'_>| rus.least_valid()))
    });

/// The log-structured store without cleaning policy: closed forms T1 and T6 (Desnoyers, SYSTOR '12;
/// Xiang and Kurkoski, arXiv 1110.4245).
pub(super) const FIFO: PolicyInfo =
    PolicyInfo::by_isolation("fifo", "closed first, whatever it holds", |_| {
        Ok(Box::new(|rus: &mut RuView<'_>| {
            rus.candidates().map(|(ru, _)| ru).min_by_key(|ru| rus.closed_order(*ru))
        }))
    });

/// WAF = (1 + OP) / OP under any traffic (closed form T4; Van Houdt, SIGMETRICS '13, d = 1).
pub(super) const RANDOM: PolicyInfo =
    PolicyInfo::by_isolation("random", "any with equal probability", |_| {
        Ok(Box::new(|rus: &mut RuView<'_>| rus.draw_candidate()))
    });

/// Near greedy at a cost that does not grow with the device, and it resists traffic that fools greedy
/// (Van Houdt, SIGMETRICS '13; closed form T5).
pub(super) const D_CHOICES: PolicyInfo = PolicyInfo::by_isolation(
    "d-choices",
    "fewest valid pages among gc.choices drawn at random",
    |config| {
        let choices = config.choices;
        ensure((1..=10_000).contains(&choices), "gc.choices", || {
            format!("{choices} is not between 1 and 10000")
        })?;
        Ok(Box::new(move |rus: &mut RuView<'_>| least_of_drawn(rus, choices)))
    },
);

/// Between FIFO (a window of one) and greedy (a window of all): young reclaim units, which are still getting
/// emptier, are left alone (Hu et al., "Write amplification analysis in flash-based solid state drives",
/// SYSTOR '09).
pub(super) const WINDOWED_GREEDY: PolicyInfo = PolicyInfo::by_isolation(
    "windowed-greedy",
    "fewest valid pages among the gc.window share closed first",
    |config| {
        let share = config.window;
        ensure(share > 0.0 && share <= 1.0, "gc.window", || {
            format!("{share} is not between 0 (exclusive) and 1")
        })?;
        let mut memory = Vec::new();
        Ok(Box::new(move |rus: &mut RuView<'_>| least_of_oldest(rus, share, &mut memory)))
    },
);

/// Returns the candidate with the fewest valid pages among `choices` drawn at random.
fn least_of_drawn(rus: &mut RuView<'_>, choices: u32) -> Option<RuId> {
    let mut best: Option<(u32, RuId)> = None;
    for _ in 0..choices {
        let ru = rus.draw_candidate()?;
        let valid = rus.valid(ru)?;
        if best.is_none_or(|(least, _)| valid < least) {
            best = Some((valid, ru));
        }
    }
    best.map(|(_, ru)| ru)
}

/// Returns the candidate with the fewest valid pages within the `share` closed first; `oldest` is kept for
/// its memory.
fn least_of_oldest(
    rus: &mut RuView<'_>,
    share: f64,
    oldest: &mut Vec<(u64, u32, RuId)>,
) -> Option<RuId> {
    oldest.clear();
    oldest.extend(rus.candidates().map(|(ru, valid)| (rus.closed_order(ru), valid, ru)));
    let all = oldest.len();
    let window = ((all as f64 * share) as usize).clamp(1, all.max(1));
    if window < all {
        oldest.select_nth_unstable(window - 1);
    }
    let within = oldest.iter().take(window);
    within.min_by_key(|(order, valid, _)| (*valid, *order)).map(|(_, _, ru)| *ru)
}
