//! The log pages of FDP, and the vendor specific one with the bytes of each reclaim unit handle.

use wafer_device::Isolation;
use wafer_drive::{DriveCounters, EventClass, EventRecord};
use wafer_interface::HandleCounters;
use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{
    FdpConfiguration, FdpConfigurations, FdpEventEntry, FdpEventFlags, FdpEventType,
    FdpEventsHeader, FdpStatistics, Fdpa, GetLogCdw10, HandleBytes, HandlesLog, MediaReallocated,
    RuhDescriptor, RuhUsage, RuhUsageDescriptor, Sqe, Timestamp,
};

use super::limits::LAST_NSID;
use super::reply::Failure;
use super::subsystem::Controller;

/// Maximum number of placement handles of a namespace, in each reclaim group.
const MAX_HANDLES: u32 = 128;

/// FDP Configurations: the one configuration, also while FDP is disabled.
pub(super) fn configurations(controller: &Controller, _: &Sqe) -> Result<Vec<u8>, Failure> {
    let config = controller.subsystem.drive.initial_config();
    let handles = usize::from(config.handles);
    let groups = u32::from(config.groups);
    let list = handles * size_of::<RuhDescriptor>();
    let ds = (size_of::<FdpConfiguration>() + list).next_multiple_of(8);
    let size = size_of::<FdpConfigurations>() + ds;
    let head = FdpConfigurations { size: (size as u32).into(), ..Default::default() };
    let rgif = groups.next_power_of_two().trailing_zeros() as u8;
    let maxpids = MAX_HANDLES.saturating_mul(groups).min(0x1_0000);
    let configuration = FdpConfiguration {
        ds: (ds as u16).into(),
        fdpa: Fdpa::new().with_rgif(rgif).with_valid(true).into_bits(),
        nrg: groups.into(),
        nruh: config.handles.into(),
        maxpids_z: ((maxpids - 1) as u16).into(),
        nnss: LAST_NSID.into(),
        runs: config.reclaim_unit.size.0.into(),
        ..Default::default()
    };
    let mut page = [head.as_bytes(), configuration.as_bytes()].concat();
    for handle in 0..handles {
        let named = config.handle_isolation.get(&handle.to_string());
        let ruht = match named.unwrap_or(&config.isolation) {
            Isolation::Initially => 1,
            Isolation::Persistently => 2,
        };
        page.extend_from_slice(RuhDescriptor { ruht, ..Default::default() }.as_bytes());
    }
    page.resize(size, 0);
    Ok(page)
}

/// Reclaim Unit Handle Usage.
pub(super) fn usage(controller: &Controller, _: &Sqe) -> Result<Vec<u8>, Failure> {
    controller.check_fdp()?;
    let usage = controller.subsystem.drive.handle_usage();
    let head = RuhUsage { nruh: (usage.len() as u16).into(), ..Default::default() };
    let descriptor = |ruha: u8| RuhUsageDescriptor { ruha, ..Default::default() };
    let descriptors: Vec<RuhUsageDescriptor> = usage.into_iter().map(descriptor).collect();
    Ok([head.as_bytes(), descriptors.as_bytes()].concat())
}

/// FDP Statistics.
pub(super) fn statistics(controller: &Controller, _: &Sqe) -> Result<Vec<u8>, Failure> {
    controller.check_fdp()?;
    let counters = controller.subsystem.drive.counters().counters;
    let log = FdpStatistics {
        hbmw: u128::from(counters.host_bytes).into(),
        mbmw: u128::from(counters.media_bytes).into(),
        mbe: u128::from(counters.erased_bytes).into(),
        ..Default::default()
    };
    Ok(log.as_bytes().to_vec())
}

/// FDP Events.
pub(super) fn events(controller: &Controller, sqe: &Sqe) -> Result<Vec<u8>, Failure> {
    controller.check_fdp()?;
    let of_host = GetLogCdw10::of(sqe).lsp() & 1 == 1;
    let class = if of_host { EventClass::Host } else { EventClass::Controller };
    let events: Vec<FdpEventEntry> =
        controller.subsystem.drive.events(class).iter().map(event).collect();
    let head = FdpEventsHeader { count: (events.len() as u32).into(), ..Default::default() };
    let mut page = [head.as_bytes(), events.as_bytes()].concat();
    // The page always has room for 63 events.
    page.resize(4096, 0);
    Ok(page)
}

fn event(event: &EventRecord) -> FdpEventEntry {
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
        // In logical blocks of 4 KiB: the relocated pages may belong to namespaces of both formats.
        let moved = u16::try_from(event.pages).unwrap_or(u16::MAX);
        let specific = MediaReallocated { nlbam: moved.into(), ..Default::default() };
        entry.specific.copy_from_slice(specific.as_bytes());
    }
    entry
}

/// The vendor specific page: bytes of each reclaim unit handle.
pub(super) fn handles(controller: &Controller, _: &Sqe) -> Result<Vec<u8>, Failure> {
    let DriveCounters { handles, gc, counters, .. } = controller.subsystem.drive.counters();
    let entry = |(ruhid, c): (u16, &HandleCounters)| HandleBytes {
        ruhid: ruhid.into(),
        host_bytes: c.host_bytes.into(),
        media_bytes: c.media_bytes.into(),
        erased_bytes: c.erased_bytes.into(),
        ..Default::default()
    };
    let rows = (0..).zip(&handles).chain(gc.iter().map(|c| (0xffff, c)));
    let entries: Vec<HandleBytes> = rows.map(entry).collect();
    let page_bytes = controller.subsystem.drive.geometry().page_bytes;
    let head = HandlesLog {
        magic: *b"WAFR",
        version: 1.into(),
        count: (entries.len() as u16).into(),
        size: ((size_of::<HandlesLog>() + size_of_val(&entries[..])) as u32).into(),
        gc: u32::from(gc.is_some()).into(),
        relocated_bytes: (counters.relocated_pages * page_bytes).into(),
        collections: (counters.forced_gc + counters.background_gc).into(),
    };
    Ok([head.as_bytes(), entries.as_bytes()].concat())
}
