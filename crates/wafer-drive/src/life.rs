//! The SMART counts over the life of a drive, across restarts.

use serde::{Deserialize, Serialize};
use wafer_interface::Counters;

use super::change::Change;
use super::{Drive, Inner};

/// Seconds after which the power-on time is journaled even if no host has read it.
const RECORD_POWER_ON: u64 = 60;
/// Unit in which hosts read the power-on time, seconds.
const HOUR: u64 = 3600;

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
}
