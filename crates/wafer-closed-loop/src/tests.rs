use wafer_interface::{Command, Op};

use super::*;
use wafer_fio::flow::Flow;
use wafer_fio::job::{
    BlockSize, DIRECTIONS, Direction, LatencyTarget, Measure, Order, RateProcess, SteadyState,
    WRITE,
};

mod beginning;
mod submission;

/// A drive that takes `latency` for every command, all in parallel; returns the submission times.
fn drive(jobs: &mut ClosedLoop, latency: u64) -> Vec<(u64, usize, Command)> {
    drive_each(jobs, |_| latency)
}

fn drive_each(
    jobs: &mut ClosedLoop,
    latency: impl Fn(&Command) -> u64,
) -> Vec<(u64, usize, Command)> {
    let mut submitted = Vec::new();
    let mut in_flight: Vec<(u64, u64)> = Vec::new();
    loop {
        let mut batch = Batch::default();
        let state = jobs.next(&mut batch, 1000);
        for ((command, time), ticket) in batch.commands.iter().zip(&batch.times).zip(&batch.tickets)
        {
            submitted.push((*time, stream::job_of(*ticket), *command));
            in_flight.push((time + latency(command), *ticket));
        }
        if state == StreamState::Ended {
            return submitted;
        }
        in_flight.sort_unstable();
        let (time, ticket) = in_flight.remove(0);
        jobs.completed(&[Completion { ticket, time_ns: Some(time) }]);
    }
}

fn writer(depth: u32, commands: u64) -> JobSpec {
    let job = JobSpec::synthetic("w", Direction::Write, Order::Random, 1 << 30, 4096);
    JobSpec { iodepth: depth, number_ios: Some(commands), random_map: false, ..job }
}

#[test]
fn a_job_keeps_its_depth_in_flight() {
    for depth in [1, 4, 32] {
        let mut jobs = ClosedLoop::new(vec![writer(depth, 320)], 1, false).unwrap();
        let submitted = drive(&mut jobs, 1000);
        assert_eq!(submitted.len(), 320);
        let rounds = 320 / u64::from(depth);
        assert_eq!(submitted.last().unwrap().0, (rounds - 1) * 1000);
    }
}

#[test]
fn the_commands_are_those_of_the_job() {
    let spec = writer(8, 500);
    let mut plain = Vec::new();
    JobStream::new(&spec, 7, 0).unwrap().fill(&mut plain, 1000);
    let mut jobs = ClosedLoop::new(vec![spec], 7, false).unwrap();
    let commands: Vec<Command> = drive(&mut jobs, 10).into_iter().map(|(_, _, c)| c).collect();
    assert_eq!(commands, plain);
}

