//! Changed Attached Namespace List.

use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{Lid, NamespaceList};

use super::Page;
use crate::nsid::BROADCAST;

/// Maximum entries of the list.
const MOST: usize = 1024;

pub(super) const PAGE: Page = Page {
    lid: Lid::CHANGED_NAMESPACES,
    read: |controller, request| {
        let mut state = controller.state();
        let page = if state.changed.len() > MOST {
            // Too many to list.
            NamespaceList::of([BROADCAST])
        } else {
            NamespaceList::of(state.changed.iter().copied())
        };
        if !request.retain {
            state.changed.clear();
            state.events.namespaces.read();
            drop(state);
            controller.wake.notify_one();
        }
        Ok(page.as_bytes().to_vec())
    },
};
