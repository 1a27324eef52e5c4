//! Segments: runs of pages appended to one reclaim unit and moved as a whole (`docs/decisions/0001-segment-map.md`).
//!
//! The map has a page's segment, not its place. Write amplification depends only on which reclaim unit a page is in and
//! how many of the unit's pages are valid, so relocation moves a segment by changing one number.
//!
//! A segment whose pages straddle the end of a destination is *divided*: its label stays in the map and stands for
//! several *parts*, each in its own reclaim unit with its own count. The part of a page is drawn only when the page is
//! overwritten, uniformly among the remaining pages: until then, nothing could distinguish them. So every run is also a
//! run of a page-mapped device, for some order of pages within segments (`tests/exchange.rs` constructs it).

use crate::flash::mapping::{Label, RuIndex, UNMAPPED, prefetch};
use wafer_policies::DeviceRng;
use wafer_policies::ReclaimUnit;
use wafer_separation::Content;

/// Flag in `Segment::ru`: the label is divided, and the other bits are the number of its division.
pub(crate) const DIVIDED: u32 = 1 << 31;
pub(crate) const NONE: u32 = u32::MAX;

/// The fields that a write to a page of the segment accesses, kept small: 8 bytes.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Segment {
    /// The reclaim unit, or [`DIVIDED`] and the division.
    pub(crate) ru: RuIndex,
    /// Number of valid pages; for an open segment of a handle, including those still to be written.
    pub(crate) valid: u32,
}

/// How the pages of a segment were written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Written {
    /// The handle through which a host wrote them.
    pub(crate) origin: u8,
    /// Host pages written to the device when the segment was begun.
    pub(crate) born: u64,
    /// Predicted death time, in the same unit; 0: unknown.
    pub(crate) death_time: u64,
}

/// The content that a written page replaces: a page of a segment. Each value is in its own table and costs a cache
/// miss, so a separation rule looks up only what it needs.
#[derive(Clone, Copy)]
pub(crate) struct Replaced<'a> {
    segments: &'a Segments,
    units: &'a [ReclaimUnit],
    label: Label,
    now: u64,
}

impl Content for Replaced<'_> {
    #[inline(always)]
    fn writer(self) -> u32 {
        u32::from(self.segments.origins[self.label as usize])
    }

    #[inline(always)]
    fn lived(self) -> u64 {
        self.now - self.segments.born[self.label as usize]
    }

    #[inline(always)]
    fn class(self) -> u8 {
        // All pages of a divided segment are assumed to be where the first valid ones are.
        let Segment { ru, .. } = self.segments.hot[self.label as usize];
        let ru = if ru & DIVIDED == 0 { ru } else { self.segments.first_part(self.label) };
        let ReclaimUnit { class, generation, .. } = self.units[ru as usize];
        generation.checked_sub(1).unwrap_or(class)
    }

    #[inline(always)]
    fn death_time(self) -> u64 {
        self.segments.death_times[self.label as usize]
    }
}

/// Table of all segments and parts.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Segments {
    pub(crate) hot: Vec<Segment>,
    /// The label in the map: that of the segment itself, or that of the divided segment that a part belongs to.
    pub(crate) labels: Vec<Label>,
    /// The handle through which the pages were written; the same for all of a segment.
    pub(crate) origins: Vec<u8>,
    /// Host pages written to the device when each segment was begun; empty unless requested.
    pub(crate) born: Vec<u64>,
    /// Predicted death time of each segment, in the same unit; 0: unknown. Kept only with births.
    pub(crate) death_times: Vec<u64>,
    pub(crate) free: Vec<Label>,
    /// The parts of each divided label; entries without parts are free.
    pub(crate) divisions: Vec<Vec<Label>>,
    pub(crate) free_divisions: Vec<u32>,
    pub(crate) rng: DeviceRng,
    /// Decisions about single pages and segments, for tests that follow them.
    #[cfg(test)]
    #[serde(skip)]
    pub(crate) log: Vec<Decision>,
}

