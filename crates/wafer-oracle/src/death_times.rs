//! Separation by death time: a page that overwrites data of a regular stream early is expected to be overwritten when
//! the stream returns there.
//!
//! Source: `docs/reference/configuration.md`, `gc.separation = "deathtime"`. Every segment is one sample, taken at its
//! first page.
//!
//! - If the handle that writes also wrote the old content, the lifetime of that content enters the mean and the mean
//!   square of the handle's lifetimes. The first 256 samples have equal weight, later ones 1/256.
//! - A handle with 256 samples whose variance is below 1/100 of the squared mean is *regular*; the mean is its
//!   turn.
//! - A page with which an irregular handle overwrites content of a regular one *inherits* the content's death time, if
//!   that is still to come. A handle is *split* for good once more than a quarter of its samples inherit, on a mean of
//!   weight 1/256, as long as fewer handles are split than there is room for.
//! - A page of a regular handle dies a turn later. A page of a split handle dies when its old content would have,
//!   whichever handle wrote that.
//! - A page of a split handle goes to one of twelve classes, by the share of the longest turn left until its death, or
//!   to class 0 if its death time is unknown or the handle has become regular.
//! - Relocated pages whose reclaim unit has a death time still to come share the last class. Others go by how often
//!   they were relocated; those that outlived their death time go to the first class.

use crate::sizes::{DEATH_CLASSES, Sizes};
use crate::units::{Log, Unit};

/// Samples before a handle can be regular.
const SAMPLES: u32 = 256;

/// The content that a written page replaces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Old {
    /// The handle that wrote it.
    pub(crate) by: u16,
    /// Host pages written to the device since then.
    pub(crate) lived: u64,
    /// When it was expected to be overwritten; 0: unknown.
    pub(crate) death: u64,
    /// The class of the reclaim unit that holds it.
    pub(crate) class: u8,
}

#[derive(Clone, Copy, Debug, Default)]
struct Handle {
    samples: u32,
    mean: f64,
    mean_square: f64,
    /// Fraction of samples that inherit.
    inherits: f64,
    split: bool,
}

impl Handle {
    fn turn(&self) -> Option<f64> {
        let (variance, square) = (self.mean_square - self.mean * self.mean, self.mean * self.mean);
        (self.samples >= SAMPLES && variance < 0.01 * square).then_some(self.mean)
    }
}

/// State learned about each handle.
#[derive(Clone, Debug)]
pub(crate) struct DeathTimes {
    handles: Vec<Handle>,
    most_split: u16,
    /// The class of relocated pages with a death time.
    grouped: u8,
}

impl DeathTimes {
    pub(crate) fn new(sizes: &Sizes) -> Self {
        DeathTimes {
            handles: vec![Handle::default(); usize::from(sizes.handles)],
            most_split: sizes.split_handles,
            grouped: sizes.moved_classes - 1,
        }
    }

    fn turn(&self, handle: u16) -> Option<f64> {
        self.handles[usize::from(handle)].turn()
    }

    pub(crate) fn is_split(&self, handle: u16) -> bool {
        self.handles[usize::from(handle)].split
    }

    /// Learns from the first page of a segment that `by` begins.
    pub(crate) fn sample(&mut self, by: u16, old: Option<Old>, now: u64) {
        let handle = &mut self.handles[usize::from(by)];
        if let Some(old) = old.filter(|old| old.by == by) {
            let life = old.lived as f64;
            handle.samples += 1;
            let weight = 1.0 / f64::from(handle.samples.min(SAMPLES));
            handle.mean += weight * (life - handle.mean);
            handle.mean_square += weight * (life * life - handle.mean_square);
        }
        let from_regular =
            |old: &Old| old.by != by && old.death > now && self.turn(old.by).is_some();
        let inherits = self.turn(by).is_none() && old.as_ref().is_some_and(from_regular);
        let split = self.handles.iter().filter(|handle| handle.split).count();
        let handle = &mut self.handles[usize::from(by)];
        handle.inherits += (f64::from(u8::from(inherits)) - handle.inherits) / 256.0;
        if handle.inherits > 0.25 && split < usize::from(self.most_split) {
            handle.split = true;
        }
    }

    /// Returns when a page that `by` writes now is expected to be overwritten; 0: unknown.
    pub(crate) fn death(&self, by: u16, old: Option<Old>, now: u64) -> u64 {
        match (self.turn(by), old) {
            (Some(turn), _) => now + turn as u64,
            (None, Some(old)) if self.is_split(by) && old.death > now => old.death,
            _ => 0,
        }
    }

    /// Returns the class of a page of a split handle.
    pub(crate) fn written(&self, by: u16, death: u64, now: u64) -> u8 {
        if self.turn(by).is_some() || death <= now {
            return 0;
        }
        let turns = self.handles.iter().filter_map(Handle::turn);
        let longest = turns.fold(1.0, f64::max);
        let share = f64::from(DEATH_CLASSES) * (death - now) as f64 / longest;
        1 + (share as u64).min(u64::from(DEATH_CLASSES) - 1) as u8
    }

    /// Returns the class of the relocated pages of a victim.
    pub(crate) fn relocated(&self, victim: &Unit, now: u64) -> u8 {
        if victim.death > now {
            return self.grouped;
        }
        match victim.log {
            Log::Moved { class, .. } if class == self.grouped => 0,
            log => log.generation().min(self.grouped - 1),
        }
    }

    /// Returns the death time of a reclaim unit that a log opens for a page or a victim of this death time.
    pub(crate) fn of_unit(&self, log: Log, death: u64) -> u64 {
        match log {
            Log::Host { class: 1.., .. } => death,
            Log::Moved { class, .. } if class == self.grouped => death,
            _ => 0,
        }
    }
}
