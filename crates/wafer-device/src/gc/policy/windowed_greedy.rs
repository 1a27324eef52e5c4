//! Windowed greedy: the fewest valid pages among the `gc.window` reclaim units closed first.
//!
//! Between FIFO (a window of one) and greedy (a window of all); young reclaim units, which are still
//! getting emptier, are left alone (Hu et al., "Write amplification analysis in flash-based solid
//! state drives", SYSTOR '09).

use super::{PolicyInfo, RuView, VictimPolicy};
use crate::config::Destination;
use crate::error::ConfigError;
use wafer_interface::RuId;

pub(super) const INFO: PolicyInfo = PolicyInfo {
    name: "windowed-greedy",
    summary: "fewest valid pages among the gc.window share closed first",
    destination: Destination::Isolation,
    separation: None,
    make: |config| {
        if !(config.window > 0.0 && config.window <= 1.0) {
            let message = format!("{} is not between 0 (exclusive) and 1", config.window);
            return Err(ConfigError::new("gc.window", message));
        }
        Ok(Box::new(WindowedGreedy { window: config.window, oldest: Vec::new() }))
    },
};

struct WindowedGreedy {
    window: f64,
    /// Candidates by order of closing; kept for its memory.
    oldest: Vec<(u64, u32, RuId)>,
}

impl VictimPolicy for WindowedGreedy {
    fn select(&mut self, rus: &mut RuView<'_>) -> Option<RuId> {
        self.oldest.clear();
        self.oldest.extend(rus.candidates().map(|(ru, valid)| (rus.closed_order(ru), valid, ru)));
        let all = self.oldest.len();
        let window = ((all as f64 * self.window) as usize).clamp(1, all.max(1));
        if window < all {
            self.oldest.select_nth_unstable(window - 1);
        }
        let within = self.oldest.iter().take(window);
        within.min_by_key(|(order, valid, _)| (*valid, *order)).map(|(_, _, ru)| *ru)
    }
}
