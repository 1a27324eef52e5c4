//! Asynchronous events: notices that namespaces changed, the end of a Sanitize operation, and critical warnings of the
//! drive's health.

use wafer_nvme::{AsyncEvent, Cqe, CriticalWarning, Lid, Status, StatusField};

use super::logs::smart::reliability;
use super::{Controller, Kind, Subsystem};

impl Subsystem {
    /// Notifies the controllers that `concerns` accepts of a namespace that was added, removed or changed.
    pub(crate) fn namespace_changed(&self, nsid: u32, concerns: impl Fn(&Controller) -> bool) {
        for controller in self.controllers() {
            if controller.kind == Kind::Io && concerns(&controller) {
                let mut state = controller.state();
                state.changed.insert(nsid);
                state.notice_due = true;
                drop(state);
                controller.wake.notify_one();
            }
        }
    }
}

impl Subsystem {
    /// Notifies all controllers that the drive no longer keeps what it promises, or does again.
    pub(crate) fn health_changed(&self, saved: bool) {
        if !saved {
            self.telemetry_due();
        }
        for controller in self.controllers().iter().filter(|c| c.kind == Kind::Io) {
            let mut state = controller.state();
            state.warnings_due =
                reliability(saved).with_temperature(state.warnings_due.temperature());
            drop(state);
            controller.wake.notify_one();
        }
    }
}

impl Controller {
    /// Returns the number of asynchronous event requests without a completion.
    pub(crate) fn waiting_requests(&self) -> usize {
        let state = self.state();
        state.async_requests.len() + state.aborted.len()
    }

    /// Takes the completions of asynchronous event requests that are due.
    pub fn due_events(&self) -> Vec<Cqe> {
        self.subsystem.capture_telemetry();
        let mut state = self.state();
        let mut due = Vec::new();
        for cid in std::mem::take(&mut state.aborted) {
            let status = StatusField::new().with_status(Status::ABORT_REQUESTED.0);
            due.push(Cqe {
                cid: cid.into(),
                status: status.into_bits().into(),
                ..Default::default()
            });
        }
        let enabled = state.async_config.namespace_attribute();
        if state.notice_due
            && enabled
            && !state.notice_sent
            && let Some(cid) = state.async_requests.pop_front()
        {
            let event = AsyncEvent::new()
                .with_event_type(2)
                .with_information(0)
                .with_log_page(Lid::CHANGED_NAMESPACES.0);
            due.push(Cqe { dw0: event.into_bits().into(), cid: cid.into(), ..Default::default() });
            state.notice_due = false;
            state.notice_sent = true;
        }
        if state.telemetry_due
            && state.async_config.telemetry()
            && !state.telemetry_sent
            && let Some(cid) = state.async_requests.pop_front()
        {
            // Telemetry Log Changed.
            let event = AsyncEvent::new()
                .with_event_type(2)
                .with_information(2)
                .with_log_page(Lid::TELEMETRY_CONTROLLER.0);
            due.push(Cqe { dw0: event.into_bits().into(), cid: cid.into(), ..Default::default() });
            state.telemetry_due = false;
            state.telemetry_sent = true;
        }
        if state.sanitize_due
            && !state.sanitize_sent
            && let Some(cid) = state.async_requests.pop_front()
        {
            // I/O command specific status: Sanitize Operation Completed.
            let event = AsyncEvent::new()
                .with_event_type(6)
                .with_information(1)
                .with_log_page(Lid::SANITIZE_STATUS.0);
            due.push(Cqe { dw0: event.into_bits().into(), cid: cid.into(), ..Default::default() });
            state.sanitize_due = false;
            state.sanitize_sent = true;
        }
        if state.notifications.due
            && !state.notifications.sent
            && let Some(cid) = state.async_requests.pop_front()
        {
            // I/O command specific status: Reservation Log Page Available.
            let event = AsyncEvent::new()
                .with_event_type(6)
                .with_information(0)
                .with_log_page(Lid::RESERVATION_NOTIFICATION.0);
            due.push(Cqe { dw0: event.into_bits().into(), cid: cid.into(), ..Default::default() });
            state.notifications.due = false;
            state.notifications.sent = true;
        }
        let state = &mut *state;
        while !state.async_requests.is_empty()
            && let Some(event) = state.notices.take(state.async_config)
            && let Some(cid) = state.async_requests.pop_front()
        {
            due.push(Cqe { dw0: event.into_bits().into(), cid: cid.into(), ..Default::default() });
        }
        let warnings = state.warnings_due.into_bits() & state.async_config.smart();
        if warnings != 0
            && !state.warning_sent
            && let Some(cid) = state.async_requests.pop_front()
        {
            // SMART / Health: NVM subsystem reliability, or temperature threshold.
            let hot = CriticalWarning::new().with_temperature(true);
            let (sent, information) =
                if warnings == hot.into_bits() { (hot, 1) } else { (reliability(false), 0) };
            let event = AsyncEvent::new()
                .with_event_type(1)
                .with_information(information)
                .with_log_page(Lid::SMART.0);
            due.push(Cqe { dw0: event.into_bits().into(), cid: cid.into(), ..Default::default() });
            let left = state.warnings_due.into_bits() & !sent.into_bits();
            state.warnings_due = CriticalWarning::from_bits(left);
            state.warning_sent = true;
        }
        due
    }
}
