//! Asynchronous events: errors, critical warnings of the drive's health, notices, and the end of a Sanitize operation.

use std::collections::VecDeque;

use wafer_drive::Spare;
use wafer_nvme::{AsyncEvent, Cqe, CriticalWarning, Lid, Status, StatusField};
use wafer_ocp::FailureMode;

use super::features::temperature::Thresholds;
use super::logs::smart;
use super::{Controller, Kind, Subsystem};

/// Types of events.
const ERROR: u8 = 0;
const SMART: u8 = 1;
const NOTICE: u8 = 2;
const COMMAND_SET: u8 = 6;

/// An event that is sent once, until a host reads its log page.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Notice {
    due: bool,
    /// Sent, and its log page not read since: no further event is sent.
    sent: bool,
}

impl Notice {
    pub(crate) fn raise(&mut self) {
        self.due = true;
    }

    /// Notes that a host read the log page.
    pub(crate) fn read(&mut self) {
        self.sent = false;
    }

    /// Takes a request for the event if it is due.
    fn take(&mut self, requests: &mut VecDeque<u16>) -> Option<u16> {
        if !self.due || self.sent {
            return None;
        }
        let cid = requests.pop_front()?;
        *self = Notice { due: false, sent: true };
        Some(cid)
    }
}

/// The events of a controller, except those of reservations.
#[derive(Default)]
pub(crate) struct Events {
    /// Attached Namespace Attribute Changed.
    pub(crate) namespaces: Notice,
    /// Firmware Activation Starting.
    pub(crate) firmware: Notice,
    /// Asymmetric Namespace Access Change.
    pub(crate) ana: Notice,
    /// Telemetry Log Changed.
    pub(crate) telemetry: Notice,
    /// Sanitize Operation Completed.
    pub(crate) sanitize: Notice,
    /// An error, with the information of the event.
    pub(crate) error: (Notice, u8),
    /// Critical warnings raised and not sent yet.
    pub(crate) warnings_due: CriticalWarning,
    /// A critical warning was sent and its log page not read since: no further one is sent.
    pub(crate) warning_sent: bool,
}

impl Events {
    /// Takes a request for the critical warnings that a host enabled, and returns the information of the event.
    fn take_warning(&mut self, enabled: u8, requests: &mut VecDeque<u16>) -> Option<(u16, u8)> {
        let due = self.warnings_due.into_bits() & enabled;
        if due == 0 || self.warning_sent {
            return None;
        }
        let cid = requests.pop_front()?;
        let temperature = CriticalWarning::new().with_temperature(true).into_bits();
        let spare = CriticalWarning::new().with_spare(true).into_bits();
        // NVM subsystem reliability first, then the temperature threshold, then the spare.
        let kinds = [(!(temperature | spare), 0), (temperature, 1), (spare, 2)];
        let (sent, information) = kinds.into_iter().find(|(bits, _)| due & bits != 0)?;
        self.warnings_due = CriticalWarning::from_bits(self.warnings_due.into_bits() & !sent);
        self.warning_sent = true;
        Some((cid, information))
    }
}

impl Subsystem {
    /// Notifies the controllers that `concerns` accepts that a namespace was added, removed or changed.
    pub(crate) fn namespace_changed(&self, nsid: u32, concerns: impl Fn(&Controller) -> bool) {
        for controller in self.controllers() {
            if controller.kind == Kind::Io && concerns(&controller) {
                let mut state = controller.state();
                state.changed.insert(nsid);
                state.events.namespaces.raise();
                drop(state);
                controller.wake.notify_one();
            }
        }
    }

    /// Has the I/O controllers that `concerns` accepts send the events that `raise` raises.
    pub(crate) fn notify(
        &self,
        raise: impl Fn(&mut Events),
        concerns: impl Fn(&Controller) -> bool,
    ) {
        for controller in self.controllers() {
            if controller.kind == Kind::Io && concerns(&controller) {
                raise(&mut controller.state().events);
                controller.wake.notify_one();
            }
        }
    }

