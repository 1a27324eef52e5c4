use proptest::prelude::*;

use super::*;
use crate::flow::Flow;
use crate::job::{Direction, Exit, Order};
use wafer_interface::Op;

/// An endless random writer to namespace `number`, which identifies its commands.
fn writer(name: &str, number: u8, block: u64, iodepth: u32) -> JobSpec {
    let job = JobSpec::synthetic(name, Direction::Write, Order::Random, 1 << 30, block);
    JobSpec { iodepth, time_based: true, runtime: Some(1e6), ..job.on(number, 0) }
}

fn warp() -> Vec<JobSpec> {
    vec![
        writer("worker0", 0, 128 << 10, 1),
        writer("jumper", 1, 4096, 32),
        writer("worker1", 2, 4096, 32),
    ]
}

fn mixer(jobs: Vec<JobSpec>, pace: &str) -> Mixer {
    let pace = Pace::parse(pace, false).unwrap();
    Mixer::new(jobs, &MixerOptions { pace, until_volume: true, ..Default::default() }).unwrap()
}

/// Returns the bytes written to each namespace by the next `n` commands.
fn bytes(mixer: &mut Mixer, n: usize) -> Vec<u64> {
    let mut out = Vec::new();
    mixer.fill(&mut out, n);
    let mut bytes = vec![0; 8];
    for c in out.iter().filter(|c| c.op == wafer_interface::Op::Write) {
        bytes[c.namespace.index()] += c.bytes();
    }
    bytes
}

fn shares(mixer: &mut Mixer, n: usize) -> Vec<f64> {
    let bytes = bytes(mixer, n);
    let sum: u64 = bytes.iter().sum();
    bytes.iter().map(|b| *b as f64 / sum as f64).collect()
}

fn near(found: &[f64], expected: &[f64]) {
    for (f, e) in found.iter().zip(expected) {
        assert!((f - e).abs() < 0.002, "{found:?}, not {expected:?}");
    }
}

#[test]
fn the_closed_loop_gives_the_measured_shares() {
    near(&shares(&mut mixer(warp(), ""), 400_000), &[0.58, 0.21, 0.21]);
}

#[test]
fn fixed_shares() {
    let pace = "worker0=0.5,jumper=0.125,worker1=0.375";
    near(&shares(&mut mixer(warp(), pace), 400_000), &[0.5, 0.125, 0.375]);
    // Shares are normalised when all jobs are named.
    near(
        &shares(&mut mixer(warp(), "worker0=4,jumper=1,worker1=3"), 400_000),
        &[0.5, 0.125, 0.375],
    );
    // A named job gets its share of all bytes, the others split the rest as they would have.
    near(&shares(&mut mixer(warp(), "jumper=0.4"), 400_000), &[0.4404, 0.4, 0.1596]);
    // Clones divide the share of their section.
    let mut jobs = warp();
    jobs[2].name = "jumper".to_owned();
    near(&shares(&mut mixer(jobs, "jumper=0.4,worker0=0.6"), 400_000), &[0.6, 0.2, 0.2]);
}

#[test]
fn equal_jobs_alternate_without_drift() {
    let mut jobs = warp();
    jobs.remove(0);
    for pace in ["", "jumper=1,worker1=1", "jumper=0.5"] {
        let mut mixer = mixer(jobs.clone(), pace);
        let mut out = Vec::new();
        mixer.fill(&mut out, 1_000_000);
        for (i, pair) in out.chunks(2).enumerate() {
            let pair = [pair[0].namespace.0, pair[1].namespace.0];
            assert_eq!(pair, [1, 2], "{pace}, pair {i}");
        }
    }
}

#[test]
fn bad_shares() {
    let error = |pace: &str| {
        let pace = Pace::parse(pace, false).unwrap();
        let options = MixerOptions { pace, ..Default::default() };
        Mixer::new(warp(), &options).unwrap_err().to_string()
    };
    let unknown = error("worker7=0.5");
    assert!(
        unknown.ends_with("no job `worker7`; the jobs are worker0, jumper, worker1"),
        "{unknown}"
    );
    let nothing = error("worker0=0.7,jumper=0.3");
    assert!(nothing.contains("leave nothing for job `worker1`"), "{nothing}");
    let none = Mixer::new(vec![], &MixerOptions::default()).unwrap_err().to_string();
    assert_eq!(none, "the workload has no jobs");
}

