//! Job files in the style of the placement studies and of fio's own examples, and the resulting jobs.

use std::path::PathBuf;

use wafer_fio::job::{
    BlockSize, Direction, Distribution, Order, PlacementRule, RateProcess, Sequencer, Submission,
};
use wafer_fio::{Exit, JobSpec, LatencyTarget, Measure, SteadyState};
use wafer_fio_file::{JobFile, Jobs, Target};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// 448 GiB, the capacity of the emulated drive of the studies.
const CAPACITY: u64 = 448 * GIB;

fn target() -> Target {
    Target {
        namespace_bytes: vec![CAPACITY, 64 * GIB],
        namespace_handles: vec![8, 2],
        page_bytes: 4096,
    }
}

fn read(text: &str) -> Jobs {
    let file = JobFile::parse(text, "job.fio").unwrap_or_else(|e| panic!("{e}"));
    file.resolve(&target()).unwrap_or_else(|e| panic!("{e}"))
}

fn ignored(jobs: &Jobs) -> Vec<(&str, u32)> {
    jobs.ignored.iter().map(|i| (i.name, i.line)).collect()
}

/// Returns the job of a section at `line` with `rw=write` and fio's defaults.
fn plain(name: &str, line: u32) -> JobSpec {
    JobSpec {
        name: name.into(),
        instance: 0,
        source: (PathBuf::from("job.fio"), line),
        phase: 0,
        namespace: 0,
        direction: Direction::Write,
        order: Order::Sequential,
        order_modifier: 0,
        sequencer: Sequencer::Sequential,
        read_percent: 50,
        percent_random: [100; 3],
        block_size: [BlockSize::Fixed(4096), BlockSize::Fixed(4096), BlockSize::Fixed(4096)],
        block_size_unaligned: false,
        block_align: [4096; 3],
        offset: 0,
        size: CAPACITY,
        namespace_bytes: CAPACITY,
        io_size: CAPACITY,
        pass_bytes: None,
        number_ios: None,
        loops: 1,
        time_based: false,
        runtime: None,
        ramp_time: 0.0,
        start_delay: 0.0,
        random_map: true,
        distribution: [Distribution::Uniform, Distribution::Uniform, Distribution::Uniform],
        seed: None,
        random_repeat: true,
        iodepth: 1,
        rate: [None; 3],
        rate_iops: [None; 3],
        rate_process: RateProcess::Linear,
        thinktime_us: 0,
        thinktime_blocks: 1,
        thinktime_issued: false,
        thinkcycles: 0,
        submission: Submission::Inline,
        reaping: None,
        fsync: 0,
        end_fsync: false,
        sync: false,
        latency_target: None,
        steady_state: None,
        flow: None,
        group: 0,
        group_reporting: false,
        exit: None,
        placement: PlacementRule::None,
    }
}

fn block(size: u64) -> [BlockSize; 3] {
    [BlockSize::Fixed(size), BlockSize::Fixed(size), BlockSize::Fixed(size)]
}

#[test]
fn one_stream_over_the_whole_device() {
    let jobs = read(
        "[global]\nioengine=io_uring_cmd\ncmd_type=nvme\nfilename=/dev/ng0n1\ndirect=1\n\
         [overwrite]\nrw=randwrite\nbs=128k\niodepth=8\nfdp=1\nfdp_pli=3\ntime_based\nruntime=1d\n",
    );
    let expected = JobSpec {
        order: Order::Random,
        order_modifier: 1,
        block_size: block(128 << 10),
        block_align: [128 << 10; 3],
        pass_bytes: Some(CAPACITY),
        time_based: true,
        runtime: Some(86_400.0),
        iodepth: 8,
        placement: PlacementRule::Fixed(3),
        ..plain("overwrite", 6)
    };
    assert_eq!(jobs.jobs, [expected]);
    assert_eq!(ignored(&jobs), [("cmd_type", 3), ("direct", 5)]);
}

