//! `wafer.capture/1`: the commands that hosts send to a drive, as recorded by `wafer serve --record`.
//!
//! `docs/reference/capture-format.md` describes the layout: a header (magic, version, JSON about the device), then zstd
//! frames whose concatenated contents are records of 24 bytes. Each frame ends at the end of a record, so a truncated
//! file (the recorder was killed) is valid up to its last whole frame.

mod reader;
mod record;
#[cfg(test)]
mod tests;
mod writer;

use std::path::Path;

pub use reader::CaptureReader;
pub use record::{CaptureEvent, CaptureRecord};
use serde::{Deserialize, Serialize};
use wafer_device::{DeviceConfig, Geometry};
pub use writer::CaptureWriter;

use crate::text::bytes;

/// The first eight bytes of a capture.
pub const MAGIC: [u8; 8] = *b"WAFERCAP";
/// The version that this module writes, and the only one that it reads.
pub const VERSION: u16 = 1;
/// Bytes of one record.
pub const RECORD_BYTES: usize = 24;
/// Maximum header length, in bytes: far more than 255 namespaces need.
const MAX_HEADER: u32 = 16 << 20;

/// The state of the drive at the start of the recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaptureHeader {
    /// Always `wafer.capture/1`.
    pub format: String,
    /// Name and version of the recorder.
    pub software: String,
    /// Start of the recording, milliseconds since 1970; times of records count from here.
    pub started_unix_ms: u64,
    /// UUID of the drive, if it has files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<String>,
    /// Media bytes that the drive had already written.
    #[serde(default)]
    pub earlier_media_bytes: u64,
    /// The device's configuration, with every key resolved.
    pub device: DeviceConfig,
    /// Sizes that follow from the configuration.
    pub geometry: CaptureGeometry,
    /// Namespaces at the start; later ones are in the records.
    pub namespaces: Vec<CaptureNamespace>,
}

/// Returns the notice for a capture of a drive that had already written this many media bytes; `None` for a fresh one.
pub fn used_before(capture: &Path, media_bytes: u64) -> Option<String> {
    let (path, bytes) = (capture.display(), bytes(media_bytes));
    let text = format!(
        "{path}: the drive had written {bytes} before; a replay on a fresh one counts differently"
    );
    (media_bytes > 0).then_some(text)
}

/// Sizes of the recorded drive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureGeometry {
    /// Bytes of a page, the mapping unit.
    pub page_bytes: u64,
    /// Logical pages.
    pub logical_pages: u64,
    /// Pages of a reclaim unit.
    pub pages_per_ru: u32,
    /// Reclaim units.
    pub ru_count: u32,
    /// Reclaim groups.
    pub groups: u16,
    /// Reclaim unit handles in use.
    pub handles: u16,
}

impl From<&Geometry> for CaptureGeometry {
    fn from(geometry: &Geometry) -> Self {
        CaptureGeometry {
            page_bytes: geometry.page_bytes,
            logical_pages: geometry.logical_pages,
            pages_per_ru: geometry.pages_per_ru,
            ru_count: geometry.ru_count,
            groups: geometry.groups,
            handles: geometry.handles,
        }
    }
}

/// A namespace of the recorded drive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureNamespace {
    /// The number that records use, from 0: NSID minus one.
    pub namespace: u8,
    /// Capacity in units of 512 bytes.
    pub blocks: u64,
    /// Bytes of a logical block as hosts see it, 512 or 4096.
    pub lba_bytes: u32,
    /// The reclaim unit handles of its placement handles.
    pub handles: Vec<u16>,
}

/// Why a capture cannot be read. Each message is one line.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file does not begin with [`MAGIC`].
    #[error("not a capture: it does not begin with `WAFERCAP`")]
    NotACapture,
    /// A version that this module does not know.
    #[error("capture version {0}; this program reads version {VERSION}")]
    Version(u16),
    /// The header is not valid JSON of this format.
    #[error("the header of the capture is damaged: {0}")]
    Header(String),
    /// A record is invalid.
    #[error("record {number} of the capture is damaged: {reason}")]
    Record {
        /// Number of the record, from 0.
        number: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// The file cannot be read, or a zstd frame is damaged.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}
