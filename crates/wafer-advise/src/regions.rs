//! Regions of addresses with similar lifetimes: the best cut of a binary tree over all granules.
//!
//! Each node of the tree is one region, or is cut into two halves. The likelihood of a region combines
//! that of its invalidations under one rate and that of the logarithms of its lifetimes under one mean
//! and spread. A cut must gain more likelihood than it costs to describe. The tree is solved from the
//! leaves up.

use wafer_device::Geometry;
use wafer_interface::LBA_BYTES;
use wafer_trace::PlaceMap;

use super::group::Point;
use super::lives::{Life, Lives};

/// A region.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    /// First granule, and one past the last.
    pub(super) range: (usize, usize),
    pub(super) life: Life,
}

impl Leaf {
    pub(super) fn point(&self) -> Point {
        Point {
            life: self.life.mean().ln(),
            spread: self.life.spread(),
            weight: (self.life.writes * self.life.space).sqrt(),
        }
    }
}

/// Natural log-likelihood that an additional region must gain.
const COST: f64 = 12.0;

/// Returns the log-likelihood of a range as one region, up to a constant unaffected by cuts.
fn likelihood(life: &Life) -> f64 {
    let rate = if life.ended > 0.0 && life.exposure > 0.0 {
        life.ended * (life.ended / life.exposure).ln() - life.ended
    } else {
        0.0
    };
    let shape = if life.ended > 1.0 {
        let mean = life.log / life.ended;
        // A floor on the variance: differences of a few writes do not matter.
        let variance = (life.log2 / life.ended - mean * mean).max(0.0) + 0.01;
        -0.5 * life.ended * variance.ln()
    } else {
        0.0
    };
    rate + shape
}

/// Returns the best regions, in order of address.
pub(super) fn leaves(lives: &Lives) -> Vec<Leaf> {
    // Levels from granules to the root: sums, and the best likelihood below.
    let mut levels: Vec<Vec<(Life, f64, bool)>> =
        vec![lives.of.iter().map(|life| (*life, likelihood(life), false)).collect()];
    while levels[levels.len() - 1].len() > 1 {
        let below = &levels[levels.len() - 1];
        let level = below
            .chunks(2)
            .map(|pair| match pair {
                [a, b] => {
                    let mut life = a.0;
                    life.add(&b.0);
                    let (one, cut) = (likelihood(&life), a.1 + b.1 - COST);
                    if cut > one { (life, cut, true) } else { (life, one, false) }
                }
                // The odd node at the end is passed on.
                [a] => (a.0, a.1, true),
                _ => (Life::default(), 0.0, false),
            })
            .collect();
        levels.push(level);
    }
    let mut leaves = Vec::new();
    let mut stack = vec![(levels.len() - 1, 0usize)];
    while let Some((level, at)) = stack.pop() {
        let Some((life, _, cut)) = levels[level].get(at) else { continue };
        if *cut && level > 0 {
            stack.push((level - 1, 2 * at + 1));
            stack.push((level - 1, 2 * at));
        } else {
            let end = ((at + 1) << level).min(lives.of.len());
            leaves.push(Leaf { range: (at << level, end), life: *life });
        }
    }
    leaves
}

/// Returns regions and their groups as a placement map.
pub(super) fn map(leaves: &[Leaf], groups: &[u16], lives: &Lives, geometry: &Geometry) -> PlaceMap {
    let page_blocks = geometry.page_bytes / LBA_BYTES;
    let mut map = PlaceMap::default();
    for (namespace, pages) in geometry.namespaces.iter().enumerate() {
        for (leaf, group) in leaves.iter().zip(groups) {
            let first = (leaf.range.0 as u64 * lives.granule).max(pages.start);
            let end = (leaf.range.1 as u64 * lives.granule).min(pages.end);
            if first < end {
                let (first, end) = (first - pages.start, end - pages.start);
                map.add(namespace as u8, first * page_blocks, end * page_blocks, *group);
            }
        }
    }
    map
}