#[test]
fn three_streams_after_a_fill() {
    let jobs = read(
        "[global]\nfilename=/dev/ng0n1\nioengine=io_uring_cmd\nfdp=1\n\
         [fill]\nrw=write\nbs=1m\nfdp_pli=0\n\
         [worker0]\nstonewall\nrw=write\nbs=128k\nsize=90%\nfdp_pli=0\ntime_based=1\nruntime=10h\n\
         [jumper]\nrw=randwrite\nbs=4k\niodepth=32\noffset=90%\nsize=5%\nfdp_pli=2\n\
         time_based=1\nruntime=10h\n\
         [worker1]\nrw=randwrite\nbs=4k\niodepth=32\noffset=95%\nfdp_pli=1\n\
         time_based=1\nruntime=10h\n",
    );
    let percent =
        |p: u64, unit: u64| (u128::from(CAPACITY) * u128::from(p) / 100) as u64 / unit * unit;
    // 90 % of 448 GiB is not a multiple of 4 KiB: offsets are rounded up, sizes down.
    let after = |p| percent(p, 4096) + 4096;
    let base = |name, line| JobSpec {
        phase: 1,
        group: 1,
        time_based: true,
        runtime: Some(36_000.0),
        ..plain(name, line)
    };
    let random = |name, line| JobSpec {
        order: Order::Random,
        order_modifier: 1,
        iodepth: 32,
        ..base(name, line)
    };
    let rest = CAPACITY - after(95);
    assert_eq!(
        jobs.jobs,
        [
            JobSpec {
                block_size: block(MIB),
                block_align: [MIB; 3],
                pass_bytes: Some(CAPACITY),
                placement: PlacementRule::Fixed(0),
                ..plain("fill", 5)
            },
            JobSpec {
                block_size: block(128 << 10),
                block_align: [128 << 10; 3],
                size: percent(90, 128 << 10),
                io_size: percent(90, 128 << 10),
                pass_bytes: Some(percent(90, 128 << 10)),
                placement: PlacementRule::Fixed(0),
                ..base("worker0", 9)
            },
            JobSpec {
                offset: after(90),
                size: percent(5, 4096),
                io_size: percent(5, 4096),
                pass_bytes: Some(percent(5, 4096)),
                placement: PlacementRule::Fixed(2),
                ..random("jumper", 17)
            },
            JobSpec {
                offset: after(95),
                size: rest,
                io_size: rest,
                pass_bytes: Some(rest),
                placement: PlacementRule::Fixed(1),
                ..random("worker1", 26)
            },
        ]
    );
}

#[test]
fn skewed_overwrites() {
    let jobs = read(
        "[global]\nrw=randwrite\nbs=4k\nfdp=1\nsize=64g\noffset_increment=64g\n\
         [zipf]\nrandom_distribution=zipf:1.2\nfdp_pli=0\n\
         [hotcold]\nrandom_distribution=zoned:80/20:20/80\nfdp_pli=1\nio_size=256g\n\
         [tail]\nrandom_distribution=zoned:90/10:10/20\nfdp_pli=2-3\nnumjobs=2\n",
    );
    let base = |name, line| JobSpec {
        order: Order::Random,
        order_modifier: 1,
        random_map: false,
        size: 64 * GIB,
        io_size: 64 * GIB,
        ..plain(name, line)
    };
    let same = |d: Distribution| [d.clone(), d.clone(), d];
    let tail = |instance: u32| JobSpec {
        instance,
        offset: u64::from(instance) * 64 * GIB,
        distribution: same(Distribution::Zoned(vec![(90.0, 10.0), (10.0, 20.0), (0.0, 70.0)])),
        placement: PlacementRule::RoundRobin(vec![2, 3]),
        ..base("tail", 14)
    };
    assert_eq!(
        jobs.jobs,
        [
            JobSpec {
                distribution: same(Distribution::Zipf { theta: 1.2, center: None }),
                placement: PlacementRule::Fixed(0),
                ..base("zipf", 7)
            },
            JobSpec {
                distribution: same(Distribution::Zoned(vec![(80.0, 20.0), (20.0, 80.0)])),
                placement: PlacementRule::Fixed(1),
                io_size: 256 * GIB,
                ..base("hotcold", 10)
            },
            tail(0),
            tail(1),
        ]
    );
}

