//! Functions of a drive besides garbage collection: caches, parity and media maintenance.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bytes::Bytes;

/// Maximum device writes in a key.
const MOST_WRITES: f64 = 1e6;
/// Maximum erases or reads in a key.
const MOST_COUNT: u32 = 1 << 30;
/// Maximum data pages per page of parity.
const MOST_PARITY: u32 = 1024;
/// Maximum entries of a translation page.
const MOST_ENTRIES: u32 = 1 << 20;
/// Bytes of an entry of the map.
const ENTRY_BYTES: u64 = 4;

/// Firmware functions that write to the media in addition to hosts and garbage collection, or that save writes. All are
/// off by default, because few manufacturers publish them.
///
/// *Device writes* are multiples of the logical capacity, counted in host pages that reach the flash.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FirmwareConfig {
    /// Memory that buffers written pages, at most the logical capacity; 0: none. A page that is rewritten while it
    /// waits, in whole or in part, is programmed once. When the buffer is full, the page that has waited longest is
    /// programmed. Flush does not empty it: the buffer survives a power loss.
    #[serde(skip_serializing_if = "is_default")]
    pub write_buffer: Bytes,
    /// Single-level-cell (SLC) region outside the reclaim units that takes all host writes first, at most the logical
    /// capacity; 0: none. When it is full, its oldest page is folded: written to the reclaim unit of its handle, unless
    /// it was overwritten in the meantime. The SLC programs count as media bytes.
    #[serde(skip_serializing_if = "is_default")]
    pub slc_cache: Bytes,
    /// Data pages per parity page within a reclaim unit (RAIN n+1), 1 to 1024; 0: no parity. Parity takes space outside
    /// the reclaim units and is written when a stripe or its reclaim unit is closed.
    #[serde(skip_serializing_if = "is_default")]
    pub parity: u32,
    /// Static wear levelling: maximum difference between the erases of any reclaim unit and those of the least erased
    /// closed one, 1 to 2^30; 0: off. Beyond it, the data of the latter is moved.
    #[serde(skip_serializing_if = "is_default")]
    pub wear_difference: u32,
    /// Refresh: device writes after which the data of a closed reclaim unit is moved, above 0, at most 1000000; 0: never.
    #[serde(skip_serializing_if = "is_default")]
    pub refresh_after: f64,
    /// Read disturb: pages read from a reclaim unit since its erase after which its data is moved, 1 to 2^30; 0: no
    /// limit.
    #[serde(skip_serializing_if = "is_default")]
    pub reads_before_move: u32,
    /// Reclaim unit time limit: device writes after which an open reclaim unit is closed even if it is not full, above
    /// 0, at most 1000000; 0: never. The drive does not count seconds, so this stands in for ERUTL.
    #[serde(skip_serializing_if = "is_default")]
    pub open_limit: f64,
    /// Retirement: erases after which a reclaim unit is retired, 1 to 2^30; 0: never. Reclaim units differ: each has
    /// its own limit within a tenth of this, derived from its number. Once no further unit can be spared, the drive is
    /// read-only.
    #[serde(skip_serializing_if = "is_default")]
    pub retire_after: u32,
    /// Memory for the map, up to the size of the map; 0: the whole map, protected against power loss. With less, the
    /// map is in translation pages of one flash page each (DFTL). The most recently used pages are in memory; a
    /// modified page is programmed when evicted, outside the reclaim units, and counts as media bytes.
    #[serde(skip_serializing_if = "is_default")]
    pub mapping_cache: Bytes,
    /// Entries per translation page, 1 to 2^20; 0: as many 4-byte entries as a page holds. A compressed map has more,
    /// one with larger entries fewer.
    #[serde(skip_serializing_if = "is_default")]
    pub mapping_entries: u32,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl FirmwareConfig {
    /// Checks the range of every key.
    ///
    /// # Errors
    /// Returns the first key that is out of range, and the reason.
    pub fn check(&self, capacity: Bytes) -> Result<(), (&'static str, String)> {
        for (key, size) in [("write_buffer", self.write_buffer), ("slc_cache", self.slc_cache)] {
            if size > capacity {
                return Err((key, format!("{size} is more than the capacity, {capacity}")));
            }
        }
        for (key, number, most) in [
            ("parity", self.parity, MOST_PARITY),
            ("wear_difference", self.wear_difference, MOST_COUNT),
            ("reads_before_move", self.reads_before_move, MOST_COUNT),
            ("retire_after", self.retire_after, MOST_COUNT),
            ("mapping_entries", self.mapping_entries, MOST_ENTRIES),
        ] {
            if number > most {
                return Err((key, format!("{number} is not between 0 and {most}")));
            }
        }
        for (key, writes) in
            [("refresh_after", self.refresh_after), ("open_limit", self.open_limit)]
        {
            if !(0.0..=MOST_WRITES).contains(&writes) {
                return Err((key, format!("{writes} is not between 0 and {MOST_WRITES}")));
            }
        }
        Ok(())
    }

    /// Returns the number of entries per translation page for this page size.
    pub fn entries(&self, page_bytes: u64) -> u64 {
        if self.mapping_entries > 0 {
            self.mapping_entries.into()
        } else {
            page_bytes / ENTRY_BYTES
        }
    }

    /// Returns whether a read may cause writes.
    pub fn writes_for_reads(&self) -> bool {
        self.reads_before_move > 0 || self.mapping_cache.0 > 0
    }

    /// Returns whether reclaim units are closed, relocated or retired for reasons other than garbage collection.
    pub fn maintains(&self) -> bool {
        let FirmwareConfig { wear_difference, reads_before_move, retire_after, .. } = *self;
        let counted = wear_difference > 0 || reads_before_move > 0 || retire_after > 0;
        counted || self.refresh_after > 0.0 || self.open_limit > 0.0
    }
}
