//! Separation inside the drive: pages that are likely to die at about the same time are written
//! together, within the data of each handle, without hints of the host.
//!
//! What is known of a page that is written is how long its last content lived: the host pages written
//! between that write and this one. It is taken from the birth of the segment that held the page, the
//! moment at which the segment was begun; so it is precise to 1/64 reclaim unit, and costs 8 bytes a
//! segment and a look at the map for each page, only where separation is on.
//!
//! Death times as a rule: `death_time.rs`.
//!
//! Relocated pages are separated by what is known of their reclaim unit, not page by page.

use serde::{Deserialize, Serialize};

use crate::config::Separation;
use crate::death_time::{self, Old};
use crate::device::Device;
use crate::geometry::Geometry;
use crate::mapping::{Label, UNMAPPED};
use crate::observer::Observer;

/// Lifespans of collected reclaim units that make up one estimate (SepBIT, FAST '22, algorithm 1).
const SAMPLE: u32 = 16;

/// The rule by which data is separated, and what it has learned.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Separator {
    rule: Separation,
    logical_pages: f64,
    /// l: mean lifespan of reclaim units of class 0 when they were collected.
    lifespan: f64,
    sum: f64,
    seen: u32,
}

impl Separator {
    /// The rule of a device, if it has one of these.
    pub(crate) fn of(geometry: &Geometry) -> Option<Self> {
        let rule = geometry.separation.filter(|rule| *rule != Separation::DeathTime)?;
        let (lifespan, logical_pages) = (f64::INFINITY, geometry.logical_pages as f64);
        Some(Separator { rule, logical_pages, lifespan, sum: 0.0, seen: 0 })
    }

    /// Goes on with what another of the same rule had measured.
    pub(crate) fn go_on(&mut self, saved: Separator) {
        if self.rule == saved.rule {
            *self = saved;
        }
    }

    /// The class of a page whose last content lived so long; `None`: it had none.
    pub(crate) fn class(&self, lived: Option<u64>) -> u8 {
        let last = self.rule.host_classes() - 1;
        let Some(lived) = lived.map(|pages| pages as f64) else { return last };
        match self.rule {
            Separation::Sepbit | Separation::Midas => u8::from(lived >= self.lifespan),
            Separation::MultiLog => {
                let turnovers = lived / self.logical_pages;
                [1.0 / 16.0, 0.25, 1.0].iter().filter(|bound| turnovers >= **bound).count() as u8
            }
            Separation::DeathTime => 0, // see `death_time.rs`
        }
    }

    /// The class of a victim's pages, from its own class and generation and its age.
    pub(crate) fn relocated_class(&self, class: u8, generation: u8, age: u64) -> u8 {
        let age = age as f64;
        match self.rule {
            Separation::Sepbit if generation == 0 && class == 0 => 0,
            Separation::Sepbit => {
                1 + [4.0, 16.0].iter().filter(|n| age >= **n * self.lifespan).count() as u8
            }
            Separation::Midas => generation.min(self.rule.relocated_classes(0) - 1),
            Separation::MultiLog => {
                if generation == 0 {
                    class
                } else {
                    generation - 1
                }
            }
            Separation::DeathTime => 0,
        }
    }

    /// A reclaim unit was collected at this age.
    pub(crate) fn collected(&mut self, class: u8, generation: u8, age: u64) {
        if generation > 0 || class > 0 {
            return;
        }
        self.sum += age as f64;
        self.seen += 1;
        if self.seen == SAMPLE {
            self.lifespan = self.sum / f64::from(SAMPLE);
            (self.sum, self.seen) = (0.0, 0);
        }
    }
}

impl Separation {
    /// Open reclaim units of a handle for what the host writes.
    pub(crate) fn host_classes(self) -> u8 {
        match self {
            Separation::Sepbit | Separation::Midas => 2,
            Separation::MultiLog => 4,
            Separation::DeathTime => 1 + death_time::CLASSES,
        }
    }

    /// Open reclaim units of a handle for relocated data, with so many generations apart where the rule has no
    /// number of its own.
    pub(crate) fn relocated_classes(self, generations: u8) -> u8 {
        match self {
            Separation::Sepbit | Separation::Midas | Separation::MultiLog => 4,
            Separation::DeathTime => generations + 1,
        }
    }
}

