//! DAC, dynamic data clustering: pages climb a region when they are overwritten, and descend one when they are
//! relocated (Chiang, Lee and Chang, "Using data clustering to improve cleaning performance for flash memory",
//! Software: Practice and Experience 29(3), 1999; without thresholds and with six regions, as in the evaluation of
//! SepBIT, FAST '22).
//!
//! The region of a page is that of its reclaim unit, so the rule has no state. Work: one lookup of the reclaim unit of
//! the old content for each written page. Host and garbage collection fill reclaim units of their own in each region.

use serde::{Deserialize, Serialize};

use crate::content::Content;
use crate::separator::{Separator, Sizes, Victim};

/// Number of regions, the coldest first.
const REGIONS: u8 = 6;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Dac;

impl Separator for Dac {
    const HOST_CLASSES: u8 = REGIONS;

    fn relocated_classes(_: u8) -> u8 {
        REGIONS
    }

    fn new(_: &Sizes) -> Self {
        Dac
    }

    #[inline(always)]
    fn host_class(&self, _: u32, old: Option<impl Content>, _: u64) -> (u8, u64) {
        let region = old.map_or(0, |old| old.class() + 1);
        (region.min(REGIONS - 1), 0)
    }

    fn collect(&mut self, victim: &Victim, _: u64) -> u8 {
        let region = victim.generation.checked_sub(1).unwrap_or(victim.class);
        region.saturating_sub(1)
    }
}
