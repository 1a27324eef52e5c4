//! Log pages of OCP, built by `wafer-ocp`.

use wafer_nvme::Lid;
use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_ocp::{capabilities, error_recovery, firmware_history, smart};

use super::Page;
use crate::identify::{FUSED, SANITIZE};

pub(super) const SMART: Page = Page {
    lid: Lid::OCP_SMART,
    read: |controller, _| Ok(smart::log(&controller.subsystem.drive).as_bytes().to_vec()),
};

pub(super) const ERROR_RECOVERY: Page =
    Page { lid: Lid::OCP_ERROR_RECOVERY, read: |_, _| Ok(error_recovery().as_bytes().to_vec()) };

pub(super) const FIRMWARE_HISTORY: Page = Page {
    lid: Lid::OCP_FIRMWARE_HISTORY,
    read: |controller, _| {
        Ok(firmware_history::log(&controller.subsystem.drive).as_bytes().to_vec())
    },
};

pub(super) const LATENCY_MONITOR: Page = Page {
    lid: Lid::OCP_LATENCY_MONITOR,
    read: |controller, _| Ok(controller.subsystem.ocp.latency.log().as_bytes().to_vec()),
};

pub(super) const DEVICE_CAPABILITIES: Page = Page {
    lid: Lid::OCP_DEVICE_CAPABILITIES,
    read: |controller, _| {
        let support = &controller.subsystem.support;
        let log = capabilities::log(support.admin, support.io, SANITIZE, FUSED);
        Ok(log.as_bytes().to_vec())
    },
};
