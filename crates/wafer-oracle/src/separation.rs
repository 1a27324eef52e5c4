//! Separation by lifespan: the class of a handle's logs to which a page belongs.
//!
//! Source: `docs/reference/configuration.md`, `gc.separation`, and the papers named there. A page is written to a class
//! by how long its last content lived: the host pages written since the segment of that content was begun. The class of
//! relocated pages depends on their reclaim unit.
//!
//! | rule | written pages | relocated pages |
//! |---|---|---|
//! | `sepbit` | 0: lived less than l; 1: as long or longer | 0: from class 0; 1, 2, 3: age below 4 l, below 16 l, above |
//! | `dac` | one class above that of the unit of the last content, at most 5; 0 without | one class below |
//! | `warcip` | the cluster of five with the nearest centre to how long it lived | one cluster further |
//! | `midas` | as `sepbit` | how often they were moved, at most 3 |
//! | `autostream` | by address: `averages.rs` | the class in which they were written |
//! | `fadac` | by address: `averages.rs` | one class further |
//! | `multi-log` | 0, 1, 2, 3: below 1/16, 1/4, 1 times the logical pages, above | the class in which they were written |
//!
//! The centres of `warcip` begin at 2 times the logical pages and a quarter, a sixteenth ... of it, whole numbers rounded down. The first page
//! of each segment moves the centre of its cluster by a sixteenth of the distance, rounded towards zero.
//!
//! l is the mean age of 16 victims of class 0 that a host filled, updated after every 16 and infinite before the first.
//! A page without old content goes to the last class. Ages count from the opening of a reclaim unit with `sepbit`, from
//! its closing with `midas`. With `dac` a segment that is divided is where its first part with valid pages is.

use wafer_device::Separation;

use crate::averages::Averages;
use crate::units::{Log, Unit};

/// Number of victims in one mean.
const SAMPLE: usize = 16;

/// A rule and its learned state.
#[derive(Clone, Debug)]
pub(crate) struct Lifespans {
    rule: Separation,
    logical_pages: u64,
    /// l, as the sum of 16 ages; `None`: infinite.
    sum: Option<u64>,
    /// Ages of victims since the last mean.
    ages: Vec<u64>,
    /// Centres of clusters, the shortest first.
    centres: Vec<u64>,
    averages: Averages,
}

impl Lifespans {
    pub(crate) fn new(rule: Option<Separation>, logical_pages: u64) -> Option<Self> {
        let rule = rule.filter(|rule| *rule != Separation::DeathTime)?;
        let centres = [256, 64, 16, 4, 1].map(|part| 2 * logical_pages / part).to_vec();
        let averages = Averages::new(rule, logical_pages);
        Some(Lifespans { rule, logical_pages, sum: None, ages: Vec::new(), centres, averages })
    }

    /// Returns whether a time is at least `times` l.
    fn reaches(&self, time: u64, times: u64) -> bool {
        self.sum.is_some_and(|sum| time * SAMPLE as u64 >= times * sum)
    }

    pub(crate) fn age(&self, unit: &Unit, now: u64) -> u64 {
        now - if self.rule == Separation::Sepbit { unit.opened_at } else { unit.closed_at }
    }

    /// Returns the class of a page written through a handle; `old` is the lifetime of its last content and the class of
    /// the unit that held it, if there was any.
    pub(crate) fn written(&mut self, page: u64, handle: u16, old: Option<(u64, u8)>) -> u8 {
        let lived = old.map(|(lived, _)| lived);
        if let Some(class) = self.averages.written(page, handle, lived) {
            return class;
        }
        match (self.rule, lived) {
            (Separation::Dac, _) => old.map_or(0, |(_, class)| (class + 1).min(5)),
            (Separation::Warcip, None) => 4,
            (Separation::Warcip, Some(lived)) => self.nearest(lived),
            (Separation::MultiLog, None) => 3,
            (Separation::MultiLog, Some(lived)) if lived >= self.logical_pages => 3,
            (Separation::MultiLog, Some(lived)) if lived * 4 >= self.logical_pages => 2,
            (Separation::MultiLog, Some(lived)) if lived * 16 >= self.logical_pages => 1,
            (Separation::MultiLog, Some(_)) => 0,
            (_, None) => 1,
            (_, Some(lived)) => u8::from(self.reaches(lived, 1)),
        }
    }

    /// Returns the class of the relocated pages of a victim of this log and age.
    pub(crate) fn relocated(&self, from: Log, age: u64) -> u8 {
        match (self.rule, from) {
            (Separation::Sepbit, Log::Host { class: 0, .. }) => 0,
            (Separation::Sepbit, _) if self.reaches(age, 16) => 3,
            (Separation::Sepbit, _) if self.reaches(age, 4) => 2,
            (Separation::Sepbit, _) => 1,
            (Separation::Midas, _) => from.generation().min(3),
            (Separation::Dac, _) => from.class().saturating_sub(1),
            (Separation::Warcip, _) => (from.class() + 1).min(4),
            (Separation::Fadac, _) => (from.class() + 1).min(5),
            (_, Log::Host { class, .. } | Log::Moved { class, .. }) => class,
            (_, Log::Mixed) => unreachable!("separation keeps handles apart"),
        }
    }

    /// Returns the cluster with the nearest centre; at a tie, the first.
    fn nearest(&self, lived: u64) -> u8 {
        let distances = self.centres.iter().map(|centre| centre.abs_diff(lived));
        (0..).zip(distances).min_by_key(|(_, distance)| *distance).map_or(0, |(cluster, _)| cluster)
    }

    /// Learns from the first page of a segment, whose last content had this lifetime.
    pub(crate) fn began(&mut self, lived: Option<u64>) {
        if let (Separation::Warcip, Some(lived)) = (self.rule, lived) {
            let cluster = usize::from(self.nearest(lived));
            let centre = &mut self.centres[cluster];
            let step = centre.abs_diff(lived) / 16;
            *centre = if lived > *centre { *centre + step } else { *centre - step };
        }
    }

    /// Learns from a victim.
    pub(crate) fn collected(&mut self, from: Log, age: u64) {
        if from.generation() > 0 || from.host_class() > 0 {
            return;
        }
        self.ages.push(age);
        if self.ages.len() == SAMPLE {
            self.sum = Some(self.ages.drain(..).sum());
        }
    }
}
