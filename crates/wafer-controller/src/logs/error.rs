//! Error Information.

use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{ErrorEntry, Lid};

use super::Page;
use crate::ERROR_ENTRIES;

pub(super) const PAGE: Page = Page {
    lid: Lid::ERROR,
    read: |controller, request| {
        // Saves the counters, so that no entry number that a host has seen is reused after a restart.
        controller.subsystem.drive.counters();
        controller.end_event(request, |events| &mut events.error.0);
        let state = controller.state();
        let mut page: Vec<u8> = state.errors.iter().flat_map(|e| e.as_bytes().to_vec()).collect();
        page.resize(ERROR_ENTRIES * size_of::<ErrorEntry>(), 0);
        Ok(page)
    },
};
