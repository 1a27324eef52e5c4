//! How low WAF can go: a drive that knows when each page will be invalidated, and a proven lower bound (`lower.rs`).
//!
//! It takes two passes over the same commands. The first, [`Future`], records the death time of every page
//! written: the number of host pages written when it is overwritten or unmapped. The second,
//! [`FutureKnowledge`], is a page-mapped device that uses the death times twice:
//!
//! - *Grouping by death time.* Written or relocated pages go to the open reclaim unit of their class, which depends on
//!   the time until they are invalidated, for all data or separately for each handle. With enough open reclaim units,
//!   every reclaim unit is invalidated as a whole and WAF is 1 (Wang et al., SepBIT, FAST '22, section 2: "FK", future
//!   knowledge, groups by block invalidation time in the same manner). Drives have few open reclaim units, so the
//!   number of classes is a parameter. Classes are spaced in proportion to the remaining time.
//! - *The victim* is the reclaim unit for which waiting saves the fewest relocations per invalid space
//!   held, over any waiting time. The `gittins` policy estimates the same index; here death times are known.
//!
//! The result is the best that the best known grouping and index reach with future knowledge, not a limit: other
//! groupings may be better. Next to the policies of a table, it shows how much better predictions could still gain.
//!
//! # What it does not implement
//! Isolation, several reclaim groups, and background GC, which a drive that knows the future does not need. Memory: 4
//! bytes per host page of the run, and 20 per physical page.

mod lower;

pub use lower::HostUnits;
use wafer_device::Geometry;
use wafer_interface::{Command, NsId, Op, RuhId};

/// Death time of pages that are not invalidated by the commands seen.
const NEVER: u32 = u32::MAX;
/// Each collection recomputes the index of every `TURNS`-th reclaim unit.
const TURNS: usize = 8;
/// Number of waiting times at which an index is computed.
const POINTS: usize = 24;

/// The death time of every page written.
#[derive(Debug)]
pub struct Future {
    /// Death time of each host page, in order of writing: the number of host pages written by then.
    deaths: Vec<u32>,
    /// For each logical page, the position in `deaths` of its data, plus one.
    last: Vec<u32>,
}

/// Returns the pages of a command, from the first to one past the last; only whole ones for a deallocate.
fn pages(geometry: &Geometry, command: &Command) -> Option<(u64, u64)> {
    let NsId(namespace) = command.namespace;
    let range = geometry.namespaces.get(usize::from(namespace))?;
    let per_page = geometry.blocks_per_page();
    let end = command.lba.checked_add(u64::from(command.blocks))?;
    if end > (range.end - range.start) * per_page || command.blocks == 0 {
        return None;
    }
    let (first, past) = match command.op {
        Op::Write => (command.lba / per_page, end.div_ceil(per_page)),
        Op::Deallocate => (command.lba.div_ceil(per_page), end / per_page),
        Op::Read | Op::Flush | Op::Update => return None,
    };
    (first < past).then_some((range.start + first, range.start + past))
}

impl Future {
    /// Creates a future without commands.
    pub fn new(geometry: &Geometry) -> Self {
        Future { deaths: Vec::new(), last: vec![0; geometry.logical_pages as usize] }
    }

    /// Records the pages that commands write and deallocate, in order: at most 2^32 - 2 host pages.
    pub fn see(&mut self, geometry: &Geometry, commands: &[Command]) {
        for command in commands {
            let Some((first, past)) = pages(geometry, command) else { continue };
            for page in first..past {
                let now = self.deaths.len() as u32;
                if let Some(before) = self.last[page as usize].checked_sub(1) {
                    self.deaths[before as usize] = now;
                }
                self.last[page as usize] = 0;
                if command.op == Op::Write {
                    self.deaths.push(NEVER);
                    self.last[page as usize] = now + 1;
                }
            }
        }
    }

    /// Returns the number of host pages so far.
    pub fn host_pages(&self) -> u64 {
        self.deaths.len() as u64
    }
}

/// Returns the handle of a write.
fn handle(geometry: &Geometry, command: &Command) -> usize {
    geometry.handle(command.namespace, command.placement).map_or(0, RuhId::index)
}

