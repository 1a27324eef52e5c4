//! Namespace management, formatting, and enabling FDP.

use std::sync::{Arc, Mutex, PoisonError};

use wafer_device::{DeviceConfig, NamespaceError};
use wafer_interface::{Bytes, RuhId};
use wafer_nvme::Status;
use wafer_record::capture::CaptureEvent;

use super::events::EventLog;
use super::namespace::Attachment;
use super::{Drive, Inner, Namespace, empty_device};
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
}

impl Drive {
    /// Creates a namespace and returns its NSID.
    ///
    /// # Errors
    /// The status that Namespace Management completes with.
    pub fn create_namespace(&self, mut request: NamespaceRequest) -> Result<u32, Status> {
        let mut inner = self.lock();
        let inner = &mut *inner;
        let fdp = inner.config.fdp;
        let controller_specified = !fdp || request.handles.is_empty();
        let usage = self.usage(inner);
        if !fdp {
            // Without FDP the list is ignored (Base 2.1, NPHNDLS: only if FDP is enabled).
            request.handles.clear();
        } else if controller_specified {
            let first = |used: u8| usage.iter().position(|u| *u == used);
            let handle = first(2).or_else(|| first(0));
            let handle = handle.ok_or(Status::INVALID_PLACEMENT_HANDLE_LIST)?;
            request.handles.push(RuhId(handle as u16));
        } else if request.handles.iter().any(|h| usage.get(h.index()) == Some(&2)) {
            return Err(Status::INVALID_PLACEMENT_HANDLE_LIST);
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
        let mut namespaces = self.namespaces.write().unwrap_or_else(PoisonError::into_inner);
        let base = free_space(&namespaces, bytes);
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
            nguid: identifier(random),
            uuid: uuid(random),
            store,
            base,
            groups: geometry.groups,
            attachment: Mutex::new(Attachment {
                everyone: request.everyone,
                exceptions: Default::default(),
            }),
        };
        if namespaces.len() <= id.index() {
            namespaces.resize(id.index() + 1, None);
        }
        namespaces[id.index()] = Some(Arc::new(namespace));
        let blocks = Namespace::device_blocks(bytes);
        let handles = handles.iter().map(|h| h.0).collect();
        inner.record(0, CaptureEvent::CreateNamespace { namespace: id, blocks, handles });
        drop(namespaces);
        self.changed(inner);
        Ok(u32::from(id.0) + 1)
    }

    /// Deletes a namespace and its data.
    ///
    /// # Errors
    /// The namespace does not exist, or the backend cannot free its space.
    pub fn delete_namespace(&self, nsid: u32) -> Result<(), Status> {
        let namespace = self.namespace(nsid).ok_or(Status::INVALID_NAMESPACE)?;
        let mut inner = self.lock();
        {
            let mut namespaces = self.namespaces.write().unwrap_or_else(PoisonError::into_inner);
            let slot = namespaces.get_mut(namespace.id().index());
            slot.and_then(Option::take).ok_or(Status::INVALID_NAMESPACE)?;
        }
        // A replay of the capture on a drive that keeps its namespaces deallocates the data too.
        self.apply_locked(&mut inner, 0, &deallocation(&namespace));
        inner.device.delete_namespace(namespace.id());
        inner.record(0, CaptureEvent::DeleteNamespace(namespace.id()));
        let freed = namespace.store.deallocate(0, namespace.bytes);
        self.changed(&mut inner);
        freed.map_err(|error| {
            tracing::error!(%error, nsid, "cannot free the space of a namespace");
            Status::INTERNAL_ERROR
        })
    }

    /// Deallocates all of a namespace and sets the size of its logical blocks.
    ///
    /// # Errors
    /// The namespace does not exist, or the backend fails.
    pub fn format_namespace(&self, host: u16, nsid: u32, lba_bytes: u32) -> Result<(), Status> {
        let old = self.namespace(nsid).ok_or(Status::INVALID_NAMESPACE)?;
        let mut inner = self.lock();
        self.apply_locked(&mut inner, host, &deallocation(&old));
        old.store.deallocate(0, old.bytes).map_err(|_| Status::INTERNAL_ERROR)?;
        let attachment = old.attachment.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let formatted = Namespace {
            lba_shift: lba_bytes.trailing_zeros(),
            handles: old.handles.clone(),
            store: Arc::clone(&old.store),
            attachment: Mutex::new(attachment),
            ..*old
        };
        let mut namespaces = self.namespaces.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = namespaces.get_mut(old.id().index()) {
            *slot = Some(Arc::new(formatted));
        }
        drop(namespaces);
        self.changed(&mut inner);
        Ok(())
    }

    /// Returns whether FDP is enabled.
    pub fn fdp_enabled(&self) -> bool {
        self.lock().config.fdp
    }

    /// Enables or disables FDP. The FDP statistics restart: they belong to a configuration.
    ///
    /// # Errors
    /// `SEQUENCE_ERROR` while there are namespaces.
    pub fn set_fdp(&self, enabled: bool) -> Result<(), Status> {
        let mut inner = self.lock();
        if inner.config.fdp == enabled {
            return Ok(());
        }
        if self.namespaces().iter().any(Option::is_some) {
            return Err(Status::SEQUENCE_ERROR);
        }
        let config = DeviceConfig { fdp: enabled, ..inner.config.clone() };
        let device = empty_device(&config, self.options.seed).map_err(|error| {
            tracing::error!(%error, "cannot make the device with the new FDP setting");
            Status::INTERNAL_ERROR
        })?;
        inner.earlier = inner.lifetime();
        inner.events = EventLog::new(device.geometry().handles, self.options.events_enabled);
        inner.device = device;
        inner.config = config;
        inner.record(0, CaptureEvent::SetFdp(enabled));
        self.changed(&mut inner);
        Ok(())
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

/// Returns commands that deallocate all of a namespace.
fn deallocation(namespace: &Namespace) -> Vec<wafer_interface::Command> {
    let (mut at, end) = (0, Namespace::device_blocks(namespace.bytes));
    let mut commands = Vec::new();
    while at < end {
        let blocks = (end - at).min(1 << 31);
        commands.push(wafer_interface::Command::deallocate(at, blocks as u32).on(namespace.id()));
        at += blocks;
    }
    commands
}

/// Returns the first offset with this many free bytes. It may lie beyond the capacity, because only written
/// data takes space.
fn free_space(namespaces: &[Option<Arc<Namespace>>], bytes: u64) -> u64 {
    let mut taken: Vec<_> = namespaces.iter().flatten().map(|n| (n.base, n.bytes)).collect();
    taken.sort_unstable();
    let mut from = 0;
    for (base, length) in taken {
        if base - from >= bytes {
            break;
        }
        from = base + length;
    }
    from
}

fn identifier(random: &dyn Random) -> [u8; 16] {
    let mut bytes = [0; 16];
    random.fill(&mut bytes);
    bytes
}

/// Draws a random UUID (RFC 9562, version 4).
fn uuid(random: &dyn Random) -> [u8; 16] {
    let mut bytes = identifier(random);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    bytes
}
