//! The bound: what a drive could do that knows when each page will be overwritten or unmapped.
//!
//! Two passes over the same commands. The first, [`Future`], notes for every page written how many host
//! pages are written until it dies. The second, [`PerfectKnowledge`], is a page-mapped device that uses
//! it twice:
//!
//! - *Grouping by death time.* Pages written or relocated go to the open reclaim unit of their class, by
//!   the time they still have. With known death times and open reclaim units enough, every reclaim unit
//!   dies as a whole and WAF is 1 (Wang et al., SepBIT, FAST '22, section 2: "FK", future
//!   knowledge, groups by block invalidation time as here). Drives have few open reclaim units, so
//!   the number of classes is a parameter, and classes are spaced in proportion to the time left.
//! - *The victim* is the reclaim unit for which waiting saves the fewest relocations per dead space
//!   held, over any time of waiting, as the `adaptive` policy estimates it, with the deaths known.
//!
//! It is what is reached with perfect knowledge by the best grouping and index known, not a proven
//! limit: only WAF >= 1 is that. A table that shows it beside the policies tells what is left
//! to gain by knowing more, not by placing better.
//!
//! # What it does not implement
//! Handles and isolation (all data is grouped by death time alone), several reclaim groups, and
//! background GC, which perfect knowledge does not need. Memory: 4 bytes for every host page of the
//! run, and 20 for each physical page.

use wafer_device::Geometry;
use wafer_interface::{Command, NsId, Op};

/// Never: not within the commands that were seen.
const NEVER: u32 = u32::MAX;
/// Reclaim units valued again at each collection: every so manieth.
const TURNS: usize = 8;
/// Points of waiting at which an index is computed.
const POINTS: usize = 24;

/// When every page written will die.
#[derive(Debug)]
pub struct Future {
    /// For each host page in order of writing, the host pages written to the device when it dies.
    deaths: Vec<u32>,
    /// For each logical page, the position in `deaths` of what it holds, plus one.
    last: Vec<u32>,
}

/// The pages of a command: (first, past the last), whole ones only for deallocate.
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
    /// Nothing seen yet.
    pub fn new(geometry: &Geometry) -> Self {
        Future { deaths: Vec::new(), last: vec![0; geometry.logical_pages as usize] }
    }

    /// Notes what commands write and unmap, in order. At most 2^32 - 2 host pages are told apart.
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

    /// Host pages seen so far.
    pub fn host_pages(&self) -> u64 {
        self.deaths.len() as u64
    }
}

/// Free reclaim units that are kept: those of the drive, and for the pages of one victim one in every
/// class.
fn reserve(geometry: &Geometry, classes: usize) -> usize {
    (geometry.forced_free(geometry.ru_count) as usize).max(classes + 2)
}

/// One reclaim unit.
#[derive(Clone, Debug, Default)]
struct Unit {
    /// Logical page and death of what was written to it.
    pages: Vec<(u32, u32)>,
    /// Once closed: deaths in order, and the sum of those before each.
    deaths: Vec<u32>,
    sums: Vec<u64>,
    valid: u32,
    closed: bool,
    index: f64,
}

/// A device that knows the future.
pub struct PerfectKnowledge<'a> {
    geometry: &'a Geometry,
    future: &'a Future,
    /// Reclaim unit of each logical page, plus one.
    map: Vec<u32>,
    units: Vec<Unit>,
    free: Vec<u32>,
    /// The open reclaim unit of each class, plus one.
    open: Vec<u32>,
    /// Ratio of the times left from one class to the next, as a binary logarithm.
    step: f64,
    clock: u64,
    relocated: u64,
    turn: usize,
}

