//! Commands of hosts: counting, placement, and FDP events.

use wafer_interface::{Command, Placement, RgId, RuhId};
use wafer_nvme::{FdpEventType, Status};

use super::{Batch, Drive, EventRecord, Namespace};

/// Commands that moved data, which SMART counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transferred {
    /// Read and compare commands.
    pub reads: u64,
    /// Write commands.
    pub writes: u64,
}

/// A row of Reclaim Unit Handle Status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandleStatus {
    /// Placement identifier.
    pub placement: Placement,
    /// The handle behind it.
    pub handle: RuhId,
    /// RUAMW in pages.
    pub available_pages: u32,
}

impl Drive {
    /// Applies a batch to the device, in this order, and empties it. Commands on namespaces that were deleted or
    /// formatted in the meantime do not count.
    pub fn apply_batch(&self, host: u16, batch: &mut Batch) {
        if !batch.is_empty() {
            let mut inner = self.lock();
            inner.read_commands += batch.transferred.reads;
            inner.write_commands += batch.transferred.writes;
            for commands in batch.live() {
                self.apply_locked(&mut inner, host, commands);
            }
        }
        batch.clear();
    }

    /// Returns the number of times a server of this drive ended without saving its state.
    pub fn unsafe_shutdowns(&self) -> u64 {
        self.lock().unsafe_shutdowns
    }

    /// Returns the Reclaim Unit Handle Status of a namespace: for each placement handle, for each group.
    pub fn handle_status(&self, namespace: &Namespace) -> Vec<HandleStatus> {
        let inner = self.lock();
        inner
            .device
            .placements(namespace.id())
            .into_iter()
            .filter_map(|placement| {
                let (group, handle) = namespace.placement(placement).ok()?;
                let available_pages = inner.device.available_pages(RgId(group), handle);
                Some(HandleStatus { placement, handle, available_pages })
            })
            .collect()
    }

    /// Moves the handle behind a placement identifier to another reclaim unit.
    ///
    /// # Errors
    /// `INVALID_FIELD` for an identifier that the namespace does not define; `INVALID_NAMESPACE` if the namespace
    /// is gone.
    pub fn update(&self, host: u16, namespace: &Namespace, pid: Placement) -> Result<(), Status> {
        let (group, handle) = namespace.placement(pid).map_err(|_| Status::INVALID_FIELD)?;
        let mut inner = self.lock();
        if namespace.retired().is_some() {
            return Err(Status::INVALID_NAMESPACE);
        }
        let unwritten = inner.device.available_pages(RgId(group), handle);
        self.apply_locked(&mut inner, host, &[Command::update(namespace.id(), pid)]);
        // A handle on an empty reclaim unit keeps it.
        if unwritten > 0 && unwritten < inner.device.geometry().pages_per_ru {
            let record = EventRecord {
                event_type: FdpEventType::RU_NOT_FULLY_WRITTEN.0,
                timestamp: inner.timestamp(),
                placement: Some(pid),
                namespace: Some(namespace.id()),
                location: Some((RgId(group), handle)),
                pages: unwritten,
            };
            inner.events.log(handle, record);
        }
        Ok(())
    }

    /// Logs a write that was refused because its namespace does not define the placement identifier.
    pub fn refused_placement(&self, namespace: &Namespace, pid: Placement) {
        let mut inner = self.lock();
        let record = EventRecord {
            event_type: FdpEventType::INVALID_PLACEMENT_IDENTIFIER.0,
            timestamp: inner.timestamp(),
            placement: Some(pid),
            namespace: Some(namespace.id()),
            location: None,
            pages: 0,
        };
        let default = namespace.handles.first().copied().unwrap_or(RuhId(0));
        inner.events.log(default, record);
    }

    /// Enables or disables event types for a handle.
    ///
    /// # Errors
    /// `INVALID_FIELD` for an unknown type.
    pub fn enable_events(&self, handle: RuhId, types: &[u8], enable: bool) -> Result<(), Status> {
        let done = self.lock().events.enable(handle, types, enable);
        if done { Ok(()) } else { Err(Status::INVALID_FIELD) }
    }

    /// Returns the event types that can be enabled for a handle, and whether they are.
    pub fn supported_events(&self, handle: RuhId) -> Vec<(u8, bool)> {
        self.lock().events.supported(handle)
    }
}
