use wafer_interface::Command;

use super::*;
use crate::job::{DIRECTIONS, Direction, LatencyTarget, Order, RateProcess, WRITE};

/// A drive that takes `latency` for every command, all at once; returns the times of submission.
fn drive(jobs: &mut ClosedLoop, latency: u64) -> Vec<(u64, usize, Command)> {
    let mut submitted = Vec::new();
    let mut in_flight: Vec<(u64, u64)> = Vec::new();
    loop {
        let mut batch = Batch::default();
        let state = jobs.next(&mut batch, 1000);
        for ((command, time), ticket) in batch.commands.iter().zip(&batch.times).zip(&batch.tickets)
        {
            submitted.push((*time, stream::job_of(*ticket), *command));
            in_flight.push((time + latency, *ticket));
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

#[test]
fn rates_and_think_times_hold_commands_back() {
    let mut rate_iops = [None; DIRECTIONS];
    rate_iops[WRITE] = Some(1000);
    let paced = JobSpec { rate_iops, ..writer(4, 100) };
    let mut jobs = ClosedLoop::new(vec![paced.clone()], 1, false).unwrap();
    assert_eq!(drive(&mut jobs, 10).last().unwrap().0, 99_000_000);
    let poisson = JobSpec { rate_process: RateProcess::Poisson, number_ios: Some(20_000), ..paced };
    let mut jobs = ClosedLoop::new(vec![poisson], 1, false).unwrap();
    let last = drive(&mut jobs, 10).last().unwrap().0 as f64;
    assert!((last / 20e9 - 1.0).abs() < 0.03, "{last}");
    let thinking = JobSpec { thinktime_us: 50, thinktime_blocks: 10, ..writer(1, 100) };
    let mut jobs = ClosedLoop::new(vec![thinking], 1, false).unwrap();
    assert_eq!(drive(&mut jobs, 1000).last().unwrap().0, 99 * 1000 + 9 * 50_000);
    // With several commands in flight, a pause begins when all of them have completed.
    let thinking = JobSpec { thinktime_us: 50, thinktime_blocks: 6, ..writer(4, 12) };
    let mut jobs = ClosedLoop::new(vec![thinking], 1, false).unwrap();
    let times: Vec<u64> = drive(&mut jobs, 1000).into_iter().map(|(time, _, _)| time).collect();
    assert_eq!(times, [0, 0, 0, 0, 1000, 1000, 52_000, 52_000, 52_000, 52_000, 53_000, 53_000]);
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

/// A drive on which a command takes 10 us for each in flight; returns submissions by job, and the jobs at the end.
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
        // The oldest first.
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
    let [figure] = &jobs.figures()[..] else { panic!() };
    assert_eq!(
        (figure.tenant.as_str(), figure.name.as_str(), figure.value),
        ("w", "latency_depth", 8.0)
    );
    // The results are those of the last window, which follows everything before.
    let first = submitted.iter().position(|(_, job)| *job == 1).unwrap();
    assert!(submitted[first..].iter().all(|(_, job)| *job == 1));
    let results = submitted.last().unwrap().0 - submitted[first].0;
    assert!((900_000..1_200_000).contains(&results), "{results}");
    assert!(submitted.last().unwrap().0 < 100_000_000, "the job ends by itself");
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
    // With a percentile fio goes on at one command at a time.
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
