//! A proven lower bound of WAF for a run, whatever the victims and the placement of relocated data.
//!
//! # What it holds for
//! Drives that write a host's data, in order, to reclaim units of the handle it names (no
//! `gc.separation`, relocated data in reclaim units of its own), whatever they know of the future.
//!
//! # Proof
//! For such drives, the commands determine the contents of every reclaim unit that a host fills. Unit j has P pages, is
//! opened at s_j and full at c_j, and its pages are invalidated at known times. Time is counted in host pages. Let
//! a_j(t) be its valid pages at time t, e_j >= c_j the time at which the drive erases it (the end of the run E if it
//! does not), and S the total number of physical pages.
//!
//! 1. Erasing unit j relocates at least a_j(e_j) pages. Their sum is a lower bound of all relocated
//!    pages.
//! 2. At time t the drive holds P pages of each unit that is opened and not erased, and at least one page for each page
//!    of an erased unit that is still valid. So the sum over j of o_j(t) <= S, with o_j(t) = P for s_j <= t < e_j and
//!    a_j(t) for t >= e_j.
//! 3. For any x >= 0 and any time B, relocated pages >= sum over j of a_j(e_j) + x (sum over j of the integral of o_j from B
//!    to E - S (E - B)), because the bracket is not positive. Each term of the sum depends on one unit, so it is at least
//!    its minimum over e_j. That gives a bound for every x: the dual of the problem without the order of its decisions.
//!    The best x is searched; each is a proof.
//!
//! Between two invalidations a_j is constant and the term grows with e_j, because o_j falls by P - a_j at e_j. So
//! its minimum is at c_j, at an invalidation, or at E. B is the time at which hosts have opened S pages: before
//! it, space costs nothing.
//!
//! The bound is weak if relocated data is relocated again, which costs nothing here, and 1 if whole
//! reclaim units are invalidated together.

use wafer_device::Geometry;
use wafer_interface::{Command, Op};

use super::{Future, NEVER, handle, pages};

/// Number of steps in the search for the best price of space.
const STEPS: usize = 40;

/// A reclaim unit that a host fills.
#[derive(Clone, Debug)]
struct HostUnit {
    opened: u32,
    /// The time at which it is full; [`NEVER`] if it is not.
    full: u32,
    /// Death times of its pages, ascending once it is full.
    deaths: Vec<u32>,
}

/// The reclaim units that hosts fill in a run.
#[derive(Debug)]
pub struct HostUnits {
    unit_pages: u32,
    physical_pages: u64,
    full: Vec<HostUnit>,
    /// The open unit of each handle.
    open: Vec<Option<HostUnit>>,
    clock: u32,
    /// The time at which hosts have opened as many pages as the drive has.
    filled: Option<u32>,
    opened: u64,
}

impl HostUnits {
    /// Creates the units of a run that has not begun.
    pub fn new(geometry: &Geometry) -> Self {
        HostUnits {
            unit_pages: geometry.pages_per_ru,
            physical_pages: u64::from(geometry.ru_count) * u64::from(geometry.pages_per_ru),
            full: Vec::new(),
            open: vec![None; geometry.isolation.len()],
            clock: 0,
            filled: None,
            opened: 0,
        }
    }

    /// Applies a command recorded by the future, in the same order. Returns false for a reclaim unit update, for
    /// which the bound does not hold.
    pub fn apply(&mut self, geometry: &Geometry, future: &Future, command: &Command) -> bool {
        if command.op == Op::Update {
            return false;
        }
        if command.op != Op::Write {
            return true;
        }
        let Some((first, past)) = pages(geometry, command) else { return true };
        let handle = handle(geometry, command);
        for _ in first..past {
            let now = self.clock;
            if self.open[handle].is_none() {
                self.opened += u64::from(self.unit_pages);
                if self.opened >= self.physical_pages {
                    self.filled.get_or_insert(now);
                }
            }
            let unit = self.open[handle].get_or_insert_with(|| HostUnit {
                opened: now,
                full: NEVER,
                deaths: Vec::with_capacity(self.unit_pages as usize),
            });
            unit.deaths.push(future.deaths[now as usize]);
            self.clock += 1;
            if unit.deaths.len() == self.unit_pages as usize {
                unit.full = self.clock;
                unit.deaths.sort_unstable();
                self.full.extend(self.open[handle].take());
            }
        }
        true
    }

    /// Returns the number of host pages so far.
    pub fn host_pages(&self) -> u64 {
        self.clock.into()
    }

    /// Returns the minimum number of pages that any drive relocates in the run.
    pub fn relocated_pages(&self) -> f64 {
        let Some(begin) = self.filled else { return 0.0 };
        // The bound is concave in the price of space, so a ternary search finds its maximum.
        let at = |price: f64| self.with_price(price, begin);
        let (mut low, mut high) = (0.0, 4.0 / f64::from(self.unit_pages));
        let mut best = 0.0f64;
        for _ in 0..STEPS {
            let (one, two) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
            let (first, second) = (at(one), at(two));
            best = best.max(first).max(second);
            if first < second {
                low = one;
            } else {
                high = two;
            }
        }
        best
    }

    /// Returns the bound if holding a page during a host page costs `price`, from `begin`.
    fn with_price(&self, price: f64, begin: u32) -> f64 {
        let end = self.clock;
        let since = |from: u32, to: u32| f64::from(to.max(begin) - from.max(begin));
        let unit_pages = f64::from(self.unit_pages);
        let mut sum = 0.0;
        for unit in &self.full {
            // Space held by valid pages after each erase time, from the latest to the earliest.
            let mut held = 0.0;
            // If it is not erased within the run.
            let mut least = price * unit_pages * since(unit.opened, end);
            let mut later = end;
            // Pages are counted from the last death time: those behind `valid` are invalidated later.
            let mut valid = unit.deaths.len();
            while valid > 0 && unit.deaths[valid - 1] >= end {
                valid -= 1;
            }
            let mut alive = unit.deaths.len() - valid;
            loop {
                // `alive` pages are valid from the invalidation before `later`.
                let at = match valid {
                    0 => unit.full,
                    _ => unit.deaths[valid - 1].max(unit.full),
                };
                held += alive as f64 * since(at, later);
                let space = unit_pages * since(unit.opened, at) + held;
                least = least.min(alive as f64 + price * space);
                if at == unit.full {
                    break;
                }
                later = at;
                while valid > 0 && unit.deaths[valid - 1] == at {
                    valid -= 1;
                    alive += 1;
                }
            }
            sum += least;
        }
        // Units that are not full at the end keep their space.
        for unit in self.open.iter().flatten() {
            sum += price * unit_pages * since(unit.opened, end);
        }
        sum - price * self.physical_pages as f64 * since(begin, end)
    }
}
