//! Creating and attaching namespaces, enabling FDP, saving features, and changing firmware.

use std::sync::{Arc, Mutex, PoisonError};

use wafer_device::{Device, DeviceConfig, NamespaceError};
use wafer_interface::{Bytes, RuhId};
use wafer_nvme::Status;
use wafer_record::capture::CaptureEvent;

use super::change::Change;
use super::events::EventLog;
use super::firmware::Firmware;
use super::namespace::{Attachment, Identity, Retired};
use super::{Drive, DriveError, Inner, Namespace, Pending, empty_device};
use crate::random::Random;

/// A namespace to create.
#[derive(Clone, Debug)]
pub struct NamespaceRequest {
    /// Capacity in pages.
    pub pages: u64,
    /// Bytes of a logical block: 512 or 4096.
    pub lba_bytes: u32,
    /// Reclaim unit handles of its placement handles. If empty, the drive chooses one.
    pub handles: Vec<RuhId>,
    /// Whether it is attached to all hosts.
    pub everyone: bool,
    /// Whether it may be attached to one host only.
    pub private: bool,
}

impl Drive {
    /// Creates a namespace and returns its NSID.
    ///
    /// # Errors
    /// The status that Namespace Management completes with.
    pub fn create_namespace(&self, mut request: NamespaceRequest) -> Result<u32, Status> {
        self.space.release(&self.backend);
        let mut inner = self.lock();
        let inner = &mut *inner;
        self.check_durable()?;
        let fdp = inner.config.fdp;
        let controller_specified = !fdp || request.handles.is_empty();
        let usage = self.usage(inner);
        if !fdp {
            // Without FDP, the list is ignored (Base 2.1, NPHNDLS: only if FDP is enabled). Every namespace can use
            // all streams.
            request.handles = (0..inner.device.geometry().handles).map(RuhId).collect();
        } else if controller_specified {
            let with = |used| (0..).map(RuhId).zip(&usage).filter(move |(_, u)| **u == used);
            let fits = |handle| self.check_format(&[handle], request.lba_bytes, &[]).is_ok();
            let mut chosen = with(2).filter(|(handle, _)| fits(*handle)).chain(with(0));
            let handle = chosen.next().or_else(|| with(2).next());
            request.handles.push(handle.ok_or(Status::INVALID_PLACEMENT_HANDLE_LIST)?.0);
        } else if request.handles.iter().any(|h| usage.get(h.index()) == Some(&2)) {
            return Err(Status::INVALID_PLACEMENT_HANDLE_LIST);
        }
        if fdp {
            self.check_format(&request.handles, request.lba_bytes, &[])?;
        }
        let created = inner.device.create_namespace(request.pages, &request.handles);
        let id = created.map_err(|e| match e {
            NamespaceError::Empty => Status::INVALID_FIELD,
            NamespaceError::Capacity { .. } => Status::INSUFFICIENT_CAPACITY,
            NamespaceError::TooMany => Status::NAMESPACE_ID_UNAVAILABLE,
            NamespaceError::Handle(_) => Status::INVALID_PLACEMENT_HANDLE_LIST,
        })?;
        let geometry = inner.device.geometry();
        let bytes = request.pages * geometry.page_bytes;
        let base = self.space.find(&self.namespaces(), bytes);
        let store = match self.backend.store(base, bytes) {
            Ok(store) => store,
            Err(error) => {
                tracing::error!(%error, "cannot allocate the data of a namespace");
                inner.device.delete_namespace(id);
                return Err(Status::INSUFFICIENT_CAPACITY);
            }
        };
        let handles: Vec<RuhId> =
            geometry.namespace_handles[id.index()].iter().map(|h| RuhId(*h)).collect();
        let random = &*self.environment.random;
        let namespace = Namespace {
            nsid: u32::from(id.0) + 1,
            bytes,
            lba_shift: request.lba_bytes.trailing_zeros(),
            controller_specified,
            handles: handles.clone(),
            identity: Mutex::new(Identity { nguid: identifier(random), uuid: uuid(random) }),
            store,
            base,
            groups: geometry.groups,
            attachment: Mutex::new(Attachment::new(request.everyone, request.private)),
            protection: Default::default(),
            marks: Default::default(),
            media_errors: Default::default(),
            reservations: Default::default(),
            retired: Default::default(),
        };
        if let Err(status) = self.commit(inner, &Change::Create(&namespace)) {
            inner.device.delete_namespace(id);
            return Err(status);
        }
        self.insert(namespace);
        let blocks = Namespace::device_blocks(bytes);
        let handles = handles.iter().map(|h| h.0).collect();
        inner.record(0, CaptureEvent::CreateNamespace { namespace: id, blocks, handles });
        Ok(u32::from(id.0) + 1)
    }

