//! The state of functions besides garbage collection: caches in front of the reclaim units (`cached.rs`), media
//! maintenance (`maintenance.rs`), and a map that is not entirely in memory (`translated.rs`).

pub(crate) mod cached;
pub(crate) mod maintenance;
pub(crate) mod translated;

use serde::{Deserialize, Serialize};
use wafer_translation::Translation;
use wafer_write_cache::{Kind, WriteCache};

use crate::flash::mapping::Label;
use crate::geometry::Geometry;

/// Returns the caches of a device in the order in which pages pass through them.
pub(crate) fn caches(geometry: &Geometry) -> Vec<WriteCache> {
    let firmware = &geometry.firmware;
    [(Kind::Buffer, firmware.write_buffer), (Kind::Log, firmware.slc_cache)]
        .into_iter()
        .filter(|(_, size)| size.0 > 0)
        .map(|(kind, size)| {
            WriteCache::new(kind, size.0 / geometry.page_bytes, geometry.blocks_per_page())
        })
        .collect()
}

/// The state of media maintenance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Maintenance {
    /// Count of host pages at which the next check is due.
    pub(crate) next_look: u64,
    /// Pages read from each reclaim unit since its erase; empty if nothing depends on them.
    pub(crate) reads: Vec<u32>,
    /// Number of reclaim units that may still be retired.
    pub(crate) spare: u32,
}

impl Maintenance {
    /// Returns the state of a fresh device, if it maintains anything.
    pub(crate) fn new(geometry: &Geometry) -> Option<Box<Maintenance>> {
        let firmware = &geometry.firmware;
        let counted = if firmware.reads_before_move > 0 { geometry.ru_count as usize } else { 0 };
        let next_look = u64::from(geometry.pages_per_ru);
        let fresh = Maintenance { next_look, reads: vec![0; counted], spare: 0 };
        firmware.maintains().then(|| Box::new(fresh))
    }
}

/// The map of a device in translation pages.
pub(crate) struct Translated {
    pub(crate) table: Translation,
    /// Entries per translation page.
    entries: u64,
    /// For each label, the pages that received it, possibly repeatedly. They may have a different label or none by now.
    pages: Vec<Vec<u32>>,
    /// Scratch memory of a collection: translation pages, empty between collections.
    touched: Vec<u32>,
}

impl Translated {
    /// Returns the map of a fresh device, if it is not entirely in memory.
    pub(crate) fn new(geometry: &Geometry) -> Option<Box<Translated>> {
        let firmware = &geometry.firmware;
        let entries = firmware.entries(geometry.page_bytes);
        // `Geometry::resolve` allows 2^32 pages.
        let pages = geometry.logical_pages.div_ceil(entries) as u32;
        let table = || Translation::new(pages, firmware.mapping_cache.0 / geometry.page_bytes);
        (firmware.mapping_cache.0 > 0).then(|| {
            let (pages, touched) = (Vec::new(), Vec::new());
            Box::new(Translated { table: table(), entries, pages, touched })
        })
    }

    fn list(&mut self, label: Label) -> &mut Vec<u32> {
        let at = label as usize;
        if self.pages.len() <= at {
            self.pages.resize_with(at + 1, Vec::new);
        }
        &mut self.pages[at]
    }
}
