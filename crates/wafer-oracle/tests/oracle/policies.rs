//! The defining property of each policy, checked at each of its decisions.

use std::sync::{Arc, Mutex};

use wafer_device::policy::{self, RuView, VictimPolicy};
use wafer_device::{Destination, Device, Isolation, ReclaimUnitConfig, Separation};
use wafer_interface::Features;
use wafer_interface::{Bytes, Command, Owner, Placement, RuId};
use wafer_oracle::Event;

use crate::hot_and_cold::{fill, hot_and_cold, waf};
use crate::random::random;
use crate::two_handles::{UNIT, two_handles};
use crate::witness::Heard;

/// Wraps a policy, and passes what it saw and chose to a check.
struct Watched<F> {
    policy: Box<dyn VictimPolicy>,
    seen: Features,
    check: F,
}

impl<F: FnMut(&Features, usize) + Send> VictimPolicy for Watched<F> {
    fn select(&mut self, rus: &mut RuView<'_>) -> Option<RuId> {
        rus.features(&mut self.seen);
        let victim = self.policy.select(rus)?;
        let at = self.seen.ru.iter().position(|ru| *ru == victim.0).unwrap();
        (self.check)(&self.seen, at);
        Some(victim)
    }
}

/// Watches the choices of a policy while hot and cold data is written. Returns how many it made.
fn watch(policy: &str, check: impl FnMut(&Features, usize) + Send + 'static) -> u64 {
    let config = two_handles(policy, Isolation::Persistently);
    let watched = Box::new(Watched {
        policy: policy::make(&config.gc).unwrap(),
        seen: Features::default(),
        check,
    });
    let mut device = Device::with_policy(&config, watched, 3, ()).unwrap();
    device.apply(&fill());
    device.apply(&hot_and_cold(60_000, &mut 1));
    assert_eq!(device.check_invariants(), Ok(()));
    device.counters().forced_gc
}

fn by(score: impl Fn(usize) -> f64, count: usize) -> usize {
    (0..count).min_by(|a, b| score(*a).total_cmp(&score(*b))).unwrap()
}

#[test]
fn greedy_takes_the_fewest_valid_pages() {
    let choices = watch("greedy", |seen, at| {
        assert_eq!(Some(&seen.valid[at]), seen.valid.iter().min());
    });
    assert!(choices > 1000);
}

#[test]
fn cost_benefit_and_cost_age_time_take_the_best_of_their_scores() {
    watch("cost-benefit", |seen, at| {
        let score = |i: usize| {
            let valid = f64::from(seen.valid[i]);
            -(UNIT as f64 - valid) * (seen.age[i] + 1) as f64 / valid
        };
        assert!(seen.valid[at] == 0 || score(at) <= score(by(score, seen.len())));
    });
    watch("cost-age-time", |seen, at| {
        let score = |i: usize| {
            let valid = f64::from(seen.valid[i]);
            let cost = valid / (UNIT as f64 - valid);
            cost * f64::from(seen.erases[i] + 1) / (seen.age[i] + 1) as f64
        };
        assert!(seen.valid[at] == 0 || score(at) <= score(by(score, seen.len())));
    });
}

#[test]
fn windowed_greedy_stays_in_its_window() {
    watch("windowed-greedy", |seen, at| {
        let older = |i: usize| seen.age.iter().filter(|age| **age > seen.age[i]).count();
        let window = seen.len().div_ceil(2);
        assert!(older(at) <= window, "{} of {}", older(at), seen.len());
        // Several units may have the same age; their order is not visible here.
        let emptier = |i: &usize| seen.valid[*i] < seen.valid[at] && older(*i) + 8 < window;
        assert_eq!((0..seen.len()).find(emptier), None);
    });
}

