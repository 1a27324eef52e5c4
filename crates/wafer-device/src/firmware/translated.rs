//! The translation pages that a command or a collection uses, for a map that is not entirely in memory.
//!
//! Commands know their pages. A collection moves segments, which do not, so each label has a list of the pages that
//! received it. A listed page that has a different label by now is skipped.

use wafer_interface::{MediaWork, Observer};

use crate::device::Device;
use crate::flash::mapping::{Label, UNMAPPED};

impl<O: Observer> Device<O> {
    /// Uses the entries of a run of pages.
    pub(crate) fn translate(&mut self, first: u64, count: u64, changes: bool) {
        let Some(translated) = &mut self.translated else { return };
        if count == 0 {
            return;
        }
        let entries = translated.entries;
        let (mut reads, mut programs) = (0, 0);
        for page in first / entries..=(first + count - 1) / entries {
            let work = translated.table.touch(page as u32, changes);
            (reads, programs) = (reads + work.reads, programs + work.programs);
        }
        self.count_map(reads, programs);
    }

    /// Notes a run of pages that a host wrote to a segment, and uses their entries.
    #[cold]
    #[inline(never)]
    pub(crate) fn translate_written(&mut self, first: u64, count: u64, label: Label) {
        if let Some(translated) = &mut self.translated {
            translated.list(label).extend((first..first + count).map(|page| page as u32));
        }
        self.translate(first, count, true);
    }

    /// Clears the list of a label that is about to be reused.
    pub(crate) fn clear_pages(&mut self, label: Label) {
        if let Some(translated) = &mut self.translated {
            translated.list(label).clear();
        }
    }

    /// Uses the entries of all pages of a victim's segments, each translation page once, in ascending order. If the
    /// pages of a segment are in several reclaim units, all of them count.
    pub(crate) fn translate_moved(&mut self, list: &[Label]) {
        let Some(translated) = &mut self.translated else { return };
        let (map, segments) = (self.map.as_slice(), &self.segments);
        let mut touched = std::mem::take(&mut translated.touched);
        for id in list.iter().filter(|id| segments.hot[**id as usize].valid > 0) {
            let label = segments.labels[*id as usize];
            let entries = translated.entries;
            let pages = translated.list(label).iter();
            let own = pages.filter(|page| map[**page as usize] == label);
            touched.extend(own.map(|page| (u64::from(*page) / entries) as u32));
        }
        touched.sort_unstable();
        touched.dedup();
        let (mut reads, mut programs) = (0, 0);
        for page in touched.drain(..) {
            let work = translated.table.touch(page, true);
            (reads, programs) = (reads + work.reads, programs + work.programs);
        }
        translated.touched = touched;
        self.count_map(reads, programs);
    }

    /// Rebuilds the lists of all labels after labels or pages were renumbered.
    pub(crate) fn list_pages(&mut self) {
        let Some(translated) = &mut self.translated else { return };
        translated.pages.iter_mut().for_each(Vec::clear);
        let labels = (0..).zip(self.map.as_slice()).filter(|(_, label)| **label != UNMAPPED);
        for (page, label) in labels {
            translated.list(*label).push(page);
        }
    }

    fn count_map(&mut self, reads: u64, programs: u64) {
        self.counters.map_reads += reads;
        self.counters.map_pages += programs;
        self.counters.media_bytes += programs * self.geometry.page_bytes;
        if self.observer.wants_media() && reads + programs > 0 {
            let (reads, programs) = (reads as u32, programs as u32);
            self.observer.media(&MediaWork::Map { reads, programs });
        }
    }
}