/// A decision of the device that the counts alone do not show.
#[cfg(test)]
#[derive(Clone, Debug)]
pub(crate) enum Decision {
    /// The page with this label that is being written or unmapped was in this reclaim unit.
    Drawn { label: Label, ru: RuIndex },
    /// `count` pages with this label moved.
    Moved { label: Label, from: RuIndex, to: RuIndex, count: u32 },
    /// During merging, the next page with this label in order of address was in this reclaim unit.
    Named { label: Label, ru: RuIndex },
    /// Merging is done: the labels of all pages.
    Merged(Vec<Label>),
    /// The current page now has this label, in this reclaim unit.
    Written { label: Label, ru: RuIndex },
}

impl Segments {
    /// Creates a table with only the segment of unmapped pages, which has the index `unmapped_ru` that stands for no
    /// reclaim unit. `births` tells whether the birth of every segment is kept.
    pub(crate) fn new(unmapped_ru: RuIndex, births: bool, rng: DeviceRng) -> Self {
        let times = vec![0; usize::from(births)];
        Segments {
            hot: vec![Segment { ru: unmapped_ru, valid: 0 }],
            labels: vec![0],
            origins: vec![0],
            born: times.clone(),
            death_times: times,
            free: Vec::new(),
            divisions: Vec::new(),
            free_divisions: Vec::new(),
            rng,
            #[cfg(test)]
            log: Vec::new(),
        }
    }

    /// Prefetches the cache line of a segment.
    #[inline(always)]
    pub(crate) fn prefetch(&self, label: Label) {
        prefetch(self.hot.as_ptr().wrapping_add(label as usize));
    }

    /// Prefetches the fields of a segment that relocation needs, if there is one.
    #[inline(always)]
    pub(crate) fn prefetch_cold(&self, label: Option<&Label>) {
        if let Some(label) = label {
            self.prefetch(*label);
            prefetch(self.labels.as_ptr().wrapping_add(*label as usize));
        }
    }

    /// Prefetches the origin of a segment, if there is one.
    #[inline(always)]
    pub(crate) fn prefetch_origin(&self, label: Option<&Label>) {
        if let Some(label) = label {
            prefetch(self.origins.as_ptr().wrapping_add(*label as usize));
        }
    }

    /// Reports a page's new label to the tests that follow it.
    #[inline(always)]
    pub(crate) fn log_written(&mut self, label: Label) {
        #[cfg(test)]
        self.log.push(Decision::Written { label, ru: self.hot[label as usize].ru });
        #[cfg(not(test))]
        let _ = label;
    }

    /// Returns the number of segments in use.
    pub(crate) fn live(&self) -> usize {
        self.hot.len() - self.free.len()
    }

    /// Returns whether births are kept.
    #[inline(always)]
    pub(crate) fn keeps_births(&self) -> bool {
        !self.born.is_empty()
    }