impl<O: Observer> Device<O> {
    /// Appends a run of pages, each to the open reclaim unit of its class.
    pub(crate) fn append_separated(&mut self, home: u32, first: u64, pages: u64) {
        for page in first..first + pages {
            let label = self.map.as_slice()[page as usize];
            let class = match (&self.separator, &self.deaths) {
                (Some(separator), _) => {
                    let lived = (label != UNMAPPED).then(|| self.clock - self.segments.born(label));
                    separator.class(lived)
                }
                (None, Some(deaths)) => {
                    let by = self.handle_of(home);
                    self.dies = deaths.dies(by, self.old(label), self.clock);
                    deaths.class(by, self.dies, self.clock)
                }
                (None, None) => 0,
            };
            self.append(self.layout.class_slot(home, class), page, 1);
        }
    }

    /// Whether the pages of a handle go to open reclaim units by when they will die.
    #[inline(always)]
    pub(crate) fn is_split(&self, by: u32) -> bool {
        self.deaths.as_ref().is_some_and(|deaths| deaths.splits(by))
    }

    /// What is known of the content of a page with this label.
    fn old(&self, label: Label) -> Option<Old> {
        (label != UNMAPPED).then(|| Old {
            by: u32::from(self.segments.origins[label as usize]),
            lived: self.clock - self.segments.born(label),
            dies: self.segments.dies(label),
        })
    }

    /// A segment of handle `by` begins with this page.
    pub(crate) fn sample_death(&mut self, by: u32, page: u64) {
        if self.deaths.is_none() {
            return;
        }
        let old = self.old(self.map.as_slice()[page as usize]);
        if let Some(deaths) = &mut self.deaths {
            deaths.sample(by, old, self.clock);
            self.dies = deaths.dies(by, old, self.clock);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One that has collected sixteen reclaim units of its short-lived class at a mean age of 100.
    fn separator(rule: Separation) -> Separator {
        let (lifespan, sum) = (f64::INFINITY, 0.0);
        let mut separator = Separator { rule, logical_pages: 1600.0, lifespan, sum, seen: 0 };
        (0..16).for_each(|at| separator.collected(0, 0, 70 + at * 4));
        // Neither others of the host nor relocated ones count.
        (0..16).for_each(|_| separator.collected(1, 0, 9000));
        (0..16).for_each(|_| separator.collected(0, 1, 9000));
        separator
    }

    #[test]
    fn sepbit_compares_lives_with_those_of_the_short_lived_class() {
        let separator = separator(Separation::Sepbit);
        let class = |lived| separator.class(lived);
        assert_eq!([Some(99), Some(100), None].map(class), [0, 1, 1]);
        // Survivors of the short-lived class apart; the others by age, at 4 and 16 lifespans.
        assert_eq!(separator.relocated_class(0, 0, 9999), 0);
        let by_age = |age| separator.relocated_class(1, 0, age);
        assert_eq!([399, 400, 1599, 1600].map(by_age), [1, 2, 2, 3]);
    }

    #[test]
    fn midas_counts_how_often_data_was_moved() {
        let separator = separator(Separation::Midas);
        assert_eq!([Some(99), Some(100)].map(|lived| separator.class(lived)), [0, 1]);
        let moved = |generation| separator.relocated_class(0, generation, 5);
        assert_eq!([0, 1, 3, 4].map(moved), [0, 1, 3, 3]);
    }

    #[test]
    fn multi_log_has_classes_a_factor_of_four_apart_and_keeps_them() {
        let separator = separator(Separation::MultiLog);
        let lives = [99, 100, 399, 400, 1599, 1600].map(Some);
        assert_eq!(lives.map(|lived| separator.class(lived)), [0, 1, 1, 2, 2, 3]);
        assert_eq!(separator.class(None), 3);
        assert_eq!(separator.relocated_class(2, 0, 5), 2);
        // What was relocated to class 2 is of generation 3.
        assert_eq!(separator.relocated_class(0, 3, 5), 2);
    }
}
