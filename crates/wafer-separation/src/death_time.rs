//! Separation by inherited death times: a page that overwrites data which a regular stream would soon overwrite will
//! itself be overwritten then (`docs/concepts/garbage-collection.md`).
//!
//! The *death time* of a page is the moment at which it is overwritten, in host pages written to the device. A handle
//! is *regular* if the pages that it wrote live equally long, one *turn*, until it overwrites them itself: then the
//! death time of its pages is known. A page of another handle that overwrites such a page early *inherits* its death
//! time, as does a page that overwrites that one. A handle with enough inherited pages is *split*: its pages go to one
//! of several open reclaim units by the share of the turn that is left, and so become invalid together.
//!
//! Grouping by predicted death time in general: Chakraborttii and Litz, "Reducing write amplification in flash by
//! death-time prediction of logical block addresses" (SYSTOR '21), who predict with a learned model for each address;
//! He et al., FK in SepBIT (FAST '22), who assume it known. Here no state is kept per address.
//!
//! State: 40 bytes for each handle, and the birth and death time of each 1/64 of a reclaim unit. Work: one sample for
//! each 1/64 of a reclaim unit and, for split handles, a lookup for each page.

use serde::{Deserialize, Serialize};

use crate::content::Content;
use crate::separator::{Separator, Sizes, Victim};

/// Open reclaim units of a split handle, in addition to that of data with unknown death time.
pub const CLASSES: u8 = 12;
/// Weight of a sample; its inverse is the number of samples before the mean is used.
const WEIGHT: f64 = 1.0 / 256.0;
/// Maximum variance of the lifetimes of a regular handle, in squared means: a standard deviation of a tenth.
const MOST_VARIANCE: f64 = 0.01;
/// Minimum fraction of inherited pages of a split handle.
const LEAST_INHERITED: f64 = 0.25;

/// Properties of replaced content.
#[derive(Clone, Copy, Debug)]
struct Old {
    writer: u32,
    lived: u64,
    death_time: u64,
}

impl Old {
    fn of(old: impl Content) -> Self {
        Old { writer: old.writer(), lived: old.lived(), death_time: old.death_time() }
    }
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Handle {
    samples: u32,
    /// Fading mean and mean square of the lifetimes of pages that it both wrote and overwrote.
    life: f64,
    square: f64,
    /// Fading fraction of its pages that inherit.
    inherited: f64,
    split: bool,
}

impl Handle {
    /// Returns the host pages written to the device from one turn of a regular handle to the next.
    fn turn(&self) -> Option<f64> {
        let variance = self.square - self.life * self.life;
        let known = f64::from(self.samples) * WEIGHT >= 1.0;
        (known && variance < MOST_VARIANCE * self.life * self.life).then_some(self.life)
    }
}

/// State learned about each handle.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeathTimes {
    handles: Vec<Handle>,
    /// Number of handles that may still be split.
    left: u16,
    /// Number of generations of relocated data that is not grouped.
    #[serde(skip)]
    generations: u8,
}

impl DeathTimes {
    /// Learns from the first page of a segment of a handle.
    fn sample(&mut self, writer: u32, old: Option<Old>, now: u64) {
        let handle = &mut self.handles[writer as usize];
        if let Some(old) = old.filter(|old| old.writer == writer) {
            let life = old.lived as f64;
            handle.samples = handle.samples.saturating_add(1);
            let weight = (1.0 / f64::from(handle.samples)).max(WEIGHT);
            handle.life += weight * (life - handle.life);
            handle.square += weight * (life * life - handle.square);
        }
        let irregular = handle.turn().is_none();
        // Nor does it inherit from itself, as it is not regular.
        let inherits = irregular
            && old.is_some_and(|old| {
                old.death_time > now && self.handles[old.writer as usize].turn().is_some()
            });
        let handle = &mut self.handles[writer as usize];
        handle.inherited += WEIGHT * (f64::from(u8::from(inherits)) - handle.inherited);
        if !handle.split && handle.inherited > LEAST_INHERITED && self.left > 0 {
            handle.split = true;
            self.left -= 1;
        }
    }

    /// Predicts the death time of a page that a handle writes now; 0: unknown.
    fn death_time(&self, writer: u32, old: Option<Old>, now: u64) -> u64 {
        let handle = &self.handles[writer as usize];
        match (handle.turn(), old) {
            (Some(turn), _) => now + turn as u64,
            (None, Some(old)) if handle.split && old.death_time > now => old.death_time,
            _ => 0,
        }
    }

    /// Returns the class of a page of a split handle: 0 if its death time is unknown, else by the share of the longest
    /// turn that is left.
    fn class(&self, writer: u32, death_time: u64, now: u64) -> u8 {
        if death_time <= now || self.handles[writer as usize].turn().is_some() {
            return 0;
        }
        let turn = self.handles.iter().filter_map(Handle::turn).fold(1.0, f64::max);
        // The conversion to `u8` saturates.
        let class = (f64::from(CLASSES) * (death_time - now) as f64 / turn) as u8;
        1 + class.min(CLASSES - 1)
    }
}

impl Separator for DeathTimes {
    const HOST_CLASSES: u8 = 1 + CLASSES;
    const SPLITS_ALL: bool = false;

    fn relocated_classes(generations: u8) -> u8 {
        generations + 1
    }

    fn new(sizes: &Sizes) -> Self {
        DeathTimes {
            handles: vec![Handle::default(); usize::from(sizes.handles)],
            left: sizes.split_handles,
            generations: sizes.relocated_classes - 1,
        }
    }

    #[inline(always)]
    fn splits(&self, handle: u32) -> bool {
        self.handles[handle as usize].split
    }

    fn begin_segment(&mut self, handle: u32, old: Option<impl Content>, now: u64) -> u64 {
        let old = old.map(Old::of);
        self.sample(handle, old, now);
        self.death_time(handle, old, now)
    }

    fn host_class(&self, handle: u32, old: Option<impl Content>, now: u64) -> (u8, u64) {
        let old = old.map(Old::of);
        let death_time = self.death_time(handle, old, now);
        (self.class(handle, death_time, now), death_time)
    }

    fn collect(&mut self, victim: &Victim, now: u64) -> u8 {
        if victim.death_time > now {
            self.generations
        } else if self.is_grouped(victim.generation) {
            // Its pages should be invalid by now.
            0
        } else {
            victim.generation.min(self.generations.saturating_sub(1))
        }
    }

    fn is_grouped(&self, generation: u8) -> bool {
        generation > self.generations
    }

    fn resume(&mut self, saved: Self, now: u64) -> Result<(), String> {
        if saved.handles.len() != self.handles.len() {
            return Err(format!("{} handles, not {}", saved.handles.len(), self.handles.len()));
        }
        let split = saved.handles.iter().filter(|handle| handle.split).count();
        if split + usize::from(saved.left) != usize::from(self.left) {
            return Err(format!("{split} handles are split and {} may be", saved.left));
        }
        for (number, handle) in saved.handles.iter().enumerate() {
            let lives = (0.0..=now as f64).contains(&handle.life) && handle.square.is_finite();
            if !lives || !(0.0..=1.0).contains(&handle.inherited) {
                return Err(format!("handle {number}: {handle:?}"));
            }
        }
        *self = DeathTimes { generations: self.generations, ..saved };
        Ok(())
    }
}

#[cfg(test)]
mod tests;
