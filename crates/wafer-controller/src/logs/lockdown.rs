//! Command and Feature Lockdown.

use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{GetLogCdw10, Lid, LockdownContents, LockdownLog, LockdownScope};

use super::Page;
use crate::lockdown::supported;

/// Contents: what can be prohibited, and what is. There is no management endpoint, so nothing is out of band.
const SUPPORTED: u8 = 0;
const PROHIBITED: u8 = 1;

pub(super) const PAGE: Page = Page {
    lid: Lid::LOCKDOWN,
    read: |controller, request| {
        let asked = LockdownContents::from_bits(request.lsp);
        let scope = LockdownScope(asked.scope());
        let identifiers = match asked.contents() {
            SUPPORTED => supported(scope),
            PROHIBITED => controller.subsystem.lockdown.prohibited(scope),
            _ => None,
        };
        let identifiers = identifiers.ok_or(GetLogCdw10::new().with_lsp(1).location())?;
        let mut log = LockdownLog {
            contents: asked.into_bits(),
            length: identifiers.len() as u8,
            ..Default::default()
        };
        for (slot, identifier) in log.identifiers.iter_mut().zip(identifiers) {
            *slot = identifier;
        }
        Ok(log.as_bytes().to_vec())
    },
};
