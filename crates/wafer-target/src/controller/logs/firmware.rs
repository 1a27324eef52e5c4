//! Firmware Slot Information: one slot, read only.

use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{FirmwareLog, Lid};

use super::Page;
use crate::controller::identify::padded;

pub(super) const PAGE: Page = Page {
    lid: Lid::FIRMWARE,
    read: |controller, request| {
        if !request.retain {
            controller.state().events.firmware.read();
            controller.wake.notify_one();
        }
        let mut log = FirmwareLog { afi: 1, ..Default::default() };
        log.slots[0] = padded(env!("CARGO_PKG_VERSION"));
        Ok(log.as_bytes().to_vec())
    },
};
