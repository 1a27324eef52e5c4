//! Injected asynchronous events.

use serde::{Deserialize, Serialize};
use wafer_nvme::{CriticalWarning, Sqe, Status};

use crate::{Controller, Failure, Kind, Subsystem};

/// The subject of an asynchronous event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// Error: Diagnostic Failure.
    DiagnosticFailure,
    /// Error: Persistent Internal Error, with an entry of the error log.
    PersistentInternalError,
    /// Error: Transient Internal Error, with an entry of the error log.
    TransientInternalError,
    /// SMART: NVM subsystem Reliability.
    Reliability,
    /// SMART: Temperature Threshold.
    Temperature,
    /// SMART: Spare Below Threshold.
    Spare,
    /// Notice: Attached Namespace Attribute Changed, for each attached namespace.
    NamespaceAttribute,
    /// Notice: Firmware Activation Starting.
    FirmwareActivation,
    /// Notice: Telemetry Log Changed.
    Telemetry,
    /// I/O command set: Reservation Log Page Available.
    Reservation,
    /// I/O command set: Sanitize Operation Completed.
    Sanitize,
}

impl EventKind {
    /// Returns the critical warning that the event reports.
    fn warning(self) -> CriticalWarning {
        let none = CriticalWarning::new();
        match self {
            EventKind::Reliability => none.with_unreliable(true),
            EventKind::Temperature => none.with_temperature(true),
            EventKind::Spare => none.with_spare(true),
            _ => none,
        }
    }

    /// Returns whether the host of a controller receives the event. Errors and events of the I/O command set cannot be
    /// disabled.
    fn is_enabled(self, controller: &Controller) -> bool {
        let config = controller.state().async_config;
        match self {
            EventKind::Reliability | EventKind::Temperature | EventKind::Spare => {
                config.smart() & self.warning().into_bits() != 0
            }
            EventKind::NamespaceAttribute => config.namespace_attribute(),
            EventKind::FirmwareActivation => config.firmware(),
            EventKind::Telemetry => config.telemetry(),
            _ => true,
        }
    }
}

impl Subsystem {
    /// Sends an event to the controllers that `concerns` accepts and whose host has enabled it, as soon as they have a
    /// request for it. Returns their IDs.
    pub fn send_event(&self, kind: EventKind, concerns: impl Fn(&Controller) -> bool) -> Vec<u16> {
        let controllers = self.controllers();
        let concerned =
            controllers.iter().filter(|c| c.kind == Kind::Io && concerns(c) && kind.is_enabled(c));
        let ids = concerned.map(|controller| {
            controller.raise(kind);
            controller.cntlid
        });
        let ids: Vec<u16> = ids.collect();
        if kind == EventKind::Telemetry && !ids.is_empty() {
            self.telemetry_due("an operator asked for it");
        }
        controllers.iter().for_each(|controller| controller.wake.notify_one());
        ids
    }
}

impl Controller {
    fn raise(&self, kind: EventKind) {
        let attached = self.nsids(true);
        // Diagnostic Failure, Persistent and Transient Internal Error.
        let error = match kind {
            EventKind::DiagnosticFailure => 2,
            EventKind::PersistentInternalError => 3,
            _ => 4,
        };
        if matches!(kind, EventKind::PersistentInternalError | EventKind::TransientInternalError) {
            // No command caused it.
            let none = Sqe { cid: u16::MAX.into(), ..Sqe::default() };
            self.fail(u16::MAX, &none, &Failure::from(Status::INTERNAL_ERROR));
        }
        let mut state = self.state();
        match kind {
            EventKind::DiagnosticFailure
            | EventKind::PersistentInternalError
            | EventKind::TransientInternalError => {
                state.events.error.0.raise();
                state.events.error.1 = error;
            }
            EventKind::Reliability | EventKind::Temperature | EventKind::Spare => {
                let due = state.events.warnings_due.into_bits() | kind.warning().into_bits();
                state.events.warnings_due = CriticalWarning::from_bits(due);
            }
            EventKind::NamespaceAttribute => {
                state.changed.extend(attached);
                state.events.namespaces.raise();
            }
            EventKind::FirmwareActivation => state.events.firmware.raise(),
            // Raised when the state is captured.
            EventKind::Telemetry => {}
            EventKind::Reservation => state.notifications.notice.raise(),
            EventKind::Sanitize => state.events.sanitize.raise(),
        }
    }
}