/// As fio 3.33 does in two seconds: a direction that is ahead of its rate yields to the other.
#[test]
fn rates_of_mixed_jobs_are_fios() {
    let mixed = JobSpec {
        iodepth: 4,
        random_map: false,
        time_based: true,
        runtime: Some(2.0),
        ..JobSpec::synthetic("m", Direction::ReadWrite, Order::Random, 1 << 30, 4096)
    };
    let counts = |change: &dyn Fn(&mut JobSpec)| {
        let mut spec = mixed.clone();
        change(&mut spec);
        let mut jobs = ClosedLoop::new(vec![spec], 1, false).unwrap();
        let all = drive(&mut jobs, 10_000);
        let reads = all.iter().filter(|(_, _, c)| c.op == Op::Read).count();
        (reads, all.len() - reads)
    };
    let iops = |read, write| [Some(read), Some(write), None];
    let near = |(reads, writes): (usize, usize), read: usize, write: usize| {
        assert!(reads.abs_diff(read) <= 4 && writes.abs_diff(write) <= 4, "{reads} {writes}");
    };
    near(counts(&|job| job.rate_iops = iops(1000, 500)), 2000, 1000);
    near(counts(&|job| (job.rate_iops, job.read_percent) = (iops(2000, 2000), 70)), 4000, 4000);
    near(counts(&|job| job.rate = iops(4 << 20, 8 << 20)), 2048, 4096);
    let (reads, writes) = counts(&|job| job.rate_iops = [None, Some(500), None]);
    assert!(writes.abs_diff(1000) <= 4 && reads > 100_000, "{reads} {writes}");
    // The rate of writes governs both commands of a pair.
    let pairs = |write, trim| {
        let mut spec = mixed.clone();
        (spec.direction, spec.rate_iops) = (Direction::TrimWrite, [None, Some(write), trim]);
        let all = drive(&mut ClosedLoop::new(vec![spec], 1, false).unwrap(), 10_000);
        let writes = all.iter().filter(|(_, _, c)| c.op == Op::Write).count();
        near((all.len() - writes, writes), 2 * write as usize, 2 * write as usize);
    };
    pairs(200, Some(50));
    pairs(50, Some(200));
    pairs(100, None);
    // `rate_iops` counts bytes of the smallest block, but commands of a split (fio since March 2026; 3.33 always counts
    // bytes).
    let of_sizes = |size: BlockSize| {
        counts(&|job| {
            (job.direction, job.rate_iops) = (Direction::Write, iops(200, 200));
            job.block_size = [size.clone(), size.clone(), size.clone()];
        })
    };
    let (_, writes) = of_sizes(BlockSize::Range { min: 4096, max: 65_536 });
    assert!((40..60).contains(&writes), "{writes}");
    near(of_sizes(BlockSize::Split(vec![(4096, 50.0), (65_536, 50.0)])), 0, 400);
    let (_, writes) = counts(&|job| {
        (job.direction, job.rate_process) = (Direction::Write, RateProcess::Poisson);
        job.rate = iops(0, 800 << 10);
    });
    assert!(writes != 400 && (330..470).contains(&writes), "{writes}");
}

#[test]
fn rates_and_think_times_hold_commands_back() {
    let mut rate_iops = [None; DIRECTIONS];
    rate_iops[WRITE] = Some(1000);
    let paced = JobSpec { rate_iops, ..writer(4, 100) };
    let mut jobs = ClosedLoop::new(vec![paced.clone()], 1, false).unwrap();
    // Delayed by the previous command, for which it waits.
    assert_eq!(drive(&mut jobs, 10).last().unwrap().0, 99_000_010);
    let poisson = JobSpec { rate_process: RateProcess::Poisson, number_ios: Some(20_000), ..paced };
    let mut jobs = ClosedLoop::new(vec![poisson], 1, false).unwrap();
    let last = drive(&mut jobs, 10).last().unwrap().0 as f64;
    assert!((last / 20e9 - 1.0).abs() < 0.03, "{last}");
    let thinking = JobSpec { thinktime_us: 50, thinktime_blocks: 10, ..writer(1, 100) };
    let mut jobs = ClosedLoop::new(vec![thinking], 1, false).unwrap();
    assert_eq!(drive(&mut jobs, 1000).last().unwrap().0, 99 * 1000 + 9 * 50_000);
    // With several commands in flight, a pause follows six completions and begins once all commands have completed.
    let thinking = JobSpec { thinktime_us: 50, thinktime_blocks: 6, ..writer(4, 12) };
    let mut jobs = ClosedLoop::new(vec![thinking], 1, false).unwrap();
    let times: Vec<u64> = drive(&mut jobs, 1000).into_iter().map(|(time, _, _)| time).collect();
    assert_eq!(times, [0, 0, 0, 0, 1000, 1000, 1000, 1000, 2000, 53_000, 53_000, 53_000]);
}

