//! Spatial sampling: which pages of a device its miniatures have.
//!
//! Logical space is divided into strata of equal size, a power of two, and one page of each is in the sample, at a
//! place that looks random. So a run of pages is a run in the miniature, a stream that writes in order does so there,
//! and every region has its share, which makes the sample even where addresses are written in a pattern.

use std::ops::Range;

/// The pages in the sample, which have the numbers of their strata in a miniature.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// Pages of a stratum, as a power of two.
    pub(crate) shift: u32,
    /// Whole strata of the device.
    pub(crate) pages: u64,
}

impl Sample {
    /// Returns the page of a stratum that is in the sample.
    #[inline(always)]
    pub(crate) fn page(self, stratum: u64) -> u64 {
        // The multiplier of Fibonacci hashing; its high bits depend on all of the number.
        let mixed = (stratum ^ (stratum >> 7)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (stratum << self.shift) + (mixed >> 32 & ((1 << self.shift) - 1))
    }

    /// Returns the pages of a miniature that are among these of the device.
    #[inline(always)]
    pub(crate) fn of(self, pages: Range<u64>) -> Range<u64> {
        let from = |page: u64| {
            let stratum = page >> self.shift;
            (stratum + u64::from(self.page(stratum) < page)).min(self.pages)
        };
        from(pages.start)..from(pages.end)
    }
}
