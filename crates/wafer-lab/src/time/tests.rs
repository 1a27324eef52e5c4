//! Byte counts do not depend on time: a clock changes no counter. Also, laws that a run as a whole must obey.

use wafer_device::Device;
use wafer_device::policy::POLICIES;
use wafer_interface::{Command, Op, Placement, stream};
use wafer_record::time::Requests;
use wafer_record::{Precondition, Record, Recorder, TimeRecord};

use super::TimedRun;
use crate::drive::Watch;
use crate::{Control, Experiment, FioSource, Options, Workload};
use wafer_closed_loop::FixedDepth;
use wafer_config::device_from_text;

mod directions;
mod spans;
mod tenants;
mod traces;

const DEVICE: &str = r#"
capacity = "64MiB"
handles = 4
overprovisioning = 0.25
[reclaim_unit]
size = "1MiB"
[timing]
dies = 4
read_us = [40, 60, 80]
program_us = 700.0
slice_us = 100.0
link_read = "7000MB"
link_write = "7000MB"
read_overhead_us = 5.0
write_overhead_us = 5.0
write_buffer = "2MiB"
"#;

fn commands(count: u64) -> Vec<Command> {
    let mut state = 7u64;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let page = (state >> 33) % 16_384;
            match state >> 60 {
                0 => Command::deallocate(page * 8, 64),
                1..4 => Command { op: Op::Read, ..Command::write(page * 8, 32, Placement::NONE) },
                _ => Command::write(page * 8, 8, Placement((state >> 58) as u16 % 4)),
            }
        })
        .collect()
}

#[test]
fn a_clock_changes_no_counter_of_any_policy() {
    for policy in POLICIES {
        counts_as_without_a_clock(&[&format!("gc.policy={}", policy.name)]);
    }
}

/// Caches small enough that everything happens often.
const FIRMWARE: [&[&str]; 3] = [
    &["firmware.mapping_cache=16KiB", "firmware.mapping_entries=64"],
    &["firmware.slc_cache=3MiB", "timing.slc_program_us=150", "timing.slc_read_us=20"],
    &[
        "firmware.slc_cache=1MiB",
        "firmware.write_buffer=256KiB",
        "firmware.mapping_cache=64KiB",
        "firmware.mapping_entries=16",
        "firmware.parity=15",
        "firmware.reads_before_move=2000",
        "timing.slc_program_us=150",
        "timing.slc_read_us=20",
    ],
];

#[test]
fn a_clock_changes_no_counter_of_firmware() {
    FIRMWARE.iter().for_each(|set| counts_as_without_a_clock(set));
}

fn counts_as_without_a_clock(set: &[&str]) {
    let commands = commands(60_000);
    let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
    let device = device_from_text("small.toml", DEVICE, &set).unwrap();
    let mut plain = Device::new(&device.config, 3).unwrap();
    plain.apply(&commands);

    let watch = Watch::new(false);
    let mut timed = Device::with_observer(&device.config, 3, watch).unwrap();
    let mut list = commands.clone().into_iter();
    let listed = stream::from_fn(move |out, max| out.extend(list.by_ref().take(max)));
    let mut stream = FixedDepth::new(Box::new(listed), 1, 0);
    let mut recorder = Recorder::new(100, None);
    let timing = device.config.timing.as_ref().unwrap();
    let mut run = TimedRun::new(&mut timed, &mut stream, timing, &[], None).unwrap();
    run.run(&mut recorder, |_| Ok(())).unwrap();
    let record = run.record(timing, None);

    assert_eq!(timed.counters(), plain.counters(), "{set:?}");
    assert_eq!(timed.handle_counters(), plain.handle_counters(), "{set:?}");
    let shares: f64 = record.dies.values().sum();
    assert!((shares - 1.0).abs() < 1e-3, "{set:?}: {shares}");
    let requests = record.read.unwrap().count + record.write.unwrap().count;
    let moved = commands.iter().filter(|c| c.op != Op::Deallocate).count();
    assert_eq!(requests, moved as u64);
}

