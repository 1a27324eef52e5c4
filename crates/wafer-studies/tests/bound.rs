//! The proven lower bound against an exhaustive search of a tiny drive's choices, which shares no code with it.

use std::collections::BTreeMap;

use wafer_device::{
    Destination, Device, DeviceConfig, GcConfig, Geometry, Isolation, ReclaimUnitConfig,
};
use wafer_interface::{Bytes, Command, Placement, ServiceConfig};
use wafer_studies::bound::{Future, HostUnits};

const PAGE: u64 = 16_384;
const BLOCKS: u32 = (PAGE / 512) as u32;
const UNIT: u64 = 64;

#[path = "../../wafer-device/tests/unit/random.rs"]
mod random;
use random::random;

/// Writes of single pages: page and handle.
type Writes = Vec<(u64, u16)>;

fn bound(geometry: &Geometry, writes: &Writes) -> f64 {
    let commands: Vec<Command> = writes
        .iter()
        .map(|(page, handle)| Command::write(page * u64::from(BLOCKS), BLOCKS, Placement(*handle)))
        .collect();
    let mut future = Future::new(geometry);
    future.see(geometry, &commands);
    let mut units = HostUnits::new(geometry);
    assert!(commands.iter().all(|command| units.apply(geometry, &future, command)));
    assert_eq!(units.host_pages(), writes.len() as u64);
    units.relocated_pages()
}

/// A unit of the search: the handle that fills it (none for relocated data), and the content of each written page;
/// `None` if it was invalidated.
type Unit = (Option<u16>, Vec<Option<u64>>);

/// Everything a drive can do: at any time it may erase any full unit, or one filled by relocation, after moving
/// each of its valid pages to any unit for relocated data with room.
struct Search {
    units: usize,
    unit_pages: usize,
    writes: Writes,
    /// The fewest relocations from a state: writes done, and the sorted units.
    known: BTreeMap<(usize, Vec<Unit>), u32>,
}

impl Search {
    /// Returns the fewest relocations for the writes from `at`; `u32::MAX` if the drive is stuck.
    fn least(&mut self, at: usize, mut units: Vec<Unit>) -> u32 {
        units.sort();
        if at == self.writes.len() {
            return 0;
        }
        let key = (at, units);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let mut best = u32::MAX;
        if let Some(next) = self.written(at, &key.1) {
            best = self.least(at + 1, next);
        }
        for victim in 0..key.1.len() {
            let (filled_by, pages) = &key.1[victim];
            let full = pages.len() == self.unit_pages;
            // Erasing a unit without invalid pages gains nothing.
            if best == 0 || (filled_by.is_some() && !full) || pages.iter().all(Option::is_some) {
                continue;
            }
            let valid: Vec<u64> = pages.iter().flatten().copied().collect();
            for mut next in self.moved(&key.1, victim, &valid) {
                next.remove(victim);
                let rest = self.least(at, next);
                best = best.min(rest.saturating_add(valid.len() as u32));
            }
        }
        self.known.insert(key, best);
        best
    }

    /// Returns the units after a write; `None` if there is no room.
    fn written(&self, at: usize, units: &[Unit]) -> Option<Vec<Unit>> {
        let (page, handle) = self.writes[at];
        let mut units = units.to_vec();
        for content in units.iter_mut().flat_map(|(_, pages)| pages) {
            if *content == Some(page) {
                *content = None;
            }
        }
        let open = |(by, pages): &Unit| *by == Some(handle) && pages.len() < self.unit_pages;
        match units.iter().position(open) {
            Some(open) => units[open].1.push(Some(page)),
            None if units.len() < self.units => units.push((Some(handle), vec![Some(page)])),
            None => return None,
        }
        Some(units)
    }

    /// Returns all ways to move pages of a victim to units for relocated data, including new ones.
    fn moved(&self, units: &[Unit], victim: usize, pages: &[u64]) -> Vec<Vec<Unit>> {
        let Some((page, rest)) = pages.split_first() else { return vec![units.to_vec()] };
        let mut all = Vec::new();
        for to in 0..=units.len() {
            let mut next = units.to_vec();
            if to == units.len() {
                if units.len() == self.units {
                    continue;
                }
                next.push((None, Vec::new()));
            }
            if to == victim || next[to].0.is_some() || next[to].1.len() == self.unit_pages {
                continue;
            }
            next[to].1.push(Some(*page));
            all.extend(self.moved(&next, victim, rest));
        }
        all
    }
}

