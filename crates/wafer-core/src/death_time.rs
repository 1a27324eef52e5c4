//! Separation by inherited death times: a page that overwrites data which a regular stream was about to
//! overwrite will itself be overwritten then.
//!
//! A handle is *regular* if the pages that it wrote live equally long until it overwrites them itself: a
//! sequential stream that goes round. Then the death of what it writes is known, one turn ahead. A page of
//! another handle that overwrites such a page before its time *inherits* its death time, for the stream will
//! pass there all the same; so does what overwrites that page. A handle of which enough is inherited is
//! split: its pages go to an open reclaim unit for each share of the turn that is left, so that they die
//! together. Where nothing is regular nothing is inherited, and nothing is split.
//!
//! Grouping by predicted death time as such: Chakraborttii and Litz, "Reducing write amplification in flash
//! by death-time prediction of logical block addresses" (SYSTOR '21), who predict with a learned model for
//! each address; He et al., FK in SepBIT (FAST '22), who assume it known. Here nothing is kept by address.
//!
//! State: 40 bytes a handle, and two times for each 1/64 of a reclaim unit, when it was begun and when it will
//! die. Work: one sample for each 1/64 of a reclaim unit, and of handles that are split a look for each page.

use serde::{Deserialize, Serialize};

use crate::config::Separation;
use crate::geometry::Geometry;

/// Open reclaim units of a split handle, beside that of data of which nothing is known.
pub(crate) const CLASSES: u8 = 12;
/// Weight of a sample, and how many it takes before anything is believed.
const WEIGHT: f64 = 1.0 / 256.0;
/// Most variance of lives of a regular handle, in squared means: a standard deviation of a tenth.
const MOST_VARIANCE: f64 = 0.01;
/// Least share of inherited pages of a handle that is split.
const LEAST_INHERITED: f64 = 0.25;

/// What is known of the content that a page replaces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Old {
    /// The handle that wrote it.
    pub(crate) by: u32,
    /// Host pages written to the device since.
    pub(crate) lived: u64,
    /// When it was expected to die, in host pages written to the device; 0: unknown.
    pub(crate) dies: u64,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Handle {
    samples: u32,
    /// Mean and mean square of the lives of pages that it wrote and overwrote, fading.
    life: f64,
    square: f64,
    /// Share of its pages that inherit, fading.
    inherited: f64,
    split: bool,
}

impl Handle {
    /// Host pages written to the device from one turn of a regular handle to the next.
    fn turn(&self) -> Option<f64> {
        let variance = self.square - self.life * self.life;
        let known = f64::from(self.samples) * WEIGHT >= 1.0;
        (known && variance < MOST_VARIANCE * self.life * self.life).then_some(self.life)
    }
}

/// What was learned of each handle.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct DeathTimes {
    handles: Vec<Handle>,
    /// Handles that may still be split.
    left: u16,
    /// Generations of relocated data that is not grouped.
    generations: u8,
}

impl DeathTimes {
    /// Those of a device that separates so.
    pub(crate) fn of(geometry: &Geometry) -> Option<Self> {
        (geometry.separation == Some(Separation::DeathTime)).then(|| DeathTimes {
            handles: vec![Handle::default(); usize::from(geometry.handles)],
            left: geometry.split_handles,
            generations: geometry.relocation.generations() - 1,
        })
    }

    /// Learns from the first page of a segment of handle `by`.
    pub(crate) fn sample(&mut self, by: u32, old: Option<Old>, now: u64) {
        let handle = &mut self.handles[by as usize];
        if let Some(old) = old.filter(|old| old.by == by) {
            let life = old.lived as f64;
            handle.samples = handle.samples.saturating_add(1);
            let weight = (1.0 / f64::from(handle.samples)).max(WEIGHT);
            handle.life += weight * (life - handle.life);
            handle.square += weight * (life * life - handle.square);
        }
        let irregular = handle.turn().is_none();
        // What it inherits from itself does not count: it may have been regular once.
        let inherits = irregular
            && old.is_some_and(|old| {
                old.by != by && old.dies > now && self.handles[old.by as usize].turn().is_some()
            });
        let handle = &mut self.handles[by as usize];
        handle.inherited += WEIGHT * (f64::from(u8::from(inherits)) - handle.inherited);
        if !handle.split && handle.inherited > LEAST_INHERITED && self.left > 0 {
            handle.split = true;
            self.left -= 1;
        }
    }

    /// Goes on with what another of a device of the same sizes had learned.
    pub(crate) fn go_on(&mut self, saved: DeathTimes) {
        *self = DeathTimes { generations: self.generations, ..saved };
    }

