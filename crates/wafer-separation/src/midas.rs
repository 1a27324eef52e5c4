//! MiDAS: written pages in two classes by lifespan, relocated ones by how often they were relocated (after Oh et al.,
//! "MiDAS", FAST '24, whose sizing of groups is the GC policy `midas`).

use serde::{Deserialize, Serialize};

use crate::content::Content;
use crate::lifespan::Lifespan;
use crate::separator::{Separator, Sizes, Victim};

/// Number of groups of relocated data.
const GROUPS: u8 = 4;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Midas {
    lifespan: Lifespan,
}

impl Separator for Midas {
    const HOST_CLASSES: u8 = 2;

    fn relocated_classes(_: u8) -> u8 {
        GROUPS
    }

    fn new(_: &Sizes) -> Self {
        Midas { lifespan: Lifespan::new() }
    }

    #[inline(always)]
    fn host_class(&self, _: u32, old: Option<impl Content>, _: u64) -> (u8, u64) {
        (self.lifespan.class(old.map(Content::lived)), 0)
    }

    fn collect(&mut self, victim: &Victim, _: u64) -> u8 {
        self.lifespan.collected(victim, victim.age);
        victim.generation.min(GROUPS - 1)
    }

    fn resume(&mut self, saved: Self, _: u64) -> Result<(), String> {
        self.lifespan.resume(saved.lifespan)
    }
}
