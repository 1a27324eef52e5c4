//! The media bytes that hosts did not write, by their cause.

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Record, Summary};
use wafer_interface::FirmwareConfig;

/// A part of the media bytes that hosts did not write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// The cause of these writes.
    pub what: Written,
    /// Bytes written.
    pub bytes: u64,
}

/// Why a drive writes more than hosts do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Written {
    /// Garbage collection.
    Gc,
    /// Wear levelling, refresh and read disturb.
    Maintenance,
    /// Pages of the map.
    Map,
    /// Parity within reclaim units.
    Parity,
    /// The SLC cache.
    SlcCache,
    /// Pages that hosts write in part.
    ReadModifyWrite,
}

impl Summary {
    /// Returns the number of pages that left the SLC cache, if there is one. Only these were programmed twice.
    pub(crate) fn folded_pages(&self) -> Option<u64> {
        self.cache_pages.and(self.host_pages)
    }
}

impl Record {
    /// Returns the bytes that the media wrote in addition to those of hosts. With a cache that merges host writes, this
    /// may exceed the media bytes minus the host bytes.
    pub fn added_bytes(&self) -> u64 {
        let s = &self.summary;
        let page = self.provenance.geometry.as_ref().map_or(0, |g| g.page_bytes);
        let pages = [s.relocated_pages, s.parity_pages, s.folded_pages(), s.map_pages];
        let other = pages.into_iter().flatten().sum::<u64>().saturating_mul(page);
        s.media_bytes.saturating_sub(s.host_bytes).max(other.min(s.media_bytes))
    }

    /// Returns the firmware of the drive, if the record has its configuration.
    pub(crate) fn firmware(&self) -> Option<FirmwareConfig> {
        FirmwareConfig::deserialize(self.provenance.config.as_ref()?.get("firmware")?).ok()
    }

    /// Returns whether a cache merges host writes, in which case the media bytes of a handle do not show what was
    /// relocated out of its reclaim units.
    pub fn unites_writes(&self) -> bool {
        self.firmware().is_some_and(|f| f.write_buffer.0 > 0 || f.slc_cache.0 > 0)
    }
}

/// Returns the parts of the media bytes that hosts did not write, largest first.
pub(crate) fn parts(record: &Record) -> Vec<Part> {
    let s = &record.summary;
    let page = record.provenance.geometry.as_ref().map_or(0, |g| g.page_bytes);
    let maintained = s.maintained_pages.unwrap_or(0);
    // With a cache, whole pages are first programmed into it.
    let whole = s.cache_pages.or(s.host_pages);
    let in_part = whole.filter(|_| s.rmw_pages.unwrap_or(0) > 0);
    let pages = [
        (Written::Gc, s.relocated_pages.map(|pages| pages.saturating_sub(maintained))),
        (Written::Maintenance, s.maintained_pages),
        (Written::Map, s.map_pages),
        (Written::Parity, s.parity_pages),
        (Written::SlcCache, s.folded_pages()),
    ];
    let mut parts: Vec<Part> = (pages.into_iter())
        .map(|(what, pages)| Part { what, bytes: pages.unwrap_or(0) * page })
        .chain(in_part.map(|pages| Part {
            what: Written::ReadModifyWrite,
            bytes: (pages * page).saturating_sub(s.host_bytes),
        }))
        .filter(|part| part.bytes > 0)
        .collect();
    parts.sort_by_key(|part| Reverse(part.bytes));
    parts
}
