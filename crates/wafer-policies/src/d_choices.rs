//! D-choices: the fewest valid pages among some drawn at random.
//!
//! Near greedy at a cost that does not grow with the device, and it resists traffic that fools greedy (Van Houdt,
//! SIGMETRICS '13; closed form T5).

use wafer_interface::RuId;

use super::interface::{PolicyInfo, RuView};
use wafer_interface::InvalidKey;

pub(super) const INFO: PolicyInfo = PolicyInfo::by_isolation(
    "d-choices",
    "fewest valid pages among gc.choices drawn at random",
    |config| {
        let choices = config.choices;
        InvalidKey::unless((1..=10_000).contains(&choices), "gc.choices", || {
            format!("{choices} is not between 1 and 10000")
        })?;
        Ok(Box::new(move |rus: &mut RuView<'_>| least_of_drawn(rus, choices)))
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
