//! Deleting and formatting namespaces.
//!
//! Both retire the namespace immediately: no command finds it any more. Commands that found it earlier finish on data
//! that nobody else reads (see `space.rs`), and do not count. The device then deallocates its pages in slices, so that
//! the lock of the drive is never held for long. At the end, the change enters the journal, and then the table changes:
//! the namespace is gone, or another one with the same identity and new storage takes its place. Until then the data is
//! untouched, so if the change cannot be saved, the namespace reappears.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use wafer_interface::Command;
use wafer_nvme::Status;
use wafer_record::capture::CaptureEvent;

use super::change::Change;
use super::namespace::Retired;
use super::{Drive, Inner, Namespace, Transferred};
use wafer_storage::Store;

/// Device blocks deallocated per lock: 64 MiB.
const SLICE: u64 = (64 << 20) / wafer_interface::LBA_BYTES;

/// A namespace that is being deleted or formatted. [`Drive::remove_slice`] does the next slice.
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

impl Removal {
    /// Returns the number of deallocated bytes.
    pub(crate) fn done_bytes(&self) -> u64 {
        self.at * wafer_interface::LBA_BYTES
    }
}

impl Drive {
    /// Deletes a namespace and its data.
    ///
    /// # Errors
    /// As [`Self::begin_delete`] and [`Self::remove_slice`].
    pub fn delete_namespace(&self, nsid: u32) -> Result<(), Status> {
        let mut removal = Some(self.begin_delete(nsid)?);
        while let Some(rest) = removal {
            removal = self.remove_slice(rest)?;
        }
        Ok(())
    }

    /// Deallocates all of a namespace and sets its logical block size.
    ///
    /// # Errors
    /// As [`Self::begin_format`] and [`Self::remove_slice`].
    pub fn format_namespace(&self, host: u16, nsid: u32, lba_bytes: u32) -> Result<(), Status> {
        let mut removal = Some(self.begin_format(host, nsid, lba_bytes)?);
        while let Some(rest) = removal {
            removal = self.remove_slice(rest)?;
        }
        Ok(())
    }

    /// Begins to delete a namespace, which no command finds from now on.
    ///
    /// # Errors
    /// The namespace does not exist, is being formatted or is write protected, or the drive cannot be saved.
    pub fn begin_delete(&self, nsid: u32) -> Result<Removal, Status> {
        let mut inner = self.lock();
        self.check_durable()?;
        let namespace = self.retire(&mut inner, nsid, Retired::Deleted)?;
        Ok(Removal { namespace, host: 0, at: 0, then: Then::Delete })
    }

    /// Begins to format a namespace, which no command finds until that is done.
    ///
    /// # Errors
    /// The namespace does not exist, is being formatted or is write protected, there is no space for new data, or the
    /// drive cannot be saved.
    pub fn begin_format(&self, host: u16, nsid: u32, lba_bytes: u32) -> Result<Removal, Status> {
        let mut inner = self.lock();
        self.check_durable()?;
        let bytes = self.namespace(nsid).ok_or(Status::INVALID_NAMESPACE)?.bytes;
        let base = self.space.find(&self.namespaces(), bytes);
        let store = self.backend.store(base, bytes).map_err(|error| {
            tracing::error!(%error, nsid, "cannot allocate the data of a namespace");
            Status::INTERNAL_ERROR
        })?;
        let namespace = self.retire(&mut inner, nsid, Retired::Formatted)?;
        self.space.reserve(base, bytes);
        Ok(Removal { namespace, host, at: 0, then: Then::Format { lba_bytes, base, store } })
    }

    /// Retires a namespace, with the drive locked: commands in batches applied later do not count. Ends a self-test of it.
    fn retire(&self, inner: &mut Inner, nsid: u32, why: Retired) -> Result<Arc<Namespace>, Status> {
        let namespace = self.namespace(nsid).ok_or(Status::INVALID_NAMESPACE)?;
        namespace.check_unprotected()?;
        match namespace.retire(why) {
            Ok(()) => {
                self.removal_ends_self_test(inner, nsid, why);
                Ok(namespace)
            }
            Err(Retired::Formatted) => Err(Status::FORMAT_IN_PROGRESS),
            Err(Retired::Deleted) => Err(Status::INVALID_NAMESPACE),
        }
    }

