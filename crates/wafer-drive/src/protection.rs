//! What makes data of a namespace unwritable or unreadable: write protection, uncorrectable marks and media errors.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use serde::{Deserialize, Serialize};
use wafer_interface::{Command, LBA_BYTES, Op};
use wafer_nvme::Status;
use wafer_storage::Marks;

use super::change::Change;
use super::{Drive, Inner, Namespace};

/// Maximum number of separate marked ranges per namespace. They are kept in memory and in each checkpoint.
const MOST_MARKS: usize = 1 << 16;

/// Namespace Write Protection State (Base 2.1, 8.1.16).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum Protection {
    /// No Write Protect.
    #[default]
    None = 0,
    /// Write Protect.
    Protected = 1,
    /// Write Protect Until Power Cycle, which ends when the drive is opened again.
    UntilPowerCycle = 2,
}

/// The write protection of a namespace.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(from = "Protection", into = "Protection")]
pub(crate) struct ProtectionCell(AtomicU8);

impl ProtectionCell {
    pub(crate) fn get(&self) -> Protection {
        match self.0.load(Ordering::Acquire) {
            1 => Protection::Protected,
            2 => Protection::UntilPowerCycle,
            _ => Protection::None,
        }
    }

    pub(crate) fn set(&self, state: Protection) {
        self.0.store(state as u8, Ordering::Release);
    }
}

impl Clone for ProtectionCell {
    fn clone(&self) -> Self {
        self.get().into()
    }
}

impl From<Protection> for ProtectionCell {
    fn from(state: Protection) -> Self {
        ProtectionCell(AtomicU8::new(state as u8))
    }
}

impl From<ProtectionCell> for Protection {
    fn from(cell: ProtectionCell) -> Self {
        cell.get()
    }
}

impl Protection {
    /// Returns the state after a power cycle, that is, after opening the drive.
    pub(crate) fn after_power_cycle(self) -> Self {
        if self == Protection::UntilPowerCycle { Protection::None } else { self }
    }
}

impl Namespace {
    /// Returns the write protection.
    pub fn protection(&self) -> Protection {
        self.protection.get()
    }

    /// Checks that the namespace is not write protected.
    ///
    /// # Errors
    /// `NAMESPACE_WRITE_PROTECTED`.
    pub fn check_unprotected(&self) -> Result<(), Status> {
        match self.protection() {
            Protection::None => Ok(()),
            _ => Err(Status::NAMESPACE_WRITE_PROTECTED),
        }
    }

    /// Returns the offset of the first unreadable byte of a range: marked as uncorrectable, or with a media error.
    pub fn uncorrectable(&self, offset: u64, length: u64) -> Option<u64> {
        let marked = self.marks.first(offset, offset + length);
        marked.into_iter().chain(self.media_error(offset, length)).min()
    }

    /// Returns the offset of the first byte of a range with a media error.
    pub fn media_error(&self, offset: u64, length: u64) -> Option<u64> {
        self.media_errors.first(offset, offset + length)
    }

    /// Returns at most `count` unreadable byte ranges within a range, ascending: start and end.
    pub fn uncorrectable_ranges(&self, from: u64, end: u64, count: usize) -> Vec<(u64, u64)> {
        if !self.media_errors.any() {
            return self.marks.within(from, end, count);
        }
        let mut both = self.marks.within(from, end, usize::MAX);
        both.extend(self.media_errors.within(from, end, usize::MAX));
        Marks::from(both).within(from, end, count)
    }

    /// Returns at most `count` byte ranges with media errors, ascending: start and end.
    pub fn media_error_ranges(&self, count: usize) -> Vec<(u64, u64)> {
        self.media_errors.within(0, self.bytes, count)
    }

    /// Adds a media error, or removes those of a range.
    pub(crate) fn set_media_error(&self, offset: u64, length: u64, failing: bool) {
        let end = offset.saturating_add(length);
        if failing {
            self.media_errors.add(offset, end);
        } else {
            self.media_errors.remove(offset, end);
        }
    }
}

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
}

impl Inner {
    /// Removes the marks and media errors of blocks that commands write or deallocate.
    pub(crate) fn clear_marks(namespaces: &[Option<Arc<Namespace>>], commands: &[Command]) {
        if !namespaces.iter().flatten().any(|n| n.marks.any() || n.media_errors.any()) {
            return;
        }
        for command in commands.iter().filter(|c| matches!(c.op, Op::Write | Op::Deallocate)) {
            if let Some(Some(namespace)) = namespaces.get(command.namespace.index()) {
                let offset = command.lba * LBA_BYTES;
                namespace.marks.remove(offset, offset + command.bytes());
                namespace.media_errors.remove(offset, offset + command.bytes());
            }
        }
    }
}
