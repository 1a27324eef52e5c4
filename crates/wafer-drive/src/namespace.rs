//! A namespace: its identity, its range of bytes, its placement handles, the hosts that see it, and what makes its data
//! unwritable or unreadable.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde::{Deserialize, Serialize};
use wafer_interface::{LBA_BYTES, NsId, Placement, RuhId};
use wafer_nvme::{LbaStatusDescriptor, Status};

use super::reservation::{HostId, ReservationCell, Reservations, Reserved};
use wafer_storage::{Marks, NoStore, Store};

/// A namespace, shared by all controllers, from its creation or last format until it is deleted or formatted.
/// Commands in flight then finish on data that no later command reads. A checkpoint of the drive saves everything but
/// the data.
#[derive(Serialize, Deserialize)]
pub struct Namespace {
    /// Its NSID, from 1.
    pub nsid: u32,
    /// Capacity in bytes.
    pub bytes: u64,
    /// Bytes of a logical block, as a power of two.
    pub lba_shift: u32,
    /// The reclaim unit handles behind its placement handles.
    pub handles: Vec<RuhId>,
    /// Whether the drive chose the handle because the request listed none.
    pub controller_specified: bool,
    /// Changed with the drive locked.
    #[serde(flatten)]
    pub(crate) identity: Mutex<Identity>,
    /// Its data.
    #[serde(skip, default = "no_store")]
    pub store: Arc<dyn Store>,
    /// Start of its data in the backend's space.
    pub(crate) base: u64,
    /// Reclaim groups of the device.
    #[serde(skip)]
    pub(crate) groups: u16,
    #[serde(flatten)]
    pub(crate) attachment: Mutex<Attachment>,
    /// Set with the drive locked.
    #[serde(default)]
    pub(crate) protection: ProtectionCell,
    /// Changed with the drive locked.
    #[serde(default)]
    pub(crate) marks: Marks,
    /// Blocks with media errors, which the medium cannot return. Changed with the drive locked.
    #[serde(default)]
    pub(crate) media_errors: Marks,
    /// Changed with the drive locked.
    #[serde(default)]
    pub(crate) reservations: ReservationCell,
    /// Set with the drive locked.
    #[serde(skip)]
    pub(crate) retired: OnceLock<Retired>,
}

/// Why commands no longer find a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retired {
    /// It was deleted.
    Deleted,
    /// It was formatted; another namespace with the same identity takes its place.
    Formatted,
}

fn no_store() -> Arc<dyn Store> {
    Arc::new(NoStore)
}

/// The identity of a namespace for hosts, independent of its NSID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Namespace Globally Unique Identifier.
    pub nguid: [u8; 16],
    /// UUID.
    pub uuid: [u8; 16],
}

/// Maximum blocks of an LBA Status Descriptor.
const MOST_STATUS_BLOCKS: usize = 1 << 32;
/// LBA Status: reading may fail.
const UNREADABLE: u8 = 1;

/// The default ANA group of a namespace.
pub const ANA_GROUP: u32 = 1;

/// The hosts that see a namespace: all but the exceptions, or only the exceptions.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Attachment {
    pub(crate) everyone: bool,
    pub(crate) exceptions: BTreeSet<String>,
    /// Whether it may be attached to one host only.
    #[serde(default)]
    pub(crate) private: bool,
    /// Whether it is hidden from all hosts, until the process exits.
    #[serde(skip)]
    pub(crate) off: bool,
    /// Its ANA group, until the process exits.
    #[serde(skip, default = "first_ana_group")]
    pub(crate) ana_group: u32,
}

fn first_ana_group() -> u32 {
    ANA_GROUP
}

impl Attachment {
    pub(crate) fn new(everyone: bool, private: bool) -> Self {
        let exceptions = BTreeSet::new();
        Attachment { everyone, exceptions, private, off: false, ana_group: ANA_GROUP }
    }
}

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

/// A placement identifier that the namespace does not define.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacementError;

impl Namespace {
    /// Returns whether the namespace is being or has been deleted or formatted.
    pub fn retired(&self) -> Option<Retired> {
        self.retired.get().copied()
    }

    /// Checks that the namespace is neither deleted nor formatted.
    ///
    /// # Errors
    /// `INVALID_NAMESPACE`, `FORMAT_IN_PROGRESS`.
    pub fn check_live(&self) -> Result<(), Status> {
        match self.retired() {
            None => Ok(()),
            Some(Retired::Formatted) => Err(Status::FORMAT_IN_PROGRESS),
            Some(Retired::Deleted) => Err(Status::INVALID_NAMESPACE),
        }
    }

    /// Retires the namespace, or returns the reason if it is retired already.
    pub(crate) fn retire(&self, why: Retired) -> Result<(), Retired> {
        self.retired.set(why).map_err(|refused| self.retired().unwrap_or(refused))
    }

    /// Returns its index in the device.
    pub fn id(&self) -> NsId {
        NsId((self.nsid - 1) as u8)
    }

