//! Creation and deletion of namespaces while the device runs.
//!
//! A namespace is a run of logical pages. Deleting one deallocates its pages and leaves a gap. Creating one uses the
//! first gap that is large enough; if only all gaps together are, it compacts the namespaces first. Moving is cheap:
//! the map holds labels and no segment knows its pages, so copying the labels of a run is enough.

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
        /// Number of requested pages.
        asked: u64,
        /// Number of pages in no namespace.
        left: u64,
    },
    /// The maximum number of namespaces exists already.
    #[error("there are {MAX_NAMESPACES} namespaces already")]
    TooMany,
    /// The list has a handle that the device does not have, a handle twice, or too many handles.
    #[error("handle {0} does not exist, is listed twice, or exceeds the 128 of a list")]
    Handle(RuhId),
}

impl<O: Observer> Device<O> {
    /// Creates a namespace of `pages` pages whose placement handles are `handles`; an empty list means
    /// handle 0 alone. Returns its number, the smallest that is free.
    ///
    /// # Errors
    /// The list is invalid, or there is no room; nothing has changed.
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

    /// Deletes a namespace: deallocates its pages and frees its number. Returns false if there is none.
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

    /// Deletes a namespace whose pages are all deallocated, without visiting them, of which there may be hundreds of
    /// millions.
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

    /// Returns the first page in a range of a namespace that is unmapped: never written, or deallocated since. Pages
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

    /// Derives the layouts of the namespaces for the write path.
    pub(crate) fn place_namespaces(&mut self) {
        let geometry = &self.geometry;
        let slot = |handle: &u16| u32::from(geometry.used(*handle));
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
                // The pages that the run leaves behind are at its old end.
                map[(to + count).max(from.start) as usize..from.end as usize].fill(UNMAPPED);
                self.geometry.namespaces[number] = to..to + count;
            }
            to += count;
        }
        self.list_pages();
        to
    }
}
