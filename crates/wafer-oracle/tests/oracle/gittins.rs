//! The promises of wafer's own policy, on devices small enough for a test.

use std::sync::{Arc, Mutex};

use wafer_device::policy::{self, RuView, VictimPolicy};
use wafer_device::{
    Destination, Device, DeviceConfig, GcConfig, Isolation, ReclaimUnitConfig, Relocation,
};
use wafer_interface::Features;
use wafer_interface::{Bytes, Command, Placement, RuId};

use crate::hot_and_cold::{fill as fill_all, hot_and_cold};
use crate::random::random;
use crate::two_handles::two_handles;

/// Pages of a reclaim unit.
const PAGES: u64 = 64;
/// Number of logical reclaim units.
const RUS: u64 = 1500;

/// A device of 1,500 logical reclaim units of 64 pages and three handles.
fn device(policy: &str, spare: u64) -> DeviceConfig {
    let page = 32768;
    let mut config = two_handles(policy, Isolation::Initially);
    config.page = Bytes(page);
    config.capacity = Bytes(RUS * PAGES * page);
    config.reclaim_unit = ReclaimUnitConfig { size: Bytes(PAGES * page), count: Some(RUS + spare) };
    config.handles = 3;
    config.gc = GcConfig { policy: policy.to_owned(), ..GcConfig::default() };
    config
}

fn write(page: u64, handle: u16) -> Command {
    Command::write(page * 64, 64, Placement(handle))
}

fn fill() -> Vec<Command> {
    let all = RUS * PAGES;
    (0..all).map(|page| write(page, u16::from(page >= all * 9 / 10))).collect()
}

/// Returns the WAF of four device writes after five. Of every five pages, three overwrite the first nine tenths in
/// order through handle 0, one overwrites them at random, mostly their first fifth, through handle 2, and one the last
/// tenth through handle 1.
fn three_streams(config: &DeviceConfig) -> f64 {
    let mut device = Device::new(config, 1).unwrap();
    device.apply(&fill());
    let (all, most) = (RUS * PAGES, RUS * PAGES * 9 / 10);
    let (mut seed, mut next) = (1, 0);
    let commands: Vec<Command> = (0..9 * all)
        .map(|at| match at % 5 {
            0 => write(most + random(&mut seed, all - most), 1),
            1 => {
                let space = if random(&mut seed, 4) == 0 { most } else { most / 5 };
                write(random(&mut seed, space), 2)
            }
            _ => {
                next = (next + 1) % most;
                write(next, 0)
            }
        })
        .collect();
    let (learning, counted) = commands.split_at(5 * all as usize);
    device.apply(learning);
    device.reset_counters();
    device.apply(counted);
    assert_eq!(device.check_invariants(), Ok(()));
    device.counters().waf()
}

#[test]
fn a_sequential_stream_is_left_alone_where_space_is_scarce() {
    // OP 7 %: reclaim units of the sequential stream must not be collected while most of their pages are valid.
    let [greedy, gittins] = ["greedy", "gittins"].map(|p| three_streams(&device(p, RUS * 7 / 100)));
    assert!(gittins - 1.0 < 0.95 * (greedy - 1.0), "gittins {gittins}, greedy {greedy}");
}

#[test]
fn uniform_traffic_costs_what_it_costs_with_greedy() {
    let waf = |policy: &str| {
        let mut device = Device::new(&device(policy, RUS * 14 / 100), 1).unwrap();
        device.apply(&(0..RUS * PAGES).map(|page| write(page, 0)).collect::<Vec<_>>());
        device.reset_counters();
        let mut seed = 1;
        let pages = RUS * PAGES;
        device
            .apply(&(0..4 * pages).map(|_| write(random(&mut seed, pages), 0)).collect::<Vec<_>>());
        device.counters().waf()
    };
    let (greedy, gittins) = (waf("greedy"), waf("gittins"));
    assert!(gittins < 1.015 * greedy, "gittins {gittins}, greedy {greedy}");
}

/// Checks each victim against the mean of earlier ones.
struct Limited {
    policy: Box<dyn VictimPolicy>,
    seen: Features,
    mean: Option<f64>,
    /// Number of victims, and of those that cost more than the mean but were allowed.
    counts: Arc<Mutex<(usize, usize)>>,
}

impl VictimPolicy for Limited {
    fn select(&mut self, rus: &mut RuView<'_>) -> Option<RuId> {
        rus.features(&mut self.seen);
        let least = *self.seen.valid.iter().min()?;
        let victim = self.policy.select(rus)?;
        let valid = rus.valid(victim)?;
        let pages = f64::from(rus.pages_per_ru);
        let (share, cost) =
            (f64::from(valid) / pages, f64::from(valid) / (pages - f64::from(valid)));
        let mean = self.mean.get_or_insert(share);
        let usual = *mean / (1.0 - *mean);
        assert!(valid == least || cost <= 3.0 * usual + 1.0, "{valid} valid, usual cost {usual}");
        *mean += 0.002 * (share - *mean);
        let mut counts = self.counts.lock().unwrap();
        *counts = (counts.0 + 1, counts.1 + usize::from(cost > usual));
        Some(victim)
    }
}

#[test]
fn no_victim_costs_much_more_than_the_mean() {
    let config = two_handles("gittins", Isolation::Persistently);
    let counts = Arc::new(Mutex::new((0, 0)));
    let policy = Box::new(Limited {
        policy: policy::make(&config.gc).unwrap(),
        seen: Features::default(),
        mean: None,
        counts: counts.clone(),
    });
    let mut device = Device::with_policy(&config, policy, 3, ()).unwrap();
    device.apply(&fill_all());
    device.apply(&hot_and_cold(60_000, &mut 1));
    let (victims, dear) = *counts.lock().unwrap();
    assert!(victims > 1000 && dear > victims / 10, "{dear} of {victims}");
}

#[test]
fn generations_fit_the_spare_space() {
    let generations = |config: &DeviceConfig| match config.resolve().unwrap().1.relocation {
        Relocation::ByHandle(generations) => generations,
        other => panic!("{other:?}"),
    };
    // Three handles need fifteen spare reclaim units for each generation.
    assert_eq!([44, 45, 120].map(|spare| generations(&device("gittins", spare))), [2, 3, 3]);
    // An explicit destination is followed.
    let mut config = device("gittins", 44);
    config.gc.destination = Some(Destination::Generation);
    assert_eq!(generations(&config), 3);
}