/// Returns the number of reclaim units kept free: the drive's reserve, or one for each class to receive a
/// victim's pages if that is more.
fn reserve(geometry: &Geometry, classes: usize) -> usize {
    (geometry.forced_free(geometry.ru_count) as usize).max(classes + 2)
}

/// One reclaim unit.
#[derive(Clone, Debug, Default)]
struct Unit {
    /// Logical page and death time of each page written to it.
    pages: Vec<(u32, u32)>,
    /// Once closed: death times in order, and their prefix sums.
    deaths: Vec<u32>,
    sums: Vec<u64>,
    valid: u32,
    closed: bool,
    index: f64,
    /// The handle, if handles are kept apart.
    handle: usize,
}

/// A device that knows the future.
pub struct FutureKnowledge<'a> {
    geometry: &'a Geometry,
    future: &'a Future,
    /// Reclaim unit of each logical page, plus one.
    map: Vec<u32>,
    units: Vec<Unit>,
    free: Vec<u32>,
    /// The open reclaim unit of each handle and class, plus one.
    open: Vec<u32>,
    /// Number of classes per handle.
    classes: usize,
    /// Whether handles are kept apart.
    by_handle: bool,
    /// Ratio of the remaining times of adjacent classes, as a binary logarithm.
    step: f64,
    clock: u64,
    relocated: u64,
    turn: usize,
}