    /// Whether the pages of a handle go to several open reclaim units.
    #[inline(always)]
    pub(crate) fn splits(&self, by: u32) -> bool {
        self.handles[by as usize].split
    }

    /// When a page will die that handle `by` writes now, in host pages written to the device; 0: unknown.
    pub(crate) fn dies(&self, by: u32, old: Option<Old>, now: u64) -> u64 {
        let handle = &self.handles[by as usize];
        match (handle.turn(), old) {
            (Some(turn), _) => now + turn as u64,
            (None, Some(old)) if handle.split && old.dies > now => old.dies,
            _ => 0,
        }
    }

    /// The class of a page of a split handle that dies then: 0 if that is unknown, else by how much of the
    /// longest turn is left.
    pub(crate) fn class(&self, by: u32, dies: u64, now: u64) -> u8 {
        if dies <= now || self.handles[by as usize].turn().is_some() {
            return 0;
        }
        let turn = self.handles.iter().filter_map(Handle::turn).fold(1.0, f64::max);
        // A number past the range of u8 becomes its largest.
        let class = (f64::from(CLASSES) * (dies - now) as f64 / turn) as u8;
        1 + class.min(CLASSES - 1)
    }

    /// The class of a victim's pages, counted from 0, from its generation and when they are expected to die.
    pub(crate) fn relocated_class(&self, generation: u8, dies: u64, now: u64) -> u8 {
        if dies > now {
            self.generations
        } else if self.is_grouped(generation) {
            // They should have died.
            0
        } else {
            generation.min(self.generations.saturating_sub(1))
        }
    }

    /// Whether reclaim units of this generation hold relocated data grouped by when it will die.
    pub(crate) fn is_grouped(&self, generation: u8) -> bool {
        generation > self.generations
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deaths(handles: usize, left: u16) -> DeathTimes {
        DeathTimes { handles: vec![Handle::default(); handles], left, generations: 3 }
    }

    fn old(by: u32, lived: u64, dies: u64) -> Option<Old> {
        Some(Old { by, lived, dies })
    }

    #[test]
    fn equal_lives_are_a_turn_and_others_are_not() {
        let mut deaths = deaths(2, 1);
        for at in 0..300u64 {
            deaths.sample(0, old(0, 1000 + at % 3 * 50, 0), at);
            deaths.sample(1, old(1, at * 7919 % 2000, 0), at);
        }
        // 256 samples of lives of 1,000 to 1,100.
        assert!(deaths.dies(0, None, 5000).abs_diff(6050) <= 2);
        assert_eq!(deaths.dies(1, None, 5000), 0);
        // The stream itself is not divided, and what nobody is known to overwrite neither.
        assert_eq!(deaths.class(0, 6050, 5000), 0);
    }

    #[test]
    fn a_page_inherits_and_goes_by_what_is_left_of_the_turn() {
        let mut deaths = deaths(2, 1);
        for at in 0..300 {
            deaths.sample(0, old(0, 1200, 0), at);
        }
        assert_eq!(deaths.dies(1, old(0, 100, 2000), 1000), 0, "not split yet");
        for at in 0..300 {
            deaths.sample(1, old(0, 100, 2000), at);
        }
        assert!(deaths.splits(1) && !deaths.splits(0));
        assert_eq!(deaths.dies(1, old(1, 100, 2000), 1000), 2000);
        assert_eq!(deaths.dies(1, old(1, 100, 2000), 2000), 0, "its time has passed");
        let class = |left: u64| deaths.class(1, 5000 + left, 5000);
        assert_eq!([0, 1, 99, 100, 1199, 9999].map(class), [0, 1, 1, 2, 12, 12]);
        assert_eq!(deaths.relocated_class(0, 2000, 1000), 3);
        assert_eq!([0, 1, 3, 4].map(|g| deaths.relocated_class(g, 0, 1000)), [0, 1, 2, 0]);
    }

    #[test]
    fn only_what_a_regular_handle_wrote_counts() {
        let mut deaths = deaths(2, 2);
        (0..300).for_each(|at| deaths.sample(1, old(1, at * 7919 % 2000, 2000), at));
        (0..300).for_each(|at| deaths.sample(1, old(0, 100, 2000), at));
        assert!(!deaths.splits(1));
    }

    #[test]
    fn no_more_handles_are_split_than_there_is_room_for() {
        let mut deaths = deaths(3, 1);
        (0..300).for_each(|at| deaths.sample(0, old(0, 1200, 0), at));
        for handle in [1, 2] {
            (0..300).for_each(|at| deaths.sample(handle, old(0, 100, 2000), at));
        }
        assert_eq!([0, 1, 2].map(|handle| deaths.splits(handle)), [false, true, false]);
    }
}