    /// Checks that other namespaces with one of these handles have logical blocks of this size (NVM Command Set 1.1,
    /// 4.1.6), except those that a command formats.
    ///
    /// # Errors
    /// `INVALID_FORMAT`.
    pub fn check_format(
        &self,
        handles: &[RuhId],
        lba_bytes: u32,
        formatted: &[u32],
    ) -> Result<(), Status> {
        let others = self.namespaces().into_iter().flatten();
        let mut others = others.filter(|n| !formatted.contains(&n.nsid));
        let differs = |n: Arc<Namespace>| {
            n.retired() != Some(Retired::Deleted)
                && n.lba_bytes() != u64::from(lba_bytes)
                && n.handles.iter().any(|handle| handles.contains(handle))
        };
        if others.any(differs) { Err(Status::INVALID_FORMAT) } else { Ok(()) }
    }

    /// Adds a namespace that the device already has.
    pub(crate) fn insert(&self, namespace: Namespace) {
        let mut namespaces = self.namespaces.write().unwrap_or_else(PoisonError::into_inner);
        let at = namespace.id().index();
        if namespaces.len() <= at {
            namespaces.resize(at + 1, None);
        }
        namespaces[at] = Some(Arc::new(namespace));
    }

    /// Attaches a namespace to the controllers of hosts, or detaches it from them.
    ///
    /// # Errors
    /// The namespace does not exist, or is private to another host; or the drive cannot be saved.
    pub fn attach_namespace(
        &self,
        nsid: u32,
        hosts: Vec<String>,
        attached: bool,
    ) -> Result<(), Status> {
        let mut inner = self.lock();
        let namespace = self.namespace(nsid).ok_or(Status::INVALID_NAMESPACE)?;
        if attached {
            namespace.check_shared(&hosts)?;
        }
        let change = Change::Attach { nsid, hosts, attached };
        self.commit(&mut inner, &change)?;
        if let Change::Attach { hosts, .. } = &change {
            hosts.iter().for_each(|host| {
                namespace.set_attached(host, attached);
            });
        }
        Ok(())
    }

    /// Gives a namespace another UUID and NGUID, which makes it another namespace to hosts.
    ///
    /// # Errors
    /// `WRITE_FAULT`: the drive cannot be saved.
    pub fn identify_namespace(&self, namespace: &Namespace, uuid: [u8; 16]) -> Result<(), Status> {
        let mut inner = self.lock();
        let identity = Identity { nguid: identifier(&*self.environment.random), uuid };
        self.commit(&mut inner, &Change::Identify { nsid: namespace.nsid, identity })?;
        namespace.set_identity(identity);
        Ok(())
    }

    /// Returns whether FDP is enabled.
    pub fn fdp_enabled(&self) -> bool {
        self.lock().config.fdp
    }

    /// Enables or disables FDP. The FDP statistics restart, because they belong to a configuration.
    ///
    /// # Errors
    /// `SEQUENCE_ERROR` while there are namespaces, `WRITE_FAULT` if the drive cannot be saved.
    pub fn set_fdp(&self, enabled: bool) -> Result<(), Status> {
        let mut inner = self.lock();
        if inner.config.fdp == enabled {
            return Ok(());
        }
        if self.namespaces().iter().any(Option::is_some) {
            return Err(Status::SEQUENCE_ERROR);
        }
        // A new device would restart its erase counts.
        self.check_media()?;
        let device = self.device_with_fdp(&inner, enabled).map_err(|error| {
            tracing::error!(%error, "cannot make the device with the new FDP setting");
            Status::INTERNAL_ERROR
        })?;
        let all_events = self.options.events_enabled;
        self.commit(&mut inner, &Change::Fdp { enabled, all_events })?;
        self.replace_device(&mut inner, device, enabled, all_events);
        Ok(())
    }

