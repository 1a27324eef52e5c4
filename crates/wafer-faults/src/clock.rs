//! A clock moved by tests.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use wafer_drive::clock::Clock;

/// A clock that only [`Self::advance`] moves.
#[derive(Debug, Default)]
pub struct ManualClock(Mutex<Duration>);

impl ManualClock {
    /// Moves the clock on.
    pub fn advance(&self, by: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += by;
    }
}

impl Clock for ManualClock {
    fn monotonic(&self) -> Duration {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wall(&self) -> Duration {
        self.monotonic()
    }
}