    /// Notifies all controllers that the drive can or cannot be saved, or that its spare changed.
    pub(crate) fn health_changed(&self, before: (bool, Spare), now: (bool, Spare)) {
        if before.0 && !now.0 {
            self.telemetry_due("the drive cannot be saved");
        }
        for controller in self.controllers().iter().filter(|c| c.kind == Kind::Io) {
            let thresholds = controller.state().thresholds;
            let [before, now] = [before, now].map(|of| self.warnings_of(of, thresholds));
            controller.warnings_changed(before, now);
        }
    }

    /// Returns the critical warnings of the drive, given the thresholds of a controller.
    pub(crate) fn warnings(&self, thresholds: Thresholds) -> CriticalWarning {
        self.warnings_of((self.drive.is_saved(), self.drive.spare()), thresholds)
    }

    fn warnings_of(
        &self,
        (saved, spare): (bool, Spare),
        thresholds: Thresholds,
    ) -> CriticalWarning {
        let health = self.faults.health();
        let own = CriticalWarning::new()
            .with_unreliable(!saved)
            .with_read_only(
                !saved || spare.read_only || self.end_of_life() == Some(FailureMode::ReadOnly),
            )
            .with_temperature(thresholds.exceeded(health.temperature()))
            .with_spare(health.available_spare(spare) < smart::SPARE_THRESHOLD);
        CriticalWarning::from_bits(own.into_bits() | health.critical_warning)
    }
}

impl Controller {
    /// Returns the current critical warnings.
    pub(crate) fn warnings(&self) -> CriticalWarning {
        let thresholds = self.state().thresholds;
        self.subsystem.warnings(thresholds)
    }

    /// Schedules an event for each newly raised critical warning.
    pub(crate) fn warnings_changed(&self, before: CriticalWarning, now: CriticalWarning) {
        let (before, now) = (before.into_bits(), now.into_bits());
        let mut state = self.state();
        let due = state.events.warnings_due.into_bits() & now | now & !before;
        state.events.warnings_due = CriticalWarning::from_bits(due);
        drop(state);
        self.wake.notify_one();
    }

    /// Returns the number of asynchronous event requests without a completion.
    pub fn waiting_requests(&self) -> usize {
        let state = self.state();
        state.async_requests.len() + state.aborted.len()
    }

    /// Takes the completions of asynchronous event requests that are due.
    pub fn due_events(&self) -> Vec<Cqe> {
        self.subsystem.capture_telemetry();
        let mut state = self.state();
        let state = &mut *state;
        let (enabled, events) = (state.async_config, &mut state.events);
        let aborted = StatusField::new().with_status(Status::ABORT_REQUESTED.0);
        let mut due: Vec<Cqe> = std::mem::take(&mut state.aborted)
            .into_iter()
            .map(|cid| Cqe {
                cid: cid.into(),
                status: aborted.into_bits().into(),
                ..Default::default()
            })
            .collect();
        let requests = &mut state.async_requests;
        let mut send = |cid: Option<u16>, event_type, information, log_page: Lid| {
            let Some(cid) = cid else { return };
            let event = AsyncEvent::new()
                .with_event_type(event_type)
                .with_information(information)
                .with_log_page(log_page.0);
            due.push(Cqe { dw0: event.into_bits().into(), cid: cid.into(), ..Default::default() });
        };
        // Errors cannot be disabled.
        let (error, information) = &mut events.error;
        send(error.take(requests), ERROR, *information, Lid::ERROR);
        if enabled.namespace_attribute() {
            send(events.namespaces.take(requests), NOTICE, 0, Lid::CHANGED_NAMESPACES);
        }
        if enabled.firmware() {
            send(events.firmware.take(requests), NOTICE, 1, Lid::FIRMWARE);
        }
        if enabled.telemetry() {
            send(events.telemetry.take(requests), NOTICE, 2, Lid::TELEMETRY_CONTROLLER);
        }
        if enabled.ana() {
            send(events.ana.take(requests), NOTICE, 3, Lid::ANA);
        }
        send(events.sanitize.take(requests), COMMAND_SET, 1, Lid::SANITIZE_STATUS);
        let reserved = state.notifications.notice.take(requests);
        send(reserved, COMMAND_SET, 0, Lid::RESERVATION_NOTIFICATION);
        if let Some((cid, information)) = events.take_warning(enabled.smart(), requests) {
            send(Some(cid), SMART, information, Lid::SMART);
        }
        due
    }
}