impl<'a> FutureKnowledge<'a> {
    /// Creates a fresh device with `classes` open reclaim units, for each handle if `by_handle`. Reserve and sizes are
    /// those of the geometry.
    ///
    /// # Errors
    /// If there are too few reclaim units for data, reserve and open ones, or too many pages.
    pub fn new(
        geometry: &'a Geometry,
        future: &'a Future,
        classes: usize,
        by_handle: bool,
    ) -> Result<Self, &'static str> {
        let open = classes * if by_handle { geometry.isolation.len() } else { 1 };
        let needed = geometry.logical_pages / u64::from(geometry.pages_per_ru) + 1;
        let reserve = reserve(geometry, open) + open;
        if classes == 0 || u64::from(geometry.ru_count) <= needed + reserve as u64 {
            return Err("too few reclaim units for so many open ones");
        }
        if geometry.logical_pages > u64::from(u32::MAX) {
            return Err("more logical pages than 32 bits can number");
        }
        // From one reclaim unit's worth of writes to four device writes.
        let span = 4.0 * f64::from(geometry.ru_count);
        Ok(FutureKnowledge {
            map: vec![0; geometry.logical_pages as usize],
            units: vec![Unit::default(); geometry.ru_count as usize],
            free: (0..geometry.ru_count).rev().collect(),
            open: vec![0; open],
            classes,
            by_handle,
            step: span.log2() / classes as f64,
            geometry,
            future,
            clock: 0,
            relocated: 0,
            turn: 0,
        })
    }

    /// Applies the commands that the future has recorded, in the same order from the first.
    pub fn apply(&mut self, commands: &[Command]) {
        for command in commands {
            let Some((first, past)) = pages(self.geometry, command) else { continue };
            let handle = if self.by_handle { handle(self.geometry, command) } else { 0 };
            for page in first..past {
                self.invalidate(page as usize);
                if command.op == Op::Write {
                    let death = self.future.deaths[self.clock as usize];
                    self.clock += 1;
                    self.append(page as u32, death, handle);
                    self.reclaim();
                }
            }
        }
    }

    /// Returns the number of host pages written.
    pub fn host_pages(&self) -> u64 {
        self.clock
    }

    /// Returns the number of pages relocated.
    pub fn relocated_pages(&self) -> u64 {
        self.relocated
    }

    fn invalidate(&mut self, page: usize) {
        if let Some(ru) = self.map[page].checked_sub(1) {
            self.units[ru as usize].valid -= 1;
            self.map[page] = 0;
        }
    }

    fn class(&self, death: u32) -> usize {
        let last = self.classes - 1;
        if death == NEVER {
            return last;
        }
        let left = (u64::from(death) - self.clock) as f64;
        let rus = left / f64::from(self.geometry.pages_per_ru);
        ((rus.max(1.0).log2() / self.step) as usize).min(last)
    }

    fn append(&mut self, page: u32, death: u32, handle: usize) {
        let class = handle * self.classes + self.class(death);
        if self.open[class] == 0 {
            self.open[class] = self.free.pop().expect("a free reclaim unit") + 1;
        }
        let ru = self.open[class] - 1;
        let unit = &mut self.units[ru as usize];
        unit.pages.push((page, death));
        unit.valid += 1;
        unit.handle = handle;
        self.map[page as usize] = ru + 1;
        if unit.pages.len() == self.geometry.pages_per_ru as usize {
            unit.closed = true;
            unit.deaths = unit.pages.iter().map(|(_, death)| *death).collect();
            unit.deaths.sort_unstable();
            let mut sum = 0;
            let add = |death: &u32| {
                sum += u64::from(*death);
                sum
            };
            unit.sums = unit.deaths.iter().map(add).collect();
            self.open[class] = 0;
            self.units[ru as usize].index = self.index(ru as usize);
        }
    }

    /// Returns the relocations saved by waiting per invalid space held meanwhile, at the best waiting time.
    fn index(&self, ru: usize) -> f64 {
        let unit = &self.units[ru];
        let all = unit.deaths.len();
        let invalid = all - unit.valid as usize;
        if unit.valid == 0 {
            return -1.0;
        }
        let (mut best, mut at) = (0.0f64, 0);
        let before = if invalid == 0 { 0 } else { unit.sums[invalid - 1] };
        let known = unit.deaths.partition_point(|death| *death != NEVER);
        if known <= invalid {
            // The valid pages are never invalidated: waiting saves nothing.
            return 0.0;
        }
        for point in 1..=POINTS {
            // Wait until this many more are invalid.
            let more = ((known - invalid) * point).div_ceil(POINTS);
            if more == at {
                continue;
            }
            at = more;
            let last = invalid + more - 1;
            let wait = (u64::from(unit.deaths[last]) - self.clock.min(u64::from(unit.deaths[last])))
                as f64;
            // Invalid pages hold space for the whole wait, those invalidated in it for the rest of it.
            let deaths = (unit.sums[last] - before) as f64;
            let held = invalid as f64 * wait + more as f64 * f64::from(unit.deaths[last]) - deaths;
            best = best.max(more as f64 / held.max(1.0));
        }
        best
    }

    /// Collects until more reclaim units than the reserve are free.
    fn reclaim(&mut self) {
        let reserve = reserve(self.geometry, self.open.len());
        while self.free.len() <= reserve {
            let Some(victim) = self.select() else { return };
            let unit = std::mem::take(&mut self.units[victim]);
            self.relocated += u64::from(unit.valid);
            for (page, death) in unit.pages {
                // Of a page written twice to one reclaim unit, only the last copy is valid: the one with
                // the later death time.
                let here = self.map[page as usize] == victim as u32 + 1;
                if here && u64::from(death) >= self.clock {
                    self.append(page, death, unit.handle);
                }
            }
            self.free.push(victim as u32);
        }
    }

    fn select(&mut self) -> Option<usize> {
        self.turn = (self.turn + 1) % TURNS;
        let mut best: Option<(f64, usize)> = None;
        let full = self.geometry.pages_per_ru;
        for ru in 0..self.units.len() {
            if !self.units[ru].closed || self.units[ru].valid == full {
                continue;
            }
            if ru % TURNS == self.turn || self.units[ru].valid == 0 {
                self.units[ru].index = self.index(ru);
            }
            let mut index = self.units[ru].index;
            if best.is_none_or(|(least, _)| index < least) {
                // The index may be stale: recompute it before the unit is chosen.
                index = self.index(ru);
                self.units[ru].index = index;
                if best.is_none_or(|(least, _)| index < least) {
                    best = Some((index, ru));
                }
            }
        }
        best.map(|(_, ru)| ru)
    }
}

#[cfg(test)]
mod tests;
