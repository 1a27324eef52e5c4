use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::Value;
use wafer_interface::{Command, Placement, stream};
use wafer_record::{HandleKey, Precondition, Volume};

use super::*;
use crate::{FilledDrives, FioSource, Options, Progress, SteadyStates, Workload};
use wafer_experiment::source::Host;

/// Single-page writes at scattered addresses, alternating between two placement handles.
struct Scatter {
    state: u64,
    pages: u64,
    left: u64,
}

impl Scatter {
    fn fill(&mut self, out: &mut Vec<Command>, max: usize) {
        for _ in 0..max.min(self.left as usize) {
            self.left -= 1;
            self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let page = (self.state >> 33) % self.pages;
            out.push(Command::write(page * 8, 8, Placement((self.left % 2) as u16)));
        }
    }
}

fn experiment(volume: Option<&str>, samples: usize) -> Experiment {
    let text = "capacity = \"64MiB\"\nhandles = 4\noverprovisioning = 0.5\n\
                [reclaim_unit]\nsize = \"1MiB\"\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.toml");
    std::fs::write(&path, text).unwrap();
    Experiment {
        name: "small".into(),
        device: wafer_config::load_device(path.to_str().unwrap(), &[]).unwrap(),
        workload: Workload::new(FioSource { path: "none".into(), text: String::new() }),
        volume: volume.map(|v| v.parse().unwrap()),
        samples,
        pace: None,
        pace_from: None,
        pace_place: None,
        seed: 7,
        precondition: Precondition::default(),
        compare: None,
        checks: None,
        attribution: false,
        timed: false,
    }
}

fn scatter(experiment: &Experiment, commands: u64, total_bytes: Option<u64>) -> Built {
    let pages = experiment.device.geometry.logical_pages;
    let mut scatter = Scatter { state: experiment.seed, pages, left: commands };
    let stream = Box::new(stream::from_fn(move |out, max| scatter.fill(out, max)));
    Built {
        host: Host::default(),
        jobs: Vec::new(),
        stream,
        total_bytes,
        memory_bytes: 0,
        ignored: Vec::new(),
        notices: Vec::new(),
    }
}

fn result(experiment: &Experiment, commands: u64, total: Option<u64>) -> Record {
    let built = scatter(experiment, commands, total);
    run_built(experiment, built, None, Control::unattended()).unwrap()
}

#[test]
fn a_run_stops_at_exactly_the_volume() {
    for volume in ["1x", "2.5x", "10MiB", "1000001B"] {
        let experiment = experiment(Some(volume), 100);
        let record = result(&experiment, u64::MAX, None);
        let expected = volume.parse::<Volume>().unwrap().bytes(64 << 20);
        assert_eq!(record.summary.host_bytes, expected, "{volume}");
        assert_eq!(record.timeline.host_bytes.last(), Some(&expected));
        assert!(record.timeline.host_bytes.len() <= 100);
    }
}

#[test]
fn points_are_evenly_spaced_and_the_last_is_the_end() {
    let record = result(&experiment(Some("4x"), 64), u64::MAX, None);
    let expected: Vec<u64> = (1..=64).map(|k| k * (4 << 20)).collect();
    assert_eq!(record.timeline.host_bytes, expected);
    assert_eq!(record.timeline.media_bytes.last(), Some(&record.summary.media_bytes));
    assert!(record.summary.waf > 1.0);
}

#[test]
fn without_a_total_points_are_thinned_as_they_come() {
    for commands in [1, 255, 256, 257, 5000, 40_000, 100_001] {
        let record = result(&experiment(None, 10), commands, None);
        let points = &record.timeline.host_bytes;
        assert!(!points.is_empty() && points.len() <= 10, "{commands}: {points:?}");
        assert_eq!(points.last(), Some(&(commands * 4096)));
        let steps: Vec<u64> = points.windows(2).map(|w| w[1] - w[0]).collect();
        let (_, inner) = steps.split_last().unwrap_or((&0, &[]));
        assert!(inner.windows(2).all(|w| w[0] == w[1]), "{commands}: {points:?}");
    }
}