#[test]
fn a_flush_follows_so_many_writes_and_has_a_place_in_the_queue() {
    let mut jobs = ClosedLoop::new(vec![JobSpec { fsync: 2, ..writer(1, 5) }], 1, false).unwrap();
    let submitted = drive(&mut jobs, 1000);
    let (w, f) = (Op::Write, Op::Flush);
    assert_eq!(submitted.iter().map(|(.., c)| c.op).collect::<Vec<_>>(), [w, w, f, w, w, f, w]);
    assert_eq!(submitted.last().unwrap().0, 6000);
    // No Flush follows the last command, as in fio; a second pass over the region begins with the Flush of the first.
    let ops = |spec| {
        let mut jobs = ClosedLoop::new(vec![spec], 1, false).unwrap();
        drive(&mut jobs, 1000).into_iter().map(|(.., c)| c.op).collect::<Vec<_>>()
    };
    let four = JobSpec { fsync: 2, ..writer(1, 4) };
    assert_eq!(ops(four.clone()), [w, w, f, w, w]);
    let (size, io_size, random_map) = (4 * 4096, 4 * 4096, true);
    let region = JobSpec { size, io_size, random_map, number_ios: None, ..four };
    assert_eq!(ops(region.clone()), [w, w, f, w, w]);
    assert_eq!(ops(JobSpec { loops: 2, ..region }), [w, w, f, w, w, f, w, w, f, w, w, f]);
    // A final one, unless the last command was a Flush, and none from a job that only reads.
    let last = |fsync, commands| JobSpec { fsync, end_fsync: true, ..writer(2, commands) };
    assert_eq!(ops(last(0, 3)), [w, w, w, f]);
    assert_eq!(ops(last(2, 3)), [w, w, f, w, f]);
    assert_eq!(ops(JobSpec { direction: Direction::Read, ..last(0, 1) }), [Op::Read]);
    let (runtime, number_ios) = (Some(1.5e-6), None);
    assert_eq!(ops(JobSpec { iodepth: 1, runtime, number_ios, ..last(1, 1) }), [w, f]);
    // A job that is ended while its flow holds it back has nothing to flush, and the others end.
    let flow = |weight| Some(Flow { id: 1, weight });
    let (steady_state, group_reporting) = (Some(STEADY), true);
    let held = JobSpec { flow: flow(1), steady_state, group_reporting, ..last(0, 100_000) };
    let rate_iops = [Some(10_000); DIRECTIONS];
    let slow = JobSpec { flow: flow(7), rate_iops, ..held.clone() };
    let (jobs, _) = slowing(vec![slow, held], |_| 1000);
    assert_eq!(figure(&jobs, "steady_state"), [1.0]);
    // The writes are those of a job without flushes.
    let mut plain = ClosedLoop::new(vec![writer(1, 5)], 1, false).unwrap();
    let plain: Vec<Command> = drive(&mut plain, 1000).into_iter().map(|(.., c)| c).collect();
    let writes: Vec<Command> =
        submitted.into_iter().map(|(.., c)| c).filter(|c| c.op == w).collect();
    assert_eq!(writes, plain);
}

#[test]
fn a_phase_begins_when_the_one_before_has_completed() {
    let second = JobSpec { phase: 1, ..writer(1, 5) };
    let mut jobs = ClosedLoop::new(vec![writer(4, 8), second], 1, false).unwrap();
    let submitted = drive(&mut jobs, 1000);
    let begins = submitted.iter().find(|(_, job, _)| *job == 1).unwrap().0;
    assert_eq!(begins, 2000);
}

#[test]
fn runtime_ends_a_job() {
    let timed =
        JobSpec { time_based: true, runtime: Some(0.001), number_ios: None, ..writer(2, 1) };
    let mut jobs = ClosedLoop::new(vec![timed], 1, false).unwrap();
    assert_eq!(drive(&mut jobs, 10_000).len(), 200);
}

/// A drive that takes 10 us per command in flight; returns the jobs at the end, and the submissions by job.
fn loaded(target: LatencyTarget, depth: u32, until: u64) -> (ClosedLoop, Vec<(u64, usize)>) {
    let spec = JobSpec {
        latency_target: Some(target),
        number_ios: None,
        time_based: true,
        runtime: Some(until as f64 / 1e9),
        ..writer(depth, 1)
    };
    let mut jobs = ClosedLoop::new(vec![spec], 1, false).unwrap();
    let mut submitted = Vec::new();
    let mut in_flight: Vec<(u64, u64)> = Vec::new();
    loop {
        let mut batch = Batch::default();
        let state = jobs.next(&mut batch, 1000);
        for (time, ticket) in batch.times.iter().zip(&batch.tickets) {
            submitted.push((*time, stream::job_of(*ticket)));
            in_flight.push((*time, *ticket));
        }
        if state == StreamState::Ended {
            return (jobs, submitted);
        }
        // Oldest first.
        let beside = in_flight.len() as u64;
        let (time, ticket) = in_flight.remove(0);
        jobs.completed(&[Completion { ticket, time_ns: Some(time + 10_000 * beside) }]);
    }
}

