//! Spatial sampling: the pages of a device that its miniatures simulate, and the sizes of the miniatures.
//!
//! The logical space is divided into strata of equal size, a power of two, and one pseudorandomly placed page of each
//! is in the sample. So a run of pages is a run in the miniature, a sequential stream remains sequential, and every
//! region has its share, even if addresses are written in a pattern.

use std::ops::Range;

use crate::config::{DeviceConfig, ReclaimUnitConfig};
use crate::geometry::Geometry;
use wafer_interface::{Bytes, FirmwareConfig};

/// Minimum pages per reclaim unit of a miniature.
const LEAST_PAGES: u64 = 32;
/// Minimum pages of a miniature, unless the device has fewer.
const LEAST_DEVICE: u64 = 16384;
/// Maximum reclaim units of a miniature. With fewer than those of the device, open ones take too much of the spare
/// space.
const MOST_UNITS: u64 = 2048;
/// Page size of a miniature. At the maximum size, even the smallest reclaim unit has few pages.
pub(super) const PAGE_BYTES: u64 = 65536;

/// The pages in the sample. In a miniature, the page number is the number of the stratum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// Logarithm of the pages per stratum.
    pub(crate) shift: u32,
    /// Number of whole strata of the device.
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

/// Returns the configuration of a miniature and its sample.
pub(super) fn scaled(config: &DeviceConfig, geometry: &Geometry) -> (DeviceConfig, Sample) {
    let physical = u64::from(geometry.ru_count) * u64::from(geometry.pages_per_ru);
    let units = u64::from(geometry.ru_count).min(MOST_UNITS);
    let least = (units * LEAST_PAGES).max(LEAST_DEVICE);
    let shift = (physical / least).max(1).ilog2();
    let pages_per_ru = ((physical >> shift) / units).max(1);
    let count = (physical >> shift) / pages_per_ru;
    let pages = geometry.logical_pages >> shift;
    let scaled = DeviceConfig {
        capacity: Bytes(pages * PAGE_BYTES),
        page: Bytes(PAGE_BYTES),
        reclaim_unit: ReclaimUnitConfig {
            size: Bytes(pages_per_ru * PAGE_BYTES),
            count: Some(count),
        },
        overprovisioning: None,
        namespaces: Vec::new(),
        firmware: FirmwareConfig::default(),
        ..config.clone()
    };
    (scaled, Sample { shift, pages })
}