#[test]
fn phases_follow_each_other() {
    let fill = JobSpec::fill(1 << 20, 128 << 10).on(7, 0);
    let mut jobs = vec![fill];
    jobs.extend(warp().into_iter().map(|j| JobSpec { phase: 1, ..j }));
    let mut mixer = mixer(jobs, "worker0=1,jumper=1,worker1=1");
    assert_eq!(mixer.running(), ["fill"]);
    assert_eq!(mixer.total_bytes(), None);
    let found = bytes(&mut mixer, 8);
    assert_eq!(found[7], 1 << 20);
    near(&shares(&mut mixer, 100_000), &[1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]);
    assert_eq!(mixer.running(), ["worker0", "jumper", "worker1"]);
    assert_eq!(mixer.phase(), (1, 2));
}

#[test]
fn finite_jobs_end_and_are_counted() {
    let mut jobs = vec![
        JobSpec::fill(1 << 20, 4096).on(0, 0),
        JobSpec::random_overwrite(1 << 20, 4096, 3 << 20, true).on(1, 0),
        JobSpec { phase: 4, ..JobSpec::fill(1 << 20, 8192).on(2, 0) },
    ];
    let finite = |jobs: Vec<JobSpec>, pace: &str| {
        let pace = Pace::parse(pace, false).unwrap();
        Mixer::new(jobs, &MixerOptions { pace, ..Default::default() }).unwrap()
    };
    let all = finite(jobs.clone(), "fill=1,overwrite=1");
    assert_eq!(all.total_bytes(), Some(5 << 20));
    assert!(all.memory_bytes() > 0 && all.memory_bytes() < 1 << 20);
    let found = bytes(&mut all.clone(), 1_000_000);
    assert_eq!(found[..3], [1 << 20, 3 << 20, 1 << 20]);
    jobs[0].loops = 2;
    assert_eq!(finite(jobs, "").total_bytes(), Some(6 << 20));
}

#[test]
fn a_volume_says_how_long_where_the_file_says_nothing() {
    let fill = JobSpec::fill(1 << 20, 4096);
    let written = |job: &JobSpec| bytes(&mut mixer(vec![job.clone()], ""), 1_000)[0];
    assert_eq!(written(&fill), 1_000 * 4096);
    // Jobs with another limit end at it.
    assert_eq!(written(&JobSpec { loops: 2, ..fill.clone() }), 2 << 20);
    assert_eq!(written(&JobSpec { number_ios: Some(10), ..fill.clone() }), 10 * 4096);
    // Alongside an endless job, others end by their bytes.
    let endless = JobSpec { time_based: true, runtime: Some(1.0), ..fill.clone().on(1, 0) };
    assert_eq!(bytes(&mut mixer(vec![fill.clone(), endless], ""), 1_000)[0], 1 << 20);

    let reads = JobSpec { direction: Direction::Read, runtime: Some(9.0), ..fill.clone() };
    // Alongside an endless reader, a job continues.
    assert!(bytes(&mut mixer(vec![reads.clone(), fill.on(1, 0)], ""), 10_000)[1] > 4 << 20);
    let options = MixerOptions { until_volume: true, ..Default::default() };
    let error = Mixer::new(vec![reads], &options).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "no job of the last phase continues writing, so a volume or a steady state may never be reached"
        )
    );
}

