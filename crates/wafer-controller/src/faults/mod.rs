//! Faults that an operator injects to test hosts: failing commands, slow reads, SMART values, dropped connections,
//! asynchronous events.
//!
//! They belong to the process, not to the files of the drive. Media errors are the drive's (`wafer_drive`) and are
//! kept like the data that they destroy. Operators inject faults through `wafer_target::control`.

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

/// Maximum number of injected faults per kind.
pub const MOST_FAULTS: usize = 256;

/// There are [`MOST_FAULTS`] of a kind already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there are {MOST_FAULTS} of these faults already; clear some")]
pub struct TooMany;

/// The injected faults.
#[derive(Default)]
pub struct Faults {
    /// Whether commands are to fail or to be slow; without them, queues check nothing else.
    armed: AtomicBool,
    /// Whether the injected Available Spare is zero; writes check nothing else.
    worn_out: AtomicBool,
    injected: Mutex<Injected>,
}

/// Faults of a subsystem, except media errors.
#[derive(Clone, Debug, Default)]
pub struct Injected {
    /// Commands to fail; the first match applies.
    pub failing: Vec<FailingCommand>,
    /// Slow reads.
    pub delays: Vec<ReadDelay>,
    /// SMART values.
    pub health: Health,
}

impl Faults {
    fn lock(&self) -> MutexGuard<'_, Injected> {
        self.injected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_armed(&self) -> bool {
        self.armed.load(Ordering::Relaxed)
    }

    /// Changes the injected commands and delays.
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

    /// Returns the injected SMART values.
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
    /// Returns the injected faults, except media errors.
    pub fn injected(&self) -> Injected {
        self.faults.lock().clone()
    }

    /// Removes all injected command failures.
    pub fn clear_failing(&self) {
        self.faults.change(|injected| injected.failing.clear());
    }

    /// Removes all injected faults, except media errors.
    pub fn clear_faults(&self) {
        self.clear_failing();
        self.faults.change(|injected| injected.delays.clear());
        self.set_health(Health::default());
    }
}
