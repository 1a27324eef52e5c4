//! Firmware slots: their images, the running image, and the image that runs after the next reset.
//!
//! Images are never executed: a drive stores their revisions, and reports the one that would be running.

use serde::{Deserialize, Serialize};
use wafer_nvme::Status;

/// Revision of a firmware image, ASCII, padded with spaces.
pub type FirmwareRevision = [u8; 8];

/// Number of slots.
pub const FIRMWARE_SLOTS: u8 = 3;
/// The slot with the firmware of this program, which is read-only.
pub const BUILT_IN_SLOT: u8 = 1;

/// The firmware slots of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Firmware {
    /// Images of the slots after [`BUILT_IN_SLOT`].
    images: [Option<FirmwareRevision>; FIRMWARE_SLOTS as usize - 1],
    /// The slot of the running image.
    active: u8,
    /// The running image, which its slot may no longer hold; `None` for the built-in one.
    running: Option<FirmwareRevision>,
    /// The slot to activate at the next reset.
    next: Option<u8>,
}

impl Default for Firmware {
    fn default() -> Self {
        Firmware { images: Default::default(), active: BUILT_IN_SLOT, running: None, next: None }
    }
}

impl Firmware {
    /// Returns the slot of the running image.
    pub fn active(&self) -> u8 {
        self.active
    }

    /// Returns the slot to activate at the next reset.
    pub fn next(&self) -> Option<u8> {
        self.next
    }

    /// Returns the running revision.
    pub fn running(&self) -> FirmwareRevision {
        self.running.unwrap_or_else(built_in)
    }

    /// Returns the revision in a slot.
    pub fn revision(&self, slot: u8) -> Option<FirmwareRevision> {
        if slot == BUILT_IN_SLOT { Some(built_in()) } else { *self.images.get(image(slot)?)? }
    }

    /// Returns the slot for an image if the host does not choose one: the first empty slot, or else the first that is
    /// neither active nor next.
    pub fn unused(&self) -> u8 {
        let slots = BUILT_IN_SLOT + 1..=FIRMWARE_SLOTS;
        let empty = slots.clone().find(|slot| self.revision(*slot).is_none());
        let idle = || slots.clone().find(|slot| *slot != self.active && Some(*slot) != self.next);
        empty.or_else(idle).unwrap_or(FIRMWARE_SLOTS)
    }

    /// Replaces the image of a slot.
    ///
    /// # Errors
    /// `INVALID_FIRMWARE_SLOT`: there is no such slot, or it is read-only.
    pub fn replace(&mut self, slot: u8, revision: FirmwareRevision) -> Result<(), Status> {
        let image = image(slot).and_then(|at| self.images.get_mut(at));
        *image.ok_or(Status::INVALID_FIRMWARE_SLOT)? = Some(revision);
        Ok(())
    }

    /// Has a slot activated at the next reset.
    ///
    /// # Errors
    /// `INVALID_FIRMWARE_SLOT`: there is no such slot. `INVALID_FIRMWARE_IMAGE`: it is empty.
    pub fn activate_at_reset(&mut self, slot: u8) -> Result<(), Status> {
        if !(BUILT_IN_SLOT..=FIRMWARE_SLOTS).contains(&slot) {
            return Err(Status::INVALID_FIRMWARE_SLOT);
        }
        self.revision(slot).ok_or(Status::INVALID_FIRMWARE_IMAGE)?;
        self.next = Some(slot);
        Ok(())
    }

    /// Resets the controller: activates the pending slot. Returns whether there is one.
    pub fn reset(&mut self) -> bool {
        let Some(slot) = self.next.take() else { return false };
        self.active = slot;
        self.running = image(slot).and_then(|at| self.images.get(at).copied().flatten());
        true
    }
}

/// Returns the index of a writable slot.
fn image(slot: u8) -> Option<usize> {
    slot.checked_sub(BUILT_IN_SLOT + 1).map(usize::from)
}

fn built_in() -> FirmwareRevision {
    let mut revision = [b' '; 8];
    for (slot, byte) in revision.iter_mut().zip(env!("CARGO_PKG_VERSION").bytes()) {
        *slot = byte;
    }
    revision
}
