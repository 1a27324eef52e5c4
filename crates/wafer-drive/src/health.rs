//! The health of a drive: whether it can keep its promises.
//!
//! A drive whose files fail continues in memory without promises: until a checkpoint succeeds, it refuses Flush, force
//! unit access and changes of namespaces before anything changes. Once the journal cannot take records, it refuses
//! writes too, and hosts read the counters of that moment, because a restart must never yield lower counters than they
//! have read. Reads continue.

use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use wafer_nvme::{CriticalWarning, HardwareErrorCode, Status};

use super::{Drive, Inner};

/// First and longest interval between attempts to save a failing drive.
const RETRY: Duration = Duration::from_secs(1);
const MAX_RETRY: Duration = Duration::from_secs(30);

/// Whether a drive can keep its promises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// Everything promised is saved, or will be.
    Saved,
    /// A file could not be written. The drive retries until that works.
    Failing {
        /// The error.
        why: String,
        /// When it began, since the drive was opened.
        since: Duration,
    },
    /// The data file failed to sync. The system may have dropped earlier writes, so no later sync proves anything: only
    /// a new server can make promises again.
    Lost {
        /// The error.
        why: String,
    },
}

impl Health {
    /// Returns whether the drive keeps its promises.
    pub fn is_saved(&self) -> bool {
        *self == Health::Saved
    }
}

/// What a drive accepts, in increasing order of restriction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Access {
    All,
    NoPromises,
    ReadOnly,
}

/// When to retry saving a failed drive.
#[derive(Debug, Default)]
pub(crate) struct Retry {
    at: Duration,
    interval: Duration,
}

impl Drive {
    /// Returns the health.
    pub fn health(&self) -> Health {
        self.lock().health.clone()
    }

    /// Returns whether the drive keeps its promises, without taking its lock.
    pub fn is_saved(&self) -> bool {
        self.access.load(Ordering::Relaxed) == Access::All as u8
    }

    /// Has `notify` called at each change of health, with whether the drive keeps its promises. It must not use the
    /// drive, whose lock is held. Only the first call has an effect.
    pub fn on_health(&self, notify: impl Fn(bool) + Send + Sync + 'static) {
        let _ = self.notify.set(Box::new(notify));
    }

    /// Checks that a write can be counted. Call this before data moves.
    ///
    /// # Errors
    /// `WRITE_FAULT`.
    pub fn check_writable(&self) -> Result<(), Status> {
        self.check(Access::NoPromises)
    }

    /// Checks that a change can be made durable. Call this before anything changes.
    ///
    /// # Errors
    /// `WRITE_FAULT`.
    pub fn check_durable(&self) -> Result<(), Status> {
        self.check(Access::All)
    }

    fn check(&self, most: Access) -> Result<(), Status> {
        let access = self.access.load(Ordering::Relaxed);
        if access <= most as u8 { Ok(()) } else { Err(Status::WRITE_FAULT) }
    }

    /// Records an error of a file. `stuck` is whether the journal can take no more records.
    pub(crate) fn fail(&self, inner: &mut Inner, error: &io::Error, stuck: bool) {
        if stuck && !inner.is_stuck() {
            inner.frozen = Some(Box::new(self.counters_of(inner)));
            inner.set_stuck();
        }
        let health = match (self.backend.lost(), &inner.health) {
            (Some(why), _) => Health::Lost { why },
            (None, Health::Failing { since, .. }) => {
                Health::Failing { why: error.to_string(), since: *since }
            }
            _ => Health::Failing { why: error.to_string(), since: self.uptime() },
        };
        self.set_health(inner, health);
    }

    /// Changes the health; nothing else does.
    pub(crate) fn set_health(&self, inner: &mut Inner, health: Health) {
        let before = std::mem::replace(&mut inner.health, health);
        let access = match inner.health {
            Health::Saved => Access::All,
            _ if inner.is_stuck() => Access::ReadOnly,
            _ => Access::NoPromises,
        };
        self.access.store(access as u8, Ordering::Relaxed);
        if std::mem::discriminant(&before) == std::mem::discriminant(&inner.health) {
            return;
        }
        if !inner.health.is_saved() {
            // The warning that SMART reports from now on.
            let warning = CriticalWarning::new().with_unreliable(true).with_read_only(true);
            let bits = [warning.into_bits()];
            inner.log_hardware_error(HardwareErrorCode::CRITICAL_WARNING, &bits);
        }
        match inner.health.clone() {
            Health::Saved => {
                tracing::warn!("the drive is saved again; it accepts all commands");
            }
            Health::Failing { why, .. } => {
                inner.retry = Retry { at: self.uptime() + RETRY, interval: RETRY };
                tracing::error!(
                    "the drive cannot be saved: {why}; it refuses what must be durable until it can"
                );
            }
            Health::Lost { why } => {
                inner.record_loss();
                tracing::error!(
                    "the data file failed to sync: {why}; the drive refuses what must be durable until it is \
                     opened again"
                );
            }
        }
        if let Some(notify) = self.notify.get() {
            notify(inner.health.is_saved());
        }
    }

    /// Saves a failing drive if a retry is due.
    pub(crate) fn retry(&self, inner: &mut Inner) {
        let now = self.uptime();
        if !matches!(inner.health, Health::Failing { .. }) || now < inner.retry.at {
            return;
        }
        let interval = (inner.retry.interval * 2).min(MAX_RETRY);
        // An attempt may take long, so the pause starts when it ends.
        let _ = self.checkpoint(inner);
        inner.retry = Retry { at: self.uptime() + interval, interval };
    }
}

impl Inner {
    /// Checks that a change can be made durable.
    pub(crate) fn check_durable(&self) -> io::Result<()> {
        match &self.health {
            Health::Saved => Ok(()),
            Health::Failing { why, .. } | Health::Lost { why } => {
                Err(io::Error::other(format!("the drive cannot be saved: {why}")))
            }
        }
    }
}
