//! Faults that an operator injects, so that hosts can be tested: commands that fail, reads that take long, values of
//! SMART, connections that end, asynchronous events.
//!
//! They belong to the process, not to the files of the drive. Media errors are the drive's (`wafer_drive`): they are
//! kept like the data that they destroy. `wafer_target::control` is how operators get here.

mod commands;
mod delays;
mod events;
mod health;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use commands::FailingCommand;
pub use delays::{MAX_DELAY, ReadDelay};
pub use events::EventKind;
pub use health::Health;

use super::Subsystem;

/// Maximum number of injected faults of a kind.
pub const MOST_FAULTS: usize = 256;

/// There are [`MOST_FAULTS`] already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there are {MOST_FAULTS} of these faults already; clear some")]
pub struct TooMany;

/// What is injected.
#[derive(Default)]
pub struct Faults {
    /// Whether commands are to fail or take long: all that a queue looks at otherwise.
    armed: AtomicBool,
    /// Whether the injected Available Spare is zero: all that writes look at.
    worn_out: AtomicBool,
    injected: Mutex<Injected>,
}

/// Faults of a subsystem, except media errors.
#[derive(Clone, Debug, Default)]
pub struct Injected {
    /// Commands that are to fail, the first that matches first.
    pub failing: Vec<FailingCommand>,
    /// Reads that take long.
    pub delays: Vec<ReadDelay>,
    /// Values of SMART.
    pub health: Health,
}

impl Faults {
    fn lock(&self) -> MutexGuard<'_, Injected> {
        self.injected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_armed(&self) -> bool {
        self.armed.load(Ordering::Relaxed)
    }

    /// Changes commands and delays.
    fn change<T>(&self, change: impl FnOnce(&mut Injected) -> T) -> T {
        let mut injected = self.lock();
        let changed = change(&mut injected);
        let armed = !injected.failing.is_empty() || !injected.delays.is_empty();
        self.armed.store(armed, Ordering::Relaxed);
        changed
    }

    pub(crate) fn is_worn_out(&self) -> bool {
        self.worn_out.load(Ordering::Relaxed)
    }

    /// Returns the injected values of SMART.
    pub(crate) fn health(&self) -> Health {
        self.lock().health.clone()
    }
}

/// Adds a fault, unless there are too many.
fn add<T>(faults: &mut Vec<T>, fault: T) -> Result<(), TooMany> {
    if faults.len() >= MOST_FAULTS {
        return Err(TooMany);
    }
    faults.push(fault);
    Ok(())
}

impl Subsystem {
    /// Returns what is injected, except media errors.
    pub fn injected(&self) -> Injected {
        self.faults.lock().clone()
    }

    /// Has no further command fail for an injected fault.
    pub fn clear_failing(&self) {
        self.faults.change(|injected| injected.failing.clear());
    }

    /// Removes everything injected, except media errors.
    pub fn clear_faults(&self) {
        self.clear_failing();
        self.faults.change(|injected| injected.delays.clear());
        self.set_health(Health::default());
    }
}
