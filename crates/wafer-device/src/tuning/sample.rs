//! Spatial sampling: the pages of a device that its miniatures simulate.
//!
//! The logical space is divided into strata of equal size, a power of two, and one pseudorandomly placed page of each
//! is in the sample. So a run of pages is a run in the miniature, a sequential stream stays sequential, and every
//! region has its share, which keeps the sample even when addresses are written in a pattern.

use std::ops::Range;

/// The pages in the sample. In a miniature, the page number is the number of the stratum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// Pages per stratum, as a power of two.
    pub(crate) shift: u32,
    /// Whole strata of the device.
    pub(crate) pages: u64,
}

impl Sample {
    /// Returns the page of a stratum that is in the sample.
    #[inline(always)]
    pub(crate) fn page(self, stratum: u64) -> u64 {
        // The multiplier of Fibonacci hashing. The high bits of the product depend on the whole number.
        let mixed = (stratum ^ (stratum >> 7)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (stratum << self.shift) + (mixed >> 32 & ((1 << self.shift) - 1))
    }

    /// Returns the pages of a miniature that correspond to a range of the device.
    #[inline(always)]
    pub(crate) fn of(self, pages: Range<u64>) -> Range<u64> {
        let from = |page: u64| {
            let stratum = page >> self.shift;
            (stratum + u64::from(self.page(stratum) < page)).min(self.pages)
        };
        from(pages.start)..from(pages.end)
    }
}