#[test]
fn handles_that_were_written_and_gc_have_a_series() {
    let record = result(&experiment(Some("6x"), 10), u64::MAX, None);
    let keys: Vec<HandleKey> = record.timeline.handles.keys().copied().collect();
    assert_eq!(keys, [HandleKey::Handle(0), HandleKey::Handle(1), HandleKey::Gc]);
    let last = |key| {
        let series = &record.timeline.handles[&key];
        (series.host_bytes.last().copied().unwrap(), series.media_bytes.last().copied().unwrap())
    };
    let (first, second) = (last(HandleKey::Handle(0)), last(HandleKey::Handle(1)));
    let gc = last(HandleKey::Gc);
    assert_eq!(first.0 + second.0, record.summary.host_bytes);
    // Bytes that GC relocated out of the handles' units, and all bytes that it relocated.
    assert_eq!(gc.0, first.1 - first.0 + second.1 - second.0);
    assert_eq!(gc.1, record.summary.media_bytes - record.summary.host_bytes);
}

#[test]
fn a_precondition_is_not_counted_but_felt() {
    let mut experiment = experiment(Some("1x"), 10);
    let fresh = result(&experiment, u64::MAX, None);
    experiment.precondition = "sequential+random:2".parse().unwrap();
    let full = result(&experiment, u64::MAX, None);
    assert_eq!(full.summary.host_bytes, 64 << 20);
    assert_eq!(fresh.summary.waf, 1.0);
    assert!(full.summary.waf > 1.2, "{}", full.summary.waf);
}

#[test]
fn the_same_seed_gives_the_same_digest_however_many_threads() {
    let experiments: Vec<Experiment> =
        (0..6).map(|seed| experiment(Some("5x"), 50).with_seed(seed % 3)).collect();
    let digests = |threads: usize| -> Vec<Option<String>> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        use rayon::prelude::*;
        pool.install(|| experiments.par_iter().map(|e| result(e, u64::MAX, None).digest).collect())
    };
    let one = digests(1);
    assert_eq!(one, digests(2));
    assert_eq!(one[0], one[3]);
    assert_ne!(one[0], one[1]);
}

#[test]
fn a_run_can_be_followed_and_stopped() {
    let experiment = experiment(Some("1000x"), 10);
    let (cancel, seen) = (AtomicBool::new(false), AtomicU64::new(0));
    let progress = |p: Progress| {
        seen.store(p.done, Ordering::Relaxed);
        assert_eq!(p.total, Some(64_000 << 20));
        cancel.store(true, Ordering::Relaxed);
    };
    let control = Control { cancel: &cancel, progress: &progress, watch: None, steady: None };
    let error =
        run_built(&experiment, scatter(&experiment, u64::MAX, None), None, control).unwrap_err();
    assert!(matches!(error, LabError::Cancelled));
    assert!(seen.load(Ordering::Relaxed) > 0);
}

#[test]
fn options_alone_need_a_device_and_a_job() {
    let error = Experiment::from_options(&Options::default()).unwrap_err();
    assert_eq!(error.to_string(), "device: missing; it has no default");
}

#[test]
fn a_misspelled_table_is_told_before_what_is_then_missing() {
    for (text, message) in [
        (
            "[devices]\nprofile = \"warp\"\n",
            "e.toml:1: devices: unknown key; did you mean `device`?",
        ),
        (
            "device = \"warp\"\n[[tenant]]\nfio = \"a.fio\"\n",
            "e.toml:2: tenant: unknown key; did you mean `tenants`?",
        ),
    ] {
        let error = Experiment::from_text(Path::new("e.toml"), text, &Options::default());
        assert_eq!(error.unwrap_err().to_string(), message);
    }
}