const TARGET: LatencyTarget = LatencyTarget {
    nanoseconds: 85_000,
    window: 1_000_000,
    percentile: 99.0,
    keeps_looking: false,
};

#[test]
fn a_latency_target_finds_the_depth_that_keeps_it() {
    let (jobs, submitted) = loaded(TARGET, 64, 1_000_000_000);
    let [found] = &jobs.figures()[..] else { panic!() };
    assert_eq!(
        (found.tenant.as_str(), found.name.as_str(), found.value),
        ("w", "latency_depth", 8.0)
    );
    // The results are those of the last window, after everything else.
    let first = submitted.iter().position(|(_, job)| *job == 1).unwrap();
    assert!(submitted[first..].iter().all(|(_, job)| *job == 1));
    let results = submitted.last().unwrap().0 - submitted[first].0;
    assert!((900_000..1_200_000).contains(&results), "{results}");
    assert!(submitted.last().unwrap().0 < 100_000_000, "the job ends by itself");
    // A job that ends earlier reports it.
    let (jobs, _) = loaded(TARGET, 64, 3_000_000);
    assert_eq!(figure(&jobs, "latency_search_unfinished"), [1.0]);
}

#[test]
fn a_target_that_all_depths_keep_takes_the_whole_depth() {
    let easy = LatencyTarget { nanoseconds: 1_000_000, ..TARGET };
    let (jobs, _) = loaded(easy, 16, 1_000_000_000);
    assert_eq!(jobs.figures()[0].value, 16.0);
}

#[test]
fn a_target_that_no_command_keeps_ends_the_job() {
    let hard = LatencyTarget { nanoseconds: 5_000, percentile: 100.0, ..TARGET };
    let (jobs, submitted) = loaded(hard, 16, 1_000_000_000);
    assert_eq!((jobs.figures()[0].value, submitted.len()), (0.0, 1));
    // With a percentile, fio continues with one command at a time.
    let hard = LatencyTarget { percentile: 99.0, ..hard };
    let (jobs, submitted) = loaded(hard, 16, 10_000_000);
    assert_eq!((jobs.figures()[0].value, submitted.len()), (1.0, 1000));
}

#[test]
fn a_job_that_looks_on_runs_to_its_end() {
    let on = LatencyTarget { keeps_looking: true, ..TARGET };
    let (jobs, submitted) = loaded(on, 64, 200_000_000);
    assert!((7.0..=9.0).contains(&jobs.figures()[0].value), "{:?}", jobs.figures());
    assert!(submitted.last().unwrap().0 > 199_000_000);
    assert!(submitted.iter().all(|(_, job)| *job == 0));
}

const STEADY: SteadyState = SteadyState {
    measure: Measure::Iops,
    slope: false,
    limit: 10.0,
    percent: true,
    intervals: 5,
    interval: 1_000_000,
    ramp: 0,
};

/// A drive that slows down: `latency` maps time to nanoseconds. Returns the jobs and the last submission of each.
fn slowing(specs: Vec<JobSpec>, latency: fn(u64) -> u64) -> (ClosedLoop, Vec<u64>) {
    let mut last = vec![0; specs.len()];
    let mut jobs = ClosedLoop::new(specs, 1, false).unwrap();
    let mut in_flight: Vec<(u64, u64)> = Vec::new();
    loop {
        let mut batch = Batch::default();
        let state = jobs.next(&mut batch, 1000);
        for (time, ticket) in batch.times.iter().zip(&batch.tickets) {
            last[stream::job_of(*ticket)] = *time;
            in_flight.push((time + latency(*time), *ticket));
        }
        if state == StreamState::Ended {
            return (jobs, last);
        }
        in_flight.sort_unstable();
        let (time, ticket) = in_flight.remove(0);
        jobs.completed(&[Completion { ticket, time_ns: Some(time) }]);
    }
}

fn figure(jobs: &ClosedLoop, name: &str) -> Vec<f64> {
    jobs.figures().iter().filter(|figure| figure.name == name).map(|figure| figure.value).collect()
}

