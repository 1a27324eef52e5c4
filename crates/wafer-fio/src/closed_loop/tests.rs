use wafer_interface::Command;

use super::*;
use crate::job::{DIRECTIONS, Direction, Order, RateProcess, WRITE};

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
