//! Reports of media work to an observer that requests them; with `()`, they compile to nothing.

use crate::device::Device;
use crate::flash::mapping::{Label, RuIndex, UNMAPPED};
use wafer_interface::{Cause, MediaWork, Observer, RuId};

impl<O: Observer> Device<O> {
    /// Reports that `pages` are programmed to a reclaim unit that had room for `room` pages.
    #[inline(always)]
    pub(crate) fn report_program(&mut self, ru: RuIndex, room: u32, pages: u32, cause: Cause) {
        if self.observer.wants_media() && pages > 0 {
            let first = self.geometry.pages_per_ru - room;
            self.observer.media(&MediaWork::Program { ru: RuId(ru), first, pages, cause });
        }
    }

    /// Reports the read of a run of logical pages, and counts it if reads cause wear.
    pub(crate) fn read_pages(&mut self, first: u64, count: u64, cause: Cause) {
        if self.observer.wants_media() {
            self.report_reads(first, count, cause);
        }
        if self.maintenance.as_ref().is_some_and(|m| !m.reads.is_empty()) {
            let labels = &self.map.as_slice()[first as usize..(first + count) as usize];
            let mapped = labels.iter().filter(|label| **label != UNMAPPED);
            let read: Vec<RuIndex> = mapped.map(|label| self.read_from(*label)).collect();
            self.count_reads(&read);
        }
    }

    /// Reports the reads of a run of logical pages, one for each run of pages in one reclaim unit.
    pub(crate) fn report_reads(&mut self, first: u64, count: u64, cause: Cause) {
        let mut run: Option<(RuIndex, u64, u32)> = None;
        for page in first..first + count {
            let label = self.map.as_slice()[page as usize];
            let ru = (label != UNMAPPED).then(|| self.read_from(label));
            run = match (run, ru) {
                (Some((at, first, pages)), Some(ru)) if at == ru => Some((at, first, pages + 1)),
                (before, ru) => {
                    self.report_read(before, cause);
                    ru.map(|ru| (ru, page, 1))
                }
            };
        }
        self.report_read(run, cause);
    }

    fn report_read(&mut self, run: Option<(RuIndex, u64, u32)>, cause: Cause) {
        if let Some((ru, first, pages)) = run {
            self.observer.media(&MediaWork::Read { ru: RuId(ru), first, pages, cause });
        }
    }

    /// Returns the reclaim unit of a label; for a divided one, that of its first part that holds a page. Drawing the
    /// part would change later random numbers.
    fn read_from(&self, label: Label) -> RuIndex {
        let hot = &self.segments.hot;
        if !self.segments.is_divided(label) {
            return hot[label as usize].ru;
        }
        let parts = self.segments.parts(label);
        let part = parts.iter().find(|part| hot[**part as usize].valid > 0);
        part.map_or(0, |part| hot[*part as usize].ru)
    }
}
