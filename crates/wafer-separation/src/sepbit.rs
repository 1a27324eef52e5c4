//! SepBIT: written pages in two classes by lifespan, relocated ones by age (Wang et al., "Separating data via block
//! invalidation time inference", FAST '22, algorithm 1). Lifespans and ages count host pages written since the reclaim
//! unit was opened, as the paper's `t - C.creation_time`; the paper takes the age of relocated data from the last user
//! write of each block; here it is that of the reclaim unit.
//!
//! State: 24 bytes. Work: one lookup of the birth of the old content for each written page.

use serde::{Deserialize, Serialize};

use crate::content::Content;
use crate::lifespan::Lifespan;
use crate::separator::{Separator, Sizes, Victim};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SepBit {
    lifespan: Lifespan,
}

impl Separator for SepBit {
    const HOST_CLASSES: u8 = 2;

    fn relocated_classes(_: u8) -> u8 {
        4
    }

    fn new(_: &Sizes) -> Self {
        SepBit { lifespan: Lifespan::new() }
    }

    #[inline(always)]
    fn host_class(&self, _: u32, old: Option<impl Content>, _: u64) -> (u8, u64) {
        (self.lifespan.class(old.map(Content::lived)), 0)
    }

    fn collect(&mut self, victim: &Victim, _: u64) -> u8 {
        self.lifespan.collected(victim, victim.existed);
        if victim.generation == 0 && victim.class == 0 {
            return 0;
        }
        let age = victim.existed as f64;
        1 + [4.0, 16.0].iter().filter(|n| age >= **n * self.lifespan.mean).count() as u8
    }

    fn resume(&mut self, saved: Self, _: u64) -> Result<(), String> {
        self.lifespan.resume(saved.lifespan)
    }
}
