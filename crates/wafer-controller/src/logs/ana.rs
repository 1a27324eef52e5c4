//! Asymmetric Namespace Access: the states of the controller's port.

use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{AnaGroup, AnaLog, Lid};

use super::Page;
use crate::ports::ANA_GROUPS;

/// Return Groups Only, in the Log Specific Parameter.
const GROUPS_ONLY: u8 = 1;

pub(super) const PAGE: Page = Page {
    lid: Lid::ANA,
    read: |controller, request| {
        controller.end_event(request, |events| &mut events.ana);
        let port = &controller.port;
        let namespaces = controller.visible(true);
        let mut count = 0u16;
        let mut groups = Vec::new();
        for group in 1..=ANA_GROUPS {
            let members = namespaces.iter().filter(|n| n.ana_group() == group).map(|n| n.nsid);
            let mut nsids: Vec<u32> = members.collect();
            // Hosts expect at least one group.
            if nsids.is_empty() && group != wafer_drive::ANA_GROUP {
                continue;
            }
            if request.lsp & GROUPS_ONLY != 0 {
                nsids.clear();
            }
            count += 1;
            let descriptor = AnaGroup {
                group: group.into(),
                nsids: (nsids.len() as u32).into(),
                changes: port.changes(group).into(),
                state: port.state(group).0,
                ..Default::default()
            };
            groups.extend_from_slice(descriptor.as_bytes());
            groups.extend(nsids.iter().flat_map(|nsid| nsid.to_le_bytes()));
        }
        let changes = port.last_change().into();
        let head = AnaLog { changes, groups: count.into(), ..Default::default() };
        let mut page = head.as_bytes().to_vec();
        page.extend(groups);
        Ok(page)
    },
};
