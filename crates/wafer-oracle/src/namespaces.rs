//! Namespaces, and the group and handle that a placement identifier names.
//!
//! Source: `docs/reference/device-model.md`, "Sizes" and "Writes". A new namespace takes the lowest free number and the
//! first gap that is large enough; if only all gaps together are, the other namespaces first move down to the lowest
//! pages, in their order, with their data.

use wafer_device::NamespaceError;
use wafer_interface::{FdpEvent, NsId, Placement, RuhId};

use crate::oracle::{Event, Oracle};
use crate::sizes::Namespace;

impl Oracle {
    /// Returns group and handle of a placement identifier, if the namespace has it.
    ///
    /// The identifier holds the group in its upper bits, as few as can number all groups.
    pub(crate) fn find_placement(
        &self,
        namespace: NsId,
        placement: Placement,
    ) -> Option<(u16, u16)> {
        let group_bits = (0..).find(|bits| 1 << bits >= u32::from(self.sizes.groups))?;
        let handle_bits = 16 - group_bits;
        let group = u32::from(placement.0) >> handle_bits;
        let handle = u32::from(placement.0) % (1 << handle_bits);
        let list = &self.namespaces.get(namespace.index())?.handles;
        let handle = *list.get(handle as usize)?;
        (group < u32::from(self.sizes.groups)).then_some((group as u16, handle))
    }

    /// Returns group and handle of a write. An identifier that the namespace does not define means its placement handle
    /// 0 and no particular group, with an event unless the write had no directive.
    pub(crate) fn place(&mut self, namespace: NsId, placement: Placement) -> (Option<u16>, u16) {
        if placement != Placement::NONE {
            if let Some((group, handle)) = self.find_placement(namespace, placement) {
                return (Some(group), handle);
            }
            let event = FdpEvent::InvalidPlacementIdentifier { namespace, placement };
            self.events.push(Event::Fdp(event));
        }
        (None, self.namespaces[namespace.index()].handles[0])
    }

    /// Creates a namespace with the lowest free number.
    ///
    /// # Errors
    /// The same as the device's.
    pub fn create_namespace(
        &mut self,
        pages: u64,
        handles: &[RuhId],
    ) -> Result<NsId, NamespaceError> {
        if pages == 0 {
            return Err(NamespaceError::Empty);
        }
        for (at, handle) in handles.iter().enumerate() {
            if handle.0 >= self.sizes.handles || at >= 128 || handles[..at].contains(handle) {
                return Err(NamespaceError::Handle(*handle));
            }
        }
        let left = self.sizes.pages - self.namespaces.iter().map(|n| n.pages).sum::<u64>();
        if pages > left {
            return Err(NamespaceError::Capacity { asked: pages, left });
        }
        let number = self.namespaces.iter().position(|n| n.pages == 0);
        let number = number.unwrap_or(self.namespaces.len());
        if number == 255 {
            return Err(NamespaceError::TooMany);
        }
        let first = match self.first_gap(pages) {
            Some(first) => first,
            None => self.move_down(),
        };
        if number == self.namespaces.len() {
            self.namespaces.push(Namespace::default());
        }
        let list = handles.iter().map(|handle| handle.0);
        let handles = if handles.is_empty() { vec![0] } else { list.collect() };
        self.namespaces[number] = Namespace { first, pages, handles };
        Ok(NsId(number as u8))
    }

    /// Deletes a namespace and deallocates its pages. Returns false if there is no such namespace.
    pub fn delete_namespace(&mut self, namespace: NsId) -> bool {
        let Some(old) = self.namespaces.get_mut(namespace.index()) else { return false };
        let old = std::mem::take(old);
        let waiting = self.counters.deallocated_pages;
        self.forget(namespace, 0..old.pages, old.first);
        self.counters.deallocated_pages = waiting;
        self.deallocate(old.first..old.first + old.pages);
        old.pages > 0
    }

    /// Returns the numbers of the namespaces in order of their pages.
    fn in_order(&self) -> Vec<usize> {
        let mut numbers: Vec<usize> =
            (0..self.namespaces.len()).filter(|n| self.namespaces[*n].pages > 0).collect();
        numbers.sort_by_key(|number| self.namespaces[*number].first);
        numbers
    }

    fn first_gap(&self, pages: u64) -> Option<u64> {
        let mut from = 0;
        for number in self.in_order() {
            let namespace = &self.namespaces[number];
            if namespace.first - from >= pages {
                return Some(from);
            }
            from = namespace.first + namespace.pages;
        }
        (self.sizes.pages - from >= pages).then_some(from)
    }

    /// Moves all namespaces down. Returns the page after the last one.
    fn move_down(&mut self) -> u64 {
        let mut to = 0;
        for number in self.in_order() {
            let namespace = &mut self.namespaces[number];
            let from = std::mem::replace(&mut namespace.first, to);
            for page in 0..namespace.pages {
                self.pages.rename(from + page, to + page);
            }
            to += namespace.pages;
        }
        to
    }
}
