//! Flash for translation pages, outside the reclaim units.
//!
//! Assumption, as no drive publishes where its map lies: the region has room for the map twice and for two more units,
//! in units of 1/32 of the map, which costs the drive a fifth of a percent of its flash. It is written as a log. When
//! the last free unit is opened, the valid pages of the closed unit with the fewest move to it.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Stands for no page.
const NONE: u32 = u32::MAX;
/// Number of units that hold the map once.
const UNITS: u32 = 32;

/// A log of translation pages with greedy collection; see the crate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Region {
    pages: u32,
    /// The translation page in each flash page; `NONE` if the flash page is not programmed or no longer valid.
    flash: Vec<u32>,
    /// The unit that is being written, and the number of its written pages.
    open: u32,
    written: u32,
    /// Free units, in order of erasure.
    free: VecDeque<u32>,
    /// The flash page of each translation page.
    #[serde(skip)]
    places: Vec<u32>,
    /// Valid pages of each unit.
    #[serde(skip)]
    valid: Vec<u32>,
}

impl Region {
    /// Creates an empty region for this many translation pages, at least one.
    pub fn new(pages: u32) -> Self {
        let units = units(pages);
        Region {
            pages,
            flash: vec![NONE; (units * unit_pages(pages)) as usize],
            open: 0,
            written: 0,
            free: (1..units).collect(),
            places: vec![NONE; pages as usize],
            valid: vec![0; units as usize],
        }
    }

    /// Returns the number of translation pages.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Returns whether a translation page was ever programmed.
    pub fn holds(&self, page: u32) -> bool {
        self.places[page as usize] != NONE
    }

    /// Programs a translation page. Returns how many flash pages that takes, including moved ones.
    pub fn program(&mut self, page: u32) -> u64 {
        let old = self.places[page as usize];
        if old != NONE {
            self.flash[old as usize] = NONE;
            self.valid[(old / unit_pages(self.pages)) as usize] -= 1;
        }
        let moved = if self.written == unit_pages(self.pages) { self.open_next() } else { 0 };
        self.append(page);
        moved + 1
    }

    /// Opens a unit, and collects if none is left free. Returns the number of pages moved.
    fn open_next(&mut self) -> u64 {
        let Some(next) = self.free.pop_front() else { unreachable!("one unit is always free") };
        (self.open, self.written) = (next, 0);
        if !self.free.is_empty() {
            return 0;
        }
        // No unit is free, so all but the open one are closed. They have twice the space of the map: at most half of
        // the victim is valid.
        let closed = (0..self.valid.len() as u32).filter(|unit| *unit != self.open);
        let Some(victim) = closed.min_by_key(|unit| self.valid[*unit as usize]) else { return 0 };
        let size = unit_pages(self.pages);
        let mut moved = 0;
        for at in victim * size..(victim + 1) * size {
            let page = std::mem::replace(&mut self.flash[at as usize], NONE);
            if page != NONE {
                self.append(page);
                moved += 1;
            }
        }
        self.valid[victim as usize] = 0;
        self.free.push_back(victim);
        moved
    }

    fn append(&mut self, page: u32) {
        let at = self.open * unit_pages(self.pages) + self.written;
        self.written += 1;
        self.valid[self.open as usize] += 1;
        self.flash[at as usize] = page;
        self.places[page as usize] = at;
    }

    /// Resumes as a saved region of `pages` translation pages: checks the saved fields and derives the rest.
    ///
    /// # Errors
    /// What is wrong with the saved region.
    pub(crate) fn resume(&mut self, pages: u32) -> Result<(), String> {
        let (units, size) = (units(pages), unit_pages(pages));
        if self.pages != pages || self.flash.len() as u64 != u64::from(units) * u64::from(size) {
            return Err(format!("{} translation pages, not {pages}", self.pages));
        }
        if self.open >= units || self.written > size {
            return Err("an open unit that the region does not have".to_owned());
        }
        self.places = vec![NONE; pages as usize];
        self.valid = vec![0; units as usize];
        for (at, page) in (0..).zip(&self.flash).filter(|(_, page)| **page != NONE) {
            let place = self.places.get_mut(*page as usize).filter(|place| **place == NONE);
            *place.ok_or_else(|| format!("translation page {page} does not exist, or twice"))? = at;
            self.valid[(at / size) as usize] += 1;
        }
        self.check()
    }

    /// Checks the invariants.
    ///
    /// # Errors
    /// The invariant that does not hold.
    pub(crate) fn check(&self) -> Result<(), String> {
        let size = unit_pages(self.pages) as usize;
        for (unit, pages) in (0..).zip(self.flash.chunks(size)) {
            let held = |page: &u32| *page != NONE;
            let valid = pages.iter().filter(|page| held(page)).count();
            let written = match unit {
                unit if unit == self.open => self.written as usize,
                unit if self.free.contains(&unit) => 0,
                _ => size,
            };
            if valid != self.valid[unit as usize] as usize || pages[written..].iter().any(held) {
                return Err(format!("unit {unit}: {valid} valid pages, {written} written"));
            }
        }
        for (page, place) in (0..).zip(&self.places).filter(|(_, place)| **place != NONE) {
            if self.flash.get(*place as usize) != Some(&page) {
                return Err(format!("translation page {page} is not where it should be"));
            }
        }
        let mut free: Vec<u32> = self.free.iter().copied().collect();
        free.sort_unstable();
        let once = free.windows(2).all(|pair| pair[0] != pair[1]);
        let known = free.iter().all(|unit| (*unit as usize) < self.valid.len());
        if free.is_empty() || !once || !known || free.contains(&self.open) {
            return Err(format!("free units {free:?} beside {} that is open", self.open));
        }
        Ok(())
    }
}

fn unit_pages(pages: u32) -> u32 {
    pages.div_ceil(UNITS)
}

fn units(pages: u32) -> u32 {
    2 * pages.div_ceil(unit_pages(pages)) + 2
}
