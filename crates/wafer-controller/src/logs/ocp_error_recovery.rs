//! Error Recovery of OCP: the drive has had no panic, so there is nothing to recover from.

use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{ERROR_RECOVERY_GUID, Lid, OcpErrorRecoveryLog};

use super::Page;

pub(super) const PAGE: Page = Page {
    lid: Lid::OCP_ERROR_RECOVERY,
    read: |_, _| {
        let log = OcpErrorRecoveryLog {
            version: 2.into(),
            guid: ERROR_RECOVERY_GUID,
            ..Default::default()
        };
        Ok(log.as_bytes().to_vec())
    },
};
