//! Known streams with hidden labels: advice finds them, at no higher WAF than with their labels.

use std::collections::HashSet;
use std::io::Write as _;
use std::sync::atomic::AtomicBool;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore as _, SeedableRng as _};
use wafer_config::load_device;

use super::group::Point;
use super::*;

mod predictions;

/// Returns a mixture of three streams over 64 MiB: a circular log over the first half in writes of 64
/// KiB, hot random pages in the third quarter, cold random pages in the last. If `labelled`, the second
/// column names the stream.
fn mixture(labelled: bool) -> tempfile::NamedTempFile {
    mixture_at(labelled, |page| page)
}

/// Returns the same with every page at another address.
fn mixture_at(labelled: bool, place: impl Fn(u64) -> u64) -> tempfile::NamedTempFile {
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
        writeln!(file, "{number} {stream} {} {} 0", place(page) * 8, pages * 8).unwrap();
    }
    file.flush().unwrap();
    file
}

/// Returns a labelled mixture whose streams are processes, so addresses are those of the hidden one.
fn by_process(labelled: &tempfile::NamedTempFile) -> tempfile::NamedTempFile {
    let text = std::fs::read_to_string(labelled.path()).unwrap();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    for line in text.lines() {
        let [time, stream, first, sectors, _] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let time: u64 = time.parse().unwrap();
        writeln!(file, "8,0 0 1 0.{time:09} 1 D W {first} + {sectors} [stream{stream}]").unwrap();
    }
    file.flush().unwrap();
    file
}

fn device() -> ResolvedDevice {
    device_with("")
}

