//! Asymmetric Namespace Access: the state of the controller's port.

use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{AnaGroup, AnaLog, Lid};

use super::Page;
use crate::ports::ANA_GROUP;

/// Return Groups Only, in the Log Specific Parameter.
const GROUPS_ONLY: u8 = 1;

pub(super) const PAGE: Page = Page {
    lid: Lid::ANA,
    read: |controller, request| {
        if !request.retain {
            controller.state().events.ana.read();
            controller.wake.notify_one();
        }
        let (changes, state) = (controller.port.changes(), controller.port.state());
        let nsids = controller.nsids(true);
        let nsids = if request.lsp & GROUPS_ONLY != 0 { &[] } else { &nsids[..] };
        let head = AnaLog { changes: changes.into(), groups: 1.into(), ..Default::default() };
        let group = AnaGroup {
            group: ANA_GROUP.into(),
            nsids: (nsids.len() as u32).into(),
            changes: changes.into(),
            state: state.0,
            ..Default::default()
        };
        let mut page = head.as_bytes().to_vec();
        page.extend_from_slice(group.as_bytes());
        page.extend(nsids.iter().flat_map(|nsid| nsid.to_le_bytes()));
        Ok(page)
    },
};
