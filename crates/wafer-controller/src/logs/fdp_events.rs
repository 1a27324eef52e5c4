//! FDP Events.

use wafer_drive::{EventClass, EventRecord};
use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{
    FdpEventEntry, FdpEventFlags, FdpEventType, FdpEventsHeader, Lid, MediaReallocated, Timestamp,
};

use super::{Controller, Failure, Page, Request};

pub(super) const PAGE: Page = Page { lid: Lid::FDP_EVENTS, read };

fn read(controller: &Controller, request: &Request) -> Result<Vec<u8>, Failure> {
    controller.check_fdp()?;
    let class = if request.lsp & 1 == 1 { EventClass::Host } else { EventClass::Controller };
    let events = controller.subsystem.drive.events(class);
    let head = FdpEventsHeader { count: (events.len() as u32).into(), ..Default::default() };
    let mut page = head.as_bytes().to_vec();
    for event in &events {
        page.extend_from_slice(entry(event).as_bytes());
    }
    // The page has room for 63 events, whether there are so many or not.
    page.resize(4096, 0);
    Ok(page)
}

fn entry(event: &EventRecord) -> FdpEventEntry {
    let flags = FdpEventFlags::new()
        .with_piv(event.placement.is_some())
        .with_nsidv(event.namespace.is_some())
        .with_lv(event.location.is_some());
    let mut entry = FdpEventEntry {
        event_type: event.event_type,
        flags: flags.into_bits(),
        pid: event.placement.map_or(0, |p| p.0).into(),
        timestamp: Timestamp::new(event.timestamp.0, event.timestamp.1),
        nsid: event.namespace.map_or(0, |n| u32::from(n.0) + 1).into(),
        rgid: event.location.map_or(0, |(group, _)| group.0).into(),
        ruhid: event.location.map_or(0, |(_, handle)| handle.0 as u8),
        ..Default::default()
    };
    if FdpEventType(event.event_type) == FdpEventType::MEDIA_REALLOCATED {
        // In logical blocks of 4 KiB: the pages moved may belong to namespaces of both formats.
        let moved = u16::try_from(event.pages).unwrap_or(u16::MAX);
        let specific = MediaReallocated { nlbam: moved.into(), ..Default::default() };
        entry.specific.copy_from_slice(specific.as_bytes());
    }
    entry
}