fn device_with(tables: &str) -> ResolvedDevice {
    let text = format!(
        "capacity = \"68MiB\"\noverprovisioning = 0.13\nhandles = 4\n\
         [gc]\nbackground_free = 0.0\n[reclaim_unit]\nsize = \"1MiB\"\n{tables}"
    );
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

#[test]
fn a_volume_is_written_to_the_byte() {
    let text = "[b]\nrw=write\nbs=64k\nsize=100%\n".to_owned();
    let workload = Workload::new(wafer_lab::FioSource { path: "b.fio".into(), text });
    for volume in [68 << 20, (100 << 20) + 4096] {
        let options = AdviseOptions { handles: 2, volume: Some(volume), ..Default::default() };
        let never = AtomicBool::new(false);
        let advice = advise(&device(), &workload, None, &options, &never, &|_| {}).unwrap();
        assert_eq!(advice.write_bytes, volume);
    }
}

/// Hot pages everywhere among cold ones: the map has a range for each, more than fio reads. With another seed, other
/// pages are hot.
#[test]
fn a_map_too_long_for_fio_and_gains_by_chance_are_told() {
    let text = "[b]\nrw=randwrite\nbs=4k\nnorandommap\nrandom_distribution=zipf:1.1\ntime_based\nruntime=1d\n";
    let workload = Workload::new(wafer_lab::FioSource { path: "b.fio".into(), text: text.into() });
    let options = AdviseOptions { handles: 2, volume: Some(272 << 20), ..Default::default() };
    let never = AtomicBool::new(false);
    let advice = advise(&device(), &workload, None, &options, &never, &|_| {}).unwrap();
    let AdvisedMap { whole, fio, fio_waf } = advice.map.as_ref().unwrap();
    assert!(whole.len() > 60 && fio.len() <= 32, "{} {}", whole.len(), fio.len());
    let ends = |map: &wafer_trace::PlaceMap| map.ranges().last().map(|(_, _, end, _)| end);
    assert_eq!(ends(whole), ends(fio));
    let best = advice.schemes.iter().find(|s| s.name == advice.best).unwrap().waf;
    let wafs = format!("they have WAF {fio_waf:.3} instead of {best:.3}");
    let job = files(&advice).0.into_iter().find(|(name, _)| *name == "job.fio").unwrap().1;
    assert!(job.contains(&format!("by address, WAF {fio_waf:.3}:")), "{job}");
    let told = |advice: &Advice, part: &str| advice.notices.iter().any(|n| n.contains(part));
    for part in ["fio reads 32", &wafs, "part of the gain is chance"] {
        assert!(told(&advice, part), "{part}: {:?}", advice.notices);
    }
    // Later, few writes go to new addresses, but the drive still loses spare space to them.
    let options = AdviseOptions { volume: Some(816 << 20), ..options };
    let later = advise(&device(), &workload, None, &options, &never, &|_| {}).unwrap();
    let is_late = told(&later, "% of the addresses were first written in the held-out part");
    assert!(is_late && !told(&later, "never written before"), "{:?}", later.notices);
}

/// Joining ranges to which nothing was written misplaces nothing.
#[test]
fn a_map_for_fio_joins_what_misplaces_least() {
    const BLOCKS: u64 = 8;
    let mut lives = vec![lives::Life::default(); 128];
    let mut map = wafer_trace::PlaceMap::default();
    for page in 0..128u64 {
        map.add(0, page * BLOCKS, (page + 1) * BLOCKS, u16::from(page % 4 == 0));
        if page % 8 == 0 || page % 8 == 2 {
            let life = &mut lives[page as usize];
            (life.writes, life.space) = (1.0 + page as f64, 1.0);
        }
    }
    // Of 64 ranges, 32 have writes.
    let joined = fio_scheme::readable(&map, &lives, BLOCKS);
    assert_eq!((map.len(), joined.len()), (64, 32));
    for page in (0..128).filter(|page| lives[*page as usize].writes > 0.0) {
        assert_eq!(joined.at(0, page * BLOCKS).0, map.at(0, page * BLOCKS).0, "{page}");
    }
}

/// Advice on jobs on two namespaces is the same as on the two halves of one.
#[test]
fn namespaces_are_joined() {
    let advised = |device: &ResolvedDevice, [first, second]: [&str; 2]| {
        let job =
            |place: &str, rest: &str| format!("bs=4k\n{place}\n{rest}\ntime_based=1\nruntime=1d\n");
        let text = format!(
            "[hot]\nrw=randwrite\n{}[log]\nrw=write\n{}",
            job(first, "flow=1"),
            job(second, "flow=1")
        );
        let workload = Workload::new(wafer_lab::FioSource { path: "two.fio".into(), text });
        let options = AdviseOptions { handles: 2, volume: Some(272 << 20), ..Default::default() };
        let never = AtomicBool::new(false);
        advise(device, &workload, None, &options, &never, &|_| {}).unwrap()
    };
    let halves = "[[namespaces]]\nsize = \"34MiB\"\n[[namespaces]]\nsize = \"34MiB\"\n";
    let two = advised(&device_with(halves), ["filename=/dev/ng0n1", "filename=/dev/ng0n2"]);
    let one = advised(&device(), ["offset=0\nsize=34m", "offset=34m\nsize=34m"]);
    assert!(two.notices.iter().any(|notice| notice.contains("joined into one")));
    assert_eq!(two.write_bytes, one.write_bytes);
    let wafs = |advice: &Advice| -> Vec<(String, f64)> {
        advice.schemes.iter().map(|s| (s.name.clone(), s.waf)).collect()
    };
    assert_eq!(wafs(&two), wafs(&one));
    assert!(of_kind(&two, SchemeKind::None) > 1.2 * of_kind(&two, SchemeKind::Regions));
    // With a handle for each namespace, the drive already places writes.
    let [first, second] =
        [0, 1].map(|at| format!("[[namespaces]]\nsize = \"34MiB\"\nhandles = [{at}]\n"));
    let own =
        advised(&device_with(&(first + &second)), ["filename=/dev/ng0n1", "filename=/dev/ng0n2"]);
    let recorded = |advice: &Advice| advice.schemes.iter().any(|s| s.name == "as recorded");
    assert_eq!([&two, &own].map(recorded), [false, true]);
}

#[test]
fn a_drive_that_does_not_fit_into_memory_is_refused() {
    let set = ["capacity=64TiB", "reclaim_unit.size=64GiB", "overprovisioning=0.3"];
    let huge = load_device("warp", &set.map(str::to_owned)).unwrap();
    let available = available_memory().unwrap_or(0);
    assert!(available < huge.memory_bytes(), "a machine with so much memory needs a larger drive");
    let text = "[b]\nrw=write\nbs=64k\nsize=100%\n".to_owned();
    let workload = Workload::new(wafer_lab::FioSource { path: "b.fio".into(), text });
    let options = AdviseOptions { fill: None, ..AdviseOptions::default() };
    let never = AtomicBool::new(false);
    let refused = advise(&huge, &workload, None, &options, &never, &|_| {});
    assert!(matches!(refused, Err(LabError::Memory { .. })));
}

#[test]
fn a_drive_that_wears_out_before_the_end_gives_no_advice() {
    let device = device_with("[firmware]\nretire_after = 3\n");
    let text = "[b]\nrw=randwrite\nbs=4k\ntime_based=1\nruntime=1d\n".to_owned();
    let workload = Workload::new(wafer_lab::FioSource { path: "b.fio".into(), text });
    let options = AdviseOptions { handles: 2, volume: Some(1 << 30), ..Default::default() };
    let never = AtomicBool::new(false);
    let refused = advise(&device, &workload, None, &options, &never, &|_| {});
    let error = refused.map(|_| ()).unwrap_err().to_string();
    assert!(
        error.contains("before all traffic is written") && error.contains("read-only"),
        "{error}"
    );
}

fn of_kind(advice: &Advice, kind: SchemeKind) -> f64 {
    advice.schemes.iter().filter(|w| w.kind == kind).map(|w| w.waf).fold(f64::INFINITY, f64::min)
}

#[test]
fn hidden_streams_are_found_and_placed_as_well_as_by_their_labels() {
    let hidden = advice_on(&mixture(false), &[], 3);
    let none = of_kind(&hidden, SchemeKind::None);
    let regions = of_kind(&hidden, SchemeKind::Regions);
    let truth = of_kind(&advice_on(&by_process(&mixture(true)), &[], 3), SchemeKind::Streams);
    let oracle = of_kind(&hidden, SchemeKind::Oracle);
    assert!(none > truth * 1.1, "the streams matter: {none:.3} without, {truth:.3} with labels");
    assert!(regions < truth * 1.05, "{regions:.3} by regions, {truth:.3} by labels");
    assert!(oracle < regions, "{oracle:.3} with future knowledge, {regions:.3} by regions");

    // The groups of the best scheme match the streams.
    let map = hidden.map.expect("advice by address");
    let group = |page: u64| map.whole.at(0, page * 8).0;
    for (from, to) in [(0u64, 8192), (8192, 12_288), (12_288, 16_384)] {
        let middle = group((from + to) / 2);
        let same = (from..to).filter(|p| group(*p) == middle).count() as f64;
        assert!(same / (to - from) as f64 > 0.95, "pages {from} to {to}");
    }
    assert_ne!(group(10_000), group(14_000));
    assert_ne!(group(10_000), group(4_000));
}

/// Streams interleaved in pieces of 256 KiB, like files of a database.
#[test]
fn streams_that_lie_among_each_other_are_placed_as_well_as_by_their_labels() {
    const PIECE: u64 = 64;
    let pieces = 16_384 / PIECE;
    // An odd factor permutes the pieces.
    let place = |page: u64| page / PIECE * 45 % pieces * PIECE + page % PIECE;
    let hidden = advice_on(&mixture_at(false, place), &[], 3);
    let labelled = advice_on(&by_process(&mixture_at(true, place)), &[], 3);
    let none = of_kind(&hidden, SchemeKind::None);
    let regions = of_kind(&hidden, SchemeKind::Regions);
    let truth = of_kind(&labelled, SchemeKind::Streams);
    assert!(none > truth * 1.1, "the streams matter: {none:.3} without, {truth:.3} with labels");
    assert!(regions < truth * 1.05, "{regions:.3} by regions, {truth:.3} by labels");
    assert!(hidden.schemes.iter().any(|w| w.name == hidden.best && w.confidence >= 1.0));
    // Each scheme is listed once.
    for advice in [&hidden, &labelled] {
        let names: HashSet<&str> = advice.schemes.iter().map(|w| w.name.as_str()).collect();
        assert_eq!(names.len(), advice.schemes.len());
    }
    // The shares of streams add up to those of their handles.
    assert!(!labelled.streams.is_empty(), "{}", labelled.best);
    for group in &labelled.groups {
        let own = labelled.streams.iter().filter(|stream| stream.handle == group.handle);
        let share: f64 = own.map(|stream| stream.write_share).sum();
        assert!((share - group.write_share).abs() < 1e-9, "{share}, {}", group.write_share);
    }
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
        let options = wafer_lab::Options {
            device: Some("warp".to_owned()),
            traces: vec![file.path().to_owned()],
            trace_set: vec![format!("placement={placement}")],
            ..wafer_lab::Options::default()
        };
        let mut experiment = wafer_lab::Experiment::from_options(&options).unwrap();
        experiment.device = device();
        wafer_lab::run(&experiment, wafer_lab::Control::unattended()).unwrap().summary.waf
    };
    let placed = waf(&format!("map:{}", folder.path().join("map.csv").display()));
    assert!(placed < waf("none") * 0.95, "{placed} against {}", waf("none"));
}

