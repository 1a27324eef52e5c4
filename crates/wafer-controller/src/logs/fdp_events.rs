//! FDP Events.

use wafer_drive::{EventClass, EventRecord};
use wafer_interface::LBA_BYTES;
use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{
    FdpEventEntry, FdpEventFlags, FdpEventType, FdpEventsHeader, Lid, MediaReallocated, Timestamp,
};

use super::{Controller, Failure, Page, Request};

pub(super) const PAGE: Page = Page { lid: Lid::FDP_EVENTS, read };

fn read(controller: &Controller, request: &Request) -> Result<Vec<u8>, Failure> {
    controller.check_fdp()?;
    let class = if request.lsp & 1 == 1 { EventClass::Host } else { EventClass::Controller };
    let drive = &controller.subsystem.drive;
    let events = drive.events(class);
    let namespaces = drive.namespaces();
    let page = drive.geometry().page_bytes;
    let blocks = |event: &EventRecord| {
        // Namespaces that share a handle share a format. If the handle is unknown, the shorter blocks count.
        let moved = namespaces.iter().flatten().filter(|namespace| {
            event.location.is_none_or(|(_, handle)| namespace.handles.contains(&handle))
        });
        let lba_bytes = moved.map(|namespace| namespace.lba_bytes()).min().unwrap_or(LBA_BYTES);
        u64::from(event.pages) * page / lba_bytes
    };
    let head = FdpEventsHeader { count: (events.len() as u32).into(), ..Default::default() };
    let mut data = head.as_bytes().to_vec();
    for event in &events {
        data.extend_from_slice(entry(event, blocks(event)).as_bytes());
    }
    // The page always has room for 63 events.
    data.resize(4096, 0);
    Ok(data)
}

fn entry(event: &EventRecord, blocks: u64) -> FdpEventEntry {
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
        let nlbam = u16::try_from(blocks).unwrap_or(u16::MAX).into();
        let specific = MediaReallocated { nlbam, ..Default::default() };
        entry.specific.copy_from_slice(specific.as_bytes());
    }
    entry
}
