//! Merging: turns fragments of segments into whole segments again.
//!
//! Overwrites and relocation leave segments with few pages. In one pass over the map in order of address, merging gives
//! one label to neighbouring segments of a reclaim unit that were written through the same handle, and a label to every
//! part of a divided one. The number of segments reaches the limit again only after about the physical capacity is
//! written, so a page write pays for about one entry of the pass, which is read sequentially.

use crate::device::Device;
use crate::flash::mapping::Label;
use crate::flash::segment::{DIVIDED, NONE};
use wafer_interface::Observer;
use wafer_policies::DeviceRng;
use wafer_policies::NOT_CLOSED;

impl<O: Observer> Device<O> {
    /// Merges neighbouring segments of closed and relocation reclaim units up to the size of a whole
    /// segment.
    #[cold]
    pub(crate) fn merge_segments(&mut self) {
        let mut names: Vec<Label> = (0..self.segments.hot.len() as Label).collect();
        let open: Vec<Label> =
            self.slots.iter().map(|s| s.segment).filter(|s| *s != NONE).collect();
        let mut members = Vec::new();
        // The current counts, before merging adds those of neighbours.
        let mut divisions = Vec::new();
        for label in self.segments.divided() {
            let count = |part: &Label| (*part, self.segments.hot[*part as usize].valid);
            let parts = self.segments.parts(label).iter().map(count).collect();
            names[label as usize] = DIVIDED | divisions.len() as Label;
            divisions.push(Division { left: self.segments.hot[label as usize].valid, parts });
        }
        for ru in 0..self.geometry.ru_count {
            self.merge_within(ru, &open, &mut names, &mut members);
        }
        self.rename_pages(&names, &mut divisions);
        self.segments.end_divisions();
        self.segments.free.extend(members);
        self.list_pages();
    }

    /// Decides what to merge in one reclaim unit: `names` maps each label or part to its new label, and `members`
    /// collects those that are freed.
    fn merge_within(
        &mut self,
        ru: u32,
        open: &[Label],
        names: &mut [Label],
        members: &mut Vec<Label>,
    ) {
        let mut left = self.rus.valid[ru as usize] & !NOT_CLOSED;
        let mut limit = 0;
        let mut list = std::mem::take(&mut self.rus.units[ru as usize].segments);
        // Segments of different origin are never merged, so those of the same origin are grouped first. Only relocation
        // mixes origins, and nothing relies on the order among them.
        let origin = |id: Label| self.segments.origins[id as usize];
        if list.windows(2).any(|pair| origin(pair[0]) != origin(pair[1])) {
            list.sort_by_key(|id| origin(*id));
        }
        let mut kept: Label = NONE;
        list.retain(|id| {
            let id = *id;
            let count = self.segments.hot[id as usize].valid;
            let is_open = open.contains(&id);
            left -= count;
            if count == 0 && !is_open {
                self.segments.release(id);
                return false;
            }
            let fits = kept != NONE
                && self.segments.origins[kept as usize] == self.segments.origins[id as usize]
                && self.segments.hot[kept as usize].valid + count <= limit;
            if fits && !is_open {
                self.segments.hot[kept as usize].valid += count;
                names[id as usize] = kept;
                members.push(id);
                return false;
            }
            // Nothing follows an open segment, because reclaim units that hosts write hold data of one handle.
            kept = id;
            limit = self.geometry.segment_size(left + count);
            true
        });
        self.rus.units[ru as usize].segments = list;
    }

    /// Writes the new labels to the map. Pages of a divided label get the labels of its parts, drawn uniformly so that
    /// each part gets as many pages as it held.
    fn rename_pages(&mut self, names: &[Label], divisions: &mut [Division]) {
        let pages = self.geometry.logical_pages;
        let rng = &mut self.segments.rng;
        for entry in self.map.run_mut(0, pages) {
            let name = names[*entry as usize];
            *entry = if name & DIVIDED == 0 {
                name
            } else {
                let part = divisions[(name & !DIVIDED) as usize].draw(rng);
                #[cfg(test)]
                self.segments.log.push(crate::flash::segment::Decision::Named {
                    label: *entry,
                    ru: self.segments.hot[part as usize].ru,
                });
                names[part as usize]
            };
        }
        #[cfg(test)]
        self.segments
            .log
            .push(crate::flash::segment::Decision::Merged(self.map.as_slice().to_vec()));
    }
}

/// The parts of a divided label while its pages are distributed to them.
struct Division {
    left: u32,
    parts: Vec<(Label, u32)>,
}

impl Division {
    fn draw(&mut self, rng: &mut DeviceRng) -> Label {
        let mut draw = rng.below(self.left);
        self.left -= 1;
        for (part, left) in &mut self.parts {
            if draw < *left {
                *left -= 1;
                return *part;
            }
            draw -= *left;
        }
        unreachable!("the parts of a label hold all its pages");
    }
}

#[cfg(test)]
mod tests;
