//! Namespaces that come and go while the device runs.
//!
//! A namespace is a run of logical pages. Deleting one deallocates its pages and leaves a gap; creating one takes the
//! first gap that is large enough, and if only the sum of the gaps is, compacts the namespaces. Moving is cheap: the
//! map holds labels, no segment knows its pages, so the labels of a run are copied and nothing else changes.

use std::ops::Range;

use crate::device::{Device, NamespaceLayout};
use crate::flash::mapping::UNMAPPED;
use crate::geometry::{Geometry, MAX_HANDLES, MAX_NAMESPACES};
use wafer_interface::{NsId, Observer, RuhId};

/// Why a namespace cannot be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NamespaceError {
    /// Its size is zero.
    #[error("a namespace needs at least one page")]
    Empty,
    /// There is not enough capacity left.
    #[error("requested {asked} pages, but only {left} are free")]
    Capacity {
        /// Requested pages.
        asked: u64,
        /// Pages that no namespace has.
        left: u64,
    },
    /// There are already as many namespaces as possible.
    #[error("there are {MAX_NAMESPACES} namespaces already")]
    TooMany,
    /// The list names a handle that the device does not have, or one twice, or too many.
    #[error("handle {0} does not exist, is listed twice, or exceeds the 128 of a list")]
    Handle(RuhId),
}

impl<O: Observer> Device<O> {
    /// Creates a namespace of `pages` pages whose placement handles are `handles`; an empty list means
    /// handle 0 alone. Returns its number, the smallest that is free.
    ///
    /// # Errors
    /// The list is not valid, or there is no room. Nothing changes then.
    pub fn create_namespace(
        &mut self,
        pages: u64,
        handles: &[RuhId],
    ) -> Result<NsId, NamespaceError> {
        if pages == 0 {
            return Err(NamespaceError::Empty);
        }
        for (at, handle) in handles.iter().enumerate() {
            let known = handle.0 < self.geometry.handles && at < usize::from(MAX_HANDLES);
            if !known || handles[..at].contains(handle) {
                return Err(NamespaceError::Handle(*handle));
            }
        }
        let left = self.unallocated_pages();
        if pages > left {
            return Err(NamespaceError::Capacity { asked: pages, left });
        }
        let lists = &self.geometry.namespace_handles;
        let number = lists.iter().position(Vec::is_empty).unwrap_or(lists.len());
        if number >= MAX_NAMESPACES {
            return Err(NamespaceError::TooMany);
        }
        let first = self.gap(pages).unwrap_or_else(|| self.move_together());
        let Geometry { namespaces, namespace_handles, .. } = &mut self.geometry;
        if number == namespaces.len() {
            namespaces.push(0..0);
            namespace_handles.push(Vec::new());
        }
        namespaces[number] = first..first + pages;
        namespace_handles[number] =
            if handles.is_empty() { vec![0] } else { handles.iter().map(|h| h.0).collect() };
        self.place_namespaces();
        Ok(NsId(number as u8))
    }

    /// Deletes a namespace: its pages are deallocated, its number is free. False if there is none.
    pub fn delete_namespace(&mut self, namespace: NsId) -> bool {
        if !self.has_namespace(namespace) {
            return false;
        }
        let pages = self.geometry.namespaces[namespace.index()].clone();
        self.caches.iter_mut().for_each(|cache| cache.delete(namespace));
        self.unmap(pages.start, pages.end - pages.start);
        self.unmap_sampled(pages);
        self.delete_deallocated_namespace(namespace);
        true
    }

    /// Deletes a namespace whose pages are all deallocated, without visiting them: there may be hundreds of millions.
    pub fn delete_deallocated_namespace(&mut self, namespace: NsId) {
        let number = namespace.index();
        if self.has_namespace(namespace) {
            self.geometry.namespaces[number] = 0..0;
            self.geometry.namespace_handles[number].clear();
            self.place_namespaces();
        }
    }

    /// Returns whether the namespace exists.
    pub fn has_namespace(&self, namespace: NsId) -> bool {
        self.namespaces.get(namespace.index()).is_some_and(|n| !n.slots.is_empty())
    }

    /// Returns the first of some pages of a namespace that is not mapped: never written, or deallocated since. Pages
    /// beyond the namespace count as mapped.
    pub fn first_unmapped(&self, namespace: NsId, pages: Range<u64>) -> Option<u64> {
        let own = self.geometry.namespaces.get(namespace.index())?;
        let end = own.start.saturating_add(pages.end).min(own.end);
        let from = own.start.saturating_add(pages.start).min(end);
        let waits = |page| self.caches.iter().any(|cache| cache.waits(namespace, page));
        let labels = (pages.start..).zip(&self.map.as_slice()[from as usize..end as usize]);
        let mut unmapped = labels.filter(|(_, label)| **label == UNMAPPED).map(|(page, _)| page);
        unmapped.find(|page| !waits(*page))
    }

    /// Returns the number of pages in no namespace.
    pub fn unallocated_pages(&self) -> u64 {
        let used: u64 = self.geometry.namespaces.iter().map(|pages| pages.end - pages.start).sum();
        self.geometry.logical_pages - used
    }

    /// Derives what the write path needs to know about the namespaces.
    pub(crate) fn place_namespaces(&mut self) {
        let geometry = &self.geometry;
        // Without FDP and streams there is one handle, whatever the list says.
        let slot = |handle: &u16| u32::from((*handle).min(geometry.handles - 1));
        let all = geometry.namespaces.iter().zip(&geometry.namespace_handles);
        let layout = |(pages, handles): (&Range<u64>, &Vec<u16>)| NamespaceLayout {
            first_page: pages.start,
            blocks: (pages.end - pages.start) * geometry.blocks_per_page(),
            slots: handles.iter().map(slot).collect(),
        };
        self.namespaces = all.map(layout).collect();
    }

    /// Returns the numbers of the namespaces in order of their pages.
    fn in_order(&self) -> Vec<usize> {
        let all = &self.geometry.namespaces;
        let mut numbers: Vec<usize> = (0..all.len()).filter(|n| !all[*n].is_empty()).collect();
        numbers.sort_by_key(|number| all[*number].start);
        numbers
    }

    /// Returns the first page of the first gap of `pages` pages.
    fn gap(&self, pages: u64) -> Option<u64> {
        let mut from = 0;
        for number in self.in_order() {
            let taken = &self.geometry.namespaces[number];
            if taken.start - from >= pages {
                return Some(from);
            }
            from = taken.end;
        }
        (self.geometry.logical_pages - from >= pages).then_some(from)
    }

    /// Moves all namespaces to the lowest pages. Returns the first page after the last namespace.
    fn move_together(&mut self) -> u64 {
        let mut to = 0;
        for number in self.in_order() {
            let from = self.geometry.namespaces[number].clone();
            let count = from.end - from.start;
            if from.start != to {
                let map = self.map.run_mut(0, self.geometry.logical_pages);
                map.copy_within(from.start as usize..from.end as usize, to as usize);
                // What the run leaves behind lies at its old end.
                map[(to + count).max(from.start) as usize..from.end as usize].fill(UNMAPPED);
                self.geometry.namespaces[number] = to..to + count;
            }
            to += count;
        }
        self.list_pages();
        to
    }
}
