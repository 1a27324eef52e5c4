//! Firmware Slot Information.

use wafer_drive::FIRMWARE_SLOTS;
use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{ActiveFirmware, FirmwareLog, Lid};

use super::Page;

pub(super) const PAGE: Page = Page {
    lid: Lid::FIRMWARE,
    read: |controller, request| {
        controller.end_event(request, |events| &mut events.firmware);
        let slots = controller.subsystem.drive.firmware();
        let active = ActiveFirmware::new().with_active(slots.active());
        let active = active.with_next(slots.next().unwrap_or(0));
        let mut log = FirmwareLog { afi: active.into_bits(), ..Default::default() };
        for (slot, revision) in (1..=FIRMWARE_SLOTS).zip(&mut log.slots) {
            *revision = slots.revision(slot).unwrap_or_default();
        }
        Ok(log.as_bytes().to_vec())
    },
};
