//! The life of a drive, across restarts: SMART counts, and what enters the persistent event log.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use wafer_interface::Counters;
use wafer_nvme::{HardwareErrorCode, PersistentEventType};

use super::change::Change;
use super::persistent_log::{NO_CONTROLLER, PersistentEvent, hardware_error};
use super::{Drive, Inner};

/// Seconds after which the power-on time is journaled even if no host has read it.
const RECORD_POWER_ON: u64 = 60;
/// Unit in which hosts read the power-on time, seconds.
const HOUR: u64 = 3600;
/// Interval of SMART snapshots, seconds.
const DAY: u64 = 24 * HOUR;
/// Shortest interval between media error events.
const MEDIA_ERRORS: Duration = Duration::from_secs(60);

/// Counts over the life of a drive (Base 2.1, SMART / Health Information). They never decrease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Life {
    /// Counters of the device before the last change of the FDP configuration.
    pub(crate) earlier: Counters,
    /// Read and compare commands.
    pub read_commands: u64,
    /// Write commands.
    pub write_commands: u64,
    /// Times the drive was opened.
    pub power_cycles: u64,
    /// Times the drive was opened after an unsafe shutdown.
    pub unsafe_shutdowns: u64,
    /// Reads that failed on the medium, and times the drive was opened after its data file had failed to sync.
    pub media_errors: u64,
    /// Entries of the error log.
    pub error_entries: u64,
    /// Power-on time, seconds.
    pub power_on_seconds: u64,
}

impl Life {
    /// Returns the error counts.
    fn errors(&self) -> [u64; 2] {
        [self.error_entries, self.media_errors]
    }

    /// Returns `now`, with the values of this record for counts that no command changes.
    pub(crate) fn told(self, now: Life) -> Life {
        let Life { error_entries, power_on_seconds, media_errors, .. } = self;
        Life { error_entries, power_on_seconds, media_errors, ..now }
    }
}

/// When SMART snapshots are due, and the callback that takes them.
#[derive(Default)]
pub(crate) struct Daily {
    /// Days of uptime for which there is a snapshot.
    days: AtomicU64,
    notify: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Drive {
    /// Counts an entry of the error log and returns its number, from 1. `medium` is whether the medium failed.
    pub fn count_error(&self, medium: bool) -> u64 {
        let mut inner = self.lock();
        inner.life.media_errors += u64::from(medium);
        inner.life.error_entries += 1;
        inner.life.error_entries
    }

    /// Returns the current counts, in the form that a checkpoint stores.
    pub(crate) fn life(&self, inner: &Inner) -> Life {
        let power_on_seconds = inner.life.power_on_seconds + self.uptime().as_secs();
        Life { power_on_seconds, ..inner.life }
    }

    /// Returns the counts that hosts may read: those in the journal, which is brought up to date first.
    pub(crate) fn told_life(&self, inner: &mut Inner) -> Life {
        let now = self.life(inner);
        let Some(told) = inner.recorded_life() else { return now };
        if now.errors() != told.errors()
            || now.power_on_seconds / HOUR != told.power_on_seconds / HOUR
        {
            self.record_life(inner, now);
        }
        inner.recorded_life().unwrap_or(now).told(now)
    }

    /// Journals the counts that no command changes, about once a minute.
    pub(crate) fn maintain_life(&self, inner: &mut Inner) {
        let now = self.life(inner);
        let told = inner.recorded_life();
        if told.is_some_and(|told| {
            now.errors() != told.errors()
                || now.power_on_seconds >= told.power_on_seconds + RECORD_POWER_ON
        }) {
            self.record_life(inner, now);
        }
    }

    fn record_life(&self, inner: &mut Inner, now: Life) {
        let Life { error_entries, power_on_seconds, media_errors, .. } = now;
        if self.note(inner, &Change::Life { error_entries, power_on_seconds, media_errors }) {
            inner.set_recorded_life(now);
        }
    }

    /// Adds an event to the persistent event log, and to the journal.
    pub fn log_persistent(&self, kind: PersistentEventType, controller: u16, data: &[u8]) {
        self.log_locked(&mut self.lock(), kind, controller, data);
    }

    fn log_locked(
        &self,
        inner: &mut Inner,
        kind: PersistentEventType,
        controller: u16,
        data: &[u8],
    ) {
        let (timestamp, data) = (inner.timestamp(), data.to_vec());
        let event = PersistentEvent { kind: kind.0, controller, timestamp, data };
        // Before it enters the log, because a checkpoint on the way must not contain it too.
        self.note(inner, &Change::Event(event.clone()));
        inner.persistent_log.push(event);
    }

    /// Logs a media error, unless one was logged less than a minute ago, because hosts retry repeatedly. `completion`
    /// is the completion queue entry of the command.
    pub fn log_media_error(&self, controller: u16, completion: &[u8]) {
        let mut inner = self.lock();
        let now = self.uptime();
        let last = inner.persistent_log.media_error;
        if last.is_none_or(|last| now >= last + MEDIA_ERRORS) {
            inner.persistent_log.media_error = Some(now);
            let data = hardware_error(HardwareErrorCode::MEDIA_AND_DATA_INTEGRITY, completion);
            self.log_locked(&mut inner, PersistentEventType::HARDWARE_ERROR, controller, &data);
        }
    }

    /// Begins a reporting context. Returns its generation number, and the events, newest first.
    pub fn persistent_log(&self) -> (u16, Vec<PersistentEvent>) {
        let log = &mut self.lock().persistent_log;
        log.generation = log.generation.wrapping_add(1);
        (log.generation, log.events.iter().rev().cloned().collect())
    }

    /// Returns the events, oldest first, without a reporting context.
    pub fn persistent_events(&self) -> Vec<PersistentEvent> {
        self.lock().persistent_log.events.iter().cloned().collect()
    }

    /// Has `notify` called after each day of uptime. Only the first call has an effect.
    pub fn on_day(&self, notify: impl Fn() + Send + Sync + 'static) {
        let _ = self.daily.notify.set(Box::new(notify));
    }

    /// Notifies of days that have passed.
    pub(crate) fn maintain_daily(&self) {
        let days = self.uptime().as_secs() / DAY;
        if self.daily.days.fetch_max(days, Ordering::Relaxed) < days
            && let Some(notify) = self.daily.notify.get()
        {
            notify();
        }
    }

    /// Returns the time since the drive was opened.
    pub fn power_on(&self) -> Duration {
        self.uptime()
    }
}

impl Inner {
    /// Logs a hardware error with the next checkpoint, because the journal may be what fails.
    pub(crate) fn log_hardware_error(&mut self, code: HardwareErrorCode, information: &[u8]) {
        self.persistent_log.push(PersistentEvent {
            kind: PersistentEventType::HARDWARE_ERROR.0,
            controller: NO_CONTROLLER,
            timestamp: self.timestamp(),
            data: hardware_error(code, information),
        });
    }
}