#[test]
fn mixed_sizes_and_alignment() {
    // The enterprise workload of JESD219, as in fio's example.
    let jobs = read(
        "[JESD219]\nioengine=libaio\ndirect=1\nrw=randrw\nnorandommap\nrandrepeat=0\n\
         rwmixread=40\nrwmixwrite=60\n\
         iodepth=256\nnumjobs=4\n\
         bssplit=512/4:1024/1:1536/1:2048/1:2560/1:3072/1:3584/1:4k/67:8k/10:16k/7:32k/3:64k/3\n\
         blockalign=4k\nrandom_distribution=zoned:50/5:30/15:20/80\n\
         filename=/dev/nvme0n1\ngroup_reporting\n",
    );
    assert_eq!(jobs.jobs.len(), 4);
    let job = &jobs.jobs[3];
    assert_eq!((job.instance, job.phase, job.read_percent, job.iodepth), (3, 0, 40, 256));
    assert_eq!(job.direction, Direction::ReadWrite);
    assert!(!job.random_map);
    assert_eq!(job.block_align, [4096; 3]);
    let BlockSize::Split(split) = &job.block_size[1] else { panic!("{job:?}") };
    assert_eq!(split.len(), 12);
    assert_eq!(split[7], (4096, 67.0));
    assert_eq!(split.iter().map(|s| s.1).sum::<f64>(), 100.0);
    let names = ["direct", "group_reporting"];
    assert_eq!(jobs.ignored.iter().map(|i| i.name).collect::<Vec<_>>(), names);
}

#[test]
fn sizes_by_direction_and_what_rules_over_what() {
    let jobs = read(
        "[a]\nbsrange=4k-16k,8k-8k\nbs=64k,32k,128k\nrw=rw\n[b]\nbs=,16k\nrw=trimwrite\n\
         [c]\nbsrange=1k-2k\nbssplit=4k/50:8k,16k\nrw=randrw:8\nba=8k\nbs_unaligned\n",
    );
    let [a, b, c] = &jobs.jobs[..] else { panic!("{jobs:?}") };
    let range = BlockSize::Range { min: 4096, max: 16384 };
    assert_eq!(a.block_size, [range, BlockSize::Fixed(8192), BlockSize::Fixed(8192)]);
    let fixed = BlockSize::Fixed;
    assert_eq!(b.block_size, [fixed(4096), fixed(16384), fixed(16384)]);
    assert_eq!(b.direction, Direction::TrimWrite);
    let split = BlockSize::Split(vec![(4096, 50.0), (8192, 50.0)]);
    assert_eq!(c.block_size, [split, fixed(16384), fixed(16384)]);
    assert_eq!((c.order_modifier, c.block_align, c.random_map), (8, [8192; 3], false));
    assert!(c.block_size_unaligned);
}

#[test]
fn random_maps() {
    let map =
        |lines: &str| read(&format!("[a]\nrw=randwrite\nsize=1g\n{lines}\n")).jobs[0].random_map;
    assert!(map(""));
    assert!(!map("norandommap"));
    assert!(map("norandommap=0"));
    assert!(!map("norandommap=1"));
    // The shift register visits each block once without a map.
    assert!(map("norandommap\nrandom_generator=lfsr"));
    assert!(!map("random_distribution=zipf"));
    assert!(!map("random_distribution=zipf:0"));
    assert!(!map("blockalign=8k"));
    assert!(map("blockalign=4k"));
}