/// Returns a device of 234 reclaim units of 64 pages, 200 of them logical.
fn config(handles: u16) -> DeviceConfig {
    DeviceConfig {
        capacity: Bytes(200 * UNIT * PAGE),
        page: Bytes(PAGE),
        reclaim_unit: ReclaimUnitConfig { size: Bytes(UNIT * PAGE), count: Some(234) },
        overprovisioning: None,
        handles,
        groups: 1,
        isolation: Isolation::Initially,
        handle_isolation: Default::default(),
        fdp: true,
        streams: 0,
        gc: GcConfig {
            background_free: 0.0,
            destination: Some(Destination::Generation),
            ..GcConfig::default()
        },
        namespaces: Vec::new(),
        timing: None,
        endurance: None,
        firmware: Default::default(),
        service: ServiceConfig::default(),
    }
}

/// Returns the geometry of a device too small for the reserve of a real one: the search has none.
fn tiny(units: u64, unit_pages: u64, pages: u64, handles: u16) -> Geometry {
    let mut geometry = Geometry::resolve(&config(handles)).unwrap();
    geometry.ru_count = units as u32;
    geometry.pages_per_ru = unit_pages as u32;
    geometry.logical_pages = pages;
    geometry.namespaces = std::iter::once(0..pages).collect();
    geometry
}

#[test]
fn no_drive_relocates_less_than_the_bound() {
    let (mut positive, mut closest) = (0, 0.0f64);
    for seed in 0..150u64 {
        let mut state = seed;
        let handles = 1 + random(&mut state, 2) as u16;
        let (units, unit_pages) = [(4, 2), (5, 2), (4, 3)][random(&mut state, 3) as usize];
        let spare = unit_pages * (1 + u64::from(handles)).min(units - 2);
        let pages = units * unit_pages - spare + random(&mut state, 2);
        let draw = |_| {
            let page = random(&mut state, pages);
            // The second handle writes the last pages.
            (page, if handles == 2 && page * 3 > pages { 1 } else { 0 })
        };
        let writes: Writes = (0..16).map(draw).collect();
        let least = {
            let mut search = Search {
                units: units as usize,
                unit_pages: unit_pages as usize,
                writes: writes.clone(),
                known: BTreeMap::new(),
            };
            search.least(0, Vec::new())
        };
        let bound = bound(&tiny(units, unit_pages, pages, handles), &writes);
        assert!(bound <= f64::from(least) + 1e-6, "seed {seed}: {bound} above {least}, {writes:?}");
        if least < u32::MAX {
            positive += u32::from(bound > 0.1);
            closest = closest.max(bound / f64::from(least.max(1)));
        }
    }
    // A bound that is always 0, or far off, would test nothing.
    assert!(positive > 5 && closest > 0.2, "above 0 in {positive} cases, at most {closest}");
}

/// On a device of realistic size, the bound is above 1 and below every policy.
#[test]
fn no_policy_is_below_the_bound() {
    let mut config = config(2);
    let geometry = Geometry::resolve(&config).unwrap();
    let mut state = 3;
    let uniform: Writes = (0..120_000).map(|_| (random(&mut state, 200 * UNIT), 0)).collect();
    let sequential: Writes = (0..80_000).map(|n| (n % (200 * UNIT), 0)).collect();
    assert!(bound(&geometry, &sequential) < 1e-6);
    let least = 1.0 + bound(&geometry, &uniform) / uniform.len() as f64;
    assert!(least > 1.3, "{least}");
    for policy in ["greedy", "cost-benefit", "gittins"] {
        config.gc.policy = policy.to_owned();
        let mut device = Device::new(&config, 1).unwrap();
        let commands: Vec<Command> = uniform
            .iter()
            .map(|(page, _)| Command::write(page * u64::from(BLOCKS), BLOCKS, Placement(0)))
            .collect();
        device.apply(&commands);
        let waf = device.counters().waf();
        assert!(waf > least, "{policy}: {waf}, bound {least}");
    }
}
