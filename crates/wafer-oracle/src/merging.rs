//! Merging: when too many segments are in use, neighbours are joined.
//!
//! Source: `docs/decisions/0001-segment-map.md`. Within each reclaim unit, the segments of one handle are brought
//! together, in their order. A segment joins the one before it while both fit into the size of a segment that begins
//! where they begin, counted in valid pages. The segments that hosts are writing stay as they are. Then, in order of
//! address, each page of a divided segment is assigned to one of its parts by the draw that also decides where an
//! overwritten page was, and every part becomes a segment of its own.

use std::collections::BTreeMap;

use crate::oracle::Oracle;
use crate::pages::{SegmentId, draw};

impl Oracle {
    /// Merges the segments of all reclaim units.
    pub(crate) fn merge_segments(&mut self) {
        let counts = |parts: &Vec<SegmentId>| -> Vec<(SegmentId, u32)> {
            parts.iter().map(|part| (*part, self.pages.valid(*part))).collect()
        };
        let divisions = self.pages.divisions.iter();
        let mut left: BTreeMap<u64, _> = divisions.map(|(d, parts)| (*d, counts(parts))).collect();
        let mut joins = BTreeMap::new();
        for unit in 0..self.units.len() {
            self.merge_within(unit, &mut joins);
        }
        let mut pages: BTreeMap<SegmentId, Vec<u64>> = BTreeMap::new();
        for page in 0..self.sizes.pages {
            let Some(mut id) = self.pages.map[page as usize] else { continue };
            if let Some(division) = self.pages[id].division {
                let parts = left.get_mut(&division).expect("a division");
                id = draw(parts, &mut self.pages.random);
                parts.iter_mut().find(|(part, _)| *part == id).expect("a part").1 -= 1;
            }
            let id = *joins.get(&id).unwrap_or(&id);
            self.pages.map[page as usize] = Some(id);
            pages.entry(id).or_default().push(page);
        }
        for (id, segment) in self.pages.segments.iter_mut().enumerate() {
            segment.pages = pages.remove(&id).unwrap_or_default();
            segment.division = None;
        }
        self.pages.divisions.clear();
    }

    /// Records in `joins` which segments of a reclaim unit join which others.
    fn merge_within(&mut self, unit: usize, joins: &mut BTreeMap<SegmentId, SegmentId>) {
        let open: BTreeMap<SegmentId, u32> =
            self.open.values().filter_map(|log| Some((log.segment?, log.segment_room))).collect();
        let mut list = self.units[unit].segments.clone();
        list.sort_by_key(|id| self.pages[*id].origin);
        // Pages that an open segment can still take count as valid.
        let size = |id: &SegmentId| self.pages.valid(*id) + open.get(id).unwrap_or(&0);
        let sizes: Vec<u32> = list.iter().map(size).collect();
        let mut kept = Vec::new();
        // The segment that others may join: its number, its pages and their maximum.
        let mut last: Option<(SegmentId, u32, u32)> = None;
        for (at, id) in list.iter().enumerate() {
            let size = sizes[at];
            if open.contains_key(id) {
                last = None;
            } else if size == 0 {
                self.pages.release(*id);
                continue;
            } else {
                let origin = |id: &SegmentId| self.pages[*id].origin;
                match &mut last {
                    Some((to, pages, most))
                        if origin(to) == origin(id) && *pages + size <= *most =>
                    {
                        *pages += size;
                        joins.insert(*id, *to);
                        continue;
                    }
                    _ => {
                        let from_here: u32 = sizes[at..].iter().sum();
                        last = Some((*id, size, self.sizes.segment_size(from_here)));
                    }
                }
            }
            kept.push(*id);
        }
        self.units[unit].segments = kept;
    }
}
