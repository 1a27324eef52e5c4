//! The vendor-specific log page: byte counters of each reclaim unit handle.

use wafer_drive::DriveCounters;
use wafer_interface::HandleCounters;
use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{HandleBytes, HandlesLog, Lid};

use super::{Controller, Failure, Page, Request};

pub(super) const PAGE: Page = Page { lid: Lid::WAFER_HANDLES, read };

fn read(controller: &Controller, _: &Request) -> Result<Vec<u8>, Failure> {
    let DriveCounters { handles, gc, counters, .. } = controller.subsystem.drive.counters();
    let entry = |ruhid: u16, c: &HandleCounters| HandleBytes {
        ruhid: ruhid.into(),
        host_bytes: c.host_bytes.into(),
        media_bytes: c.media_bytes.into(),
        erased_bytes: c.erased_bytes.into(),
        ..Default::default()
    };
    let mut entries: Vec<HandleBytes> =
        handles.iter().enumerate().map(|(at, h)| entry(at as u16, h)).collect();
    entries.extend(gc.iter().map(|c| entry(0xffff, c)));
    let size = size_of::<HandlesLog>() + entries.len() * size_of::<HandleBytes>();
    let page_bytes = controller.subsystem.drive.geometry().page_bytes;
    let head = HandlesLog {
        magic: *b"WAFR",
        version: 1.into(),
        count: (entries.len() as u16).into(),
        size: (size as u32).into(),
        gc: u32::from(gc.is_some()).into(),
        relocated_bytes: (counters.relocated_pages * page_bytes).into(),
        collections: (counters.forced_gc + counters.background_gc).into(),
    };
    let mut page = head.as_bytes().to_vec();
    for entry in &entries {
        page.extend_from_slice(entry.as_bytes());
    }
    Ok(page)
}
