//! Commands that an operator delays.

use tokio::time::Instant;
use wafer_nvme::Sqe;

use super::Queue;

/// A command with an injected delay.
pub(super) struct Delayed {
    pub(super) sqe: Sqe,
    pub(super) due: Instant,
    /// Number of controller level resets when it arrived; a further reset discards it without a completion.
    pub(super) resets: u64,
}

impl Queue {
    /// Returns when the next delayed command is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.delayed.iter().map(|delayed| delayed.due).min()
    }

    /// Executes the delayed commands that are due, until the turn is over.
    pub(super) fn execute_delayed(&mut self, out: &mut Vec<u8>) {
        if self.delayed.is_empty() {
            return;
        }
        let (now, resets) = (Instant::now(), self.resets());
        self.delayed.retain(|delayed| delayed.resets == resets);
        while !self.is_turn_over()
            && let Some(at) = self.delayed.iter().position(|delayed| delayed.due <= now)
        {
            let Delayed { sqe, .. } = self.delayed.remove(at);
            self.execute_io(&sqe, &[], out);
        }
    }
}
