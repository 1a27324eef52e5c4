//! The page map: the label of each logical page's segment, 4 bytes per page, in huge pages.

#[cfg(not(target_arch = "wasm32"))]
type Memory = memmap2::MmapMut;
/// Entries are on the heap if memory cannot be mapped.
#[cfg(target_arch = "wasm32")]
type Memory = Vec<Label>;

pub(crate) use wafer_policies::{Label, RuIndex};

/// The label of unmapped pages. A fresh map is zeroed memory, so everything is unmapped.
pub(crate) const UNMAPPED: Label = 0;

/// Prefetches the cache line at an address; any address is allowed.
#[inline(always)]
pub(crate) fn prefetch<T>(address: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch never faults, and has no effect that the program can observe.
        unsafe { _mm_prefetch(address.cast(), _MM_HINT_T0) }
    }
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    let _ = address;
}

/// Returns memory for `pages` entries of zero.
#[cfg(not(target_arch = "wasm32"))]
fn zeroed(pages: u64) -> std::io::Result<Memory> {
    let bytes = usize::try_from(pages * 4).map_err(|_| std::io::ErrorKind::OutOfMemory)?;
    let memory = Memory::map_anon(bytes)?;
    // Random access over gigabytes is bound by TLB misses: huge pages gain a quarter. Without them, only speed suffers.
    #[cfg(all(target_os = "linux", not(miri)))]
    let _ = memory.advise(memmap2::Advice::HugePage);
    Ok(memory)
}

/// Returns memory for `pages` entries of zero.
#[cfg(target_arch = "wasm32")]
fn zeroed(pages: u64) -> std::io::Result<Memory> {
    let pages = usize::try_from(pages).map_err(|_| std::io::ErrorKind::OutOfMemory)?;
    let mut memory = Memory::new();
    memory.try_reserve_exact(pages).map_err(|_| std::io::ErrorKind::OutOfMemory)?;
    memory.resize(pages, UNMAPPED);
    Ok(memory)
}

pub(crate) struct PageMap {
    memory: Memory,
    pages: u64,
}

impl PageMap {
    /// Creates a map of `pages` unmapped pages. The system allocates memory as pages are first touched.
    pub(crate) fn new(pages: u64) -> std::io::Result<Self> {
        Ok(PageMap { memory: zeroed(pages)?, pages })
    }

    #[inline(always)]
    fn entries(&mut self) -> *mut Label {
        self.memory.as_mut_ptr().cast()
    }

    /// Prefetches the cache lines of `count` entries from `page` on. Any value is allowed.
    #[inline(always)]
    pub(crate) fn prefetch(&self, page: u64, count: u64) {
        let first = self.memory.as_ptr().cast::<u8>().wrapping_add((page as usize).wrapping_mul(4));
        prefetch(first);
        // The hardware prefetches longer runs by itself.
        if count > 16 {
            prefetch(first.wrapping_add(64));
        }
    }

    /// Puts `label` at `page` and returns what was there.
    #[inline(always)]
    pub(crate) fn replace(&mut self, page: u64, label: Label) -> Label {
        assert!(page < self.pages);
        // SAFETY: `page` is below `pages`, and the memory holds `pages` aligned entries of any
        // bit pattern.
        unsafe { self.entries().add(page as usize).replace(label) }
    }

    /// Returns all entries.
    #[inline]
    pub(crate) fn as_slice(&self) -> &[Label] {
        // SAFETY: the memory holds `pages` aligned entries of any bit pattern, borrowed with self.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().cast(), self.pages as usize) }
    }

    /// Returns the entries of a run of pages.
    #[inline(always)]
    pub(crate) fn run_mut(&mut self, page: u64, count: u64) -> &mut [Label] {
        assert!(page <= self.pages && count <= self.pages - page);
        // SAFETY: the run lies within `pages` entries (asserted), borrowed mutably with self.
        unsafe { std::slice::from_raw_parts_mut(self.entries().add(page as usize), count as usize) }
    }
}
