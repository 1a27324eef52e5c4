//! Deleting and formatting namespaces.
//!
//! Both retire the namespace at once: no command finds it any more, and commands that found it earlier finish on
//! data that nobody else reads (see `space.rs`), and do not count. The device then deallocates its pages in slices,
//! so that the lock of the drive is never held for long. At the end the table changes: the namespace is gone, or
//! another one with the same identity and new storage takes its place.

use std::sync::{Arc, Mutex, PoisonError};

use wafer_interface::Command;
use wafer_nvme::Status;
use wafer_record::capture::CaptureEvent;

use super::backend::Store;
use super::namespace::Retired;
use super::{Drive, Inner, Namespace};

/// Device blocks that are deallocated under one lock: 64 MiB.
const SLICE: u64 = (64 << 20) / wafer_interface::LBA_BYTES;

/// A namespace that is being deleted or formatted. [`Drive::remove_slice`] does the next part.
pub struct Removal {
    namespace: Arc<Namespace>,
    host: u16,
    /// First block that is not deallocated yet.
    at: u64,
    then: Then,
}

enum Then {
    Delete,
    Format { lba_bytes: u32, base: u64, store: Arc<dyn Store> },
}

impl Drive {
    /// Deletes a namespace and its data.
    ///
    /// # Errors
    /// As [`Self::begin_delete`].
    pub fn delete_namespace(&self, nsid: u32) -> Result<(), Status> {
        let mut removal = Some(self.begin_delete(nsid)?);
        while let Some(rest) = removal {
            removal = self.remove_slice(rest);
        }
        Ok(())
    }

    /// Deallocates all of a namespace and sets the size of its logical blocks.
    ///
    /// # Errors
    /// As [`Self::begin_format`].
    pub fn format_namespace(&self, host: u16, nsid: u32, lba_bytes: u32) -> Result<(), Status> {
        let mut removal = Some(self.begin_format(host, nsid, lba_bytes)?);
        while let Some(rest) = removal {
            removal = self.remove_slice(rest);
        }
        Ok(())
    }

    /// Begins to delete a namespace: from now on no command finds it.
    ///
    /// # Errors
    /// The namespace does not exist, or is being formatted.
    pub fn begin_delete(&self, nsid: u32) -> Result<Removal, Status> {
        let _inner = self.lock();
        let namespace = self.retire(nsid, Retired::Deleted)?;
        Ok(Removal { namespace, host: 0, at: 0, then: Then::Delete })
    }

    /// Begins to format a namespace: from now on no command finds it until it is formatted.
    ///
    /// # Errors
    /// The namespace does not exist or is being formatted, or there is no space for new data.
    pub fn begin_format(&self, host: u16, nsid: u32, lba_bytes: u32) -> Result<Removal, Status> {
        let _inner = self.lock();
        let bytes = self.namespace(nsid).ok_or(Status::INVALID_NAMESPACE)?.bytes;
        let base = self.space.find(&self.namespaces(), bytes);
        let store = self.backend.store(base, bytes).map_err(|error| {
            tracing::error!(%error, nsid, "cannot allocate the data of a namespace");
            Status::INTERNAL_ERROR
        })?;
        let namespace = self.retire(nsid, Retired::Formatted)?;
        self.space.reserve(base, bytes);
        Ok(Removal { namespace, host, at: 0, then: Then::Format { lba_bytes, base, store } })
    }

    /// Retires a namespace, with the drive locked: commands of batches that are applied later do not count.
    fn retire(&self, nsid: u32, why: Retired) -> Result<Arc<Namespace>, Status> {
        let namespace = self.namespace(nsid).ok_or(Status::INVALID_NAMESPACE)?;
        match namespace.retire(why) {
            Ok(()) => Ok(namespace),
            Err(Retired::Formatted) => Err(Status::FORMAT_IN_PROGRESS),
            Err(Retired::Deleted) => Err(Status::INVALID_NAMESPACE),
        }
    }

    /// Does the next part of a removal and returns what is left of it.
    pub fn remove_slice(&self, mut removal: Removal) -> Option<Removal> {
        let id = removal.namespace.id();
        let left = Namespace::device_blocks(removal.namespace.bytes) - removal.at;
        let mut inner = self.lock();
        if left > 0 {
            // A replay of the capture on a drive that keeps its namespaces deallocates the data too.
            let blocks = left.min(SLICE);
            let command = Command::deallocate(removal.at, blocks as u32).on(id);
            self.apply_locked(&mut inner, removal.host, &[command]);
            removal.at += blocks;
            return Some(removal);
        }
        let Removal { namespace, then, .. } = removal;
        let next = match then {
            Then::Delete => {
                inner.device.delete_namespace(id);
                inner.record(0, CaptureEvent::DeleteNamespace(id));
                None
            }
            Then::Format { lba_bytes, base, store } => {
                Some(Arc::new(formatted(&namespace, lba_bytes, base, store)))
            }
        };
        self.replace(&mut inner, namespace, next);
        drop(inner);
        self.space.release(&self.backend);
        None
    }

    /// Puts what follows a retired namespace into the table and saves that.
    fn replace(&self, inner: &mut Inner, old: Arc<Namespace>, next: Option<Arc<Namespace>>) {
        let mut namespaces = self.namespaces.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(next) = &next {
            self.space.unreserve(next.base);
        }
        if let Some(slot) = namespaces.get_mut(old.id().index()) {
            *slot = next;
        }
        self.space.retire(old);
        drop(namespaces);
        self.changed(inner);
    }
}

/// Returns the namespace as it is after a format.
fn formatted(old: &Namespace, lba_bytes: u32, base: u64, store: Arc<dyn Store>) -> Namespace {
    let attachment = old.attachment.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Namespace {
        nsid: old.nsid,
        bytes: old.bytes,
        lba_shift: lba_bytes.trailing_zeros(),
        handles: old.handles.clone(),
        controller_specified: old.controller_specified,
        nguid: old.nguid,
        uuid: old.uuid,
        store,
        base,
        groups: old.groups,
        attachment: Mutex::new(attachment),
        retired: Default::default(),
    }
}
