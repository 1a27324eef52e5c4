//! From the addresses of a trace to those of the device.

use wafer_interface::{LBA_BYTES, NsId};

use super::options::{Map, TraceOptions};
use super::scan::{GRANULE, Scan};

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
    /// Added after the modulo: repeated traces may move on.
    shift: u64,
    /// Granules that are written, when gaps are removed.
    granules: Option<Vec<u64>>,
    /// Place of the granule looked up last, and the one after.
    recent: (u64, u64),
}

/// Brings the addresses of a trace onto its areas.
#[derive(Clone, Debug)]
pub(super) struct Remap {
    volumes: Vec<VolumeMap>,
    /// What lies behind the end is left out instead of wrapped.
    cut: bool,
    /// `(times, of)`: addresses times the first divided by the second.
    scale: Option<(u64, u64)>,
    /// Blocks of a page: scaled addresses are multiples of it.
    page_blocks: u64,
}

/// What [`Map::Auto`] came to.
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
    /// The map of a trace onto areas: one with volumes `joined`, or else each volume the next.
    pub(super) fn new(
        scan: &Scan,
        options: &TraceOptions,
        areas: &[Area],
        joined: bool,
        page_bytes: u64,
    ) -> (Self, Fit) {
        let area = |volume: usize| areas[if joined { 0 } else { volume % areas.len() }];
        let compact_blocks = |v: &super::VolumeScan| v.granules.len() as u64 * GRANULE_BLOCKS;
        let plain_blocks =
            |v: &super::VolumeScan| v.end.div_ceil(GRANULE).saturating_mul(GRANULE_BLOCKS);
        let exact_blocks = |v: &super::VolumeScan| v.end.div_ceil(LBA_BYTES);
        let fits = |blocks: &dyn Fn(&super::VolumeScan) -> u64| {
            if joined {
                let (last, others) = match scan.volumes.split_last() {
                    Some((last, others)) => (exact_or(blocks, last, &exact_blocks), others),
                    None => (0, &[][..]),
                };
                let sum = others.iter().map(blocks).fold(last, u64::saturating_add);
                sum <= areas[0].blocks
            } else {
                scan.volumes
                    .iter()
                    .enumerate()
                    .all(|(i, v)| exact_or(blocks, v, &exact_blocks) <= area(i).blocks)
            }
        };
        let (compact, fit) = match options.map {
            Map::Keep | Map::Wrap | Map::Scale => (false, Fit::Given),
            Map::Compact => (true, Fit::Given),
            Map::Auto if fits(&plain_blocks) => (false, Fit::Given),
            Map::Auto if fits(&compact_blocks) => (true, Fit::Compacted),
            Map::Auto => (true, Fit::Wrapped),
        };
        let mut base = 0u64;
        let mut volumes = Vec::new();
        for (i, volume) in scan.volumes.iter().enumerate() {
            let blocks = if compact { compact_blocks(volume) } else { plain_blocks(volume) };
            volumes.push(VolumeMap {
                area: area(i),
                base: if joined { base } else { 0 },
                shift: 0,
                granules: compact.then(|| volume.granules.clone()),
                recent: (u64::MAX, 0),
            });
            base = base.saturating_add(blocks);
        }
        let extent = match volumes.len() {
            _ if joined => base,
            _ => scan.volumes.iter().map(plain_blocks).max().unwrap_or(0),
        };
        let scale = (options.map == Map::Scale && extent > 0).then(|| (areas[0].blocks, extent));
        let page_blocks = (page_bytes / LBA_BYTES).max(1);
        (Remap { volumes, cut: options.map == Map::Keep, scale, page_blocks }, fit)
    }

    /// The namespace that a volume lies on.
    pub(super) fn namespace(&self, volume: u32) -> NsId {
        self.volumes.get(volume as usize).map_or(NsId(0), |map| map.area.namespace)
    }

    /// Moves every address on by a share of its area, in whole pages.
    pub(super) fn shift_by(&mut self, share: f64) {
        for map in &mut self.volumes {
            let blocks = (share * map.area.blocks as f64) as u64;
            map.shift = blocks / self.page_blocks * self.page_blocks % map.area.blocks;
        }
    }

    /// Calls `emit` with namespace, first block and number of blocks of each piece that `first..end`
    /// of a volume becomes. False when part of it lies behind the end and was left out.
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

/// A size that may end within a granule, for the volume that nothing follows.
fn exact_or(
    blocks: &dyn Fn(&super::VolumeScan) -> u64,
    volume: &super::VolumeScan,
    exact: &dyn Fn(&super::VolumeScan) -> u64,
) -> u64 {
    blocks(volume).min(exact(volume).max(1)).max(1)
}

/// A block's address without the gaps before it; an address within a gap becomes the end of the gap.
#[inline]
fn compacted(granules: &[u64], recent: &mut (u64, u64), block: u64) -> u64 {
    let granule = block / GRANULE_BLOCKS;
    let within = block % GRANULE_BLOCKS;
    if recent.0 == granule {
        return recent.1 * GRANULE_BLOCKS + within;
    }
    match granules.binary_search(&granule) {
        Ok(rank) => {
            *recent = (granule, rank as u64);
            rank as u64 * GRANULE_BLOCKS + within
        }
        Err(rank) => rank as u64 * GRANULE_BLOCKS,
    }
}
