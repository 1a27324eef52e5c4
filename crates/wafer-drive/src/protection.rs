//! Changes to what makes data of a namespace unwritable or unreadable: write protection, uncorrectable marks, media
//! errors and reservations. `namespace.rs` has their state.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use wafer_interface::{Command, LBA_BYTES, Op};
use wafer_nvme::Status;

use super::change::Change;
use super::namespace::{Namespace, Protection};
use super::reservation::{HostId, Notices, ReservationAction};
use super::{Drive, Inner};

/// Maximum number of separate marked ranges per namespace. They are kept in memory and in each checkpoint.
const MOST_MARKS: usize = 1 << 16;

impl Drive {
    /// Sets the write protection of a namespace, after making all written data durable.
    ///
    /// # Errors
    /// `FEATURE_NOT_CHANGEABLE` if the protection lasts until a power cycle, `INVALID_NAMESPACE` if the namespace is
    /// gone, `WRITE_FAULT` if the drive cannot be saved.
    pub fn protect(&self, host: u16, nsid: u32, state: Protection) -> Result<(), Status> {
        self.flush(host, None).map_err(|_| Status::WRITE_FAULT)?;
        let mut inner = self.lock();
        let namespace = self.namespace(nsid).filter(|n| n.retired().is_none());
        let namespace = namespace.ok_or(Status::INVALID_NAMESPACE)?;
        let before = namespace.protection();
        if before == state {
            return Ok(());
        }
        if before == Protection::UntilPowerCycle {
            return Err(Status::FEATURE_NOT_CHANGEABLE);
        }
        self.commit(&mut inner, &Change::Protect { nsid, state })?;
        namespace.protection.set(state);
        if state != Protection::None {
            self.release_stream_resources(nsid);
        }
        Ok(())
    }

    /// Marks bytes of a namespace as uncorrectable, durably: reads fail until the bytes are written or deallocated.
    ///
    /// # Errors
    /// `INVALID_NAMESPACE` or `FORMAT_IN_PROGRESS` if the namespace is gone, `INTERNAL_ERROR` if it has too many
    /// separate ranges, `WRITE_FAULT` if the drive cannot be saved.
    pub fn mark_uncorrectable(
        &self,
        namespace: &Arc<Namespace>,
        offset: u64,
        length: u64,
    ) -> Result<(), Status> {
        let mut inner = self.lock();
        namespace.check_live()?;
        namespace.check_unprotected()?;
        if namespace.marks.count() >= MOST_MARKS {
            return Err(Status::INTERNAL_ERROR);
        }
        let change = Change::Uncorrectable { nsid: namespace.nsid, offset, length };
        self.commit(&mut inner, &change)?;
        namespace.marks.add(offset, offset + length);
        Ok(())
    }

    /// Adds or removes a media error on bytes of a namespace, durably: reads fail until the bytes are written or
    /// deallocated. Write protection does not prevent this, because the medium fails.
    ///
    /// # Errors
    /// As [`Self::mark_uncorrectable`].
    pub fn set_media_error(
        &self,
        namespace: &Arc<Namespace>,
        offset: u64,
        length: u64,
        failing: bool,
    ) -> Result<(), Status> {
        let mut inner = self.lock();
        namespace.check_live()?;
        if namespace.media_errors.count() >= MOST_MARKS {
            return Err(Status::INTERNAL_ERROR);
        }
        let change = Change::MediaError { nsid: namespace.nsid, offset, length, failing };
        self.commit(&mut inner, &change)?;
        namespace.set_media_error(offset, length, failing);
        Ok(())
    }

    /// Returns whether any namespace has a reservation, or had one since the drive was opened; otherwise commands check
    /// nothing else.
    pub fn is_reserved(&self) -> bool {
        self.reserved.load(Ordering::Acquire)
    }

    /// Performs an action of a host, and sets Persist Through Power Loss if `ptpl` is given. Returns the notifications.
    ///
    /// # Errors
    /// `INVALID_NAMESPACE` or `FORMAT_IN_PROGRESS` if the namespace is gone; `RESERVATION_CONFLICT`, `INVALID_FIELD`;
    /// `INTERNAL_ERROR` if too many hosts are registered; `WRITE_FAULT` if the drive cannot be saved.
    pub fn reserve(
        &self,
        namespace: &Namespace,
        host: &HostId,
        action: Option<ReservationAction>,
        ptpl: Option<bool>,
    ) -> Result<Notices, Status> {
        let mut inner = self.lock();
        namespace.check_live()?;
        let before = namespace.reservations();
        let mut state = before.clone();
        let notices = action.map_or(Ok(Vec::new()), |action| state.act(host, action))?;
        state.ptpl = ptpl.unwrap_or(state.ptpl);
        if state == before {
            return Ok(notices);
        }
        if before.ptpl || state.ptpl {
            let change = Change::Reservations { nsid: namespace.nsid, state: state.clone() };
            self.commit(&mut inner, &change)?;
        }
        self.reserved.fetch_or(state.rtype().is_some(), Ordering::AcqRel);
        namespace.reservations.set(state);
        Ok(notices)
    }
}

impl Inner {
    /// Removes the marks and media errors of blocks that commands write or deallocate. A retired namespace keeps them,
    /// because it reappears if its removal cannot be saved.
    pub(crate) fn clear_marks(namespaces: &[Option<Arc<Namespace>>], commands: &[Command]) {
        if !namespaces.iter().flatten().any(|n| n.marks.any() || n.media_errors.any()) {
            return;
        }
        for command in commands.iter().filter(|c| matches!(c.op, Op::Write | Op::Deallocate)) {
            if let Some(Some(namespace)) = namespaces.get(command.namespace.index())
                && namespace.retired().is_none()
            {
                let offset = command.lba * LBA_BYTES;
                namespace.marks.remove(offset, offset + command.bytes());
                namespace.media_errors.remove(offset, offset + command.bytes());
            }
        }
    }
}
