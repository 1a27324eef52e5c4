//! d-choices: the fewest valid pages among `gc.choices` drawn at random.
//!
//! Near greedy at a cost that does not grow with the device, and it resists traffic that fools
//! greedy (Van Houdt, SIGMETRICS '13; closed form T5).

use super::{PolicyInfo, RuView, VictimPolicy};
use crate::config::Destination;
use crate::error::ConfigError;
use wafer_interface::RuId;

pub(super) const INFO: PolicyInfo = PolicyInfo {
    name: "d-choices",
    summary: "fewest valid pages among gc.choices drawn at random",
    destination: Destination::Isolation,
    separation: None,
    make: |config| {
        if config.choices == 0 || config.choices > 10_000 {
            let message = format!("{} is not between 1 and 10000", config.choices);
            return Err(ConfigError::new("gc.choices", message));
        }
        Ok(Box::new(DChoices { choices: config.choices }))
    },
};

struct DChoices {
    choices: u32,
}

impl VictimPolicy for DChoices {
    fn select(&mut self, rus: &mut RuView<'_>) -> Option<RuId> {
        let mut best: Option<(u32, RuId)> = None;
        for _ in 0..self.choices {
            let ru = rus.draw_candidate()?;
            let valid = rus.valid(ru)?;
            if best.is_none_or(|(least, _)| valid < least) {
                best = Some((valid, ru));
            }
        }
        best.map(|(_, ru)| ru)
    }
}