#[test]
fn model_seconds_rule_without_a_volume() {
    let run = |change: &dyn Fn(&mut JobSpec)| {
        let mut job = writer("a", 0, 4096, 1);
        change(&mut job);
        let mut mixer = Mixer::new(vec![job], &MixerOptions::default()).unwrap();
        let mut out = Vec::new();
        mixer.fill(&mut out, 10_000_000);
        (out.len(), mixer.model_seconds())
    };
    // 20 us and 3 us for 4 KiB at 1.365 GB/s.
    let (n, seconds) = run(&|j| j.runtime = Some(1.0));
    assert!((43_470..43_490).contains(&n) && (0.9999..1.0).contains(&seconds), "{n} {seconds}");
    let (n, seconds) = run(&|j| (j.runtime, j.ramp_time, j.start_delay) = (Some(1.0), 1.0, 2.0));
    assert!((86_950..86_970).contains(&n) && (3.999..4.0).contains(&seconds), "{n} {seconds}");
    // A delay counts from the start of the run, not of the phase.
    let later = |start_delay| {
        let first = JobSpec { runtime: Some(1.0), ..writer("a", 0, 4096, 1) };
        let then = JobSpec { start_delay, phase: 1, ..first.clone() };
        let mut mixer = Mixer::new(vec![first, then], &MixerOptions::default()).unwrap();
        mixer.fill(&mut Vec::new(), 10_000_000);
        mixer.model_seconds()
    };
    assert!((1.999..2.0).contains(&later(0.5)) && (3.999..4.0).contains(&later(3.0)));
    assert_eq!(run(&|j| (j.runtime, j.rate[1]) = (Some(2.0), Some(409_600))).0, 200);
    assert_eq!(run(&|j| (j.runtime, j.rate_iops[1]) = (Some(2.0), Some(1000))).0, 2000);
    // A direction that is ahead of its rate yields to the other.
    let (n, _) = run(&|j| {
        (j.direction, j.runtime) = (Direction::ReadWrite, Some(2.0));
        j.rate_iops = [Some(1000), Some(500), None];
    });
    assert!((2_997..=3_003).contains(&n), "{n}");
    let think = |j: &mut JobSpec| {
        (j.runtime, j.thinktime_us, j.thinktime_blocks) = (Some(1.0), 1_000_000 - 240, 10);
    };
    assert_eq!(run(&think).0, 11);
    // Without `time_based`, the bytes end it first.
    let (n, _) = run(&|j| (j.time_based, j.size, j.io_size) = (false, 1 << 20, 1 << 20));
    assert_eq!(n, 256);
}

/// A table of shares from cumulative MiB.
fn table(rows: &[[u64; 3]]) -> PaceTable {
    let rows: Vec<Vec<u64>> = rows.iter().map(|row| row.map(|mib| mib << 20).to_vec()).collect();
    PaceTable::new(&rows).unwrap()
}

#[test]
fn shares_over_time_from_a_table() {
    // One stream fills, then 3:1, then 1:3; the last interval continues.
    let rows = [[0, 0, 0], [64, 64, 0], [164, 139, 25], [264, 164, 100]];
    let pace = Pace::parse("a=ruh0,b=ruh2", true).unwrap().with_table(table(&rows));
    let jobs = vec![
        JobSpec::fill(64 << 20, 128 << 10),
        JobSpec { phase: 1, ..writer("a", 0, 4096, 1) },
        JobSpec { phase: 1, ..writer("b", 1, 4096, 32) },
    ];
    let options = MixerOptions { pace, until_volume: true, ..Default::default() };
    let mut mixer = Mixer::new(jobs, &options).unwrap();
    assert_eq!(bytes(&mut mixer, 512)[0], 64 << 20);
    near(&shares(&mut mixer, 100 << 8), &[0.75, 0.25]);
    assert_eq!(mixer.written_bytes(), 164 << 20);
    near(&shares(&mut mixer, 100 << 8), &[0.25, 0.75]);
    near(&shares(&mut mixer, 500 << 8), &[0.25, 0.75]);
}

#[test]
fn a_stream_absent_for_an_interval_comes_back() {
    let rows = [[0, 0, 0], [50, 50, 0], [100, 75, 25], [150, 75, 75]];
    let pace = Pace::parse("a=x,b=y", true).unwrap().with_table(table(&rows));
    let jobs = vec![writer("a", 0, 4096, 1), writer("b", 1, 4096, 1)];
    let options = MixerOptions { pace, until_volume: true, ..Default::default() };
    let mut mixer = Mixer::new(jobs, &options).unwrap();
    near(&shares(&mut mixer, 50 << 8), &[1.0, 0.0]);
    near(&shares(&mut mixer, 50 << 8), &[0.5, 0.5]);
    near(&shares(&mut mixer, 50 << 8), &[0.0, 1.0]);
}

