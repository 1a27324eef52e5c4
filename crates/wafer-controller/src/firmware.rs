//! Firmware images that hosts download: their pieces, until Firmware Commit takes them.
//!
//! There is one download at a time in the subsystem: it holds at most [`MAX_IMAGE`] bytes, whatever hosts send.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use wafer_drive::FirmwareRevision;
use wafer_nvme::zerocopy::FromBytes as _;
use wafer_nvme::{FirmwareHeader, Status, crc32c};

use super::Controller;

/// Longest image, bytes.
pub(crate) const MAX_IMAGE: u64 = 1 << 20;
/// Pieces begin and end on multiples of so many bytes: FWUG 1.
pub(crate) const GRANULARITY: u64 = 4 << 10;

/// The pieces of a download.
#[derive(Default)]
pub(crate) struct Download(Mutex<Pieces>);

#[derive(Default)]
struct Pieces {
    /// The controller that sends them, and its number of resets: pieces do not outlive a reset.
    owner: (u16, u64),
    /// Data by offset. No two pieces overlap.
    data: BTreeMap<u64, Vec<u8>>,
}

impl Download {
    /// Locks the pieces of a controller. Those of another are gone: its host has to begin again.
    fn of(&self, controller: &Controller) -> MutexGuard<'_, Pieces> {
        let mut pieces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let owner = (controller.cntlid, controller.resets.load(Ordering::Acquire));
        if pieces.owner != owner {
            *pieces = Pieces { owner, ..Pieces::default() };
        }
        pieces
    }

    /// Ends the download of a controller that is gone: its identifier may be another's next.
    pub(crate) fn end(&self, controller: &Controller) {
        let mut pieces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if pieces.owner.0 == controller.cntlid {
            *pieces = Pieces::default();
        }
    }

    /// Adds a piece that ends at [`MAX_IMAGE`] or before.
    ///
    /// # Errors
    /// `OVERLAPPING_RANGE`: there is data of this range already. The download has to begin again.
    pub(crate) fn add(&self, c: &Controller, offset: u64, data: &[u8]) -> Result<(), Status> {
        let mut pieces = self.of(c);
        let end = offset + data.len() as u64;
        let before = pieces.data.range(..end).next_back();
        if before.is_some_and(|(at, piece)| at + piece.len() as u64 > offset) {
            pieces.data.clear();
            return Err(Status::OVERLAPPING_RANGE);
        }
        pieces.data.insert(offset, data.to_vec());
        Ok(())
    }

    /// Returns whether there is an image, whole or not.
    pub(crate) fn is_begun(&self, controller: &Controller) -> bool {
        !self.of(controller).data.is_empty()
    }

    /// Takes the image and returns its revision.
    ///
    /// # Errors
    /// `INVALID_FIRMWARE_IMAGE`: pieces are missing, or they are no image.
    pub(crate) fn take(&self, controller: &Controller) -> Result<FirmwareRevision, Status> {
        let pieces = std::mem::take(&mut self.of(controller).data);
        let mut image = Vec::with_capacity(pieces.values().map(Vec::len).sum());
        for (offset, piece) in pieces {
            if offset != image.len() as u64 {
                return Err(Status::INVALID_FIRMWARE_IMAGE);
            }
            image.extend_from_slice(&piece);
        }
        revision(&image).ok_or(Status::INVALID_FIRMWARE_IMAGE)
    }
}

/// Returns the revision of an image, if it is one.
fn revision(image: &[u8]) -> Option<FirmwareRevision> {
    let (header, _) = FirmwareHeader::ref_from_prefix(image).ok()?;
    let length = usize::try_from(header.length.get()).ok()?;
    let checked = image.get(FirmwareHeader::CHECKED..length)?;
    let whole = header.magic == FirmwareHeader::MAGIC
        && length >= size_of::<FirmwareHeader>()
        && header.check.get() == crc32c(checked);
    let revision = header.revision;
    let printable = revision.iter().all(|byte| matches!(byte, b' '..=b'~'));
    (whole && printable && revision != [b' '; 8]).then_some(revision)
}
