use std::path::PathBuf;

use wafer_config::profile as shipped;
use wafer_lab::{Experiment, FioSource, Options, Workload, run};

use super::*;

fn watch() -> Watch<'static> {
    static NEVER: AtomicBool = AtomicBool::new(false);
    Watch { cancel: &NEVER, progress: &|_, _| {} }
}

fn published(name: &str) -> Measured {
    let path = format!("../../configs/reference/timing/{name}-reads-beside-writes.csv");
    Measured::csv(&PathBuf::from(path)).unwrap()
}

fn task(device: &str, measured: Measured, hold_out: usize) -> Task {
    Task { device: device.to_owned(), measured, hold_out, predict: None, seed: 1 }
}

#[test]
fn rows_are_kept_over_the_whole_range_below_saturation() {
    let rows = published("pm9a3-960gb").rows;
    let timing = load_device("pm9a3", &[]).unwrap().config.timing.unwrap();
    let kept = |count| kept(&rows, count, Saturation::of(&rows, &timing));
    assert_eq!(kept(2), [0, 6]);
    assert_eq!(kept(3), [0, 3, 6]);
    assert_eq!(kept(1), [0]);
    assert_eq!(kept(8), [0, 1, 2, 3, 4, 5, 6, 7]);
}

/// Measures a device with known times like a real drive, and finds the times again from other values.
#[test]
fn known_times_are_found_again() {
    let device = load_device("pm9a3", &[]).unwrap();
    let text = shipped("pm9a3").unwrap().text;
    let truth = device.config.timing.clone().unwrap();
    let bench = Bench::new(&device, &text).unwrap();
    let mut measured = published("pm9a3-960gb");
    measured.rows.retain(|row| [10_000.0, 30_000.0, 60_000.0].contains(&row.writes_per_s));
    for row in &mut measured.rows {
        let outcome = bench.run(&truth, row, 10.0, 7, Control::unattended()).unwrap();
        (row.read, row.write) = (outcome.read, outcome.write);
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other.toml");
    let other = text
        .replace("slice_us = 128.0", "slice_us = 220.0")
        .replace("missed_slices = 0.13", "missed_slices = 0.05")
        .replace("read_overhead_us = 15.0", "read_overhead_us = 30.0");
    std::fs::write(&file, other).unwrap();
    let fit = calibrate(&task(file.to_str().unwrap(), measured, 1), watch()).unwrap();
    let value = |key: &str| fit.parameters.iter().find(|p| p.key == key).unwrap();
    assert!((value("slice_us").after / truth.slice_us - 1.0).abs() < 0.15, "{fit:?}");
    assert!((value("missed_slices").after - truth.missed_slices).abs() < 0.05, "{fit:?}");
    assert!((value("read_overhead_us").after - truth.read_overhead_us).abs() < 3.0, "{fit:?}");
    assert!(value("slice_us").identified && value("read_overhead_us").identified, "{fit:?}");
    let held = fit.rows.iter().find(|row| row.role == Role::Predicted).unwrap();
    let mean = held.figures.iter().find(|f| f.name == "read_mean_us").unwrap();
    assert!(mean.error_percent.abs() < 3.0, "{held:?}");
    // The device loads, and its other lines are unchanged.
    assert!(fit.toml.contains("dies = 16                           # 1 TiB in dies of 512 Gb"));
}

#[test]
fn latency_does_not_depend_on_capacity() {
    let device = load_device("pm9a3", &[]).unwrap();
    let text = shipped("pm9a3").unwrap().text;
    let timing = device.config.timing.clone().unwrap();
    let row = &published("pm9a3-960gb").rows[4];
    let small = Bench::new(&device, &text).unwrap();
    let large = Bench::with_unit(&device, &text, 16 << 20).unwrap();
    let mean = |bench: Bench| {
        bench.run(&timing, row, 4.0, 1, Control::unattended()).unwrap().read.mean.unwrap()
    };
    let (small, large) = (mean(small), mean(large));
    assert!((small / large - 1.0).abs() < 0.02, "{small} {large}");
}

#[test]
fn a_saturated_row_tells_the_highest_rate() {
    let mut measured = published("pe8110-960gb");
    measured.rows.retain(|row| row.writes_per_s > 60_000.0);
    let fit = calibrate(&task("pm9a3", measured, 0), watch()).unwrap();
    let program = &fit.parameters.iter().find(|p| p.key == "program_us").unwrap();
    assert!(program.identified && program.after < program.before, "{program:?}");
    let saturated = fit.rows.iter().find(|row| row.role == Role::Saturated).unwrap();
    assert_eq!(saturated.writes_per_s, 79_400.0);
}

/// Writers without a rate, on drives with other times, reach the highest rate; none of them measures a single write.
#[test]
fn writers_without_a_rate_tell_the_highest_one() {
    let text = shipped("pm9a3").unwrap().text;
    let text = text.replace("\"960GB\"", "\"1GB\"").replace("\"1GiB\"", "\"4MiB\"");
    for (truth, depth, clones, place) in [
        (800.0, 32, 1, "size=100%"),
        (1350.0, 4, 4, "size=100%"),
        (1200.0, 32, 1, "offset=50%"),
        (
            900.0,
            16,
            2,
            "offset=100m\nsize=400m\nnorandommap\nrandom_distribution=zoned:60/30:40/70",
        ),
    ] {
        let slower = text.replace("program_us = 1037.0", &format!("program_us = {truth}"));
        assert_ne!(slower, text);
        let device = wafer_config::device_from_text("d.toml", &slower, &[]).unwrap();
        let jobs = format!(
            "[w]\nrw=randwrite\nbs=4k\n{place}\niodepth={depth}\nnumjobs={clones}\ntime_based\nruntime=2s\nramp_time=200ms\n"
        );
        let options = Options {
            timed: Some(true),
            precondition: Some("sequential+steady".parse().unwrap()),
            ..Options::default()
        };
        let workload = Workload::new(FioSource { path: "w.fio".into(), text: jobs });
        let record =
            run(&Experiment::of(device, workload, &options), Control::unattended()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let [result, other] = ["r.json", "other.toml"].map(|name| folder.path().join(name));
        let fio = wafer_fio_json::fio_json(&record).unwrap();
        std::fs::write(&result, fio.to_string()).unwrap();
        std::fs::write(&other, &text).unwrap();
        let measured = Measured::fio(&[result]).unwrap();
        let fit = calibrate(&task(other.to_str().unwrap(), measured, 0), watch()).unwrap();
        let of = |key: &str| fit.parameters.iter().find(|p| p.key == key).unwrap();
        assert!((of("program_us").after / truth - 1.0).abs() < 0.03, "{truth}: {fit:?}");
        assert!(of("program_us").identified && !of("write_overhead_us").identified, "{fit:?}");
        assert_eq!(fit.rows[0].role, Role::Saturated);
    }
}

/// Returns the text of a small drive with the times of the PM9A3.
fn small_pm9a3() -> String {
    let text = shipped("pm9a3").unwrap().text;
    text.replace("\"960GB\"", "\"1GB\"").replace("\"1GiB\"", "\"4MiB\"")
}

/// A drive whose pages hold several writes programs whole pages.
#[test]
fn a_drive_fitted_to_its_own_rows_stays() {
    let text = small_pm9a3();
    // By its last row, the drive could have kept up: the probe waits less than the writers.
    let rates = [1000.0, 3000.0, 90_000.0];
    for page in ["4KiB", "8KiB", "16KiB"] {
        let text = text.replace("page = \"4KiB\"", &format!("page = \"{page}\""));
        let device = wafer_config::device_from_text("d.toml", &text, &[]).unwrap();
        let truth = device.config.timing.clone().unwrap();
        let bench = Bench::new(&device, &text).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let [table, itself, other] =
            ["t.csv", "itself.toml", "other.toml"].map(|name| folder.path().join(name));
        let mut csv = "writes_per_s,write_mean_us,write_p50_us,write_p9999_us\n".to_owned();
        for rate in rates {
            std::fs::write(&table, format!("writes_per_s,read_mean_us\n{rate},1\n")).unwrap();
            let row = &Measured::csv(&table).unwrap().rows[0];
            let write = bench.run(&truth, row, 4.0, 7, Control::unattended()).unwrap().write;
            let [p50, .., p9999, _] = write.percentiles.map(Option::unwrap);
            csv += &format!("{rate},{},{p50},{p9999}\n", write.mean.unwrap());
        }
        std::fs::write(&table, csv).unwrap();
        std::fs::write(&itself, &text).unwrap();
        std::fs::write(&other, text.replace("program_us = 1037.0", "program_us = 800.0")).unwrap();
        for file in [itself, other] {
            let measured = Measured::csv(&table).unwrap();
            let fit = calibrate(&task(file.to_str().unwrap(), measured, 0), watch()).unwrap();
            let of = |key: &str| fit.parameters.iter().find(|p| p.key == key).unwrap();
            let program = of("program_us");
            assert!(program.identified, "{page}: {fit:?}");
            assert!((program.after / truth.program_us - 1.0).abs() < 0.03, "{page}: {fit:?}");
            assert!((of("gc_knee").after - truth.gc_knee).abs() < 0.05, "{page}: {fit:?}");
        }
    }
}

/// Reads alone do not reveal the WAF.
#[test]
fn rows_without_writes_leave_the_highest_rate() {
    let folder = tempfile::tempdir().unwrap();
    let [table, device] = ["t.csv", "small.toml"].map(|name| folder.path().join(name));
    std::fs::write(&device, small_pm9a3()).unwrap();
    let told = |writes: f64| {
        std::fs::write(&table, format!("writes_per_s,read_mean_us\n{writes},64\n")).unwrap();
        let task = task(device.to_str().unwrap(), Measured::csv(&table).unwrap(), 0);
        let fit = calibrate(&task, watch()).unwrap();
        let program = fit.parameters.iter().find(|p| p.key == "program_us").unwrap();
        let (_, rate) = program.why.split_once("saturated; ").unwrap();
        rate.split_once(' ').unwrap().0.parse::<f64>().unwrap()
    };
    let (few, mixed) = (told(1.0), told(60_000.0));
    assert!((few / mixed - 1.0).abs() < 0.05, "{few} {mixed}");
}

#[test]
fn rows_that_say_nothing_leave_the_device_as_it_is() {
    let mut measured = published("pm9a3-960gb");
    measured.rows.truncate(1);
    measured.rows[0].read = Latency::default();
    measured.rows[0].write = Latency { mean: Some(10.63), ..Latency::default() };
    let fit = calibrate(&task("pm9a3", measured, 0), watch()).unwrap();
    assert!(
        fit.parameters.iter().all(|p| p.key == "write_overhead_us" || p.after == p.before),
        "{fit:?}"
    );
    let error = calibrate(&task("pm9a3", published("pm9a3-960gb"), 8), watch()).unwrap_err();
    assert_eq!(error.to_string(), "hold_out: 8 of 8 rows leaves none to fit");
}

/// Tails caused by bursts of garbage collection do not pull.
#[test]
fn tails_of_bursts_are_left_out() {
    let timing = load_device("pm9a3", &[]).unwrap().config.timing.unwrap();
    let rows = published("7450max-800gb").rows;
    let row = |rate: f64| rows.iter().find(|row| row.writes_per_s == rate).unwrap();
    let ours =
        Latency { mean: Some(90.0), percentiles: [60.0, 300.0, 500.0, 900.0, 950.0].map(Some) };
    let bursty = [50_000.0, 60_000.0].map(row);
    let others = [10_000.0, 30_000.0, 80_000.0, 117_000.0].map(row);
    for row in bursty {
        assert!(reads::is_bursty(row, &timing), "{row:?}");
        assert_eq!(reads::distances(row, &ours, 0.0, &timing).len(), 1, "the median alone");
    }
    for row in others {
        assert!(!reads::is_bursty(row, &timing), "{row:?}");
        assert_eq!(reads::distances(row, &ours, 0.0, &timing).len(), 4);
    }
}

/// Reads that get faster as more is written cannot be fitted, and a notice says so.
#[test]
fn rows_that_contradict_each_other_are_named() {
    let mut measured = published("pm9a3-960gb");
    measured.rows.truncate(2);
    for (row, mean) in measured.rows.iter_mut().zip([110.0, 60.0]) {
        row.read = Latency { mean: Some(mean), ..Latency::default() };
    }
    let fit = calibrate(&task("pm9a3", measured, 0), watch()).unwrap();
    assert!(fit.notices.iter().any(|notice| notice.contains("nothing fits this row")), "{fit:?}");
    let slice = fit.parameters.iter().find(|p| p.key == "slice_us").unwrap();
    assert!(!slice.identified && (20.0..500.0).contains(&slice.after), "{slice:?}");
}

/// Rows that say nothing about slices leave a drive whose programs never yield as it is.
#[test]
fn a_drive_that_never_yields_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("never.toml");
    let text = shipped("pm9a3").unwrap().text.replace("slice_us = 128.0", "slice_us = 0.0");
    std::fs::write(&file, text).unwrap();
    let mut measured = published("pm9a3-960gb");
    measured.rows.truncate(1);
    let median = measured.rows[0].read.percentiles[0];
    measured.rows[0].read = Latency { percentiles: [median, None, None, None, None], mean: None };
    measured.rows[0].writes_per_s = 1000.0;
    let fit = calibrate(&task(file.to_str().unwrap(), measured, 0), watch()).unwrap();
    let slice = fit.parameters.iter().find(|p| p.key == "slice_us").unwrap();
    assert_eq!((slice.before, slice.after), (0.0, 0.0), "{fit:?}");
}

/// If the controller alone takes longer than a measured write, the overhead is unknown.
#[test]
fn an_overhead_below_zero_is_no_result() {
    let mut timing = load_device("pm9a3", &[]).unwrap().config.timing.unwrap();
    let row = &published("pm9a3-960gb").rows[3];
    for (iops, identified) in [(2e6, true), (50_000.0, false)] {
        let (mut parameters, mut notices) = (Vec::new(), Vec::new());
        timing.write_iops = Some(iops);
        let before = timing.write_overhead_us;
        writes_alone(&mut timing, &[row], &mut parameters, &mut notices);
        assert_eq!(
            (parameters[0].identified, notices.len()),
            (identified, usize::from(!identified))
        );
        assert_eq!(timing.write_overhead_us == before, !identified, "{parameters:?}");
    }
}

/// Without a row whose writes do not wait, the knee is unknown.
#[test]
fn a_knee_needs_a_quiet_row() {
    let mut timing = load_device("pm9a3", &[]).unwrap().config.timing.unwrap();
    let mut row = published("pm9a3-960gb").rows[3].clone();
    row.write.percentiles[3] = Some(20_000.0);
    let mut parameters = Vec::new();
    knee(&mut timing, row.writes_per_s / 0.17, &[&row], &mut parameters, &mut Vec::new());
    assert!(!parameters[0].identified && parameters[0].interval.unwrap().1 < 0.2, "{parameters:?}");
}

/// A notice names an unsaturated row whose writes wait although they did not when measured.
#[test]
fn writes_that_do_not_fit_are_named() {
    let row = &published("pm9a3-960gb").rows[5];
    let ours = |mean: f64| Latency { mean: Some(mean), ..row.write };
    let said = |role, mean| RowResult::of(row, role, &row.read, &ours(mean)).misfits();
    assert_eq!(said(Role::Fitted, 40.0), [""; 0]);
    let line = "row 60000: mean write 21 µs, 3400 µs here: nothing fits this row and the others";
    assert_eq!(said(Role::Fitted, 3400.0), [line]);
    assert_eq!(said(Role::Fitted, 9.0).len(), 1);
    for role in [Role::Saturated, Role::Predicted] {
        assert_eq!(said(role, 3400.0), [""; 0]);
    }
}

/// Rows near the highest rate, none of them saturated: the fitted program time fits all of them.
#[test]
fn rows_below_saturation_limit_the_time_of_a_program() {
    let device = load_device("pm9a3", &[]).unwrap();
    let text = shipped("pm9a3").unwrap().text;
    let truth = device.config.timing.clone().unwrap();
    let bench = Bench::new(&device, &text).unwrap();
    let mut measured = published("pm9a3-960gb");
    measured.rows.retain(|row| [10_000.0, 69_300.0].contains(&row.writes_per_s));
    for row in &mut measured.rows {
        let outcome = bench.run(&truth, row, 4.0, 7, Control::unattended()).unwrap();
        (row.read, row.write) = (outcome.read, outcome.write);
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other.toml");
    std::fs::write(&file, text.replace("program_us = 1037.0", "program_us = 1300.0")).unwrap();
    let fit = calibrate(&task(file.to_str().unwrap(), measured, 0), watch()).unwrap();
    let program = fit.parameters.iter().find(|p| p.key == "program_us").unwrap();
    assert!(!program.identified && (program.after / 1037.0 - 1.0).abs() < 0.04, "{program:?}");
    assert!(fit.notices.is_empty(), "{fit:?}");
}

#[test]
fn rows_without_waits_do_not_identify_the_knee() {
    let mut timing = load_device("pm9a3", &[]).unwrap().config.timing.unwrap();
    let row = &published("pm9a3-960gb").rows[3];
    let mut parameters = Vec::new();
    // On a drive with a knee of 0.76, writes at 0.77 wait too little to be noticed.
    knee(&mut timing, row.writes_per_s / 0.77, &[row], &mut parameters, &mut Vec::new());
    let (low, high) = parameters[0].interval.unwrap();
    assert!(!parameters[0].identified && low < 0.76 && high == 1.0, "{parameters:?}");
}

#[test]
fn cells_stay_as_they_are_where_they_fit() {
    let timing = load_device("pm9a3", &[]).unwrap().config.timing.unwrap();
    let mut row = published("pm9a3-960gb").rows[0].clone();
    // A single read takes 48 µs plus the overhead.
    for (overhead, alone, expected) in [
        (15.0, 57.0, 42.0),
        (9.0, 57.0, 42.0),
        (9.0, 52.0, 42.0),
        (18.0, 52.0, 33.8),
        (0.0, 40.0, 26.0),
    ] {
        row.read.percentiles[0] = Some(alone);
        let mut fitted = TimingConfig { read_overhead_us: overhead, ..timing.clone() };
        shorten_cells(&mut fitted, &[&row], &mut Vec::new());
        assert_eq!(fitted.read_us, OneOrMany::One(expected), "{alone}");
    }
}
