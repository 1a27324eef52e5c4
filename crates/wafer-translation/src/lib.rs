//! Translation pages: the map of a drive that does not hold all of it in memory.
//!
//! # What it is
//! [`Translation`] models the flash work of the map of DFTL (Gupta, Kim, Urgaonkar, ASPLOS 2009). The map is divided
//! into *translation pages* of one flash page each. A cache in memory holds those used last. On a miss the page is read
//! from flash and evicts the one used longest ago, which is programmed if an entry in it changed. Translation pages
//! have a [`Region`] of flash of their own.
//!
//! # Invariants
//! - The cache holds each translation page at most once, and no more than its capacity.
//! - Each translation page that was ever programmed is valid in exactly one place of the region.
//! - At least one unit of the region is free.
//!
//! # Error model
//! Numbers of translation pages are asserted. [`Translation::resume`] checks state from a file.
//!
//! # What it does not implement
//! The entries themselves: the caller knows where its pages are. Time. Loss of cached entries: the cache survives a
//! power loss.

mod region;

use std::num::NonZeroUsize;

use lru::LruCache;
use serde::{Deserialize, Serialize};

pub use region::Region;

/// Flash work for the map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Translation pages read because they were not in the cache.
    pub reads: u64,
    /// Translation pages programmed, including those that the region moved.
    pub programs: u64,
}

/// The map: its cache and its region; see the [crate](self).
#[derive(Clone, Debug)]
pub struct Translation {
    /// Translation pages in memory, and whether an entry changed since they were programmed.
    cache: LruCache<u32, bool>,
    region: Region,
}

/// The state of a map, for saving.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TranslationState {
    /// The cache, the page used last first.
    cached: Vec<(u32, bool)>,
    region: Region,
}

impl Translation {
    /// Creates a map of `pages` translation pages, none of them programmed, with a cache of `most`. Both are raised to
    /// at least 1.
    pub fn new(pages: u32, most: u64) -> Self {
        let pages = pages.max(1);
        let most = usize::try_from(most.min(u64::from(pages))).unwrap_or(usize::MAX);
        let most = NonZeroUsize::new(most).unwrap_or(NonZeroUsize::MIN);
        Translation { cache: LruCache::new(most), region: Region::new(pages) }
    }

    /// Returns the number of translation pages.
    pub fn pages(&self) -> u32 {
        self.region.pages()
    }

    /// Uses a translation page. `changes` says whether an entry in it changes.
    #[inline]
    pub fn touch(&mut self, page: u32, changes: bool) -> Work {
        if let Some(changed) = self.cache.get_mut(&page) {
            *changed |= changes;
            return Work::default();
        }
        self.load(page, changes)
    }

    fn load(&mut self, page: u32, changes: bool) -> Work {
        assert!(page < self.pages(), "translation page {page} of {}", self.pages());
        let reads = u64::from(self.region.holds(page));
        let programs = match self.cache.push(page, changes) {
            Some((old, true)) => self.region.program(old),
            _ => 0,
        };
        Work { reads, programs }
    }

    /// Returns the state of the map.
    pub fn state(&self) -> TranslationState {
        let cached = self.cache.iter().map(|(page, changed)| (*page, *changed)).collect();
        TranslationState { cached, region: self.region.clone() }
    }

    /// Restores a saved map of the same sizes.
    ///
    /// # Errors
    /// What is wrong with the saved map.
    pub fn resume(&mut self, saved: TranslationState) -> Result<(), String> {
        let TranslationState { cached, mut region } = saved;
        if cached.len() > self.cache.cap().get() {
            return Err(format!("{} pages in a cache of {}", cached.len(), self.cache.cap()));
        }
        region.resume(self.pages())?;
        self.cache.clear();
        for (page, changed) in cached.into_iter().rev() {
            if page >= region.pages() {
                return Err(format!("translation page {page} of {}", region.pages()));
            }
            if self.cache.put(page, changed).is_some() {
                return Err(format!("translation page {page} twice"));
            }
        }
        self.region = region;
        Ok(())
    }

    /// Checks the invariants.
    ///
    /// # Errors
    /// The invariant that does not hold.
    pub fn check(&self) -> Result<(), String> {
        let stray = self.cache.iter().find(|(page, _)| **page >= self.pages());
        stray.map_or(Ok(()), |(page, _)| Err(format!("translation page {page} is cached")))?;
        self.region.check()
    }
}

#[cfg(test)]
mod tests;