    /// Returns the number of logical blocks.
    pub fn blocks(&self) -> u64 {
        self.bytes >> self.lba_shift
    }

    /// Returns the size of a logical block in bytes.
    pub fn lba_bytes(&self) -> u64 {
        1 << self.lba_shift
    }

    /// Returns the offset and length in bytes of a range of logical blocks.
    ///
    /// # Errors
    /// `LBA_OUT_OF_RANGE`.
    pub fn range(&self, lba: u64, blocks: u64) -> Result<(u64, u64), Status> {
        let end = lba.checked_add(blocks).filter(|end| *end <= self.blocks());
        let end = end.ok_or(Status::LBA_OUT_OF_RANGE)?;
        Ok((lba << self.lba_shift, (end - lba) << self.lba_shift))
    }

    /// Converts bytes into device blocks.
    pub fn device_blocks(bytes: u64) -> u64 {
        bytes / LBA_BYTES
    }

    /// Returns the group and handle of a placement identifier.
    ///
    /// # Errors
    /// The namespace does not define it.
    pub fn placement(&self, pid: Placement) -> Result<(u16, RuhId), PlacementError> {
        let (group, handle) = pid.split(self.groups);
        match self.handles.get(usize::from(handle)) {
            Some(ruh) if group < self.groups => Ok((group, *ruh)),
            _ => Err(PlacementError),
        }
    }

    fn attachment(&self) -> MutexGuard<'_, Attachment> {
        self.attachment.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns its identity for hosts.
    pub fn identity(&self) -> Identity {
        *self.identity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_identity(&self, identity: Identity) {
        *self.identity.lock().unwrap_or_else(PoisonError::into_inner) = identity;
    }

    /// Returns whether a host sees the namespace.
    pub fn is_attached(&self, hostnqn: &str) -> bool {
        let attachment = self.attachment();
        !attachment.off && attachment.everyone != attachment.exceptions.contains(hostnqn)
    }

    /// Returns whether the namespace is switched on, that is, visible to the hosts that it is attached to.
    pub fn is_on(&self) -> bool {
        !self.attachment().off
    }

    /// Switches the namespace on or off, until the process exits. Returns whether that changes anything.
    pub fn switch(&self, on: bool) -> bool {
        std::mem::replace(&mut self.attachment().off, !on) == on
    }

    /// Returns the ANA group.
    pub fn ana_group(&self) -> u32 {
        self.attachment().ana_group
    }

    /// Moves the namespace to an ANA group, until the process exits.
    pub fn set_ana_group(&self, group: u32) {
        self.attachment().ana_group = group;
    }

    /// Returns whether the namespace may be attached to one host only.
    pub fn is_private(&self) -> bool {
        self.attachment().private
    }

    /// Checks that the namespace may be attached to these hosts too.
    ///
    /// # Errors
    /// `NAMESPACE_IS_PRIVATE`.
    pub(crate) fn check_shared(&self, hosts: &[String]) -> Result<(), Status> {
        let attachment = self.attachment();
        let fits = hosts.len() == 1 && !attachment.everyone && attachment.exceptions.is_empty();
        if attachment.private && !fits { Err(Status::NAMESPACE_IS_PRIVATE) } else { Ok(()) }
    }

    /// Attaches the namespace to the controllers of a host, or detaches it. Returns whether that changes anything.
    pub fn set_attached(&self, hostnqn: &str, attached: bool) -> bool {
        let mut attachment = self.attachment();
        if attachment.everyone == attached {
            attachment.exceptions.remove(hostnqn)
        } else {
            attachment.exceptions.insert(hostnqn.to_owned())
        }
    }

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

    /// Returns descriptors of at most `count` ranges of unreadable blocks between two offsets in bytes.
    pub fn lba_status(&self, from: u64, end: u64, count: usize) -> Vec<LbaStatusDescriptor> {
        let ranges = self.uncorrectable_ranges(from, end, count).into_iter();
        let ranges = ranges.map(|(from, end)| (from >> self.lba_shift, end >> self.lba_shift));
        let pieces = ranges.flat_map(|(from, end)| {
            (from..end).step_by(MOST_STATUS_BLOCKS).map(move |first| (first, end))
        });
        let descriptor = |(first, end): (u64, u64)| LbaStatusDescriptor {
            slba: first.into(),
            blocks_z: ((end - first).min(MOST_STATUS_BLOCKS as u64) as u32).wrapping_sub(1).into(),
            status: UNREADABLE,
            ..Default::default()
        };
        pieces.map(descriptor).collect()
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

    /// Returns the registrations and the reservation.
    pub fn reservations(&self) -> Reservations {
        self.reservations.get()
    }

    /// Checks that no reservation bars a host from a command.
    ///
    /// # Errors
    /// `RESERVATION_CONFLICT`.
    pub fn check_reservation(&self, host: &HostId, command: Reserved) -> Result<(), Status> {
        self.reservations.check(host, command)
    }
}