#[test]
fn a_job_ends_when_it_runs_steadily() {
    // 1 us at first, rising by 100 ns per millisecond to 2 us after ten.
    let latency = |time: u64| 1000 + (time / 10_000).min(1000);
    let watched = |steady| {
        vec![JobSpec { steady_state: Some(steady), number_ios: Some(200_000), ..writer(1, 1) }]
    };
    let milliseconds = |steady| {
        let (jobs, last) = slowing(watched(steady), latency);
        assert_eq!(figure(&jobs, "steady_state"), [1.0]);
        last[0].div_ceil(1_000_000)
    };
    // Within 10 % of the mean: five intervals, the first of them from 7 ms to 8 ms.
    assert_eq!(milliseconds(STEADY), 12);
    let (jobs, _) = slowing(watched(STEADY), latency);
    let [iops, rate] =
        ["steady_state_iops", "steady_state_bandwidth"].map(|name| figure(&jobs, name)[0]);
    assert!((500_000.0..560_000.0).contains(&iops) && rate == 4096.0 * iops, "{iops} {rate}");
    assert!((1.0..10.0).contains(&figure(&jobs, "steady_state_criterion")[0]));
    // Bandwidth and latency move alike; the slope per interval is a fraction of the whole change.
    assert_eq!(milliseconds(SteadyState { measure: Measure::Bandwidth, ..STEADY }), 12);
    assert_eq!(milliseconds(SteadyState { measure: Measure::Latency, ..STEADY }), 12);
    assert_eq!(milliseconds(SteadyState { slope: true, limit: 4.0, ..STEADY }), 12);
    assert!(milliseconds(SteadyState { slope: true, limit: 6.0, ..STEADY }) < 12);
    let absolute = SteadyState { percent: false, limit: 30.0, measure: Measure::Latency, ..STEADY };
    assert_eq!(milliseconds(absolute), 15);
    // The measurement begins later.
    assert_eq!(milliseconds(SteadyState { ramp: 30_000_000, ..STEADY }), 35);
    // Never: the job ends by itself.
    let never = SteadyState { limit: 0.0, ..STEADY };
    let (jobs, last) = slowing(watched(never), latency);
    assert!(figure(&jobs, "steady_state") == [0.0] && last[0] > 300_000_000);
}

#[test]
fn jobs_of_a_group_end_together() {
    let latency = |time: u64| 1000 + (time / 10_000).min(1000);
    // The second one is limited to a rate that the drive sustains.
    let mut rate_iops = [None; DIRECTIONS];
    rate_iops[WRITE] = Some(200_000);
    let pair = |group_reporting, of_second| {
        let first = JobSpec { steady_state: Some(STEADY), group_reporting, ..writer(1, 100_000) };
        let name = "v".to_owned();
        let second = JobSpec { name, rate_iops, group_reporting: of_second, ..first.clone() };
        let (jobs, last) = slowing(vec![first, second], latency);
        (figure(&jobs, "steady_state"), [last[0], last[1]].map(|time| time.div_ceil(1_000_000)))
    };
    for (first, second) in [(false, false), (false, true), (true, false)] {
        assert_eq!(pair(first, second), (vec![1.0, 1.0], [12, 5]));
    }
    let (attained, [first, second]) = pair(true, true);
    assert_eq!((attained, first), (vec![1.0], second));
    assert!((6..12).contains(&first), "{first}");
}

#[test]
fn jobs_end_with_another() {
    let jobs = |exit| {
        let job = |number_ios, phase, group| JobSpec {
            exit: Some(exit),
            group,
            phase,
            ..writer(1, number_ios)
        };
        let phase = |of| [job(100, of, 2 * of), job(10_000, of, 2 * of), job(500, of, 2 * of + 1)];
        [phase(0), phase(1)].concat()
    };
    let submitted = |exit| {
        let mut jobs = ClosedLoop::new(jobs(exit), 1, false).unwrap();
        let submitted = drive(&mut jobs, 1000);
        [0, 1, 2, 3].map(|job| submitted.iter().filter(|(_, of, _)| *of == job).count())
    };
    let [first, second, other, next] = submitted(Exit::Group);
    assert!((first, other, next) == (100, 500, 100) && second.abs_diff(100) <= 1, "{second}");
    let [first, second, other, next] = submitted(Exit::Running);
    assert_eq!((first, next), (100, 100));
    assert!(second.abs_diff(100) <= 1 && other.abs_diff(100) <= 1, "{second} {other}");
    assert_eq!(submitted(Exit::All)[3], 0);
}

