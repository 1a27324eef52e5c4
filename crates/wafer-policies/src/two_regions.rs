//! 2R: the reclaim unit closed first of those that are empty enough (Kang, Choi, Oh and Lee, "2R: efficiently isolating
//! cold pages in flash storages", VLDB '20).
//!
//! The paper keeps relocated data in a separate region, as `gc.destination = "isolation"` does, and scans the blocks of
//! both in order of filling for one that is at most half valid. If it finds none in the first seven tenths, it retries
//! with a limit higher by five hundredths. Here each search begins with the oldest instead of where the last one ended,
//! so that the policy is stateless.

use wafer_interface::RuId;

use super::interface::{PolicyInfo, RuView};

/// Valid share below which a reclaim unit is taken at first, and its increment, in hundredths.
const AT_FIRST: u64 = 50;
const STEP: usize = 5;
/// Share of the reclaim units that a search examines, in tenths.
const DEPTH: usize = 7;

pub(super) const INFO: PolicyInfo = PolicyInfo::by_isolation(
    "2r",
    "oldest that is less than half valid, then with a rising limit (2R)",
    |_| {
        let mut memory = Vec::new();
        Ok(Box::new(move |rus: &mut RuView<'_>| first_empty_enough(rus, &mut memory)))
    },
);

/// Returns the oldest candidate that is empty enough; `oldest` is kept to reuse its memory.
fn first_empty_enough(rus: &RuView<'_>, oldest: &mut Vec<(u64, u32, RuId)>) -> Option<RuId> {
    oldest.clear();
    oldest.extend(rus.candidates().map(|(ru, valid)| (rus.closed_order(ru), valid, ru)));
    oldest.sort_unstable();
    let looked_at = (oldest.len() * DEPTH / 10).max(1);
    let pages = u64::from(rus.pages_per_ru);
    (AT_FIRST..=100 + STEP as u64).step_by(STEP).find_map(|hundredths| {
        let mut found = oldest.iter().take(looked_at);
        let found = found.find(|(_, valid, _)| u64::from(*valid) * 100 < hundredths * pages);
        found.map(|(_, _, ru)| *ru)
    })
}
