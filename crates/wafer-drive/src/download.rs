//! Firmware images that hosts download: their pieces, until Firmware Commit takes them.
//!
//! A subsystem has one download at a time, which holds at most [`MAX_IMAGE`] bytes.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use wafer_nvme::zerocopy::FromBytes as _;
use wafer_nvme::{FirmwareHeader, Status, crc32c};

use super::FirmwareRevision;

/// Longest image, bytes.
pub const MAX_IMAGE: u64 = 1 << 20;
/// Alignment of the pieces in bytes: FWUG 1.
pub const FIRMWARE_GRANULARITY: u64 = 4 << 10;

/// The source of a download: a controller and its number of resets, since pieces do not outlive a reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Downloader {
    /// Controller ID.
    pub cntlid: u16,
    /// Number of controller level resets.
    pub resets: u64,
}

/// The pieces of a download.
#[derive(Default)]
pub struct Download(Mutex<Pieces>);

#[derive(Default)]
struct Pieces {
    owner: Downloader,
    /// Data by offset, without overlaps.
    data: BTreeMap<u64, Vec<u8>>,
}

impl Download {
    /// Locks the pieces of a controller. Discards those of another controller, whose host has to start over.
    fn of(&self, owner: Downloader) -> MutexGuard<'_, Pieces> {
        let mut pieces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if pieces.owner != owner {
            *pieces = Pieces { owner, ..Pieces::default() };
        }
        pieces
    }

    /// Ends the download of a removed controller, whose identifier may be reused.
    pub fn end(&self, cntlid: u16) {
        let mut pieces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if pieces.owner.cntlid == cntlid {
            *pieces = Pieces::default();
        }
    }

    /// Adds a piece that ends at or before [`MAX_IMAGE`].
    ///
    /// # Errors
    /// `OVERLAPPING_RANGE`: the range overlaps an earlier piece. The download has to start over.
    pub fn add(&self, owner: Downloader, offset: u64, data: &[u8]) -> Result<(), Status> {
        let mut pieces = self.of(owner);
        let end = offset + data.len() as u64;
        let before = pieces.data.range(..end).next_back();
        if before.is_some_and(|(at, piece)| at + piece.len() as u64 > offset) {
            pieces.data.clear();
            return Err(Status::OVERLAPPING_RANGE);
        }
        pieces.data.insert(offset, data.to_vec());
        Ok(())
    }

    /// Returns whether there is an image, complete or not.
    pub fn is_begun(&self, owner: Downloader) -> bool {
        !self.of(owner).data.is_empty()
    }

    /// Takes the image and returns its revision.
    ///
    /// # Errors
    /// `INVALID_FIRMWARE_IMAGE`: pieces are missing, or they do not form an image.
    pub fn take(&self, owner: Downloader) -> Result<FirmwareRevision, Status> {
        let pieces = std::mem::take(&mut self.of(owner).data);
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

/// Returns the revision of a valid image.
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