    /// Does the next slice of a removal and returns the rest.
    ///
    /// # Errors
    /// The drive cannot be saved: the namespace reappears with its data.
    pub fn remove_slice(&self, mut removal: Removal) -> Result<Option<Removal>, Status> {
        let id = removal.namespace.id();
        let left = Namespace::device_blocks(removal.namespace.bytes) - removal.at;
        let mut inner = self.lock();
        if left > 0 {
            // The capture records the deallocation, so that a replay with fixed namespaces does it too.
            let blocks = left.min(SLICE);
            let command = Command::deallocate(removal.at, blocks as u32).on(id);
            // If the drive cannot record this, the removal fails at the end.
            let _ = self.apply_locked(
                &mut inner,
                removal.host.into(),
                &[command],
                Transferred::default(),
            );
            removal.at += blocks;
            return Ok(Some(removal));
        }
        let Removal { namespace, then, .. } = removal;
        let nsid = namespace.nsid;
        let change = match &then {
            Then::Delete => Change::Delete { nsid },
            Then::Format { lba_bytes, base, .. } => {
                Change::Format { nsid, lba_bytes: *lba_bytes, base: *base }
            }
        };
        let committed = self.commit(&mut inner, &change);
        if committed.is_ok() {
            match then {
                Then::Delete => self.forget_streams(nsid),
                Then::Format { .. } => self.release_streams(nsid),
            }
        }
        let next = match (then, committed) {
            (Then::Delete, Ok(())) => None,
            (Then::Format { lba_bytes, base, store }, Ok(())) => {
                Some(renewed(&namespace, lba_bytes, base, store))
            }
            (then, Err(status)) => {
                if let Then::Format { base, .. } = then {
                    self.space.unreserve(base);
                }
                let (lba_bytes, store) = (1 << namespace.lba_shift, Arc::clone(&namespace.store));
                let again = renewed(&namespace, lba_bytes, namespace.base, store);
                let marks = namespace.marks.clone();
                let media_errors = namespace.media_errors.clone();
                self.insert(Namespace { marks, media_errors, ..again });
                return Err(status);
            }
        };
        self.replace(&mut inner, &namespace, next);
        self.space.retire(namespace);
        drop(inner);
        self.space.release(&self.backend);
        Ok(None)
    }

    /// Replaces a namespace whose pages are deallocated in the device and the table.
    fn replace(&self, inner: &mut Inner, old: &Namespace, next: Option<Namespace>) {
        match next {
            None => {
                inner.device.delete_deallocated_namespace(old.id());
                inner.record(0, CaptureEvent::DeleteNamespace(old.id()));
                let mut namespaces =
                    self.namespaces.write().unwrap_or_else(PoisonError::into_inner);
                if let Some(slot) = namespaces.get_mut(old.id().index()) {
                    *slot = None;
                }
            }
            Some(next) => {
                self.space.unreserve(next.base);
                self.insert(next);
            }
        }
    }

    /// Repeats the end of a removal from the journal. The data of the old namespace is released after the replay.
    pub(crate) fn replay_removal(
        &self,
        inner: &mut Inner,
        old: &Namespace,
        formatted: Option<(u32, u64)>,
    ) -> io::Result<()> {
        let next = match formatted {
            None => None,
            Some((lba_bytes, base)) => {
                let store = self.backend.store(base, old.bytes)?;
                Some(renewed(old, lba_bytes, base, store))
            }
        };
        self.replace(inner, old, next);
        Ok(())
    }
}

/// Returns the namespace with new data, visible to commands.
fn renewed(old: &Namespace, lba_bytes: u32, base: u64, store: Arc<dyn Store>) -> Namespace {
    let attachment = old.attachment.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Namespace {
        nsid: old.nsid,
        bytes: old.bytes,
        lba_shift: lba_bytes.trailing_zeros(),
        handles: old.handles.clone(),
        controller_specified: old.controller_specified,
        identity: Mutex::new(old.identity()),
        store,
        base,
        groups: old.groups,
        attachment: Mutex::new(attachment),
        protection: old.protection.clone(),
        marks: Default::default(),
        media_errors: Default::default(),
        reservations: old.reservations.clone(),
        retired: Default::default(),
    }
}