/// A trace of single pages, each in its own mebibyte: the drive is as full as requested, so pages are
/// relocated, and the map uses the addresses of the trace.
#[test]
fn a_drive_is_as_full_of_a_sparse_trace_as_asked() {
    const PAGES: u64 = 8192;
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
    for number in 0..60_000u64 {
        let draw = rng.next_u64();
        // Nine of ten writes go to the first eighth of the pages.
        let page = if draw % 10 < 9 { (draw >> 8) % (PAGES / 8) } else { (draw >> 8) % PAGES };
        writeln!(file, "{number} 0 {} 8 0", page * 2048).unwrap();
    }
    file.flush().unwrap();
    let traces = TraceSource::from_options(&[file.path().to_owned()], &[]).unwrap();
    let options = AdviseOptions { handles: 3, fill: Some(0.9), ..AdviseOptions::default() };
    let device = load_device("pm9d3", &[]).unwrap();
    let workload = Workload::new(traces.clone());
    let never = AtomicBool::new(false);
    let advice = advise(&device, &workload, Some(&traces), &options, &never, &|_| {}).unwrap();
    let touched = traces.scans().unwrap()[0].touched_bytes();
    assert!(touched <= PAGES * 4096);
    // Of the whole trace, not only of the learned part.
    assert_eq!(advice.touched_bytes, touched);
    let fill = touched as f64 / advice.simulated.capacity.0 as f64;
    assert!((fill - 0.9).abs() < 0.01, "{fill}");
    // A drive that is too small is not enlarged.
    let set = ["capacity=16MiB", "reclaim_unit.size=1MiB", "overprovisioning=2"].map(str::to_owned);
    let small = load_device("pm9d3", &set).unwrap();
    let mut notices = Vec::new();
    let kept = crate::scale::device(&small, Some(&traces), &options, &mut notices).unwrap();
    assert_eq!(kept.config.capacity, small.config.capacity);
    assert!(notices[0].contains("is scaled down only: the traffic touches"), "{notices:?}");
    let none = of_kind(&advice, SchemeKind::None);
    assert!(none > 1.3, "pages are relocated: {none}");
    let map = advice.map.expect("advice by address").whole;
    let handle = |page: u64| map.at(0, page * 2048).0;
    assert_ne!(handle(PAGES / 16), handle(PAGES - 100), "hot and cold pages");
    assert_ne!(handle(PAGES - 100), wafer_interface::Placement::NONE);
}

