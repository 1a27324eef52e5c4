//! LBA Status Information: the blocks of each namespace that cannot be read (NVM Command Set 1.1, 4.1.4.5).

use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{LbaStatusAction, LbaStatusElement, LbaStatusLog, Lid};

use super::Page;

/// Maximum ranges listed per namespace. If there are more, the host has to use Get LBA Status.
const MOST_RANGES: usize = 1024;

pub(super) const PAGE: Page = Page {
    lid: Lid::LBA_STATUS,
    read: |controller, _| {
        let (mut elements, mut count, mut blocks) = (Vec::new(), 0u32, 0u64);
        for nsid in controller.nsids(true) {
            let Some(namespace) = controller.active(nsid)? else { continue };
            let mut ranges = namespace.lba_status(0, namespace.bytes, usize::MAX);
            if ranges.is_empty() {
                continue;
            }
            count += 1;
            blocks += ranges.iter().map(|range| u64::from(range.blocks_z.get()) + 1).sum::<u64>();
            // Reserved in this log.
            ranges.iter_mut().for_each(|range| range.status = 0);
            let mut listed = ranges.len() as u32;
            if ranges.len() > MOST_RANGES {
                (listed, ranges) = (u32::MAX, Vec::new());
            }
            let head = LbaStatusElement {
                nsid: nsid.into(),
                ranges: listed.into(),
                action: LbaStatusAction::TRACKED.0,
                ..Default::default()
            };
            elements.extend([head.as_bytes(), ranges.as_bytes()].concat());
        }
        let mut state = controller.state();
        let (last, generation) = &mut state.lba_status;
        if *last != elements {
            last.clone_from(&elements);
            *generation = generation.wrapping_add(1);
        }
        let head = LbaStatusLog {
            length: ((size_of::<LbaStatusLog>() + elements.len()) as u32).into(),
            elements: count.into(),
            blocks: u32::try_from(blocks).unwrap_or(u32::MAX).into(),
            generation: (*generation).into(),
            ..Default::default()
        };
        Ok([head.as_bytes(), &elements].concat())
    },
};