/// Figures that a stream counts while it generates commands, such as the checkpoints of a file system, match the
/// commands that the drive has seen.
#[test]
fn a_stream_makes_hardly_more_commands_than_the_volume_takes() {
    for commands in [1u64, 20, 5000, 100_000] {
        let experiment = experiment(Some(&format!("{}KiB", 4 * commands)), 10);
        let made = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&made);
        let mut scatter =
            Scatter { state: 1, pages: experiment.device.geometry.logical_pages, left: u64::MAX };
        let stream = stream::from_fn(move |out, max| {
            let before = out.len();
            scatter.fill(out, max);
            counted.fetch_add((out.len() - before) as u64, Ordering::Relaxed);
        });
        let built = Built { stream: Box::new(stream), ..self::scatter(&experiment, 0, None) };
        let record = run_built(&experiment, built, None, Control::unattended()).unwrap();
        assert_eq!(record.summary.host_bytes, 4096 * commands);
        assert!(made.load(Ordering::Relaxed) < commands + 16, "{commands}: {made:?}");
    }
}

/// Snapshots of a run with a clock are in model time, however fast the simulation is.
#[test]
fn snapshots_of_a_run_with_a_clock_have_model_time() {
    let text = "time = true\nvolume = \"1x\"\n[device]\nprofile = \"pm9a3\"\ncapacity = \"1GiB\"\n\
                reclaim_unit.size = \"4MiB\"\n[workload]\nmodel = \"zones\"\nzone = \"16MiB\"\n";
    let experiment = Experiment::from_text(Path::new("t.toml"), text, &Options::default()).unwrap();
    let seen = std::sync::Mutex::new(0.0);
    let watch = |snapshot: wafer_record::Snapshot| *seen.lock().unwrap() = snapshot.seconds;
    let control = Control { watch: Some(&watch), ..Control::unattended() };
    let record = run(&experiment, control).unwrap();
    let seconds = record.time.unwrap().seconds;
    assert!(seconds > 0.5, "1 GiB at 1.5 GB/s: {seconds}");
    assert_eq!(*seen.lock().unwrap(), seconds);
}

/// Counts how often a drive was found.
struct Counted<'a>(FilledDrives<'a>, AtomicU64);

impl SteadyStates for Counted<'_> {
    fn find(&self, key: &Value) -> Option<Box<dyn Read>> {
        let found = self.0.find(key);
        self.1.fetch_add(u64::from(found.is_some()), Ordering::Relaxed);
        found
    }

    fn keep(&self, key: &Value, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) {
        self.0.keep(key, write);
    }

    fn remove(&self, key: &Value) {
        self.0.remove(key);
    }

    fn saves_filled(&self) -> bool {
        self.0.saves_filled()
    }
}

/// A run on a drive that another run has filled gives the same result as on its own, whatever the policy learned from
/// the fill.
#[test]
fn a_drive_is_filled_once_for_runs_that_begin_alike() {
    let with = |experiment: &Experiment, filled: &Counted<'_>| {
        let control = Control { steady: Some(filled), ..Control::unattended() };
        run_built(experiment, scatter(experiment, 40_000, None), None, control).unwrap()
    };
    let results = |record: &Record| {
        let mut value = serde_json::to_value(record).unwrap();
        for key in ["performance", "provenance"] {
            value[key] = Value::Null;
        }
        value
    };
    let precondition: Precondition = "sequential+random:1.5".parse().unwrap();
    for policy in wafer_device::policy::POLICIES {
        let mut one = Experiment { precondition, ..experiment(None, 20) };
        one.device.config.gc.policy = policy.name.to_owned();
        let mut other = one.clone();
        other.device.config.gc.forced_free *= 2.0;
        let another = Experiment { seed: 8, ..one.clone() };
        let all = [&one, &one, &other, &another, &one];
        let filled = Counted(FilledDrives::shared(all.into_iter(), None), AtomicU64::new(0));
        for experiment in all {
            let alone = results(&result(experiment, 40_000, None));
            assert_eq!(results(&with(experiment, &filled)), alone, "{}", policy.name);
        }
        assert_eq!(filled.1.into_inner(), 2, "{}: what is not shared is not kept", policy.name);
    }
}
