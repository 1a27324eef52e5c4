//! Windowed greedy: the fewest valid pages among those closed first.
//!
//! Between FIFO (a window of one) and greedy (a window of all): young reclaim units, which are still getting
//! emptier, are left alone (Hu et al., "Write amplification analysis in flash-based solid state drives", SYSTOR
//! '09).

use wafer_interface::RuId;

use super::interface::{PolicyInfo, RuView};
use wafer_interface::InvalidKey;

pub(super) const INFO: PolicyInfo = PolicyInfo::by_isolation(
    "windowed-greedy",
    "fewest valid pages among the oldest gc.window share",
    |config| {
        let share = config.window;
        InvalidKey::unless(share > 0.0 && share <= 1.0, "gc.window", || {
            format!("{share} is not between 0 (exclusive) and 1")
        })?;
        let mut memory = Vec::new();
        Ok(Box::new(move |rus: &mut RuView<'_>| least_of_oldest(rus, share, &mut memory)))
    },
);

/// Returns the candidate with the fewest valid pages within the `share` closed first; `oldest` is kept to reuse its
/// memory.
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
