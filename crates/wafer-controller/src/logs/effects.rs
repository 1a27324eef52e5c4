//! Commands Supported and Effects.

use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{EffectsLog, Lid};

use super::Page;

pub(super) const PAGE: Page = Page {
    lid: Lid::EFFECTS,
    read: |controller, _| {
        let mut log = EffectsLog::default();
        for row in controller.admin_commands() {
            log.admin[usize::from(row.opcode)] = row.effects.into_bits().into();
        }
        for row in controller.subsystem.support.io_commands() {
            log.io[usize::from(row.opcode)] = row.effects.into_bits().into();
        }
        Ok(log.as_bytes().to_vec())
    },
};