/// A drive has pages after those of the trace; a map of the trace's addresses does not.
#[test]
fn ranges_behind_the_last_written_page_are_left_out() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    for page in [0u64, 5, 100] {
        writeln!(file, "{page} 0 {} 8 0", page * 8).unwrap();
    }
    file.flush().unwrap();
    let traces = TraceSource::from_options(&[file.path().to_owned()], &[]).unwrap();
    let scan = &traces.scans().unwrap()[0];
    let mut map = PlaceMap::default();
    for (first, end, handle) in [(0, 8, 1), (8, 17, 2), (17, 30, 3), (30, 31, 4)] {
        map.add(0, first, end, handle);
    }
    let found: Vec<_> = with_gaps(&map, scan).ranges().collect();
    assert_eq!(found, [(0, 0, 8, 1), (0, 40, 801, 2), (0, 801, 808, 3)]);
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
    // Not every cold page is written.
    let touched = traces.scans().unwrap()[0].touched_bytes() as f64;
    assert!(touched < f64::from(64 << 20));
    assert!((capacity * 0.8 / touched - 1.0).abs() < 0.01, "{capacity}");
    assert_eq!(scaled.config.reclaim_unit.size.0, 1 << 20);
    assert!(notices.iter().any(|n| n.contains("scaled to the traffic")), "{notices:?}");
}

#[test]
fn lives_are_exposure_over_deaths() {
    let mut life = lives::Life::default();
    for _ in 0..10 {
        life.end(100.0);
    }
    assert!((life.mean() - 100.0).abs() < 1e-9);
    assert!(life.spread() < 1e-6);
    // Ten more pages have lived for 300 and are still valid.
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
    // Mean lifetime alone separates two of them.
    let line = group::by_life(&points, 2);
    for (i, g) in line.iter().enumerate() {
        assert_eq!(*g, u16::from(i % 3 > 0), "{line:?}");
    }
}

