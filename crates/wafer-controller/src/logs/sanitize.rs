//! Sanitize Status.

use wafer_drive::{SanitizeState, SanitizeStatus};
use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{Lid, SanitizeLog, SanitizeStatusField};

use super::Page;

/// Estimated time: not reported.
const NOT_REPORTED: u32 = u32::MAX;

pub(super) const PAGE: Page = Page {
    lid: Lid::SANITIZE_STATUS,
    read: |controller, request| {
        controller.end_event(request, |events| &mut events.sanitize);
        let now = controller.subsystem.drive.sanitize_status();
        let log = SanitizeLog {
            sprog: now.progress.into(),
            sstat: status_field(&now).into_bits().into(),
            scdw10: now.cdw10.into(),
            estimates: [NOT_REPORTED.into(); 6],
            ..Default::default()
        };
        Ok(log.as_bytes().to_vec())
    },
};

/// Returns the Sanitize Status field.
pub(crate) fn status_field(now: &SanitizeStatus) -> SanitizeStatusField {
    let status = match now.state {
        SanitizeState::Never => 0,
        SanitizeState::Completed => 1,
        SanitizeState::InProgress => 2,
        SanitizeState::Failed | SanitizeState::Left => 3,
    };
    SanitizeStatusField::new().with_status(status).with_erased(now.clean)
}
