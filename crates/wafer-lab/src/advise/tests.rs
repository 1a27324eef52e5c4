//! Known streams with hidden labels: advice finds them, and costs no more than their labels.

use std::io::Write as _;
use std::sync::atomic::AtomicBool;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore as _, SeedableRng as _};

use super::*;
use crate::load_device;

/// A mixture of three streams over 64 MiB: a circular log of the first half in 64 KiB, hot random pages
/// in the third quarter, cold random pages in the last. The third column tells the stream, or not.
fn mixture(labelled: bool) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut draw = |n: u64| rng.next_u64() % n;
    let mut log = 0u64;
    for number in 0..60_000u64 {
        let (stream, page, pages) = match draw(10) {
            0 => {
                log = (log + 16) % 8192;
                (0, log, 16)
            }
            1..=8 => (1, 8192 + draw(4096), 1),
            _ => (2, 12_288 + draw(4096), 1),
        };
        let stream = if labelled { stream } else { 0 };
        writeln!(file, "{number} {stream} {} {} 0", page * 8, pages * 8).unwrap();
    }
    file.flush().unwrap();
    file
}

fn device() -> ResolvedDevice {
    let text = "capacity = \"68MiB\"\noverprovisioning = 0.13\nhandles = 4\n\
        [gc]\nbackground_free = 0.0\n[reclaim_unit]\nsize = \"1MiB\"\n";
    let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    std::fs::write(file.path(), text).unwrap();
    load_device(file.path().to_str().unwrap(), &[]).unwrap()
}

fn advice_on(file: &tempfile::NamedTempFile, set: &[&str], handles: u16) -> Advice {
    let set: Vec<String> = set.iter().map(|s| (*s).to_owned()).collect();
    let traces = TraceSource::from_options(&[file.path().to_owned()], &set).unwrap();
    let workload = Workload::new(traces.clone());
    let options = AdviseOptions { handles, fill: None, ..AdviseOptions::default() };
    let never = AtomicBool::new(false);
    advise(&device(), &workload, Some(&traces), &options, &never, &|_| {}).unwrap()
}

fn of_kind(advice: &Advice, kind: WayKind) -> f64 {
    advice.ways.iter().filter(|w| w.kind == kind).map(|w| w.waf).fold(f64::INFINITY, f64::min)
}

#[test]
fn hidden_streams_are_found_and_placed_as_well_as_by_their_labels() {
    let hidden = advice_on(&mixture(false), &[], 3);
    let none = of_kind(&hidden, WayKind::None);
    let regions = of_kind(&hidden, WayKind::Regions);
    // The truth: the same trace with a volume a stream, joined in the same places.
    let labelled = mixture(true);
    let text = std::fs::read_to_string(labelled.path()).unwrap();
    let mut relabelled = tempfile::NamedTempFile::new().unwrap();
    for line in text.lines() {
        // The stream as a process, so that addresses stay.
        let f: Vec<&str> = line.split(' ').collect();
        writeln!(
            relabelled,
            "8,0 0 1 0.{:09} 1 D W {} + {} [stream{}]",
            f[0].parse::<u64>().unwrap(),
            f[2],
            f[3],
            f[1]
        )
        .unwrap();
    }
    relabelled.flush().unwrap();
    let truth = of_kind(&advice_on(&relabelled, &[], 3), WayKind::Streams);
    let oracle = of_kind(&hidden, WayKind::Oracle);
    assert!(none > truth * 1.1, "the streams matter: {none:.3} without, {truth:.3} with labels");
    assert!(regions < truth * 1.05, "{regions:.3} by regions, {truth:.3} by labels");
    assert!(oracle < regions, "{oracle:.3} with perfect knowledge, {regions:.3} by regions");

    // The groups of the best way are the streams.
    let map = hidden.map.expect("advice by address");
    let group = |page: u64| map.at(0, page * 8).0;
    for (from, to) in [(0u64, 8192), (8192, 12_288), (12_288, 16_384)] {
        let middle = group((from + to) / 2);
        let same = (from..to).filter(|p| group(*p) == middle).count() as f64;
        assert!(same / (to - from) as f64 > 0.95, "pages {from} to {to}");
    }
    assert_ne!(group(10_000), group(14_000));
    assert_ne!(group(10_000), group(4_000));
}

#[test]
fn the_map_of_advice_gives_its_waf_when_it_is_run() {
    let file = mixture(false);
    let advice = advice_on(&file, &[], 4);
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files(&advice).0 {
        assert!(!text.is_empty(), "{name}");
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let waf = |placement: &str| {
        let options = crate::Options {
            device: Some("warp".to_owned()),
            traces: vec![file.path().to_owned()],
            trace_set: vec![format!("placement={placement}")],
            ..crate::Options::default()
        };
        let mut experiment = crate::Experiment::from_options(&options).unwrap();
        experiment.device = device();
        crate::run(&experiment, crate::Control::unattended()).unwrap().summary.waf
    };
    let placed = waf(&format!("map:{}", folder.path().join("map.csv").display()));
    assert!(placed < waf("none") * 0.95, "{placed} against {}", waf("none"));
}

#[test]
fn a_drive_is_scaled_to_the_trace() {
    let file = mixture(false);
    let traces = TraceSource::from_options(&[file.path().to_owned()], &[]).unwrap();
    let options = AdviseOptions { handles: 8, fill: Some(0.8), ..AdviseOptions::default() };
    let mut notices = Vec::new();
    let asked = load_device("pm9d3", &[]).unwrap();
    let scaled = scale::device(&asked, Some(&traces), &options, &mut notices).unwrap();
    let capacity = scaled.logical_bytes() as f64;
    assert!((capacity / (64 << 20) as f64 - 1.25).abs() < 0.01, "{capacity}");
    assert_eq!(scaled.config.reclaim_unit.size.0, 1 << 20);
    assert!(notices.iter().any(|n| n.contains("scaled to the traffic")), "{notices:?}");
}

#[test]
fn lives_are_exposure_over_deaths() {
    let mut life = lives::Life::default();
    for _ in 0..10 {
        life.died(100.0);
    }
    assert!((life.mean() - 100.0).abs() < 1e-9);
    assert!(life.spread() < 1e-6);
    // Ten more that have lived for 300 and still do.
    life.exposure += 3000.0;
    assert!((life.mean() - 400.0).abs() < 1e-9);
}

#[test]
fn groups_are_exact_on_a_line_and_found_in_the_plane() {
    let at = |life: f64, spread: f64| Point { life, spread, weight: 1.0 };
    let mut points = Vec::new();
    for i in 0..30 {
        let wiggle = f64::from(i % 3) * 0.05;
        points
            .push(at([2.0, 6.0, 6.0][i as usize % 3] + wiggle, [1.28, 1.28, 0.1][i as usize % 3]));
    }
    let groups = group::k_means(&points, 3, 1);
    for (i, g) in groups.iter().enumerate() {
        assert_eq!(*g, groups[i % 3], "{groups:?}");
    }
    assert_eq!(group::used(&groups), 3);
    // Mean life alone tells two of them apart.
    let line = group::by_life(&points, 2);
    for (i, g) in line.iter().enumerate() {
        assert_eq!(*g, u16::from(i % 3 > 0), "{line:?}");
    }
}