#[test]
fn rates_times_and_ends() {
    let jobs = read(
        "[a]\nrate=1m,500k\nthinktime=10ms\nthinktime_blocks=8\nstartdelay=5-10\n\
         ramp_time=1500ms\nloops=3\nnumber_ios=1k\nrandseed=0x10\n\
         [b]\nrate_iops=,100\ntime_based\nrate_process=poisson\nrw=write:-8k\n",
    );
    let [a, b] = &jobs.jobs[..] else { panic!("{jobs:?}") };
    assert_eq!(a.rate, [Some(MIB), Some(500 << 10), Some(500 << 10)]);
    assert_eq!((a.thinktime_us, a.thinktime_blocks), (10_000, 8));
    assert!((5.0..10.0).contains(&a.start_delay), "{}", a.start_delay);
    assert_eq!((a.ramp_time, a.loops), (1.5, 3));
    let clones = read("[c]\nrw=write\nstartdelay=1-3\nnumjobs=8\n").jobs;
    let delays: std::collections::BTreeSet<u64> =
        clones.iter().map(|job| (job.start_delay * 1e6) as u64).collect();
    assert!(delays.len() == 8 && delays.iter().all(|us| (1_000_000..3_000_000).contains(us)));
    assert_eq!((a.number_ios, a.seed), (Some(1024), Some(16)));
    assert_eq!(b.rate_iops, [None, Some(100), Some(100)]);
    assert_eq!(b.rate_process, RateProcess::Poisson);
    // fio switches `time_based` off if no runtime is given.
    assert!(!b.time_based);
    assert_eq!(b.order_modifier, -8192);
    assert_eq!(ignored(&jobs), [("time_based", 12)]);
}

#[test]
fn a_flow_has_a_group_and_a_weight() {
    let jobs = read("[a]\nflow=8\n[b]\nflow=1\nflow_id=7\nflow_sleep=1000\n[c]\nflow_id=2\n[d]\n");
    let flows: Vec<_> = jobs.jobs.iter().map(|j| j.flow.map(|f| (f.id, f.weight))).collect();
    assert_eq!(flows, [Some((0, 8)), Some((7, 1)), None, None]);
    assert_eq!(ignored(&jobs), [("flow_sleep", 6), ("flow_id", 8)]);
}

#[test]
fn globals_add_up_and_hold_for_what_follows() {
    let jobs = read(
        "[global]\nsize=8k\nnumber_ios=1k\n[a]\nsize=16k\n[b]\nnumber_ios=1k\nkb_base=1000\n\
         [global-more]\niodepth=4\n[c]\n",
    );
    let values: Vec<_> = jobs.jobs.iter().map(|j| (j.size, j.number_ios, j.iodepth)).collect();
    // A section's `kb_base` applies to the whole section, and to no other.
    assert_eq!(values, [(16384, Some(1024), 1), (8192, Some(1000), 1), (8192, Some(1024), 4)]);
}

#[test]
fn placement_rules() {
    let rule = |lines: &str| read(&format!("[a]\nrw=write\n{lines}\n")).jobs[0].placement.clone();
    assert_eq!(rule("fdp=1"), PlacementRule::RoundRobin((0..8).collect()));
    assert_eq!(rule("fdp=1\nfilename=/dev/ng0n2"), PlacementRule::RoundRobin(vec![0, 1]));
    assert_eq!(rule("dataplacement=fdp\nplids=5,1"), PlacementRule::RoundRobin(vec![1, 5]));
    assert_eq!(
        rule("fdp=1\nfdp_pli=5,1\nfdp_pli_select=random"),
        PlacementRule::Random(vec![1, 5])
    );
    assert_eq!(rule("fdp_pli=5,1"), PlacementRule::None);
    assert_eq!(rule("fdp=0\nplids=99"), PlacementRule::None);
    let jobs = read("[a]\nplids=1\n");
    assert_eq!(ignored(&jobs), [("plids", 2)]);

    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("map"), "0, 1048576, 1\n1048576,2097152,2\n").unwrap();
    let path = dir.path().join("job.fio");
    std::fs::write(&path, "[a]\nrw=write\nfdp=1\nplid_select=scheme\ndp_scheme=map\nplids=3\n")
        .unwrap();
    let jobs = JobFile::read(&path).and_then(|f| f.resolve(&target())).unwrap();
    assert_eq!(
        jobs.jobs[0].placement,
        PlacementRule::Scheme { ranges: vec![(0, MIB, 1), (MIB, 2 * MIB, 2)], plids: vec![0] }
    );
}