proptest! {
    #[test]
    fn batches_do_not_matter(
        blocks in prop::collection::vec((1..33u64, 1..64u32, 0..4u32, any::<bool>()), 1..6),
        pace: bool,
        short_cut: bool,
        batch in 1..600usize,
    ) {
        let jobs: Vec<JobSpec> = blocks.iter().enumerate().map(|(i, &(block, depth, phase, end))| {
            let job = writer(&format!("job{i}"), i as u8, block * 4096, depth);
            let phase = phase / 3;
            let time_based = !end;
            let io_size = if end { 300 * 4096 } else { job.io_size };
            let runtime = if end { None } else { Some(0.01) };
            JobSpec { phase, time_based, io_size, runtime, ..job }
        }).collect();
        let pace = if pace { "job0=0.3" } else { "" };
        let whole = mixer(jobs, pace);
        let mut one = Vec::new();
        whole.clone().fill(&mut one, 4096);
        let (mut parts, mut split) = (Vec::new(), whole);
        if !short_cut {
            // This affects only the first phase, which is the only one in most cases.
            split.phase.without_short_cut();
        }
        while parts.len() < 4096 {
            let before = parts.len();
            split.fill(&mut parts, batch.min(4096 - before));
            if parts.len() == before {
                break;
            }
        }
        prop_assert_eq!(one, parts);
    }
}

#[test]
fn without_jobs_that_read_the_others_issue_the_same() {
    let reader = |name, iodepth, phase| {
        let job = JobSpec::synthetic(name, Direction::Read, Order::Random, 1 << 30, 4096);
        JobSpec { iodepth, time_based: true, runtime: Some(0.02), phase, ..job }
    };
    let mixed = JobSpec {
        direction: Direction::ReadWrite,
        rate_iops: [Some(9_000); 3],
        ..writer("mixed", 3, 16 << 10, 8)
    };
    let first = JobSpec { io_size: 4 << 20, time_based: false, ..writer("first", 0, 4096, 4) };
    let last = |job: JobSpec| JobSpec { phase: 2, ..job };
    let mut jobs = vec![reader("beside", 16, 0), first, reader("alone", 4, 1)];
    jobs.extend(warp().into_iter().map(last));
    jobs.extend([last(reader("at the end", 64, 2)), last(mixed)]);
    let commands = |without_reads| {
        let options = MixerOptions { until_volume: true, without_reads, ..Default::default() };
        let mut out = Vec::new();
        Mixer::new(jobs.clone(), &options).unwrap().fill(&mut out, 60_000);
        out
    };
    let (all, some) = (commands(false), commands(true));
    let reads = |commands: &[Command]| commands.iter().filter(|c| c.op == Op::Read).count();
    assert!(reads(&all) > reads(&some) && reads(&some) > 0, "{} {}", reads(&all), reads(&some));
    let of_others = all.iter().filter(|c| c.op == Op::Write || c.namespace.0 == 3);
    let count = of_others.clone().count();
    assert!(count > 10_000);
    assert!(of_others.eq(&some[..count]));
}

#[test]
fn jobs_end_with_another() {
    // In each phase, the first job ends after a hundred commands, the others never; one of them belongs to another
    // group.
    let jobs = |exit| {
        let job = |name, number, group, phase| JobSpec {
            exit: Some(exit),
            group,
            phase,
            runtime: None,
            time_based: false,
            io_size: 1 << 40,
            random_map: false,
            ..writer(name, number, 4096, 4)
        };
        let first = |phase, group| JobSpec { number_ios: Some(100), ..job("a", 0, group, phase) };
        let other = |phase, group| JobSpec { number_ios: Some(500), ..job("c", 2, group, phase) };
        [0, 2].map(|g| [first(g / 2, g), job("b", 1, g, g / 2), other(g / 2, g + 1)]).concat()
    };
    let written = |exit| {
        let options = MixerOptions::default();
        let mut mixer = Mixer::new(jobs(exit), &options).unwrap();
        assert_eq!(mixer.total_bytes(), None);
        bytes(&mut mixer, 100_000)[..3].iter().map(|bytes| bytes / 4096).collect::<Vec<_>>()
    };
    // The jobs take turns, the first one before the others.
    assert_eq!(written(Exit::Group), [200, 198, 1000]);
    assert_eq!(written(Exit::Running), [200, 198, 198]);
    assert_eq!(written(Exit::All), [100, 99, 99]);
}

