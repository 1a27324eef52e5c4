//! Supported Log Pages.

use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{Lid, SupportedLogs};

use super::{PAGES, Page};

pub(super) const PAGE: Page = Page {
    lid: Lid::SUPPORTED,
    read: |controller, _| {
        let mut log = SupportedLogs::default();
        for page in PAGES.iter().filter(|page| page.is_of(controller.kind)) {
            let specific = page.lid.info().map_or(0, |row| row.specific);
            log.pages[usize::from(page.lid.0)] = (1 | u32::from(specific) << 16).into();
        }
        Ok(log.as_bytes().to_vec())
    },
};
