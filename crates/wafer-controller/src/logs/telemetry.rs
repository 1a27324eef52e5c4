//! Telemetry Host-Initiated and Telemetry Controller-Initiated.

use wafer_nvme::Lid;

use super::Page;

/// Log Specific Parameter: Create Telemetry Host-Initiated Data.
const CREATE: u8 = 1;

pub(super) const HOST: Page = Page {
    lid: Lid::TELEMETRY_HOST,
    read: |controller, request| Ok(controller.subsystem.host_telemetry(request.lsp & CREATE != 0)),
};

pub(super) const CONTROLLER: Page = Page {
    lid: Lid::TELEMETRY_CONTROLLER,
    read: |controller, request| {
        let page = controller.subsystem.controller_telemetry(request.retain);
        controller.end_event(request, |events| &mut events.telemetry);
        Ok(page)
    },
};