    /// Returns the content of a page with this label, if births are kept; `None` if it is unmapped.
    #[inline(always)]
    pub(crate) fn content<'a>(
        &'a self,
        label: Label,
        units: &'a [ReclaimUnit],
        now: u64,
    ) -> Option<Replaced<'a>> {
        (label != UNMAPPED).then_some(Replaced { segments: self, units, label, now })
    }

    /// Returns the reclaim unit of the first part of a divided label that holds valid pages.
    #[cold]
    fn first_part(&self, label: Label) -> RuIndex {
        let parts = self.parts(label).iter().map(|part| &self.hot[*part as usize]);
        let mut valid = parts.filter(|part| part.valid > 0);
        valid.next().expect("the parts of a label hold all its pages").ru
    }

    /// Allocates a segment of `valid` pages.
    pub(crate) fn allocate(&mut self, ru: RuIndex, valid: u32, written: Written) -> Label {
        let id = self.free.pop().unwrap_or_else(|| {
            self.hot.push(Segment { ru, valid });
            self.labels.push(0);
            self.origins.push(0);
            if self.keeps_births() {
                self.born.push(0);
                self.death_times.push(0);
            }
            (self.hot.len() - 1) as Label
        });
        self.hot[id as usize] = Segment { ru, valid };
        self.labels[id as usize] = id;
        self.origins[id as usize] = written.origin;
        if self.keeps_births() {
            self.born[id as usize] = written.born;
            self.death_times[id as usize] = written.death_time;
        }
        id
    }

    /// Returns how a segment was written, which its parts inherit.
    fn written(&self, id: Label) -> Written {
        let time = |times: &[u64]| times.get(id as usize).copied().unwrap_or(0);
        Written {
            origin: self.origins[id as usize],
            born: time(&self.born),
            death_time: time(&self.death_times),
        }
    }

    /// Frees a segment or part that holds no more pages.
    pub(crate) fn release(&mut self, id: Label) {
        let label = self.labels[id as usize];
        if label != id {
            let division = self.division_of(label);
            let parts = &mut self.divisions[division];
            parts.retain(|p| *p != id);
            if parts.is_empty() {
                assert_eq!(self.hot[label as usize].valid, 0, "pages of a division without parts");
                self.free_divisions.push(division as u32);
                self.free.push(label);
            }
        }
        self.free.push(id);
    }

    /// Splits segment or part `id` into its first `count` pages, which keep `id` or become the part returned first, and
    /// the rest, returned second.
    pub(crate) fn divide(&mut self, id: Label, count: u32) -> (Label, Label) {
        let Segment { ru, valid } = self.hot[id as usize];
        let label = self.labels[id as usize];
        let written = self.written(id);
        assert!(ru & DIVIDED == 0 && count < valid);
        let rest = self.allocate(ru, valid - count, written);
        self.labels[rest as usize] = label;
        if label != id {
            // A part divides into two parts of the same label.
            self.hot[id as usize].valid = count;
            let division = self.division_of(label);
            self.divisions[division].push(rest);
            return (id, rest);
        }
        let first = self.allocate(ru, count, written);
        self.labels[first as usize] = label;
        let division = match self.free_divisions.pop() {
            Some(index) => index as usize,
            None => {
                self.divisions.push(Vec::new());
                self.divisions.len() - 1
            }
        };
        self.divisions[division] = vec![first, rest];
        self.hot[id as usize].ru = DIVIDED | division as u32;
        (first, rest)
    }

    /// Invalidates one page of the divided `label`: draws the part that the page was in, and returns that part's
    /// reclaim unit. The label's own count must still include the page.
    #[cold]
    #[inline(never)]
    pub(crate) fn invalidate_divided(&mut self, label: Label) -> RuIndex {
        let valid = self.hot[label as usize].valid;
        let division = self.division_of(label);
        let mut draw = self.rng.below(valid);
        for part in &self.divisions[division] {
            let segment = &mut self.hot[*part as usize];
            if draw < segment.valid {
                segment.valid -= 1;
                let ru = segment.ru;
                #[cfg(test)]
                self.log.push(Decision::Drawn { label, ru });
                return ru;
            }
            draw -= segment.valid;
        }
        unreachable!("the parts of a label hold all its pages");
    }

    /// Returns the parts of a divided label.
    pub(crate) fn parts(&self, label: Label) -> &[Label] {
        &self.divisions[self.division_of(label)]
    }

    pub(crate) fn is_divided(&self, label: Label) -> bool {
        self.hot[label as usize].ru & DIVIDED != 0 && self.labels[label as usize] == label
    }

    pub(crate) fn divided(&self) -> impl Iterator<Item = Label> + '_ {
        self.divisions.iter().filter_map(|parts| parts.first().map(|p| self.labels[*p as usize]))
    }

    /// Ends every division: parts become separate segments, and the labels of the divided segments are freed. The map
    /// must no longer contain those labels.
    pub(crate) fn end_divisions(&mut self) {
        for (index, parts) in self.divisions.iter_mut().enumerate() {
            let Some(first) = parts.first() else { continue };
            self.free.push(self.labels[*first as usize]);
            for part in parts.drain(..) {
                self.labels[part as usize] = part;
            }
            self.free_divisions.push(index as u32);
        }
    }

    fn division_of(&self, label: Label) -> usize {
        (self.hot[label as usize].ru & !DIVIDED) as usize
    }
}

#[cfg(test)]
mod tests;
