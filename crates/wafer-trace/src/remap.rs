//! Maps the addresses of a trace to those of the device.

use std::ops::Range;

use wafer_interface::{LBA_BYTES, NsId};

use super::granules::{GRANULE, Granules};
use super::options::{Map, TraceOptions};
use super::pages::{PAGE, Pages};
use super::scan::{Scan, VolumeScan};

/// A part of a namespace that a trace may write, in logical blocks of 512 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// The namespace.
    pub namespace: NsId,
    /// Its first block.
    pub first: u64,
    /// Number of blocks, at least one.
    pub blocks: u64,
}

const GRANULE_BLOCKS: u64 = GRANULE / LBA_BYTES;
const PAGE_BLOCKS: u64 = PAGE / LBA_BYTES;

/// The addresses that a volume writes, used to leave out the gaps between them.
#[derive(Clone, Debug)]
enum Written {
    Granules(Granules),
    Pages(Pages),
}

impl Written {
    /// Returns the blocks of a unit.
    #[inline]
    fn unit(&self) -> u64 {
        match self {
            Written::Granules(_) => GRANULE_BLOCKS,
            Written::Pages(_) => PAGE_BLOCKS,
        }
    }

    /// Returns how many units come before `unit`, and whether it is written.
    #[inline]
    fn rank(&self, unit: u64) -> (u64, bool) {
        match self {
            Written::Granules(granules) => granules.rank(unit),
            Written::Pages(pages) => pages.rank(unit),
        }
    }
}

/// The addresses of a trace that are kept.
#[derive(Clone, Copy, PartialEq)]
enum Kept {
    All,
    Granules,
    Pages,
}

/// Returns the size of a volume in blocks.
fn size(volume: &VolumeScan, kept: Kept) -> u64 {
    match kept {
        Kept::All => volume.end.div_ceil(GRANULE).saturating_mul(GRANULE_BLOCKS),
        Kept::Granules => volume.granules.len() * GRANULE_BLOCKS,
        Kept::Pages => volume.pages.len() * PAGE_BLOCKS,
    }
}

/// Undoes [`Map::Pages`]: returns the range in which the compacted `blocks` lie with [`Map::Keep`], volumes joined,
/// including the gaps between them. Nothing follows the last written page.
pub fn with_gaps(scan: &Scan, blocks: Range<u64>) -> Range<u64> {
    let written: u64 = scan.volumes.iter().map(|volume| size(volume, Kept::Pages)).sum();
    let place = |block: u64| {
        let (mut compact, mut kept) = (0, 0u64);
        for volume in &scan.volumes {
            let at = block.checked_sub(compact)?;
            if let Some(page) = volume.pages.page(at / PAGE_BLOCKS) {
                return Some(kept.saturating_add(page * PAGE_BLOCKS + at % PAGE_BLOCKS));
            }
            compact += size(volume, Kept::Pages);
            kept = kept.saturating_add(size(volume, Kept::All));
        }
        None
    };
    let last = blocks.end.min(written).checked_sub(1).filter(|last| *last >= blocks.start);
    match (place(blocks.start), last.and_then(place)) {
        (Some(first), Some(last)) => first..last + 1,
        _ => 0..0,
    }
}

/// How the addresses of one volume are mapped.
#[derive(Clone, Debug)]
struct VolumeMap {
    area: Area,
    /// Added to each address.
    base: u64,
    /// Added after the modulo, for repeated traces.
    shift: u64,
    /// `(times, of)`: each address is multiplied by the first and divided by the second.
    scale: Option<(u64, u64)>,
    /// The written addresses, if gaps are removed.
    written: Option<Written>,
    /// The unit looked up last, and its rank.
    recent: (u64, u64),
}

/// Maps the addresses of a trace to its areas.
#[derive(Clone, Debug)]
pub(super) struct Remap {
    volumes: Vec<VolumeMap>,
    /// Whether addresses beyond the end are skipped instead of wrapped.
    cut: bool,
    /// Blocks per page: scaled addresses are multiples of it.
    page_blocks: u64,
}

/// The choice of [`Map::Auto`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// The addresses fit unchanged, or an option chose the mapping.
    Given,
    /// The gaps were removed to make them fit.
    Compacted,
    /// They do not fit even without gaps: several addresses of the trace share a device address.
    Wrapped,
}