const JOBS: &str = "
[global]
time_based=1
runtime=300ms
bs=4k
size=100%
[writer]
rw=randwrite
iodepth=8
[mixed]
rw=randrw
rwmixread=70
iodepth=4
[paced]
rw=randread
rate_iops=2000
rate_process=poisson
";

fn experiment(jobs: &str, options: &Options) -> Experiment {
    let device = device_from_text("small.toml", DEVICE, &options.set).unwrap();
    let workload = Workload::new(FioSource { path: "jobs.fio".into(), text: jobs.to_owned() });
    Experiment::of(
        device,
        workload,
        &Options { timed: Some(true), seed: Some(3), ..options.clone() },
    )
}

fn run(jobs: &str, options: &Options) -> Record {
    crate::run(&experiment(jobs, options), Control::unattended()).unwrap()
}

fn filled() -> Options {
    Options { precondition: Some("sequential".parse().unwrap()), ..Options::default() }
}

fn time(jobs: &str, options: &Options) -> TimeRecord {
    run(jobs, options).time.unwrap()
}

/// Runs an experiment file with the small device.
fn time_of_file(text: &str, options: &Options) -> TimeRecord {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("d.toml"), DEVICE).unwrap();
    let file = folder.path().join("e.toml");
    std::fs::write(&file, format!("device = \"d.toml\"\n{text}")).unwrap();
    let options = Options { timed: Some(true), seed: Some(3), ..options.clone() };
    let experiment = Experiment::from_file(&file, &options).unwrap();
    crate::run(&experiment, Control::unattended()).unwrap().time.unwrap()
}

#[test]
fn a_run_repeats_to_the_byte() {
    let record = || {
        let record = run(JOBS, &filled());
        let parts = (&record.time, &record.summary, &record.timeline);
        serde_json::to_string(&parts).unwrap()
    };
    assert_eq!(record(), record());
}

/// The order of the commands depends on the drive; the counters depend only on the order.
#[test]
fn the_order_that_time_chose_gives_the_same_counters_without_a_clock() {
    let mut orders = Vec::new();
    for policy in POLICIES {
        let set = vec![format!("gc.policy={}", policy.name)];
        let experiment = experiment(JOBS, &Options { set, ..Options::default() });
        let timing = experiment.device.config.timing.as_ref().unwrap();
        let mut built = experiment.build().unwrap();
        let watch = Watch::new(false);
        let mut timed = Device::with_observer(&experiment.device.config, 3, watch).unwrap();
        let mut recorder = Recorder::new(100, None);
        let mut run =
            TimedRun::new(&mut timed, built.stream.as_mut(), timing, &built.jobs, None).unwrap();
        run.run(&mut recorder, |_| Ok(())).unwrap();
        let applied = std::mem::take(&mut run.applied);
        assert!(timed.counters().media_bytes > timed.counters().host_bytes, "{}", policy.name);

        let mut plain = Device::new(&experiment.device.config, 3).unwrap();
        plain.apply(&applied);
        assert_eq!(timed.counters(), plain.counters(), "{}", policy.name);
        assert_eq!(timed.handle_counters(), plain.handle_counters(), "{}", policy.name);
        orders.push(applied);
    }
    // If the drive did not affect the order, this test would be meaningless.
    assert!(orders.iter().any(|order| *order != orders[0]));
}

/// The number of commands in flight is the rate times the latency, for each job that always keeps its depth.
#[test]
fn littles_law_holds_for_every_job() {
    let record = time(JOBS, &filled());
    for (name, depth) in [("writer", 8.0), ("mixed", 4.0)] {
        let job = &record.jobs[name];
        let parts = job.read.iter().chain(&job.write);
        let in_flight: f64 = parts.map(|all| all.iops * all.mean_us / 1e6).sum();
        assert!((in_flight / depth - 1.0).abs() < 0.01, "{name}: {in_flight}");
    }
    let paced = record.jobs["paced"].read.as_ref().unwrap();
    assert!((paced.iops / 2000.0 - 1.0).abs() < 0.1, "{}", paced.iops);
}

