//! Flexible Data Placement: log pages 0x20 to 0x23, the events feature, Reclaim Unit Handle Status and
//! Update.

use wafer_core::{Isolation, Placement, RuhId};
use wafer_spec::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_spec::*;

use super::identify::LAST_NSID;
use super::{Controller, Failure, Reply};
use crate::drive::{EventClass, EventRecord, Namespace};

/// Placement identifiers of a namespace at most: 128 placement handles in each reclaim group.
const MAX_HANDLES: u32 = 128;

impl Controller {
    pub(crate) fn fdp_configurations(&self) -> Vec<u8> {
        // What FDP would be, also while it is disabled.
        let config = &self.subsystem.drive.options.device;
        let handles = usize::from(config.handles);
        let groups = u32::from(config.groups);
        let runs = config.reclaim_unit.size.0;
        let list = handles * size_of::<RuhDescriptor>();
        let ds = (size_of::<FdpConfiguration>() + list).next_multiple_of(8);
        let head = FdpConfigurations {
            size: ((size_of::<FdpConfigurations>() + ds) as u32).into(),
            ..Default::default()
        };
        let rgif = groups.next_power_of_two().trailing_zeros() as u8;
        let maxpids = MAX_HANDLES.saturating_mul(groups).min(0x1_0000);
        let configuration = FdpConfiguration {
            ds: (ds as u16).into(),
            fdpa: Fdpa::new().with_rgif(rgif).with_valid(true).into_bits(),
            nrg: groups.into(),
            nruh: config.handles.into(),
            maxpids_z: ((maxpids - 1) as u16).into(),
            nnss: LAST_NSID.into(),
            runs: runs.into(),
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
        page.resize(size_of::<FdpConfigurations>() + ds, 0);
        page
    }

    fn check_fdp(&self) -> Result<(), Failure> {
        let enabled = self.subsystem.drive.fdp_enabled();
        if enabled { Ok(()) } else { Err(Status::FDP_DISABLED.into()) }
    }

    pub(crate) fn fdp_usage(&self) -> Result<Vec<u8>, Failure> {
        self.check_fdp()?;
        let usage = self.subsystem.drive.handle_usage();
        let head = RuhUsage { nruh: (usage.len() as u16).into(), ..Default::default() };
        let mut page = head.as_bytes().to_vec();
        for ruha in usage {
            page.extend_from_slice(RuhUsageDescriptor { ruha, ..Default::default() }.as_bytes());
        }
        Ok(page)
    }

    pub(crate) fn fdp_statistics(&self) -> Result<Vec<u8>, Failure> {
        self.check_fdp()?;
        let counters = self.subsystem.drive.snapshot().counters;
        let log = FdpStatistics {
            hbmw: u128::from(counters.host_bytes).into(),
            mbmw: u128::from(counters.media_bytes).into(),
            mbe: u128::from(counters.erased_bytes).into(),
            ..Default::default()
        };
        Ok(log.as_bytes().to_vec())
    }

    pub(crate) fn fdp_events(&self, lsp: u8) -> Result<Vec<u8>, Failure> {
        self.check_fdp()?;
        let class = if lsp & 1 == 1 { EventClass::Host } else { EventClass::Controller };
        let events = self.subsystem.drive.events(class);
        let head = FdpEventsHeader { count: (events.len() as u32).into(), ..Default::default() };
        let mut page = head.as_bytes().to_vec();
        for event in &events {
            page.extend_from_slice(self.event_entry(event).as_bytes());
        }
        // The page has room for 63 events, whether there are so many or not.
        page.resize(4096, 0);
        Ok(page)
    }

    fn event_entry(&self, event: &EventRecord) -> FdpEventEntry {
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

    /// The handle behind the placement handle that the events feature names.
    fn events_handle(&self, sqe: &Sqe) -> Result<(RuhId, FdpEventsCdw11), Failure> {
        self.check_fdp()?;
        let cdw11 = FdpEventsCdw11::from(sqe.cdw11.get());
        let namespace = self.active(sqe.nsid.get())?.ok_or(Status::INVALID_FIELD)?;
        let handle = namespace.handles.get(usize::from(cdw11.phndl()));
        Ok((*handle.ok_or(Failure::field(44))?, cdw11))
    }

    pub(crate) fn get_fdp_events(&self, sqe: &Sqe) -> Result<Reply, Failure> {
        let (handle, cdw11) = self.events_handle(sqe)?;
        let supported = self.subsystem.drive.supported_events(handle);
        let mut data = Vec::new();
        for (event_type, enabled) in supported.iter().take(usize::from(cdw11.noet())) {
            let descriptor =
                FdpEventDescriptor { event_type: *event_type, attributes: u8::from(*enabled) };
            data.extend_from_slice(descriptor.as_bytes());
        }
        Ok(Reply { dw0: supported.len() as u32, data, ..Default::default() })
    }

    pub(crate) fn set_fdp_events(&self, sqe: &Sqe, data: &[u8]) -> Result<Reply, Failure> {
        let (handle, cdw11) = self.events_handle(sqe)?;
        let count = usize::from(cdw11.noet());
        let types = data.get(..count).ok_or(Status::INVALID_SGL_LENGTH)?;
        if types.is_empty() {
            return Err(Failure::field(46));
        }
        let enable = sqe.cdw12.get() & 1 == 1;
        self.subsystem.drive.enable_events(handle, types, enable)?;
        Ok(Reply::default())
    }

    /// I/O Management Receive.
    pub(crate) fn handle_status(
        &self,
        namespace: &Namespace,
        sqe: &Sqe,
    ) -> Result<Vec<u8>, Failure> {
        let cdw10 = IoManagementCdw10::from(sqe.cdw10.get());
        match ManagementOperation(cdw10.mo()) {
            ManagementOperation::NONE => return Ok(Vec::new()),
            ManagementOperation::RECLAIM_UNIT_HANDLE => {}
            _ => return Err(Failure::field(40)),
        }
        self.check_fdp()?;
        let drive = &self.subsystem.drive;
        let blocks_per_page = drive.geometry().page_bytes / namespace.lba_bytes();
        let handles = drive.handle_status(namespace);
        let head = RuhStatus { nruhsd: (handles.len() as u16).into(), ..Default::default() };
        let mut data = head.as_bytes().to_vec();
        for handle in handles {
            let status = RuhStatusDescriptor {
                pid: handle.placement.0.into(),
                ruhid: handle.handle.0.into(),
                ruamw: (u64::from(handle.available_pages) * blocks_per_page).into(),
                ..Default::default()
            };
            data.extend_from_slice(status.as_bytes());
        }
        Ok(data)
    }

    /// I/O Management Send: moves each handle named to another reclaim unit, none if one identifier is
    /// not valid.
    pub(crate) fn handle_update(
        &self,
        namespace: &Namespace,
        sqe: &Sqe,
        data: &[u8],
    ) -> Result<(), Failure> {
        let cdw10 = IoManagementCdw10::from(sqe.cdw10.get());
        match ManagementOperation(cdw10.mo()) {
            ManagementOperation::NONE => return Ok(()),
            ManagementOperation::RECLAIM_UNIT_HANDLE => {}
            _ => return Err(Failure::field(40)),
        }
        self.check_fdp()?;
        let count = usize::from(cdw10.mos()) + 1;
        let list = data.get(..2 * count).ok_or(Status::INVALID_SGL_LENGTH)?;
        let pids: Vec<Placement> = list
            .chunks_exact(2)
            .filter_map(|pair| U16::read_from_bytes(pair).ok())
            .map(|pid| Placement(pid.get()))
            .collect();
        if pids.iter().any(|pid| namespace.placement(*pid).is_err()) {
            return Err(Status::INVALID_FIELD.into());
        }
        for pid in pids {
            self.subsystem.drive.update(self.host, namespace, pid)?;
        }
        Ok(())
    }
}
