//! Command and Feature Lockdown.

use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{GetLogCdw10, Lid, LockdownContents, LockdownLog, LockdownScope};

use super::Page;
use crate::lockdown::supported;

/// Contents: what can be prohibited, what is, and what is out of band.
const SUPPORTED: u8 = 0;
const PROHIBITED: u8 = 1;
const OUT_OF_BAND: u8 = 2;

pub(super) const PAGE: Page = Page {
    lid: Lid::LOCKDOWN,
    read: |controller, request| {
        let asked = LockdownContents::from_bits(request.lsp);
        let scope = LockdownScope(asked.scope());
        let identifiers = match asked.contents() {
            SUPPORTED => supported(scope),
            PROHIBITED => controller.subsystem.lockdown.prohibited(scope),
            OUT_OF_BAND => supported(scope).map(|_| Vec::new()),
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
