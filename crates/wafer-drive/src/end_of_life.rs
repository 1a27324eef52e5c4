//! The end of a drive's life: worn out media accept no more writes. Reads continue.
//!
//! Source: NVMe Base 2.1, SMART / Health Information log page, Critical Warning bit 3 and Available Spare; NVM Command
//! Set 1.1, Attempted Write to Read Only Range. Writes that the drive has yet to count when its life ends still count.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use wafer_nvme::Status;

use super::{Drive, Inner};

/// Marks media that are read-only; any other value is the spare in percent.
const ENDED: u8 = u8::MAX;

/// The remaining spare of the media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spare {
    /// Reclaim units that can still be retired, in percent of those of a fresh drive; 100 if units are never retired.
    pub percent: u8,
    /// Whether the media are read-only.
    pub read_only: bool,
}

impl Spare {
    fn of(number: u8) -> Spare {
        let read_only = number == ENDED;
        Spare { percent: if read_only { 0 } else { number }, read_only }
    }
}

type Notify = Box<dyn Fn(Spare, Spare) + Send + Sync>;

/// The spare, readable without the lock of the drive, and the callback for changes.
pub(crate) struct EndOfLife {
    spare: AtomicU8,
    notify: OnceLock<Notify>,
}

impl Default for EndOfLife {
    fn default() -> Self {
        EndOfLife { spare: AtomicU8::new(100), notify: OnceLock::new() }
    }
}

impl Drive {
    /// Returns the remaining spare of the media.
    pub fn spare(&self) -> Spare {
        Spare::of(self.end_of_life.spare.load(Ordering::Relaxed))
    }

    /// Checks that the media accept writes.
    ///
    /// # Errors
    /// `READ_ONLY_RANGE`: they are worn out. This is permanent.
    pub fn check_media(&self) -> Result<(), Status> {
        if self.spare().read_only { Err(Status::READ_ONLY_RANGE) } else { Ok(()) }
    }

    /// Has `notify` called with the spare before and after each change. It must not use the drive, whose lock is held.
    /// Only the first call has an effect.
    pub fn on_spare(&self, notify: impl Fn(Spare, Spare) + Send + Sync + 'static) {
        let _ = self.end_of_life.notify.set(Box::new(notify));
    }

    /// Updates the spare from the device.
    pub(crate) fn note_spare(&self, inner: &Inner) {
        let ended = inner.device.check_writable();
        let percent = inner.device.spare_percent().unwrap_or(100);
        let now = if ended.is_err() { ENDED } else { percent };
        let before = self.end_of_life.spare.swap(now, Ordering::Relaxed);
        if before == now {
            return;
        }
        if let Err(ended) = ended {
            tracing::error!("{ended}; it refuses writes from now on");
        }
        if let Some(notify) = self.end_of_life.notify.get() {
            notify(Spare::of(before), Spare::of(now));
        }
    }
}
