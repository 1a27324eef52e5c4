//! The lifespan by which SepBIT and MiDAS classify written pages: whether the last content of a page outlived the
//! reclaim units of the short-lived class. SepBIT counts from the opening of a unit, MiDAS here from its closing.

use serde::{Deserialize, Serialize};

use crate::separator::Victim;

/// Number of lifespans of collected reclaim units in one estimate.
const SAMPLE: u32 = 16;

/// Mean lifespan of reclaim units of class 0 when they are collected.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Lifespan {
    pub(crate) mean: f64,
    sum: f64,
    seen: u32,
}

impl Lifespan {
    pub(crate) fn new() -> Self {
        Lifespan { mean: f64::INFINITY, sum: 0.0, seen: 0 }
    }

    /// Returns the class of a page whose last content had this lifetime; `None`: the long-lived class.
    #[inline(always)]
    pub(crate) fn class(&self, lived: Option<u64>) -> u8 {
        lived.is_none_or(|pages| pages as f64 >= self.mean).into()
    }

    /// Learns from a victim of this lifespan.
    pub(crate) fn collected(&mut self, victim: &Victim, lifespan: u64) {
        if victim.generation > 0 || victim.class > 0 {
            return;
        }
        self.sum += lifespan as f64;
        self.seen += 1;
        if self.seen == SAMPLE {
            self.mean = self.sum / f64::from(SAMPLE);
            (self.sum, self.seen) = (0.0, 0);
        }
    }

    pub(crate) fn resume(&mut self, saved: Lifespan) -> Result<(), String> {
        if saved.mean.is_nan() || !saved.sum.is_finite() || saved.seen >= SAMPLE {
            return Err(format!("{saved:?} is not an estimate of a lifespan"));
        }
        *self = saved;
        Ok(())
    }
}
