//! The location of namespace data in the backend.
//!
//! A namespace owns a range of bytes from its creation or last format until its last reference is dropped: a command
//! that began before the namespace was deleted still reads and writes there. Then the range is released: the backend
//! frees its space, so that it reads as zeroes, and only after that may another namespace get it. Opening a drive
//! releases all ranges without a namespace, because its last server may have been killed in between.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Namespace;
use wafer_storage::Backend;

/// Reserved byte ranges that belong to no namespace in the table.
#[derive(Default)]
pub(crate) struct Space {
    reserved: Mutex<Vec<Reserved>>,
}

struct Reserved {
    base: u64,
    bytes: u64,
    /// The removed namespace, until its range is being released.
    last: Option<Arc<Namespace>>,
}

impl Space {
    fn reserved(&self) -> MutexGuard<'_, Vec<Reserved>> {
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the first offset with this many free bytes. It may be beyond the capacity, because only written data
    /// takes space.
    pub(crate) fn find(&self, namespaces: &[Option<Arc<Namespace>>], bytes: u64) -> u64 {
        let mut taken: Vec<_> = self.reserved().iter().map(|r| (r.base, r.bytes)).collect();
        taken.extend(namespaces.iter().flatten().map(|n| (n.base, n.bytes)));
        gaps(taken, u64::MAX).find(|(_, length)| *length >= bytes).map_or(0, |(from, _)| from)
    }

    /// Reserves a range for a namespace that is not in the table yet.
    pub(crate) fn reserve(&self, base: u64, bytes: u64) {
        self.reserved().push(Reserved { base, bytes, last: None });
    }

    /// Ends a reservation, because the table has the range or nothing was written to it.
    pub(crate) fn unreserve(&self, base: u64) {
        self.reserved().retain(|r| r.base != base);
    }

    /// Reserves the range of a namespace that the table no longer has.
    pub(crate) fn retire(&self, namespace: Arc<Namespace>) {
        let (base, bytes) = (namespace.base, namespace.bytes);
        self.reserved().push(Reserved { base, bytes, last: Some(namespace) });
    }

    /// Returns whether commands still use the range of a removed namespace.
    pub(crate) fn is_referenced(&self) -> bool {
        self.reserved().iter().any(|range| range.last.is_some())
    }

    /// Returns whether any range is reserved.
    pub(crate) fn is_reserved(&self) -> bool {
        !self.reserved().is_empty()
    }

    /// Releases the ranges whose last reference is dropped. A range that the backend cannot release stays reserved
    /// until the drive is opened again.
    pub(crate) fn release(&self, backend: &Backend) {
        while let Some((base, bytes)) = self.take_unreferenced() {
            match backend.release(base, bytes) {
                Ok(()) => self.unreserve(base),
                Err(error) => tracing::error!(%error, "cannot free the space of a namespace"),
            }
        }
    }

    /// Takes the range of a removed namespace that has, and can get, no more references.
    fn take_unreferenced(&self) -> Option<(u64, u64)> {
        self.reserved().iter_mut().find_map(|range| {
            Arc::get_mut(range.last.as_mut()?)?;
            range.last = None;
            Some((range.base, range.bytes))
        })
    }
}

/// Releases everything that belongs to no namespace.
///
/// # Errors
/// The medium fails.
pub(crate) fn release_gaps(
    backend: &Backend,
    namespaces: &[Option<Arc<Namespace>>],
) -> io::Result<()> {
    let taken = namespaces.iter().flatten().map(|n| (n.base, n.bytes)).collect();
    let end = backend.file_len()?;
    gaps(taken, end).try_for_each(|(from, length)| backend.release(from, length))
}

/// Returns the gaps between ranges, up to `end`: offset and length.
fn gaps(mut taken: Vec<(u64, u64)>, end: u64) -> impl Iterator<Item = (u64, u64)> {
    taken.sort_unstable();
    taken.push((end, 0));
    let mut from = 0u64;
    taken.into_iter().filter_map(move |(base, bytes)| {
        let gap = (from, base.min(end).saturating_sub(from));
        from = from.max(base.saturating_add(bytes));
        (gap.1 > 0).then_some(gap)
    })
}
