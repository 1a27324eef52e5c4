//! Namespaces that come and go while the device runs.
//!
//! A namespace is a run of logical pages. Deleting one deallocates its pages and leaves a gap; creating
//! one takes the first gap that is large enough, and where only the sum of the gaps is, moves the
//! namespaces together. Moving is cheap: the map holds labels, no segment knows its pages, so the labels
//! of a run are copied and nothing else changes.

use std::ops::Range;

use crate::device::{Device, NamespaceLayout};
use crate::flash::mapping::UNMAPPED;
use crate::geometry::MAX_HANDLES;
use wafer_interface::Observer;
use wafer_interface::{NsId, RuhId};

/// Most namespaces at a time: what [`NsId`] can number.
pub(crate) const MAX_NAMESPACES: usize = 255;

/// Why a namespace cannot be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NamespaceError {
    /// Its size is zero.
    #[error("a namespace needs at least one page")]
    Empty,
    /// There is not enough capacity left.
    #[error("requested {asked} pages, but only {left} are free")]
    Capacity {
        /// Pages asked for.
        asked: u64,
        /// Pages that no namespace has.
        left: u64,
    },
    /// As many namespaces as there can be.
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
        let number = (0..self.namespaces.len())
            .find(|n| self.namespaces[*n].slots.is_empty())
            .unwrap_or(self.namespaces.len());
        if number >= MAX_NAMESPACES {
            return Err(NamespaceError::TooMany);
        }
        let first = self.gap(pages).unwrap_or_else(|| self.move_together());
        let list: Vec<u16> =
            if handles.is_empty() { vec![0] } else { handles.iter().map(|h| h.0).collect() };
        let layout = NamespaceLayout::new(&self.geometry, &(first..first + pages), &list);
        if number == self.namespaces.len() {
            self.namespaces.push(layout);
            self.geometry.namespaces.push(first..first + pages);
            self.geometry.namespace_handles.push(list);
        } else {
            self.namespaces[number] = layout;
            self.geometry.namespaces[number] = first..first + pages;
            self.geometry.namespace_handles[number] = list;
        }
        Ok(NsId(number as u8))
    }

    /// Deletes a namespace: its pages are deallocated, its number is free. False if there is none.
    pub fn delete_namespace(&mut self, namespace: NsId) -> bool {
        if !self.has_namespace(namespace) {
            return false;
        }
        let number = namespace.index();
        let pages = self.pages_of(number);
        self.unmap(pages.start, pages.end - pages.start);
        self.namespaces[number] = NamespaceLayout::new(&self.geometry, &(0..0), &[]);
        self.geometry.namespaces[number] = 0..0;
        self.geometry.namespace_handles[number].clear();
        true
    }

    /// Returns whether the namespace exists.
    pub fn has_namespace(&self, namespace: NsId) -> bool {
        self.namespaces.get(namespace.index()).is_some_and(|n| !n.slots.is_empty())
    }

    /// Returns the number of pages in no namespace.
    pub fn unallocated_pages(&self) -> u64 {
        let used: u64 = self.allocated().iter().map(|(_, pages)| pages.end - pages.start).sum();
        self.geometry.logical_pages - used
    }

    fn pages_of(&self, number: usize) -> Range<u64> {
        let layout = &self.namespaces[number];
        let pages = layout.blocks / self.geometry.blocks_per_page();
        layout.first_page..layout.first_page + pages
    }

    /// Returns the namespaces in order of their pages.
    fn allocated(&self) -> Vec<(usize, Range<u64>)> {
        let mut all: Vec<_> = (0..self.namespaces.len())
            .filter(|n| !self.namespaces[*n].slots.is_empty())
            .map(|n| (n, self.pages_of(n)))
            .collect();
        all.sort_by_key(|(_, pages)| pages.start);
        all
    }

    /// Returns the first page of the first gap of `pages` pages.
    fn gap(&self, pages: u64) -> Option<u64> {
        let mut from = 0;
        for (_, taken) in self.allocated() {
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
        for (number, from) in self.allocated() {
            let count = from.end - from.start;
            if from.start != to {
                let map = self.map.run_mut(0, self.geometry.logical_pages);
                map.copy_within(from.start as usize..from.end as usize, to as usize);
                // What the run leaves behind lies at its old end.
                map[(to + count).max(from.start) as usize..from.end as usize].fill(UNMAPPED);
                self.namespaces[number].first_page = to;
                self.geometry.namespaces[number] = to..to + count;
            }
            to += count;
        }
        to
    }
}