/// Runs the script of advice with a program `nvme` that records its arguments.
#[test]
fn the_script_of_advice_asks_nvme_cli_for_its_handles() {
    use std::os::unix::fs::PermissionsExt as _;

    let advice = advice_on(&mixture(false), &[], 3);
    let text = |name: &str| {
        let found = files(&advice).0.into_iter().find(|(n, _)| *n == name);
        found.unwrap_or_else(|| panic!("no {name}")).1
    };
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let fake = "#!/bin/sh\necho \"$@\" >>\"$(dirname \"$0\")/asked\"\n\
                [ \"$1\" != id-ctrl ] || printf 'vid : 0x1\\ncntlid    : 0x7\\n'\n";
    std::fs::write(place("nvme"), fake).unwrap();
    std::fs::set_permissions(place("nvme"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(place("nvme.sh"), text("nvme.sh")).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let run = |size: Option<&str>| {
        let mut command = std::process::Command::new("sh");
        command.arg(place("nvme.sh")).env("PATH", &path).env("DEV", "/dev/nvme9");
        command.env_remove("SIZE").envs(size.map(|s| ("SIZE", s)));
        command.output().unwrap()
    };
    // Without a size, nothing is deleted.
    assert!(!run(None).status.success());
    assert!(!place("asked").exists());
    let output = run(Some("1000"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let count = advice.groups.len();
    assert_eq!(count, 3);
    let asked = std::fs::read_to_string(place("asked")).unwrap();
    assert_eq!(
        asked.lines().collect::<Vec<_>>(),
        [
            "id-ctrl /dev/nvme9",
            "fdp configs /dev/nvme9 -e 1",
            "delete-ns /dev/nvme9 -n 0xffffffff",
            "fdp feature /dev/nvme9 -e 1 -c 0",
            "create-ns /dev/nvme9 -s 1000 -c 1000 -f 0 -e 1 -n 3 -p 0,1,2",
            "attach-ns /dev/nvme9 -n 1 -c 0x7",
            "fdp status /dev/nvme9 -n 1",
        ]
    );

    // fio's ranges are those of the map, and the hints have a row per handle, from short to extreme.
    let map = &advice.map.as_ref().unwrap().whole;
    let scheme = text("dp_scheme.csv");
    assert_eq!(scheme.lines().count(), map.len().min(32));
    for line in scheme.lines() {
        let fields: Vec<u64> = line.split(", ").map(|f| f.parse().unwrap()).collect();
        let [first, end, handle] = fields[..] else { panic!("{line}") };
        assert!(first < end, "{line}");
        assert_eq!(u64::from(map.at(0, first / wafer_interface::LBA_BYTES).0.0), handle);
    }
    let job = text("job.fio");
    assert!(job.contains("fdp=1\n") && job.contains("fdp_pli=0,1,2\n"), "{job}");
    let hints = text("hints.md");
    let rows: Vec<&str> = hints.lines().filter(|l| l.contains("WLTH_")).collect();
    assert_eq!(rows.len(), 3, "{hints}");
    assert!(rows[0].contains("WLTH_SHORT") && rows[2].contains("WLTH_EXTREME"), "{hints}");
    assert!(hints.contains("BlockCache") && hints.contains("BigHash"), "{hints}");
    assert!(hints.contains("With future knowledge of death times: WAF 1."), "{hints}");
}

/// F2FS tags nearly all user data warm, so its handles separate nothing. Classified by file, the same
/// traffic has something to separate; known death times show how much.
#[test]
fn a_file_system_that_calls_everything_warm_gains_by_finer_classes() {
    let of = |temperature: &str| {
        let text = format!(
            "device = \"warp\"\n[workload]\nmodel = \"f2fs\"\ncheckpoint = \"8MiB\"\npopularity = 1.2\n\
             handles = [0, 1, 2, 3, 4, 5, 6]\ntemperature = \"{temperature}\"\n"
        );
        let workload = Workload::from_text("f2fs", &text, std::path::Path::new("")).unwrap();
        let set = ["capacity=1GiB", "reclaim_unit.size=4MiB", "reclaim_unit.count=284"];
        let device = load_device("warp", &set.map(str::to_owned)).unwrap();
        let options =
            AdviseOptions { fill: None, volume: Some(6 << 30), ..AdviseOptions::default() };
        let never = AtomicBool::new(false);
        advise(&device, &workload, None, &options, &never, &|_| {}).unwrap()
    };
    let warm = of("linux");
    let file = of("file");
    let [none, recorded, oracle] = [SchemeKind::None, SchemeKind::Recorded, SchemeKind::Oracle]
        .map(|kind| of_kind(&warm, kind));
    let finer = of_kind(&file, SchemeKind::Recorded);
    assert!(recorded > none * 0.95, "warm: {recorded:.3} with handles, {none:.3} without");
    assert!(finer < recorded * 0.95, "{finer:.3} by file, {recorded:.3} all warm");
    assert!(oracle < finer * 0.8, "{oracle:.3} with future knowledge, {finer:.3} by file");
}
