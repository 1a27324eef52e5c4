//! WARCIP: each written page goes to the cluster whose centre is nearest to how long its last content lived, each
//! relocated page to the next longer-lived cluster (after Yang, Pei and Yang, "WARCIP: write amplification reduction by
//! clustering I/O pages", SYSTOR '19, with a fixed number of clusters, which are not split or merged).
//!
//! State: five centres. Work: one lookup of the birth of the old content and five comparisons for each written page. A
//! centre moves with the first page of each segment that its cluster begins, 64 in a reclaim unit, instead of with all
//! pages of a block.

use serde::{Deserialize, Serialize};

use crate::content::Content;
use crate::separator::{Separator, Sizes, Victim};

/// Number of clusters, the shortest-lived first.
const CLUSTERS: usize = 5;
/// A centre moves by one part in this many of the distance to a page.
const INERTIA: i64 = 16;

/// Mean lifetime of the pages of each cluster, in host pages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Warcip {
    centres: [i64; CLUSTERS],
}

impl Warcip {
    /// Returns the cluster of a page whose last content had this lifetime; `None`: the longest-lived.
    #[inline(always)]
    fn nearest(&self, lived: Option<u64>) -> usize {
        let Some(lived) = lived else { return CLUSTERS - 1 };
        let distance = |at: &usize| self.centres[*at].abs_diff(lived as i64);
        (0..CLUSTERS).min_by_key(distance).unwrap_or_default()
    }
}

impl Separator for Warcip {
    const HOST_CLASSES: u8 = CLUSTERS as u8;

    fn relocated_classes(_: u8) -> u8 {
        CLUSTERS as u8
    }

    /// Starts with centres a factor of four apart, the longest at two turnovers of the logical space.
    fn new(sizes: &Sizes) -> Self {
        let centre = |at: usize| (2 * sizes.logical_pages as i64) >> (2 * (CLUSTERS - 1 - at));
        Warcip { centres: std::array::from_fn(centre) }
    }

    fn begin_segment(&mut self, _: u32, old: Option<impl Content>, _: u64) -> u64 {
        if let Some(lived) = old.map(Content::lived) {
            let centre = &mut self.centres[self.nearest(Some(lived))];
            *centre += (lived as i64 - *centre) / INERTIA;
        }
        0
    }

    #[inline(always)]
    fn host_class(&self, _: u32, old: Option<impl Content>, _: u64) -> (u8, u64) {
        (self.nearest(old.map(Content::lived)) as u8, 0)
    }

    fn collect(&mut self, victim: &Victim, _: u64) -> u8 {
        let cluster = victim.generation.checked_sub(1).unwrap_or(victim.class);
        (cluster + 1).min(CLUSTERS as u8 - 1)
    }

    fn resume(&mut self, saved: Self, now: u64) -> Result<(), String> {
        let most = now.max(self.centres[CLUSTERS - 1] as u64);
        if saved.centres.iter().any(|centre| !(0..=most as i64).contains(centre)) {
            return Err(format!("{:?} are no lives of pages", saved.centres));
        }
        *self = saved;
        Ok(())
    }
}