impl Remap {
    /// Maps a trace to areas: all volumes to the first if `joined`, else each volume to the next.
    pub(super) fn new(
        scan: &Scan,
        options: &TraceOptions,
        areas: &[Area],
        joined: bool,
        page_bytes: u64,
    ) -> (Self, Fit) {
        let area = |volume: usize| areas[if joined { 0 } else { volume % areas.len() }];
        // The last volume may end within a granule.
        let exact = |volume: &VolumeScan, kept: Kept| {
            size(volume, kept).min(volume.end.div_ceil(LBA_BYTES)).max(1)
        };
        let fits = |kept: Kept| match scan.volumes.split_last() {
            Some((last, others)) if joined => {
                let sizes = others.iter().map(|v| size(v, kept));
                sizes.fold(exact(last, kept), u64::saturating_add) <= areas[0].blocks
            }
            _ => (0..).zip(&scan.volumes).all(|(i, v)| exact(v, kept) <= area(i).blocks),
        };
        let (kept, fit) = match options.map {
            Map::Keep | Map::Wrap | Map::Scale => (Kept::All, Fit::Given),
            Map::Compact => (Kept::Granules, Fit::Given),
            Map::Pages => (Kept::Pages, Fit::Given),
            Map::Auto if fits(Kept::All) => (Kept::All, Fit::Given),
            Map::Auto if fits(Kept::Granules) => (Kept::Granules, Fit::Compacted),
            Map::Auto => (Kept::Granules, Fit::Wrapped),
        };
        let mut base = 0u64;
        let mut volumes = Vec::new();
        for (i, volume) in scan.volumes.iter().enumerate() {
            volumes.push(VolumeMap {
                area: area(i),
                base: if joined { base } else { 0 },
                shift: 0,
                scale: None,
                written: match kept {
                    Kept::All => None,
                    Kept::Granules => Some(Written::Granules(volume.granules.clone())),
                    Kept::Pages => Some(Written::Pages(volume.pages.clone())),
                },
                recent: (u64::MAX, 0),
            });
            base = base.saturating_add(size(volume, kept));
        }
        if options.map == Map::Scale {
            for (map, volume) in volumes.iter_mut().zip(&scan.volumes) {
                let extent = if joined { base } else { size(volume, Kept::All) };
                map.scale = (extent > 0).then_some((map.area.blocks, extent));
            }
        }
        let page_blocks = (page_bytes / LBA_BYTES).max(1);
        (Remap { volumes, cut: options.map == Map::Keep, page_blocks }, fit)
    }

    pub(super) fn namespace(&self, volume: u32) -> NsId {
        self.volumes.get(volume as usize).map_or(NsId(0), |map| map.area.namespace)
    }

    /// Shifts every address by a share of its area, in whole pages.
    pub(super) fn shift_by(&mut self, share: f64) {
        for map in &mut self.volumes {
            let blocks = (share * map.area.blocks as f64) as u64;
            map.shift = blocks / self.page_blocks * self.page_blocks % map.area.blocks;
        }
    }

    /// Returns whether only addresses that the trace writes are mapped.
    pub(super) fn is_compacted(&self) -> bool {
        self.volumes.iter().any(|map| map.written.is_some())
    }

    /// Calls `emit` with namespace, first block and number of blocks for each piece of `first..end` of
    /// a volume on the device. Returns false if part of it lies beyond the end and was left out.
    #[inline]
    pub(super) fn pieces(
        &mut self,
        volume: u32,
        first: u64,
        end: u64,
        mut emit: impl FnMut(NsId, u64, u64),
    ) -> bool {
        let Some(map) = self.volumes.get_mut(volume as usize) else { return false };
        let (mut first, mut end) = match &map.written {
            Some(written) => {
                let first = compacted(written, &mut map.recent, first);
                (first, compacted(written, &mut map.recent, end))
            }
            None => (first, end),
        };
        first = first.saturating_add(map.base);
        end = end.saturating_add(map.base);
        if first >= end {
            return true;
        }
        let Area { namespace, first: origin, blocks } = map.area;
        if let Some((times, of)) = map.scale {
            let moved = (u128::from(first) * u128::from(times) / u128::from(of)) as u64;
            let length = (end - first).min(blocks);
            first = (moved / self.page_blocks * self.page_blocks).min(blocks - length);
            end = first + length;
        }
        if self.cut && end > blocks {
            if first >= blocks {
                return false;
            }
            emit(namespace, origin + first, blocks - first);
            return false;
        }
        let mut left = (end - first).min(blocks);
        let mut at = if first < blocks && map.shift == 0 {
            first
        } else {
            (first % blocks + map.shift) % blocks
        };
        while left > 0 {
            let piece = left.min(blocks - at);
            emit(namespace, origin + at, piece);
            left -= piece;
            at = 0;
        }
        true
    }
}

/// Returns a block's address without the gaps before it. A block in a gap moves to the end of the gap.
#[inline]
fn compacted(written: &Written, recent: &mut (u64, u64), block: u64) -> u64 {
    let blocks = written.unit();
    let (unit, within) = (block / blocks, block % blocks);
    if recent.0 == unit {
        return recent.1 * blocks + within;
    }
    let (rank, is_written) = written.rank(unit);
    if !is_written {
        return rank * blocks;
    }
    *recent = (unit, rank);
    rank * blocks + within
}
