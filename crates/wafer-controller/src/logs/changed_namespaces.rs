//! Changed Attached Namespace List.

use wafer_nvme::Lid;

use super::Page;

/// Entries of the list.
const MOST: usize = 1024;

pub(super) const PAGE: Page = Page {
    lid: Lid::CHANGED_NAMESPACES,
    read: |controller, request| {
        let mut state = controller.state();
        let mut page = vec![0; MOST * size_of::<u32>()];
        if state.changed.len() > MOST {
            // Too many to list.
            page[..4].fill(0xff);
        } else {
            for (slot, nsid) in page.chunks_exact_mut(4).zip(&state.changed) {
                slot.copy_from_slice(&nsid.to_le_bytes());
            }
        }
        if !request.retain {
            state.changed.clear();
            state.events.namespaces.read();
            drop(state);
            controller.wake.notify_one();
        }
        Ok(page)
    },
};
