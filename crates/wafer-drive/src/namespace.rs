//! One namespace as commands see it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use wafer_interface::{LBA_BYTES, NsId, Placement, RuhId};
use wafer_nvme::Status;

use crate::backend::Store;

/// A namespace, shared by all controllers. A command in flight when it is deleted finishes on data that no
/// other reads.
pub struct Namespace {
    /// Its NSID, from 1.
    pub nsid: u32,
    /// Capacity in bytes.
    pub bytes: u64,
    /// Bytes of a logical block, as a power of two.
    pub lba_shift: u32,
    /// The reclaim unit handles behind its placement handles.
    pub handles: Vec<RuhId>,
    /// Whether the drive chose the handle, no list having been given.
    pub controller_specified: bool,
    /// Globally unique identifier.
    pub nguid: [u8; 16],
    /// UUID.
    pub uuid: [u8; 16],
    /// Its data.
    pub store: Arc<dyn Store>,
    /// Where its data begins in the backend's space.
    pub(crate) base: u64,
    /// Reclaim groups of the device, and bits of a placement identifier below the group.
    pub(crate) groups: u16,
    pub(crate) placement_shift: u32,
    pub(crate) attachment: Mutex<Attachment>,
}

/// Who sees a namespace: everyone but some hosts, or nobody but some.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attachment {
    pub(crate) everyone: bool,
    pub(crate) exceptions: BTreeSet<String>,
}

/// A placement identifier that the namespace does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacementError;

impl Namespace {
    /// Returns its number in the device.
    pub fn id(&self) -> NsId {
        NsId((self.nsid - 1) as u8)
    }

    /// Returns the number of logical blocks.
    pub fn blocks(&self) -> u64 {
        self.bytes >> self.lba_shift
    }

    /// Returns the bytes of a logical block.
    pub fn lba_bytes(&self) -> u64 {
        1 << self.lba_shift
    }

    /// Returns offset and length in bytes of a range of logical blocks.
    ///
    /// # Errors
    /// `LBA_OUT_OF_RANGE`.
    pub fn range(&self, lba: u64, blocks: u64) -> Result<(u64, u64), Status> {
        let end = lba.checked_add(blocks).filter(|end| *end <= self.blocks());
        let end = end.ok_or(Status::LBA_OUT_OF_RANGE)?;
        Ok((lba << self.lba_shift, (end - lba) << self.lba_shift))
    }

    /// Converts bytes into the units of the device.
    pub fn device_blocks(bytes: u64) -> u64 {
        bytes / LBA_BYTES
    }

    /// Returns group and handle of a placement identifier.
    ///
    /// # Errors
    /// The namespace does not have it.
    pub fn placement(&self, pid: Placement) -> Result<(u16, RuhId), PlacementError> {
        let group = u32::from(pid.0).checked_shr(self.placement_shift).unwrap_or(0);
        let handle = u32::from(pid.0) & ((1u64 << self.placement_shift) - 1) as u32;
        match self.handles.get(handle as usize) {
            Some(ruh) if group < u32::from(self.groups) => Ok((group as u16, *ruh)),
            _ => Err(PlacementError),
        }
    }

    /// Returns whether a host sees it.
    pub fn is_attached(&self, hostnqn: &str) -> bool {
        let attachment = self.attachment.lock().unwrap_or_else(PoisonError::into_inner);
        attachment.everyone != attachment.exceptions.contains(hostnqn)
    }

    /// Attaches it to, or detaches it from, the controllers of a host. Returns false if it was so already.
    pub fn set_attached(&self, hostnqn: &str, attached: bool) -> bool {
        let mut attachment = self.attachment.lock().unwrap_or_else(PoisonError::into_inner);
        if attachment.everyone == attached {
            attachment.exceptions.remove(hostnqn)
        } else {
            attachment.exceptions.insert(hostnqn.to_owned())
        }
    }
}
