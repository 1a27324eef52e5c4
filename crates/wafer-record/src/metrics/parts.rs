//! What the media wrote and hosts did not, by its reason.

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Record, Summary};
use wafer_interface::FirmwareConfig;

/// A part of what the media wrote and hosts did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// What it is.
    pub what: Written,
    /// Its size.
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
    /// Returns the pages that left the SLC cache, if there is one. Only these were programmed twice.
    pub(crate) fn folded_pages(&self) -> Option<u64> {
        self.cache_pages.and(self.host_pages)
    }
}

impl Record {
    /// Returns the bytes that the media wrote beyond those of hosts, which may cost less where a cache unites them.
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

    /// Whether a cache merges writes, so that the media bytes of a handle do not show what was moved out of its units.
    pub fn unites_writes(&self) -> bool {
        self.firmware().is_some_and(|f| f.write_buffer.0 > 0 || f.slc_cache.0 > 0)
    }
}

/// Returns what the media wrote and hosts did not, the most first.
pub(crate) fn parts(record: &Record) -> Vec<Part> {
    let s = &record.summary;
    let page = record.provenance.geometry.as_ref().map_or(0, |g| g.page_bytes);
    let maintained = s.maintained_pages.unwrap_or(0);
    // A cache programs whole pages first.
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
