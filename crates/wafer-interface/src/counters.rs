//! Counters of host and media bytes, for the device and for each handle.

use serde::{Deserialize, Serialize};

/// Counters of the whole device since its creation or their last reset. The FDP Statistics log page 0x22 (NVMe Base
/// 2.1, 5.1.12.1.30) has the first three.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// HBMW: bytes that hosts wrote.
    pub host_bytes: u64,
    /// MBMW: bytes programmed for hosts, by garbage collection, as parity, into the SLC cache and for the map.
    pub media_bytes: u64,
    /// MBE: bytes of media erased, in whole reclaim units.
    pub erased_bytes: u64,
    /// Pages that hosts wrote to reclaim units, whole or in part; each programs one page.
    pub host_pages: u64,
    /// Pages that garbage collection relocated.
    pub relocated_pages: u64,
    /// Pages that hosts wrote only in part; each costs a read-modify-write.
    pub rmw_pages: u64,
    /// Pages that deallocate unmapped.
    pub deallocated_pages: u64,
    /// Bytes that hosts read.
    pub read_bytes: u64,
    /// Commands that reached the device, including rejected ones.
    pub commands: u64,
    /// Commands without effect, because they exceed their namespace or name a nonexistent one.
    pub rejected: u64,
    /// Reclaim units collected by forced garbage collection.
    pub forced_gc: u64,
    /// Reclaim units collected in the background.
    pub background_gc: u64,
    /// Reclaim units whose data was moved for wear levelling, refresh or read disturb.
    pub maintained_rus: u64,
    /// Pages moved for that; part of `relocated_pages`.
    pub maintained_pages: u64,
    /// Pages of parity programmed.
    pub parity_pages: u64,
    /// Pages programmed into the SLC cache.
    pub cache_pages: u64,
    /// Translation pages programmed.
    pub map_pages: u64,
    /// Translation pages read because they were not in memory.
    pub map_reads: u64,
}

impl Counters {
    /// Combines each counter with the same counter of `other`, for sums and differences.
    pub fn combine(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        Counters {
            host_bytes: f(self.host_bytes, other.host_bytes),
            media_bytes: f(self.media_bytes, other.media_bytes),
            erased_bytes: f(self.erased_bytes, other.erased_bytes),
            host_pages: f(self.host_pages, other.host_pages),
            relocated_pages: f(self.relocated_pages, other.relocated_pages),
            rmw_pages: f(self.rmw_pages, other.rmw_pages),
            deallocated_pages: f(self.deallocated_pages, other.deallocated_pages),
            read_bytes: f(self.read_bytes, other.read_bytes),
            commands: f(self.commands, other.commands),
            rejected: f(self.rejected, other.rejected),
            forced_gc: f(self.forced_gc, other.forced_gc),
            background_gc: f(self.background_gc, other.background_gc),
            maintained_rus: f(self.maintained_rus, other.maintained_rus),
            maintained_pages: f(self.maintained_pages, other.maintained_pages),
            parity_pages: f(self.parity_pages, other.parity_pages),
            cache_pages: f(self.cache_pages, other.cache_pages),
            map_pages: f(self.map_pages, other.map_pages),
            map_reads: f(self.map_reads, other.map_reads),
        }
    }

    /// Returns the WAF, MBMW / HBMW; 1 before the first write.
    pub fn waf(&self) -> f64 {
        if self.host_bytes == 0 { 1.0 } else { self.media_bytes as f64 / self.host_bytes as f64 }
    }
}

/// Counters of one reclaim unit handle, or of the open reclaim unit that garbage collection
/// fills for all initially isolated handles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandleCounters {
    /// Bytes that hosts wrote through the handle. For the GC entry, bytes relocated into it from the reclaim units of
    /// handles.
    pub host_bytes: u64,
    /// Bytes programmed for the handle: its host writes in whole pages, plus what garbage collection relocated *out of*
    /// its reclaim units. For the GC entry, its host bytes plus what was relocated again.
    pub media_bytes: u64,
    /// Bytes erased in reclaim units of the handle.
    pub erased_bytes: u64,
}
