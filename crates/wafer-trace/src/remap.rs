//! From the addresses of a trace to those of the device.

use wafer_interface::{LBA_BYTES, NsId};

use super::granules::Granules;
use super::options::{Map, TraceOptions};
use super::scan::{GRANULE, Scan, VolumeScan};

/// A part of a namespace that a trace may write, in logical blocks of 512 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// The namespace.
    pub namespace: NsId,
    /// Its first block.
    pub first: u64,
    /// How many, at least one.
    pub blocks: u64,
}

const GRANULE_BLOCKS: u64 = GRANULE / LBA_BYTES;

/// How the addresses of one volume are changed.
#[derive(Clone, Debug)]
struct VolumeMap {
    area: Area,
    /// Added to every address.
    base: u64,
    /// Added after the modulo, for repeated traces.
    shift: u64,
    /// Granules that are written, when gaps are removed.
    granules: Option<Granules>,
    /// The granule looked up last, and its rank.
    recent: (u64, u64),
}

/// Brings the addresses of a trace onto its areas.
#[derive(Clone, Debug)]
pub(super) struct Remap {
    volumes: Vec<VolumeMap>,
    /// Addresses beyond the end are left out instead of wrapped.
    cut: bool,
    /// `(times, of)`: addresses times the first divided by the second.
    scale: Option<(u64, u64)>,
    /// Blocks of a page: scaled addresses are multiples of it.
    page_blocks: u64,
}

/// The choice of [`Map::Auto`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// The addresses fit as they are, or an option said what to do.
    Given,
    /// Gaps were removed so that they fit.
    Compacted,
    /// They do not fit even without gaps: several addresses of the trace share one of the device.
    Wrapped,
}

impl Remap {
    /// Maps a trace onto areas: all volumes onto the first one if `joined`, else each volume onto the next.
    pub(super) fn new(
        scan: &Scan,
        options: &TraceOptions,
        areas: &[Area],
        joined: bool,
        page_bytes: u64,
    ) -> (Self, Fit) {
        let area = |volume: usize| areas[if joined { 0 } else { volume % areas.len() }];
        let size = |volume: &VolumeScan, compact: bool| match compact {
            true => volume.granules.len() * GRANULE_BLOCKS,
            false => volume.end.div_ceil(GRANULE).saturating_mul(GRANULE_BLOCKS),
        };
        // A volume that nothing follows may end within a granule.
        let exact = |volume: &VolumeScan, compact: bool| {
            size(volume, compact).min(volume.end.div_ceil(LBA_BYTES)).max(1)
        };
        let fits = |compact: bool| match scan.volumes.split_last() {
            Some((last, others)) if joined => {
                let sizes = others.iter().map(|v| size(v, compact));
                sizes.fold(exact(last, compact), u64::saturating_add) <= areas[0].blocks
            }
            _ => (0..).zip(&scan.volumes).all(|(i, v)| exact(v, compact) <= area(i).blocks),
        };
        let (compact, fit) = match options.map {
            Map::Keep | Map::Wrap | Map::Scale => (false, Fit::Given),
            Map::Compact => (true, Fit::Given),
            Map::Auto if fits(false) => (false, Fit::Given),
            Map::Auto if fits(true) => (true, Fit::Compacted),
            Map::Auto => (true, Fit::Wrapped),
        };
        let mut base = 0u64;
        let mut volumes = Vec::new();
        for (i, volume) in scan.volumes.iter().enumerate() {
            volumes.push(VolumeMap {
                area: area(i),
                base: if joined { base } else { 0 },
                shift: 0,
                granules: compact.then(|| volume.granules.clone()),
                recent: (u64::MAX, 0),
            });
            base = base.saturating_add(size(volume, compact));
        }
        let largest = scan.volumes.iter().map(|v| size(v, false)).max();
        let extent = if joined { base } else { largest.unwrap_or(0) };
        let scale = (options.map == Map::Scale && extent > 0).then(|| (areas[0].blocks, extent));
        let page_blocks = (page_bytes / LBA_BYTES).max(1);
        (Remap { volumes, cut: options.map == Map::Keep, scale, page_blocks }, fit)
    }

    /// Returns the namespace of a volume.
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

    /// Calls `emit` with namespace, first block and number of blocks of each piece of `first..end` of a
    /// volume on the device. Returns false when part of it lies beyond the end and was left out.
    #[inline]
    pub(super) fn pieces(
        &mut self,
        volume: u32,
        first: u64,
        end: u64,
        mut emit: impl FnMut(NsId, u64, u64),
    ) -> bool {
        let Some(map) = self.volumes.get_mut(volume as usize) else { return false };
        let (mut first, mut end) = match &map.granules {
            Some(granules) => {
                let first = compacted(granules, &mut map.recent, first);
                (first, compacted(granules, &mut map.recent, end))
            }
            None => (first, end),
        };
        first = first.saturating_add(map.base);
        end = end.saturating_add(map.base);
        if first >= end {
            return true;
        }
        let Area { namespace, first: origin, blocks } = map.area;
        if let Some((times, of)) = self.scale {
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

/// Returns a block's address without the gaps before it. A block within a gap moves to the end of the gap.
#[inline]
fn compacted(granules: &Granules, recent: &mut (u64, u64), block: u64) -> u64 {
    let granule = block / GRANULE_BLOCKS;
    let within = block % GRANULE_BLOCKS;
    if recent.0 == granule {
        return recent.1 * GRANULE_BLOCKS + within;
    }
    let (rank, written) = granules.rank(granule);
    if !written {
        return rank * GRANULE_BLOCKS;
    }
    *recent = (granule, rank);
    rank * GRANULE_BLOCKS + within
}
