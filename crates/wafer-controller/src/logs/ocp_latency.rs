//! Latency Monitor of OCP.

use wafer_nvme::Lid;
use wafer_nvme::zerocopy::IntoBytes as _;

use super::Page;

pub(super) const PAGE: Page = Page {
    lid: Lid::OCP_LATENCY_MONITOR,
    read: |controller, _| Ok(controller.subsystem.latency.log().as_bytes().to_vec()),
};