#[test]
fn jobs_of_a_flow_keep_their_parts_of_the_commands() {
    let flowing = |weight, spec: JobSpec| JobSpec { flow: Some(Flow { id: 3, weight }), ..spec };
    let jobs = |rate: Option<u64>| {
        let rate_iops = [rate; DIRECTIONS];
        let slow = JobSpec { rate_iops, ..flowing(1, writer(1, 500)) };
        vec![slow, flowing(8, writer(32, 4000)), writer(1, 200)]
    };
    for rate in [None, Some(100_000)] {
        let mut jobs = ClosedLoop::new(jobs(rate), 1, false).unwrap();
        let mut submitted = drive(&mut jobs, 1000);
        assert_eq!(submitted.len(), 4700);
        submitted.sort_by_key(|(time, ..)| *time);
        let mut counts = [0u64; 3];
        let mut times = [0; 3];
        for (time, job, _) in &submitted {
            (counts[*job], times[*job]) = (counts[*job] + 1, *time);
        }
        // 500 commands one after the other, and eight times as many in parallel; the third job has no flow.
        let each = if rate.is_some() { 10_000 } else { 1000 };
        assert_eq!((counts, times[0], times[2]), ([500, 4000, 200], 499 * each, 199_000));
        assert!(times[1].abs_diff(times[0]) <= each, "{times:?}");
        let half =
            submitted.iter().filter(|(time, job, _)| *job == 1 && *time < 250 * each).count();
        assert!(half.abs_diff(2000) <= 10, "{half}");
    }
    // Once the slow job has ended, nothing holds the other back.
    let few = JobSpec { number_ios: Some(10), ..flowing(1, writer(1, 10)) };
    let mut jobs = ClosedLoop::new(vec![few, flowing(8, writer(4, 400))], 1, false).unwrap();
    let submitted = drive(&mut jobs, 1000);
    assert_eq!(submitted.len(), 410);
    assert!(submitted.last().unwrap().0 < 130_000, "{submitted:?}");
}

#[test]
fn others_wait_until_the_time_of_a_job_is_up() {
    let counts = |jobs: Vec<JobSpec>| {
        let submitted = drive(&mut ClosedLoop::new(jobs, 1, false).unwrap(), 1000);
        [0, 1, 2].map(|job| submitted.iter().filter(|(_, of, _)| *of == job).count())
    };
    let timed = |depth, runtime| JobSpec {
        time_based: true,
        number_ios: None,
        runtime: Some(runtime),
        ..writer(depth, 1)
    };
    let flowing = |weight, spec| JobSpec { flow: Some(Flow { id: 0, weight }), ..spec };
    let rated =
        |iops, runtime| JobSpec { rate_iops: [None, Some(iops), None], ..timed(1, runtime) };
    // Sixteen commands, the last at 3.0 s.
    let slow = JobSpec { thinktime_us: 200_000, ..timed(1, 3.1) };
    let [few, some, _] = counts(vec![flowing(1, slow.clone()), flowing(3, timed(32, 3.1))]);
    assert!(few == 16 && some.abs_diff(52) <= 1, "{few} {some}");
    // A partner with more time continues alone and catches up with its rate, also next to a job without a flow.
    for beside in [0.001, 5.0] {
        let jobs = vec![flowing(1, slow.clone()), flowing(3, rated(100, 4.1)), rated(1000, beside)];
        let [few, some, _] = counts(jobs);
        assert!(few == 16 && some.abs_diff(410) <= 2, "{beside}: {few} {some}");
    }
    // 100 a second until then; the next phase follows.
    let exits = JobSpec { exit: Some(Exit::Running), ..slow };
    let next = JobSpec { phase: 1, ..writer(1, 7) };
    let jobs = vec![exits, rated(100, 9.0), next];
    assert_eq!(counts(jobs.clone()), [16, 310, 7]);
    let submitted = drive(&mut ClosedLoop::new(jobs, 1, false).unwrap(), 1000);
    assert_eq!(submitted.iter().find(|(_, job, _)| *job == 2).unwrap().0, 3_100_000_000);
}