#[test]
fn fifo_takes_the_oldest_and_random_takes_all_ages() {
    watch("fifo", |seen, at| assert_eq!(seen.age[at], *seen.age.iter().max().unwrap()));
    let ranks = Arc::new(Mutex::new((0usize, 0usize)));
    let sums = ranks.clone();
    watch("random", move |seen, at| {
        let older = seen.age.iter().filter(|age| **age > seen.age[at]).count();
        let mut sums = sums.lock().unwrap();
        *sums = (sums.0 + older, sums.1 + seen.len());
    });
    let (older, all) = *ranks.lock().unwrap();
    let mean = older as f64 / all as f64;
    assert!((mean - 0.5).abs() < 0.05, "{mean}");
}

#[test]
fn d_choices_takes_the_best_of_ten_drawn() {
    let ranks = Arc::new(Mutex::new((0.0, 0)));
    let sums = ranks.clone();
    watch("d-choices", move |seen, at| {
        let better = seen.valid.iter().filter(|valid| **valid < seen.valid[at]).count() as f64;
        let equal = seen.valid.iter().filter(|valid| **valid == seen.valid[at]).count() as f64;
        let mut sums = sums.lock().unwrap();
        *sums = (sums.0 + (better + equal / 2.0) / seen.len() as f64, sums.1 + 1);
    });
    let (sum, choices) = *ranks.lock().unwrap();
    // The smallest of ten uniform numbers is 1/11 on average; with greedy it would be nearly 0.
    let mean = sum / f64::from(choices);
    assert!((mean - 1.0 / 11.0).abs() < 0.01, "{mean}");
}

/// Returns the fraction of the spare pages that each handle has, summed over choices.
fn spare(policy: &str) -> [f64; 2] {
    let sums = Arc::new(Mutex::new([0.0; 2]));
    let inner = sums.clone();
    let mut choices = 0;
    watch(policy, move |seen, _| {
        choices += 1;
        // The policy starts as greedy: it knows nothing yet.
        if choices > 1000 {
            for i in 0..seen.len() {
                let dead = UNIT as f64 - f64::from(seen.valid[i]);
                inner.lock().unwrap()[usize::from(seen.owner[i])] += dead;
            }
        }
    });
    let sums = *sums.lock().unwrap();
    [sums[0] / (sums[0] + sums[1]), sums[1] / (sums[0] + sums[1])]
}

#[test]
fn quotas_share_spare_space_as_they_say() {
    // 80 % of the writes go to 20 % of the pages: equal shares, shares by size, and
    // sqrt(0.8 * 0.2) = sqrt(0.2 * 0.8), equal again.
    for (policy, hot) in [("quota-fixed", 0.5), ("quota-proportional", 0.2), ("quota-sqrt", 0.5)] {
        let [share, _] = spare(policy);
        assert!((share - hot).abs() < 0.06, "{policy}: {share}");
    }
    let [share, _] = spare("quota-marginal");
    assert!((0.4..0.6).contains(&share), "quota-marginal: {share}");
}

#[test]
fn spare_space_by_need_beats_greedy_on_isolated_streams() {
    let of = |policy: &str| waf(&two_handles(policy, Isolation::Persistently), 1);
    let greedy = of("greedy");
    // Closed forms at OP 14 %: 2.98 with the best split, 4.0 for greedy. Policies that learn how pages die learn little
    // here, from reclaim units of 64 pages.
    for (policy, most) in [
        ("quota-sqrt", 0.86),
        ("quota-marginal", 0.86),
        ("hazard", 0.95),
        ("look-ahead", 0.95),
        ("gittins", 0.92),
    ] {
        let waf = of(policy);
        assert!(waf < most * greedy, "{policy}: {waf}, greedy {greedy}");
    }
}

#[test]
fn relocated_data_of_persistently_isolated_handles_never_mixes() {
    let mut config = two_handles("greedy", Isolation::Persistently);
    config.gc.destination = Some(Destination::Shared);
    let error = config.resolve().unwrap_err();
    assert_eq!(error.key, "gc.destination");
    for destination in [Destination::Host, Destination::Handle, Destination::Generation] {
        config.gc.destination = Some(destination);
        let mut device = Device::new(&config, 1).unwrap();
        device.apply(&fill());
        device.apply(&hot_and_cold(30_000, &mut 1));
        assert_eq!(device.gc_counters(), None);
        let owners = (0..234).filter_map(|ru| device.owner(RuId(ru)));
        assert!(owners.into_iter().all(|owner| owner != Owner::Gc), "{destination:?}");
        assert_eq!(device.check_invariants(), Ok(()));
    }
}

