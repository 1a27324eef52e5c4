//! `startdelay` and `ramp_time`.

use super::*;

const SECOND: u64 = 1_000_000_000;

#[test]
fn a_delay_counts_from_the_start_of_the_run() {
    let start = |start_delay: f64| {
        let later = JobSpec { phase: 1, start_delay, ..writer(1, 1) };
        let mut jobs = ClosedLoop::new(vec![writer(1, 100), later], 1, false).unwrap();
        drive(&mut jobs, SECOND / 100).last().unwrap().0
    };
    assert_eq!([0.0, 0.5, 3.0].map(start), [SECOND, SECOND, 3 * SECOND]);
}

#[test]
fn commands_count_anew_after_the_ramp() {
    let count = |depth, commands| {
        let ramped = JobSpec { ramp_time: 0.5, ..writer(depth, commands) };
        let mut jobs = ClosedLoop::new(vec![ramped], 1, false).unwrap();
        drive(&mut jobs, SECOND / 100).len()
    };
    assert_eq!(count(1, 100), 50 + 100);
    // Those in flight at the end of the ramp count.
    assert_eq!(count(4, 300), 50 * 4 + 300 - 3);
    // The job ends within its ramp.
    assert_eq!(count(4, 100), 100);
}

#[test]
fn a_rate_does_not_catch_up_with_what_it_missed_in_the_ramp() {
    let mut rate_iops = [None; DIRECTIONS];
    rate_iops[WRITE] = Some(1000);
    let of = |ramp_time: f64| {
        let spec = JobSpec { rate_iops, ramp_time, ..writer(1, 5000) };
        let spec = JobSpec { order: Order::Sequential, order_modifier: 0, ..spec };
        let mut jobs = ClosedLoop::new(vec![spec], 1, false).unwrap();
        // The first hundred commands take a second.
        let slow = |command: &Command| if command.lba < 100 * 8 { SECOND / 100 } else { 10 };
        let all = drive_each(&mut jobs, slow);
        all.iter().filter(|(time, ..)| (SECOND..2 * SECOND).contains(time)).count()
    };
    assert!(of(1.0).abs_diff(1000) < 3, "{}", of(1.0));
    assert!(of(0.0).abs_diff(1900) < 3, "{}", of(0.0));
}

#[test]
fn jobs_that_do_not_run_yet_outlive_those_that_end_all_running_ones() {
    let count = |change: fn(&mut JobSpec)| {
        let ends = JobSpec { exit: Some(Exit::Running), ..writer(1, 10) };
        let mut beside = writer(1, 100);
        change(&mut beside);
        let mut jobs = ClosedLoop::new(vec![ends, beside], 1, false).unwrap();
        drive(&mut jobs, SECOND / 100).iter().filter(|(_, job, _)| *job == 1).count()
    };
    assert!(count(|_| {}) < 12);
    assert_eq!(count(|job| job.start_delay = 0.2), 100);
    assert!(count(|job| job.ramp_time = 0.2) > 100);
    assert!(count(|job| job.start_delay = 0.05) < 12);
}
