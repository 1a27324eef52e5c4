//! Notices of asynchronous events: each is sent once, and again after the host has read its log page.

use wafer_nvme::{AsyncEvent, AsyncEventConfig, Lid};

use super::{Controller, Kind, Subsystem};

/// A notice that a log page explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// Firmware Activation Starting.
    Firmware,
    /// Asymmetric Namespace Access Change.
    Ana,
}

impl Notice {
    const ALL: [Notice; 2] = [Notice::Firmware, Notice::Ana];

    fn is_enabled(self, config: AsyncEventConfig) -> bool {
        match self {
            Notice::Firmware => config.firmware(),
            Notice::Ana => config.ana(),
        }
    }

    fn event(self) -> AsyncEvent {
        let (information, page) = match self {
            Notice::Firmware => (1, Lid::FIRMWARE),
            Notice::Ana => (3, Lid::ANA),
        };
        AsyncEvent::new().with_event_type(2).with_information(information).with_log_page(page.0)
    }
}

/// The notices of a controller.
#[derive(Default)]
pub(crate) struct Notices {
    due: [bool; Notice::ALL.len()],
    /// Sent, and the log page was not read: no other is sent.
    sent: [bool; Notice::ALL.len()],
}

impl Notices {
    /// Takes the next event that is due.
    pub(crate) fn take(&mut self, config: AsyncEventConfig) -> Option<AsyncEvent> {
        let notice = Notice::ALL.into_iter().find(|notice| {
            let at = *notice as usize;
            self.due[at] && !self.sent[at] && notice.is_enabled(config)
        })?;
        (self.due[notice as usize], self.sent[notice as usize]) = (false, true);
        Some(notice.event())
    }
}

impl Controller {
    /// Takes note that the host has read the log page of a notice.
    pub(crate) fn notice_read(&self, notice: Notice) {
        self.state().notices.sent[notice as usize] = false;
        self.wake.notify_one();
    }
}

impl Subsystem {
    /// Notifies the I/O controllers that `concerns` accepts.
    pub(crate) fn notify(&self, notice: Notice, concerns: impl Fn(&Controller) -> bool) {
        for controller in self.controllers() {
            if controller.kind == Kind::Io && concerns(&controller) {
                controller.state().notices.due[notice as usize] = true;
                controller.wake.notify_one();
            }
        }
    }
}