    /// Creates the device with FDP enabled or disabled.
    pub(crate) fn device_with_fdp(
        &self,
        inner: &Inner,
        fdp: bool,
    ) -> Result<Device<Pending>, DriveError> {
        empty_device(&DeviceConfig { fdp, ..inner.config.clone() }, inner.seed)
    }

    /// Continues with a device that has no namespaces yet.
    pub(crate) fn replace_device(
        &self,
        inner: &mut Inner,
        device: Device<Pending>,
        fdp: bool,
        all_events: bool,
    ) {
        inner.life.earlier = inner.lifetime();
        inner.events = EventLog::new(device.geometry().handles, all_events);
        inner.device = device;
        inner.config.fdp = fdp;
        inner.record(0, CaptureEvent::SetFdp(fdp));
    }

    /// Saves the value of a feature, by identifier, in the files of the drive.
    ///
    /// # Errors
    /// `WRITE_FAULT` if the drive cannot be saved.
    pub fn save_feature(&self, fid: u8, value: Vec<u8>) -> Result<(), Status> {
        let mut inner = self.lock();
        self.commit(&mut inner, &Change::Feature { fid, value: value.clone() })?;
        inner.features.insert(fid, value);
        Ok(())
    }

    /// Returns the saved value of a feature.
    pub fn saved_feature(&self, fid: u8) -> Option<Vec<u8>> {
        self.lock().features.get(&fid).cloned()
    }

    /// Returns the firmware slots.
    pub fn firmware(&self) -> Firmware {
        self.lock().firmware
    }

    /// Changes the firmware slots, durably.
    ///
    /// # Errors
    /// The error of the change, or `WRITE_FAULT` if the drive cannot be saved. Nothing has changed then.
    pub fn change_firmware(
        &self,
        change: impl FnOnce(&mut Firmware) -> Result<(), Status>,
    ) -> Result<(), Status> {
        let mut inner = self.lock();
        let mut firmware = inner.firmware;
        change(&mut firmware)?;
        self.commit(&mut inner, &Change::Firmware(firmware))?;
        inner.firmware = firmware;
        Ok(())
    }

    /// Activates the firmware that is pending for a reset.
    ///
    /// # Errors
    /// `WRITE_FAULT`: the drive cannot be saved. The firmware stays pending.
    pub fn reset_firmware(&self) -> Result<(), Status> {
        if self.firmware().next().is_none() {
            return Ok(());
        }
        self.change_firmware(|firmware| {
            firmware.reset();
            Ok(())
        })
    }

    /// Returns the use of each handle: 0 unused, 1 host specified, 2 controller specified.
    pub fn handle_usage(&self) -> Vec<u8> {
        self.usage(&self.lock())
    }

    fn usage(&self, inner: &Inner) -> Vec<u8> {
        let mut usage = vec![0; usize::from(inner.device.geometry().handles)];
        for namespace in self.namespaces().into_iter().flatten() {
            for handle in &namespace.handles {
                if let Some(usage) = usage.get_mut(handle.index()) {
                    *usage = if namespace.controller_specified { 2 } else { 1 };
                }
            }
        }
        usage
    }

    /// Returns the bytes not allocated to any namespace.
    pub fn unallocated_bytes(&self) -> Bytes {
        let inner = self.lock();
        Bytes(inner.device.unallocated_pages() * inner.device.geometry().page_bytes)
    }
}

fn identifier(random: &dyn Random) -> [u8; 16] {
    let mut bytes = [0; 16];
    random.fill(&mut bytes);
    bytes
}

/// Draws a random UUID (RFC 9562, version 4).
pub(crate) fn uuid(random: &dyn Random) -> [u8; 16] {
    uuid::Builder::from_random_bytes(identifier(random)).into_uuid().into_bytes()
}