#[test]
fn reads_of_what_was_never_written_cost_no_media() {
    let jobs = "[reader]\nrw=randread\nbs=4k\nsize=100%\nnumber_ios=1000\n";
    let empty = time(jobs, &Options::default());
    assert_eq!(empty.dies["host_read"], 0.0);
    assert!(empty.read.unwrap().max_us < 7.0);
    let full = time(jobs, &filled());
    assert!(full.dies["host_read"] > 0.1);
    // Some reads find their page in a register.
    assert!(full.read.unwrap().percentiles_us["50"] > 40.0);
}

/// Work that dies still have to do when a short run ends does not count.
#[test]
fn shares_of_dies_add_up_however_short_the_run_is() {
    for runtime in ["2ms", "20ms"] {
        let jobs = "[w]\nrw=randwrite\nbs=4k\nsize=100%\niodepth=64\ntime_based=1\n";
        let record = time(&format!("{jobs}runtime={runtime}\n"), &filled());
        let shares: f64 = record.dies.values().sum();
        assert!((shares - 1.0).abs() < 1e-9 && record.dies["host_program"] > 0.1, "{shares}");
    }
}

#[test]
fn fio_is_told_the_options_of_a_job() {
    let jobs = "[a]\nrw=randrw\nrwmixread=30\nbssplit=4k/60:8k/40\nrate_iops=1000,,500\nrate_process=poisson\n\
                number_ios=9\nio_submit_mode=offload\nstartdelay=100us\nnorandommap\npercentage_random=80,60\nblockalign=8k\n\
                random_distribution=zoned:60/10:40/90,50/50:50/50\noffset=1m\nsize=2m\nio_size=4m\n[b]\nrw=write\nbsrange=4k-8k\nthinktime=5\nthinktime_blocks=3\n\
                thinktime_blocks_type=issue\nfsync=2\nsize=64k\niodepth=4\niodepth_low=2\nnew_group\ngroup_reporting\n";
    let fio = wafer_fio_json::fio_json(&run(jobs, &filled())).unwrap();
    let options = |job: usize, names: &[&str]| {
        let given = &fio["jobs"][job]["job options"];
        names.iter().map(|name| given[name].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let names = ["rwmixread", "bssplit", "rate_iops", "rate_process", "io_submit_mode"];
    assert_eq!(options(0, &names), ["30", "4k/60:8k/40", "1000,,500", "poisson", "offload"]);
    let names = ["startdelay", "norandommap", "percentage_random", "blockalign", "io_size"];
    assert_eq!(options(0, &names), ["100us", "1", "80,60,60", "8192", "4194304"]);
    let names = ["random_distribution", "offset", "size"];
    let zones = "zoned:60/10:40/90,50/50:50/50,50/50:50/50";
    assert_eq!(options(0, &names), [zones, "1048576", "2097152"]);
    let names = ["bsrange", "thinktime", "thinktime_blocks", "thinktime_blocks_type", "fsync"];
    assert_eq!(options(1, &names), ["4k-8k", "5us", "3", "issue", "2"]);
    let names = ["iodepth_low", "iodepth_batch_complete_min", "group_reporting"];
    assert_eq!(options(1, &names), ["2", "1", "1"]);
    assert_eq!(fio["jobs"][1]["latency_depth"], 0);
}

/// Options that differ by direction or clone are written as the jobs have them, and reading them gives the same jobs.
#[test]
fn fio_is_told_what_tells_directions_and_clones_apart() {
    let jobs = "[a]\nrw=randrw:4\nbs=4k,8k\nrw_sequencer=identical\nsize=1m\nflow=2\nflow_id=1\n[b]\nrw=write\nbs=4k\n\
                numjobs=2\noffset_increment=1m\nsize=1m\nstonewall\n";
    let fio = wafer_fio_json::fio_json(&run(jobs, &filled())).unwrap();
    let given = |job: usize, name: &str| fio["jobs"][job]["job options"][name].clone();
    assert_eq!((given(0, "rw"), given(0, "bs")), ("randrw:4".into(), "4096,8192,8192".into()));
    assert_eq!((given(0, "rw_sequencer"), given(0, "flow")), ("identical".into(), "2".into()));
    assert_eq!((given(1, "offset_increment"), given(1, "bs")), ("1048576".into(), "4k".into()));
    assert_eq!(fio["jobs"][0]["namespace_bytes"], fio["jobs"][1]["namespace_bytes"]);
}

#[test]
fn fio_is_told_when_a_job_began() {
    let jobs = "[global]\nbs=4k\nsize=1m\ntime_based\nruntime=20ms\n[w]\nrw=randwrite\n[r]\nrw=randread\nstonewall\n\
                ramp_time=10ms\n[beside]\nrw=read\nstartdelay=5ms\n";
    let fio = wafer_fio_json::fio_json(&run(jobs, &filled())).unwrap();
    let began = (0..3).map(|job| fio["jobs"][job]["job_start"].as_u64().unwrap());
    assert_eq!(began.collect::<Vec<_>>(), [0, 30, 20], "the delay is over by then");
}

#[test]
fn options_that_need_a_clock_are_named_without_one() {
    let jobs = "[a]\nrw=write\nbs=4k\nsize=64k\niodepth=4\n\
                iodepth_low=2\nlatency_target=1ms\nfsync=2\nend_fsync=1\nsync=1\n[b]\nrw=write\nbs=4k\nsize=64k\nio_submit_mode=offload\n";
    let options = Options { timed: None, ..filled() };
    let experiment = Experiment { timed: false, ..experiment(jobs, &options) };
    let told = experiment.check().unwrap().notices;
    let mut told: Vec<&str> = told
        .iter()
        .filter_map(|line| line.strip_suffix(" has no effect without a clock"))
        .collect();
    told.sort_unstable();
    let expected = [
        "job `a`: end_fsync",
        "job `a`: fsync",
        "job `a`: iodepth_low or iodepth_batch_complete",
        "job `a`: latency_target",
        "job `a`: sync",
        "job `b`: io_submit_mode",
    ];
    assert_eq!(told, expected);
}

#[test]
fn writes_count_for_the_handle_that_they_go_to() {
    let namespaces = r#"namespaces=[{size="32MiB",handles=[3,1]},{size="32MiB",handles=[2]}]"#;
    let options = Options { set: vec![namespaces.to_owned()], ..filled() };
    let jobs = "[global]\nrw=randwrite\nbs=4k\nsize=8m\nfdp=1\n[tagged]\nplids=1\nnumber_ios=10\n\
                [untagged]\nfdp=0\nnumber_ios=20\n[other]\nfilename=/dev/nvme0n2\nplids=0\nnumber_ios=40\n\
                [reads]\nfdp=0\nrw=randread\nnumber_ios=5\n";
    let record = run(jobs, &options);
    let time = record.time.as_ref().unwrap();
    let counts: Vec<(String, u64)> =
        time.handles.iter().map(|(handle, all)| (handle.to_string(), all.count)).collect();
    assert_eq!(counts, [("1", 10), ("2", 40), ("3", 20)].map(|(h, count)| (h.to_owned(), count)));
}

#[test]
fn a_steady_precondition_tells_how_it_ended() {
    let steady: Precondition = "sequential+steady".parse().unwrap();
    let options = Options { precondition: Some(steady), ..Options::default() };
    let reached = run(JOBS, &options).steady.unwrap();
    assert!(reached.reached && reached.change.unwrap().abs() < 0.01, "{reached:?}");
    assert!((2..=30).contains(&reached.capacities));
    // This workload ends before it has written the capacity twice.
    let short = "[w]\nrw=randwrite\nbs=4k\nsize=100%\nnumber_ios=1000\n";
    let ended = run(short, &options).steady.unwrap();
    assert!(!ended.reached && ended.waf.is_none(), "{ended:?}");
}

#[test]
fn reads_are_left_out_before_the_run_unless_they_change_the_drive() {
    let writer = "[global]\nbs=4k\nsize=100%\ntime_based=1\nruntime=20ms\n[w]\nrw=randwrite\n";
    let reader = "[r]\nrw=randread\niodepth=64\n";
    let waf = |jobs: String, set: &str| {
        let steady = Some("sequential+steady".parse().unwrap());
        let set = vec!["gc.background_free=0".to_owned(), set.to_owned()];
        let record = run(&jobs, &Options { precondition: steady, set, ..Options::default() });
        record.steady.unwrap().waf.unwrap()
    };
    let all = format!("{writer}{reader}");
    let (alone, beside) =
        (waf(writer.to_owned(), "firmware.parity=0"), waf(all.clone(), "firmware.parity=0"));
    assert_eq!(alone, beside);
    let disturbed = waf(all, "firmware.reads_before_move=60");
    assert!(disturbed > 1.3 * beside, "{disturbed}, {beside}");
}

#[test]
fn the_last_point_has_what_is_moved_after_the_last_write() {
    let jobs = "[w]\nrw=randwrite\nbs=4k\nsize=100%\nio_size=32m\nnorandommap=1\n\
                [r]\nstonewall\nrw=randread\nbs=4k\nsize=100%\nloops=3\n";
    for timed in [false, true] {
        let set = vec!["firmware.reads_before_move=200".to_owned()];
        let record = run(jobs, &Options { set, timed: Some(timed), ..filled() });
        let (timeline, summary) = (&record.timeline, &record.summary);
        assert_eq!(timeline.host_bytes.last(), Some(&summary.host_bytes));
        assert_eq!(timeline.media_bytes.last(), Some(&summary.media_bytes));
        let handles = timeline.handles.values();
        let moved: u64 =
            handles.map(|h| h.media_bytes.last().unwrap() - h.host_bytes.last().unwrap()).sum();
        assert_eq!(moved, summary.media_bytes - summary.host_bytes);
        let before = timeline.media_bytes[timeline.media_bytes.len() - 2];
        assert!(summary.media_bytes > 2 * before, "{before} {}", summary.media_bytes);
    }
}

#[test]
fn life_follows_the_rate_the_waf_and_the_cycles() {
    let jobs = "[w]\nrw=randwrite\nbs=4k\nsize=100%\ntime_based=1\nruntime=2s\nrate_iops=4000\n";
    let life = |set: &[&str]| {
        let set = set.iter().map(|key| (*key).to_owned()).collect();
        let record = run(jobs, &Options { set, ..filled() });
        (record.summary.waf, record.time.unwrap().life.unwrap())
    };
    let (waf, cycles) = life(&["endurance.pe_cycles=3000"]);
    let flash = 80.0 * f64::from(1 << 20);
    assert_eq!(cycles.rated_media_bytes, 3000.0 * flash);
    let (per_second, capacity) = (4000.0 * 4096.0, f64::from(64 << 20));
    assert!((cycles.dwpd / (per_second * 86_400.0 / capacity) - 1.0).abs() < 0.01);
    let seconds = 3000.0 * flash / (waf * per_second);
    assert!(waf > 1.1 && (cycles.years / (seconds / 86_400.0 / 365.25) - 1.0).abs() < 0.01);
    // Metadata wears the flash, but is not part of the WAF.
    let (same, metadata) = life(&["endurance.pe_cycles=3000", "timing.metadata=0.25"]);
    assert_eq!(same, waf);
    assert!((metadata.years / cycles.years / (waf / (waf + 0.25)) - 1.0).abs() < 1e-9);
    // Without cycles, the rating is one drive write per day for five years at a WAF of 3.
    let (_, rated) = life(&[]);
    assert!((rated.rated_media_bytes / (capacity * 365.25 * 15.0) - 1.0).abs() < 1e-9);
    assert!((rated.years * rated.dwpd * waf / 15.0 - 1.0).abs() < 0.01, "{rated:?}");
}

#[test]
fn what_is_written_in_a_later_ramp_wears_the_drive_too() {
    let writer = "
[writer]
rw=randwrite
bs=4k
time_based=1
ramp_time=1900ms
runtime=100ms
rate_iops=4000
";
    let reader = "[reader]\nrw=randread\nbs=4k\ntime_based=1\nruntime=2s\nrate_iops=100\n";
    // On its own, its ramp is the first one, which precedes the time of the run.
    for jobs in [writer.to_owned(), format!("{writer}{reader}")] {
        let record = run(&jobs, &filled());
        let time = record.time.unwrap();
        let pages = record.summary.host_bytes / 4096;
        // At the end of the ramp, the rate begins anew.
        assert!(time.write.unwrap().count < 500 && (8000..8003).contains(&pages), "{pages}");
        let dwpd = 4000.0 * 4096.0 * 86_400.0 / f64::from(64 << 20);
        assert!((time.life.unwrap().dwpd / dwpd - 1.0).abs() < 0.01);
    }
}

#[test]
fn a_latency_target_finds_a_depth_and_its_results_are_those_of_the_last_window() {
    let jobs = "
[reader]
rw=randread
bs=4k
size=100%
norandommap=1
time_based=1
runtime=10s
iodepth=64
latency_target=400us
latency_window=20ms
latency_percentile=99
";
    let record = run(jobs, &filled());
    let depth = record.application.iter().find(|figure| figure.name == "latency_depth").unwrap();
    assert_eq!(depth.tenant, "reader");
    // Reads take 60 us on average, on four dies: of a dozen, more than 1 % find five or more ahead of them.
    assert!((4.0..=12.0).contains(&depth.value), "{depth:?}");
    let reader = &record.time.as_ref().unwrap().jobs["reader"];
    assert!(reader.seconds < 0.1, "{}", reader.seconds);
    let read = reader.read.as_ref().unwrap();
    let in_flight = read.iops * read.mean_us / 1e6;
    let time = record.time.as_ref().unwrap();
    assert_eq!(time.read.as_ref().unwrap().iops, read.iops);
    // The search is not part of any results.
    let of_namespace = time.namespaces[&1].read.as_ref().unwrap();
    assert_eq!((of_namespace.count, of_namespace.iops), (read.count, read.iops));
    let fio = wafer_fio_json::fio_json(&record).unwrap();
    assert_eq!(fio["jobs"][0]["latency_depth"], depth.value as u64);
    assert_eq!(fio["jobs"][0]["latency_target"], 400);
    assert!((in_flight / depth.value - 1.0).abs() < 0.1, "{in_flight}");
    // The next depth was too deep, and this one meets the target in every window.
    let p99 = read.percentiles_us.iter().find(|(p, _)| **p == "99").map(|(_, us)| *us);
    assert!(p99.is_some_and(|us| us <= 405.0), "{p99:?}");
}

#[test]
fn a_steady_job_ends_and_fio_is_told() {
    let jobs = "
[writer]
rw=randwrite
bs=4k
size=100%
norandommap=1
time_based=1
runtime=100s
iodepth=8
steadystate=iops:5%
steadystate_duration=4s
steadystate_ramp_time=1s
";
    let record = run(jobs, &filled());
    let writer = &record.time.as_ref().unwrap().jobs["writer"];
    assert!((5.0..40.0).contains(&writer.seconds), "{}", writer.seconds);
    let fio = wafer_fio_json::fio_json(&record).unwrap();
    let steady = &fio["jobs"][0]["steadystate"];
    assert_eq!((&steady["ss"], &steady["duration"]), (&"iops:5.000000%".into(), &4.into()));
    assert_eq!(steady["attained"], 1);
    let iops = steady["data"]["iops_mean"].as_f64().unwrap();
    let whole = writer.write.as_ref().unwrap().iops;
    assert!((iops / whole - 1.0).abs() < 0.2, "{iops} of {whole}");
    assert_eq!(steady["data"]["bw_mean"].as_f64().unwrap() / 4096.0, iops);
}

/// Reads across holes look up the pages that they read in the buffer, not those before the holes.
#[test]
fn a_read_with_holes_finds_its_pages_in_the_buffer() {
    let experiment = experiment(JOBS, &Options::default());
    let timing = experiment.device.config.timing.as_ref().unwrap();
    let page = |page: u64| Command::write(page * 8, 8, Placement(0));
    // Pages 0 and 2 of a unit of eight; page 1 was never written.
    let read = Command { op: Op::Read, ..Command::write(0, 24, Placement::NONE) };
    let mut list = vec![page(0), page(2), read].into_iter();
    let listed = stream::from_fn(move |out, max| out.extend(list.by_ref().take(max)));
    let mut stream = FixedDepth::new(Box::new(listed), 1, 0);
    let watch = Watch::new(false);
    let mut device = Device::with_observer(&experiment.device.config, 3, watch).unwrap();
    let mut run = TimedRun::new(&mut device, &mut stream, timing, &[], None).unwrap();
    run.run(&mut Recorder::new(10, None), |_| Ok(())).unwrap();
    assert_eq!(run.record(timing, None).dies["host_read"], 0.0);
}
/// Commands end exactly at the volume, whether or not others in the queue are still to be submitted.
#[test]
fn a_closed_loop_ends_at_its_volume() {
    for (depth, volume) in [(1, "32MiB"), (16, "32MiB"), (32, "2x")] {
        let device = device_from_text("small.toml", DEVICE, &[]).unwrap();
        let text = format!("[w]\nrw=randwrite\nbs=128k\niodepth={depth}\nloops=9\n");
        let workload = Workload::new(FioSource { path: "none".into(), text });
        let options = Options {
            volume: Some(volume.parse().unwrap()),
            timed: Some(true),
            ..Options::default()
        };
        let experiment = Experiment::of(device, workload, &options);
        let record = crate::run(&experiment, Control::unattended()).unwrap();
        assert_eq!(Some(record.summary.host_bytes), experiment.volume_bytes());
    }
}

#[test]
fn an_slc_cache_is_fast_until_it_is_full() {
    let jobs = "[w]\nrw=write\nbs=64k\niodepth=8\nsize=100%\n";
    let rate = |megabytes: u64, cache: bool| {
        let jobs = format!("{jobs}io_size={megabytes}m\n");
        let set = if cache { FIRMWARE[1] } else { &[] };
        let set = set.iter().map(|set| set.replace("=3MiB", "=16MiB")).collect();
        let record = time(&jobs, &Options { set, ..Options::default() });
        record.write.unwrap().bytes_per_second / 1e6
    };
    // Four dies program 96 KiB each in 700 us, and 32 KiB in 150 us.
    let (plain, cached) = (4.0 * 98_304.0 / 700.0, 4.0 * 32_768.0 / 150.0);
    let (first, second) = (rate(12, true), rate(48, true));
    assert!((rate(48, false) / plain - 1.0).abs() < 0.15, "{}", rate(48, false));
    assert!((first / cached - 1.0).abs() < 0.25, "{first}");
    // Beyond the cache, a page costs both programs and the read between them.
    assert!(second < plain, "{second}");
}

#[test]
fn a_read_waits_for_its_part_of_the_map() {
    let jobs = "[r]\nrw=randread\nbs=4k\niodepth=1\ntime_based=1\nruntime=200ms\nsize=100%\n";
    let mean = |set: &[&str]| {
        let set = set.iter().map(|set| (*set).to_owned()).collect();
        let record = time(jobs, &Options { set, ..filled() });
        let read = record.read.unwrap();
        (read.mean_us, read.bands.iter().any(|band| band.parts_us.contains_key("map")))
    };
    let (without, no_map) = mean(&[]);
    // Memory holds 4 of 256 translation pages, so nearly every read begins with one of the map, of 60 us.
    let (with, map) = mean(FIRMWARE[0]);
    assert_eq!((no_map, map), (false, true));
    assert!((55.0..75.0).contains(&(with - without)), "{with} - {without}");
}
