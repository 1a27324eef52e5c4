//! The persistent event log: events over the life of a drive, across restarts. The oldest are dropped first.

use std::collections::VecDeque;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{
    HardwareErrorCode, HardwareErrorEvent, PersistentEventHead, PersistentEventLog,
    PersistentEventType,
};

use super::change::Change;
use super::{Drive, Inner};

/// Maximum bytes of the log page, including its header: the unit of PELS in Identify Controller.
pub const MAX_PERSISTENT_LOG: usize = 64 << 10;
/// Controller ID of an event that belongs to no controller.
pub const NO_CONTROLLER: u16 = 0xffff;
/// Interval of SMART snapshots.
const DAY: u64 = 24 * 3600;
/// Shortest interval between media error events.
const MEDIA_ERRORS: Duration = Duration::from_secs(60);

/// A persistent event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersistentEvent {
    /// A [`PersistentEventType`].
    pub kind: u8,
    /// The controller that it belongs to, or [`NO_CONTROLLER`].
    pub controller: u16,
    /// The Timestamp feature: milliseconds and attributes.
    pub timestamp: (u64, u8),
    /// Data, as defined for the type of the event.
    pub data: Vec<u8>,
}

impl PersistentEvent {
    /// Returns its size in the log page.
    fn bytes(&self) -> usize {
        size_of::<PersistentEventHead>() + self.data.len()
    }
}

/// The log, in the form that a checkpoint stores.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PersistentLog {
    /// Oldest first.
    events: VecDeque<PersistentEvent>,
    /// Number of reporting contexts. It may decrease when a server is killed.
    generation: u16,
    /// Uptime when a media error was last logged.
    #[serde(skip)]
    media_error: Option<Duration>,
}

impl PersistentLog {
    /// Adds an event, and drops the oldest events to make room for it.
    pub(crate) fn push(&mut self, event: PersistentEvent) {
        let room = MAX_PERSISTENT_LOG - size_of::<PersistentEventLog>();
        if event.bytes() > room {
            return;
        }
        self.events.push_back(event);
        let mut bytes: usize = self.events.iter().map(PersistentEvent::bytes).sum();
        while bytes > room {
            bytes -= self.events.pop_front().map_or(bytes, |event| event.bytes());
        }
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

/// Returns the data of a hardware error with its additional information.
pub fn hardware_error(code: HardwareErrorCode, information: &[u8]) -> Vec<u8> {
    let event = HardwareErrorEvent { code: code.0.into(), ..Default::default() };
    [event.as_bytes(), information].concat()
}
