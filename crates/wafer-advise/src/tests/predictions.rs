//! The next part of the same traffic reaches the predicted WAF, for eight kinds of stationary traffic.

use wafer_device::Device;
use wafer_interface::{Command, Placement};

use super::*;

/// Logical pages in use.
const PAGES: u64 = 16_384;
const LEARNED: usize = 120_000;
const NEXT: usize = 60_000;
/// Maximum relative difference between achieved and predicted WAF.
const MOST_ERROR: f64 = 0.05;

/// A kind of traffic: the page of each write, given two random numbers and the write's number.
type Kind = fn(u64, u64, u64) -> u64;

const KINDS: &[(&str, Kind)] = &[
    ("uniform", |draw, _, _| draw % PAGES),
    ("80/20", |draw, which, _| hot(draw, which, 80, 5)),
    ("90/10", |draw, which, _| hot(draw, which, 90, 10)),
    ("95/5", |draw, which, _| hot(draw, which, 95, 20)),
    ("three classes", |draw, which, _| match which % 10 {
        0..=5 => draw % (PAGES / 16),
        6..=8 => PAGES / 16 + draw % (PAGES / 4),
        _ => PAGES * 5 / 16 + draw % (PAGES * 11 / 16),
    }),
    ("ring and random", |draw, _, number| match number % 2 {
        0 => number / 2 % (PAGES / 2),
        _ => PAGES / 2 + draw % (PAGES / 2),
    }),
    ("ring and hot pages", |draw, which, number| match number % 2 {
        0 => number / 2 % (PAGES / 4),
        _ => PAGES / 4 + hot(draw, which, 80, 5) % (PAGES * 3 / 4),
    }),
    // Each address is about half as likely as one with half its number.
    ("skewed", |draw, which, _| {
        let unit = (draw % 1_000_003) as f64 / 1_000_003.0;
        ((PAGES as f64).powf(unit) as u64 + which % 7) % PAGES
    }),
];

/// Returns a page: `percent` of the writes go to the first of `parts` parts.
fn hot(draw: u64, which: u64, percent: u64, parts: u64) -> u64 {
    let first = PAGES / parts;
    if which % 100 < percent { draw % first } else { first + draw % (PAGES - first) }
}

#[test]
fn predictions_hold_for_what_follows_of_stationary_traffic() {
    let mut placed = 0;
    for (name, kind) in KINDS {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
        let pages: Vec<u64> = (0..(LEARNED + NEXT) as u64)
            .map(|number| kind(rng.next_u64() >> 8, rng.next_u64() >> 8, number))
            .collect();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        // Every page is written once first, so that the counted traffic overwrites.
        for (number, page) in (0..PAGES).chain(pages[..LEARNED].iter().copied()).enumerate() {
            writeln!(file, "{number} 0 {} 8 0", page * 8).unwrap();
        }
        file.flush().unwrap();
        let advice = advice_on(&file, &[], 4);
        // Stationary traffic must give no warnings.
        assert!(!advice.notices.iter().any(|n| n.contains("stationary")), "{:?}", advice.notices);

        let achieved = |place: &dyn Fn(u64) -> Placement| {
            let mut device = Device::new(&advice.simulated, 2).unwrap();
            let mut write = |page: &u64| {
                device.apply(&[Command::write(page * 8, 8, place(*page))]);
                device.counters()
            };
            (0..PAGES).for_each(|page| _ = write(&page));
            let mut before = Default::default();
            pages[..LEARNED].iter().for_each(|page| before = write(page));
            let mut after = before;
            pages[LEARNED..].iter().for_each(|page| after = write(page));
            (after.media_bytes - before.media_bytes) as f64
                / (after.host_bytes - before.host_bytes) as f64
        };
        let check = |what: &str, predicted: f64, achieved: f64| {
            let error = (achieved / predicted - 1.0).abs();
            assert!(error < MOST_ERROR, "{name}, {what}: {predicted:.3} and then {achieved:.3}");
        };
        check("no placement", of_kind(&advice, SchemeKind::None), achieved(&|_| Placement::NONE));
        if let Some(map) = &advice.map {
            placed += 1;
            let best = advice.schemes.iter().find(|scheme| scheme.name == advice.best).unwrap();
            check(&advice.best, best.waf, achieved(&|page| map.whole.at(0, page * 8).0));
        }
    }
    assert!(placed >= 4, "placement by address was recommended for {placed} kinds only");
}

/// The prediction for traffic whose hot pages move comes with a warning.
#[test]
fn traffic_that_changes_is_told() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(12);
    let mut file = tempfile::NamedTempFile::new().unwrap();
    for number in 0..60_000u64 {
        // The address space fills as the traffic proceeds.
        let page = rng.next_u64() % (PAGES / 4) + PAGES * 3 / 4 * number / 60_000;
        writeln!(file, "{number} 0 {} 8 0", page * 8).unwrap();
    }
    file.flush().unwrap();
    let advice = advice_on(&file, &[], 4);
    let told = |text: &str| advice.notices.iter().any(|notice| notice.contains(text));
    assert!(told("not stationary") && told("never written before"), "{:?}", advice.notices);
}

/// Hot and cold pages on a drive with one handle: the host can do nothing, so firmware that separates them is
/// recommended.
#[test]
fn firmware_is_recommended_where_the_host_cannot_help() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(13);
    let mut file = tempfile::NamedTempFile::new().unwrap();
    for number in 0..160_000u64 {
        let draw = rng.next_u64();
        let page = hot(draw >> 20, draw % 1000, 90, 10);
        // An odd factor scatters the hot pages over all addresses.
        writeln!(file, "{number} 0 {} 8 0", page * 9973 % PAGES * 8).unwrap();
    }
    file.flush().unwrap();
    let advice = advice_on(&file, &[], 1);
    let waf = |kind| of_kind(&advice, kind);
    let firmware = waf(SchemeKind::Firmware);
    assert!(firmware < 0.98 * waf(SchemeKind::None), "{firmware} {}", waf(SchemeKind::None));
    let asked = advice.firmware.as_ref().expect("firmware to ask for");
    let best = advice.schemes.iter().find(|scheme| scheme.name == advice.best).unwrap();
    let theirs = advice.schemes.iter().find(|scheme| scheme.name.ends_with(asked)).unwrap();
    assert!(theirs.waf < best.waf, "{asked} {}, {} {}", theirs.waf, best.name, best.waf);
    assert!(
        advice.notices.iter().any(|n| n.contains("ask the vendor for it")),
        "{:?}",
        advice.notices
    );
}