#[test]
fn jobs_of_a_flow_keep_their_parts_of_the_commands() {
    let flowing = |id, weight, spec: JobSpec| JobSpec { flow: Some(Flow { id, weight }), ..spec };
    // On their own, the first job would be slow and the second fast; the last belongs to no flow, and the one before it
    // to another.
    let slow = flowing(0, 1, writer("slow", 0, 128 << 10, 1));
    let fast = flowing(0, 8, writer("fast", 1, 4096, 32));
    let mut reader = flowing(0, 3, writer("reader", 2, 4096, 4));
    reader.direction = Direction::Read;
    let jobs = [slow.clone(), fast, reader, flowing(1, 5, writer("other", 3, 4096, 1)), {
        writer("free", 4, 4096, 1)
    }];
    for without_reads in [false, true] {
        let options = MixerOptions { without_reads, until_volume: true, ..Default::default() };
        let mut mixer = Mixer::new(jobs.to_vec(), &options).unwrap();
        let mut out = Vec::new();
        mixer.fill(&mut out, 100_000);
        let mut counts = [0u64; 5];
        for (at, command) in out.iter().enumerate() {
            counts[command.namespace.index()] += 1;
            let [slow, fast, reader, ..] = counts;
            // At all times, not only at the end, each is at most one command ahead of its share.
            let near = fast.abs_diff(8 * slow) <= 16 && reader.abs_diff(3 * slow) <= 8;
            assert!(near, "{at} {counts:?}");
        }
        assert!(counts[0] > 1000 && counts[3] == counts[4], "{counts:?}");
    }
    // A job waits for the others of its flow until they have ended.
    let ends = JobSpec { number_ios: Some(80), time_based: false, ..jobs[1].clone() };
    let mut mixer = Mixer::new(vec![slow, ends], &MixerOptions::default()).unwrap();
    assert_eq!(bytes(&mut mixer, 90)[..2], [10 * (128 << 10), 80 * 4096]);
    assert_eq!(bytes(&mut mixer, 1000)[..2], [1000 * (128 << 10), 0]);
    // A share and a flow would contradict each other.
    let pace = Pace::parse("fast=0.5", false).unwrap();
    let refused = Mixer::new(jobs.to_vec(), &MixerOptions { pace, ..Default::default() });
    assert!(refused.unwrap_err().to_string().contains("`fast` has `flow`"));
}

/// A job with a long think time whose run time is up in the middle of a pause.
fn thinking(name: &str, number: u8) -> JobSpec {
    JobSpec { thinktime_us: 200_000, runtime: Some(3.1), ..writer(name, number, 4096, 1) }
}

#[test]
fn others_wait_until_the_time_of_a_job_is_up() {
    let count = |jobs: Vec<JobSpec>| {
        let mut mixer = Mixer::new(jobs, &MixerOptions::default()).unwrap();
        bytes(&mut mixer, 100_000)[..2].iter().map(|bytes| bytes / 4096).collect::<Vec<_>>()
    };
    let flowing = |weight, spec| JobSpec { flow: Some(Flow { id: 0, weight }), ..spec };
    let rated = |runtime| JobSpec {
        rate_iops: [None, Some(100), None],
        runtime: Some(runtime),
        ..writer("rated", 1, 4096, 1)
    };
    // Sixteen commands, the last at 3.0 s; three times as many, plus one more than its share.
    let slow = thinking("slow", 0);
    let fast = JobSpec { runtime: Some(3.1), ..writer("fast", 1, 4096, 32) };
    let counts = count(vec![flowing(1, slow.clone()), flowing(3, fast)]);
    assert!(counts[0] == 16 && counts[1].abs_diff(52) <= 1, "{counts:?}");
    // A partner with a longer run time continues alone, and catches up with its rate.
    let counts = count(vec![flowing(1, slow.clone()), flowing(3, rated(4.1))]);
    assert!(counts[0] == 16 && counts[1].abs_diff(410) <= 2, "{counts:?}");
    // 100 a second until then.
    let counts = count(vec![JobSpec { exit: Some(Exit::Running), ..slow }, rated(9.0)]);
    assert_eq!(counts, [16, 310]);
}