#[test]
fn phases_and_namespaces() {
    let jobs = read(
        "[fill]\nrw=write\n[other]\nrw=write\nfilename=/dev/nvme0n2\n\
         [next]\nrw=randwrite\nstonewall\nnumjobs=2\n\
         [last]\nrw=read\nwait_for=next\n",
    );
    let places: Vec<_> = jobs.jobs.iter().map(|j| (j.phase, j.namespace, j.size)).collect();
    let all = CAPACITY;
    assert_eq!(places, [(0, 0, all), (0, 1, 64 * GIB), (1, 0, all), (1, 0, all), (2, 0, all)]);
}

#[test]
fn synchronous_engines_have_one_command_in_flight() {
    let jobs = read("[a]\nioengine=psync\niodepth=32\n[b]\niodepth=32\n");
    assert_eq!(jobs.jobs.iter().map(|j| j.iodepth).collect::<Vec<_>>(), [1, 32]);
    assert_eq!(ignored(&jobs), [("iodepth", 3)]);
}

#[test]
fn variables_and_the_page() {
    let file =
        JobFile::parse("[a]\nrw=${RW}\nbs=4*$pagesize\niodepth=${DEPTH}\n", "job.fio").unwrap();
    let variables = |name: &str| match name {
        "RW" => Some("randwrite".to_owned()),
        "DEPTH" => Some("7".to_owned()),
        _ => None,
    };
    let jobs = file.resolve_with(&target(), &variables).unwrap();
    assert_eq!(jobs.jobs[0].block_size[1], BlockSize::Fixed(16384));
    assert_eq!((jobs.jobs[0].order, jobs.jobs[0].iodepth), (Order::Random, 7));
}

#[test]
fn unsupported_options_that_are_switched_off_are_fine() {
    let jobs = read("[a]\nzonemode=none\nnum_range=1\nverify_only=0\n");
    assert_eq!(jobs.ignored.len(), 3);
}

#[test]
fn a_latency_target_is_in_microseconds() {
    let jobs = read(
        "[a]\nlatency_target=2ms\nlatency_window=500\nlatency_percentile=99.9\nlatency_run=1\n[b]\nlatency_target=0\n",
    );
    let target = LatencyTarget {
        nanoseconds: 2_000_000,
        window: 500_000,
        percentile: 99.9,
        keeps_looking: true,
    };
    assert_eq!(jobs.jobs[0].latency_target, Some(target));
    assert_eq!(jobs.jobs[1].latency_target, None);
}

/// The expected values are those of fio 3.33.
#[test]
fn a_job_that_trims_and_writes_counts_both() {
    let of = |options: &str| {
        read(&format!("[a]\nrw=randtrimwrite\nbs=4k\n{options}\n")).jobs[0].io_size / MIB
    };
    let sizes = [(1, 5, 3), (2, 5, 4), (1, 3, 2), (2, 3, 2), (4, 3, 3), (2, 9, 6)];
    for (size, io_size, each) in sizes {
        let options = format!("size={size}m\nio_size={io_size}m");
        assert_eq!(of(&options), each, "{options}");
        assert_eq!(of(&format!("{options}\nrw=trimwrite")), each, "{options}");
    }
    assert_eq!(of("size=1m\nio_size=5m\nnorandommap"), 5);
    assert_eq!(of("size=1m\nloops=2"), 1);
}