#[test]
fn destinations_say_whose_relocated_data_shares_a_reclaim_unit() {
    use Destination::{Generation, Handle, Host, Isolation as ByIsolation, Shared};
    for destination in [ByIsolation, Shared, Handle, Generation, Host] {
        let mut config = two_handles("greedy", Isolation::Initially);
        config.gc.destination = Some(destination);
        let mut device = Device::with_observer(&config, 1, Heard::with_attribution()).unwrap();
        device.apply(&fill());
        device.apply(&hot_and_cold(30_000, &mut 1));
        let mixed = (0..234).any(|ru| device.owner(RuId(ru)) == Some(Owner::Gc));
        assert_eq!(mixed, matches!(destination, ByIsolation | Shared), "{destination:?}");
        // With one log, relocated data is not distinguished from host writes.
        let heard = &device.observer().events;
        let moved = heard.iter().any(|e| matches!(e, Event::Closed(closed) if closed.relocated));
        assert_eq!(moved, destination != Host, "{destination:?}");
    }
}

#[test]
fn generations_stay_apart_up_to_the_last() {
    let mut config = two_handles("greedy", Isolation::Initially);
    config.gc.destination = Some(Destination::Generation);
    config.gc.generations = 2;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let inner = seen.clone();
    let check = move |seen: &Features, at: usize| {
        inner.lock().unwrap().push((seen.owner[at], seen.generation[at]));
    };
    let policy = policy::make(&config.gc).unwrap();
    let watched = Box::new(Watched { policy, seen: Features::default(), check });
    let mut device = Device::with_policy(&config, watched, 3, ()).unwrap();
    device.apply(&fill());
    device.apply(&hot_and_cold(60_000, &mut 1));
    let mut kinds = seen.lock().unwrap().clone();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
}

/// Writes through one handle to 800 logical RUs of 16 pages, four fifths of them to a tenth of the space.
fn mixed(separation: Option<Separation>) -> f64 {
    let page = 65536;
    let mut config = two_handles("greedy", Isolation::Initially);
    config.page = Bytes(page);
    config.capacity = Bytes(800 * 16 * page);
    config.reclaim_unit = ReclaimUnitConfig { size: Bytes(16 * page), count: Some(936) };
    config.handles = 1;
    config.gc.destination = None;
    config.gc.separation = separation;
    let mut device = Device::new(&config, 1).unwrap();
    let pages = 800 * 16;
    let mut seed = 7;
    let mut writes = |count: u64| -> Vec<Command> {
        (0..count)
            .map(|_| {
                let space = if random(&mut seed, 5) == 0 { pages } else { pages / 10 };
                Command::write(random(&mut seed, space) * 128, 128, Placement(0))
            })
            .collect()
    };
    device
        .apply(&(0..pages).map(|p| Command::write(p * 128, 128, Placement(0))).collect::<Vec<_>>());
    device.apply(&writes(8 * pages));
    device.reset_counters();
    device.apply(&writes(8 * pages));
    assert_eq!(device.check_invariants(), Ok(()));
    device.counters().waf()
}

#[test]
fn separation_without_hints_helps_where_one_handle_mixes_hot_and_cold() {
    let together = mixed(None);
    for rule in [Separation::Sepbit, Separation::Midas, Separation::MultiLog] {
        let apart = mixed(Some(rule));
        assert!(apart < 0.97 * together, "{rule:?}: {apart}, together {together}");
    }
}

#[test]
fn separation_places_relocated_data_itself() {
    let mut config = two_handles("greedy", Isolation::Initially);
    config.gc.separation = Some(Separation::Sepbit);
    assert_eq!(config.resolve().unwrap_err().key, "gc.separation");
}