impl<'a> PerfectKnowledge<'a> {
    /// A fresh device with `classes` open reclaim units. Reserve and sizes are those of the geometry.
    ///
    /// # Errors
    /// What makes it impossible: fewer reclaim units than data, reserve and open ones need.
    pub fn new(
        geometry: &'a Geometry,
        future: &'a Future,
        classes: usize,
    ) -> Result<Self, &'static str> {
        let needed = geometry.logical_pages / u64::from(geometry.pages_per_ru) + 1;
        let reserve = reserve(geometry, classes) + classes;
        if classes == 0 || u64::from(geometry.ru_count) <= needed + reserve as u64 {
            return Err("too few reclaim units for so many open ones");
        }
        if geometry.logical_pages > u64::from(u32::MAX) {
            return Err("more logical pages than 32 bits can number");
        }
        // From one reclaim unit's worth of writes to four device writes.
        let span = 4.0 * f64::from(geometry.ru_count);
        Ok(PerfectKnowledge {
            map: vec![0; geometry.logical_pages as usize],
            units: vec![Unit::default(); geometry.ru_count as usize],
            free: (0..geometry.ru_count).rev().collect(),
            open: vec![0; classes],
            step: span.log2() / classes as f64,
            geometry,
            future,
            clock: 0,
            relocated: 0,
            turn: 0,
        })
    }

    /// Applies commands: those that the future has seen, from the first on.
    pub fn apply(&mut self, commands: &[Command]) {
        for command in commands {
            let Some((first, past)) = pages(self.geometry, command) else { continue };
            for page in first..past {
                self.invalidate(page as usize);
                if command.op == Op::Write {
                    let death = self.future.deaths[self.clock as usize];
                    self.clock += 1;
                    self.append(page as u32, death);
                    self.reclaim();
                }
            }
        }
    }

    /// Host pages written.
    pub fn host_pages(&self) -> u64 {
        self.clock
    }

    /// Pages relocated.
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
        let last = self.open.len() - 1;
        if death == NEVER {
            return last;
        }
        let left = (u64::from(death) - self.clock) as f64;
        let rus = left / f64::from(self.geometry.pages_per_ru);
        ((rus.max(1.0).log2() / self.step) as usize).min(last)
    }

    fn append(&mut self, page: u32, death: u32) {
        let class = self.class(death);
        if self.open[class] == 0 {
            self.open[class] = self.free.pop().expect("a free reclaim unit") + 1;
        }
        let ru = self.open[class] - 1;
        let unit = &mut self.units[ru as usize];
        unit.pages.push((page, death));
        unit.valid += 1;
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

    /// Relocations saved by waiting per dead space held meanwhile, at the best time of waiting.
    fn index(&self, ru: usize) -> f64 {
        let unit = &self.units[ru];
        let all = unit.deaths.len();
        let dead = all - unit.valid as usize;
        if unit.valid == 0 {
            return -1.0;
        }
        let (mut best, mut at) = (0.0f64, 0);
        let before = if dead == 0 { 0 } else { unit.sums[dead - 1] };
        let known = unit.deaths.partition_point(|death| *death != NEVER);
        if known <= dead {
            // What is left never dies: waiting gains nothing.
            return 0.0;
        }
        for point in 1..=POINTS {
            // Waiting until this many more are dead.
            let more = ((known - dead) * point).div_ceil(POINTS);
            if more == at {
                continue;
            }
            at = more;
            let last = dead + more - 1;
            let wait = (u64::from(unit.deaths[last]) - self.clock.min(u64::from(unit.deaths[last])))
                as f64;
            // Dead pages hold space for the whole wait, those that die in it for what remains then.
            let died = (unit.sums[last] - before) as f64;
            let held = dead as f64 * wait + more as f64 * f64::from(unit.deaths[last]) - died;
            best = best.max(more as f64 / held.max(1.0));
        }
        best
    }

    /// Collects until more than the reserve is free.
    fn reclaim(&mut self) {
        let reserve = reserve(self.geometry, self.open.len());
        while self.free.len() <= reserve {
            let Some(victim) = self.select() else { return };
            let unit = std::mem::take(&mut self.units[victim]);
            self.relocated += u64::from(unit.valid);
            for (page, death) in unit.pages {
                // A page written twice to one reclaim unit is valid at its last place only: that
                // one dies later than now.
                let here = self.map[page as usize] == victim as u32 + 1;
                if here && u64::from(death) >= self.clock {
                    self.append(page, death);
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
                // Looked at again before it is chosen.
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
mod tests {
    use wafer_device::{Destination, Device, DeviceConfig, GcConfig, Isolation, ReclaimUnitConfig};
    use wafer_interface::{Bytes, Placement, ServiceConfig};

    use super::*;

    const PAGES: u64 = 64;

    /// A device of 200 logical RUs of 64 pages and two handles.
    fn config(policy: &str, isolation: Isolation) -> DeviceConfig {
        let page = 16384;
        DeviceConfig {
            capacity: Bytes(200 * PAGES * page),
            page: Bytes(page),
            reclaim_unit: ReclaimUnitConfig { size: Bytes(PAGES * page), count: Some(234) },
            overprovisioning: None,
            handles: 2,
            groups: 1,
            isolation,
            handle_isolation: Default::default(),
            fdp: true,
            gc: GcConfig {
                policy: policy.to_owned(),
                background_free: 0.0,
                destination: Some(Destination::Isolation),
                ..GcConfig::default()
            },
            namespaces: Vec::new(),
            service: ServiceConfig::default(),
        }
    }

    /// Numbers that look random: SplitMix64.
    fn random(state: &mut u64, bound: u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(z ^ (z >> 31)) * u128::from(bound)) >> 64) as u64
    }

    /// `count` single-page writes: four fifths to the first fifth of the space through handle 0, the rest
    /// through handle 1.
    fn hot_and_cold(count: usize, seed: &mut u64) -> Vec<Command> {
        let (all, hot) = (200 * PAGES, 40 * PAGES);
        (0..count)
            .map(|_| {
                let (page, handle) = match random(seed, 5) {
                    0 => (hot + random(seed, all - hot), 1),
                    _ => (random(seed, hot), 0),
                };
                Command::write(page * 32, 32, Placement(handle))
            })
            .collect()
    }

    fn waf(config: &DeviceConfig, seed: u64) -> f64 {
        let mut device = Device::new(config, seed).unwrap();
        device.apply(&fill());
        device.apply(&hot_and_cold(100_000, &mut { seed }));
        device.reset_counters();
        device.apply(&hot_and_cold(100_000, &mut { seed + 1000 }));
        device.counters().waf()
    }

    fn bound(classes: usize, commands: &[&[Command]], counted: usize) -> f64 {
        let geometry = Geometry::resolve(&config("greedy", Isolation::Initially)).unwrap();
        let mut future = Future::new(&geometry);
        commands.iter().for_each(|commands| future.see(&geometry, commands));
        let mut device = PerfectKnowledge::new(&geometry, &future, classes).unwrap();
        let mut before = (0, 0);
        for (at, commands) in commands.iter().enumerate() {
            if at == counted {
                before = (device.host_pages(), device.relocated_pages());
            }
            device.apply(commands);
            for (ru, unit) in device.units.iter().enumerate() {
                let mapped = device.map.iter().filter(|m| **m == ru as u32 + 1).count();
                assert_eq!(mapped, unit.valid as usize);
            }
        }
        assert_eq!(device.host_pages(), future.host_pages());
        let host = device.host_pages() - before.0;
        1.0 + (device.relocated_pages() - before.1) as f64 / host as f64
    }

    fn fill() -> Vec<Command> {
        (0..200 * PAGES)
            .map(|p| Command::write(p * 32, 32, wafer_interface::Placement::NONE))
            .collect()
    }

    #[test]
    fn knowing_the_future_beats_every_policy_and_more_classes_are_better() {
        let fill = fill();
        let (first, second) = (hot_and_cold(100_000, &mut 1), hot_and_cold(100_000, &mut 1001));
        // What comes after is known, but not counted.
        let rest = hot_and_cold(60_000, &mut 5);
        let run = [&fill[..], &first, &second, &rest];
        let best = waf(&config("adaptive", Isolation::Persistently), 1);
        let [one, four, sixteen] = [1, 4, 12].map(|classes| bound(classes, &run, 2));
        assert!(sixteen < four && four < one, "{one} {four} {sixteen}");
        assert!(sixteen < 0.75 * best && sixteen >= 1.0, "{sixteen}, adaptive {best}");
    }

    #[test]
    fn a_sequential_stream_costs_nothing() {
        let fill = fill();
        let run = [&fill[..], &fill, &fill, &fill];
        assert_eq!(bound(2, &run, 0), 1.0);
    }

    #[test]
    fn deallocated_pages_are_dead() {
        let fill = fill();
        let trim = [Command::deallocate(0, (200 * PAGES * 32) as u32)];
        assert_eq!(bound(1, &[&fill, &trim, &fill, &trim, &fill], 0), 1.0);
    }
}
