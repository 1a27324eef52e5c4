//! Rules that separate written pages by whether their last content outlived the reclaim units of the
//! short-lived class.
//!
//! SepBIT separates relocated pages by age (Wang et al., "Separating data via block invalidation time
//! inference", FAST '22, algorithm 1; ages are those of reclaim units, not of pages). MiDAS separates them
//! by how often they were moved (after Oh et al., "MiDAS", FAST '24, without its sizing of groups).

use serde::{Deserialize, Serialize};

use super::{Separator, Sizes, Victim};
use crate::flash::segment::Content;

/// Lifespans of collected reclaim units that make up one estimate.
const SAMPLE: u32 = 16;
/// Groups of relocated data.
const GROUPS: u8 = 4;

/// Mean age at which reclaim units of class 0 are collected.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Lifespan {
    mean: f64,
    sum: f64,
    seen: u32,
}

impl Lifespan {
    fn new() -> Self {
        Lifespan { mean: f64::INFINITY, sum: 0.0, seen: 0 }
    }

    /// Returns the class of a page whose last content lived so long; none: the long-lived class.
    #[inline(always)]
    fn class(&self, lived: Option<u64>) -> u8 {
        lived.is_none_or(|pages| pages as f64 >= self.mean).into()
    }

    fn collected(&mut self, victim: &Victim) {
        if victim.generation > 0 || victim.class > 0 {
            return;
        }
        self.sum += victim.age as f64;
        self.seen += 1;
        if self.seen == SAMPLE {
            self.mean = self.sum / f64::from(SAMPLE);
            (self.sum, self.seen) = (0.0, 0);
        }
    }

    fn resume(&mut self, saved: Lifespan) -> Result<(), String> {
        if saved.mean.is_nan() || !saved.sum.is_finite() || saved.seen >= SAMPLE {
            return Err(format!("{saved:?} is no estimate of a lifespan"));
        }
        *self = saved;
        Ok(())
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SepBit {
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
    fn host_class(&self, _: u32, old: Option<Content<'_>>, _: u64) -> (u8, u64) {
        (self.lifespan.class(old.map(Content::lived)), 0)
    }

    fn collect(&mut self, victim: &Victim, _: u64) -> u8 {
        self.lifespan.collected(victim);
        if victim.generation == 0 && victim.class == 0 {
            return 0;
        }
        let age = victim.age as f64;
        1 + [4.0, 16.0].iter().filter(|n| age >= **n * self.lifespan.mean).count() as u8
    }

    fn resume(&mut self, saved: Self, _: u64) -> Result<(), String> {
        self.lifespan.resume(saved.lifespan)
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Midas {
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
    fn host_class(&self, _: u32, old: Option<Content<'_>>, _: u64) -> (u8, u64) {
        (self.lifespan.class(old.map(Content::lived)), 0)
    }

    fn collect(&mut self, victim: &Victim, _: u64) -> u8 {
        self.lifespan.collected(victim);
        victim.generation.min(GROUPS - 1)
    }

    fn resume(&mut self, saved: Self, _: u64) -> Result<(), String> {
        self.lifespan.resume(saved.lifespan)
    }
}
