//! What the media wrote and hosts did not, by its reason.

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Record;

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

/// Returns what the media wrote and hosts did not, the most first.
pub(crate) fn parts(record: &Record) -> Vec<Part> {
    let s = &record.summary;
    let page = record.provenance.geometry.as_ref().map_or(0, |g| g.page_bytes);
    let maintained = s.maintained_pages.unwrap_or(0);
    let in_part = (s.rmw_pages.unwrap_or(0) > 0).then_some(s.host_pages).flatten();
    let pages = [
        (Written::Gc, s.relocated_pages.map(|pages| pages.saturating_sub(maintained))),
        (Written::Maintenance, s.maintained_pages),
        (Written::Map, s.map_pages),
        (Written::Parity, s.parity_pages),
        (Written::SlcCache, s.cache_pages),
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