#[test]
fn completions_are_reaped_by_fios_rules() {
    let of = |options: &str| {
        let file = format!("[a]\nioengine=io_uring\niodepth=16\n{options}");
        read(&file).jobs[0].reaping.map(|reaping| (reaping.low, reaping.least))
    };
    // These values change nothing.
    for options in ["iodepth_low=0", "iodepth_low=20", "iodepth_batch_complete_min=0"] {
        assert_eq!(
            of(&format!("{options}\niodepth_batch=8\niodepth_batch_complete_max=4\n")),
            None
        );
    }
    assert_eq!(of("iodepth_low=4\n"), Some((4, 1)));
    assert_eq!(of("iodepth_batch_complete=8\n"), Some((16, 8)));
    let all = "iodepth_low=1\niodepth_batch_complete_min=3\niodepth_batch_complete_max=12\n";
    assert_eq!(of(all), Some((1, 3)));
    assert_eq!(of(&format!("ioengine=psync\n{all}")), None);
    assert_eq!(of(&format!("io_submit_mode=offload\n{all}")), None);
    let jobs = read("[a]\n[b]\nio_submit_mode=offload\nthinktime_blocks_type=issue\n").jobs;
    assert_eq!((jobs[0].submission, jobs[0].thinktime_issued), (Submission::Inline, false));
    assert_eq!((jobs[1].submission, jobs[1].thinktime_issued), (Submission::Offload, true));
}

#[test]
fn steadystate_is_read_with_its_units_and_groups() {
    let jobs = read(
        "[global]\nsteadystate=bw:10m\nss_dur=30\n[a]\n[b]\ngroup_reporting=1\n[c]\ngroup_reporting=1\nnumjobs=2\n\
         [d]\ngroup_reporting=1\nnew_group\nss=iops_slope:0.3%\nss_ramp=1m\nss_interval=5\n[e]\nstonewall\nss=lat:2ms\n[f]\nss_dur=0\n",
    );
    let bandwidth = SteadyState {
        measure: Measure::Bandwidth,
        slope: false,
        limit: 10.0 * MIB as f64,
        percent: false,
        intervals: 30,
        interval: 1_000_000_000,
        ramp: 0,
    };
    let slope = SteadyState {
        measure: Measure::Iops,
        slope: true,
        limit: 0.3,
        percent: true,
        intervals: 6,
        interval: 5_000_000_000,
        ramp: 60_000_000_000,
    };
    let latency = SteadyState { measure: Measure::Latency, limit: 2e6, ..bandwidth };
    let all: Vec<_> = jobs.jobs.iter().map(|job| job.steady_state).collect();
    let [bandwidth, slope_of_d, latency] = [bandwidth, slope, latency].map(Some);
    assert_eq!(all, [bandwidth, bandwidth, bandwidth, bandwidth, slope_of_d, latency, None]);
    let together: Vec<_> = jobs.jobs.iter().map(|job| job.group_reporting).collect();
    assert_eq!(together, [false, true, true, true, true, false, false]);
    assert_eq!(slope.criterion(), "iops_slope:0.3%");
    assert_eq!(ignored(&jobs), [("steadystate", 2)], "of the last job");
}

#[test]
fn exitall_is_one_for_all_jobs_and_exit_what_each_has() {
    let text = "[a]\nexit_what=stonewall\n[b]\nnew_group\nexitall\n[c]\nstonewall\nexit_what=all\nnumjobs=2\n";
    let exits = |text| {
        let jobs = read(text);
        jobs.jobs.iter().map(|job| (job.group, job.exit)).collect::<Vec<_>>()
    };
    let all = Some(Exit::All);
    assert_eq!(exits(text), [(0, Some(Exit::Running)), (1, Some(Exit::Group)), (2, all), (2, all)]);
    assert_eq!(exits("[a]\nexit_what=all\n"), [(0, None)]);
    // The first job does not begin a new group.
    assert_eq!(exits("[a]\nstonewall\n[b]\n[c]\nstonewall\n"), [(0, None), (0, None), (1, None)]);
}
