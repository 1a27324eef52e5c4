//! Submission times, compared with fio 3.33 on a network block device whose reads took as long as their number says.
//! fio's times are whole milliseconds, late by up to one for each time that it waited.

use wafer_fio::job::{Reaping, Submission};

use super::*;

const MS: u64 = 1_000_000;

fn reader(depth: u32, commands: u64) -> JobSpec {
    let job = JobSpec::synthetic("r", Direction::Read, Order::Sequential, 1 << 24, 4096);
    JobSpec { iodepth: depth, number_ios: Some(commands), ..job }
}

/// Checks the submission times of a job, in milliseconds.
fn check(spec: JobSpec, latency: impl Fn(u64) -> u64, fio: &[u64]) {
    let mut jobs = ClosedLoop::new(vec![spec], 1, false).unwrap();
    let times = drive_each(&mut jobs, |command| MS * latency(command.lba / 8));
    let times: Vec<u64> = times.iter().map(|(time, ..)| time / MS).collect();
    assert_eq!(times.len(), fio.len());
    for (at, (time, fio)) in times.iter().zip(fio).enumerate() {
        let late = fio.abs_diff(*time);
        assert!(late <= 3 + time / 60, "{at}: {time}, fio {fio}, of {times:?}");
    }
}

fn with_rate(iops: u64, job: JobSpec) -> JobSpec {
    JobSpec { rate_iops: [Some(iops); DIRECTIONS], ..job }
}

fn reaping(low: u32, least: u32, job: JobSpec) -> JobSpec {
    JobSpec { reaping: Some(Reaping { low, least }), ..job }
}

fn thinking(job: JobSpec) -> JobSpec {
    JobSpec { thinktime_us: 40_000, thinktime_blocks: 6, ..job }
}

#[test]
fn a_job_ahead_of_its_rate_waits_for_all_commands_before_it_sleeps() {
    let fio = [
        0, 51, 51, 91, 91, 131, 131, 171, 171, 211, 211, 251, 251, 291, 291, 331, 331, 371, 371,
        411,
    ];
    check(with_rate(50, reader(4, 20)), |_| 30, &fio);
    let fio = [
        0, 31, 60, 89, 89, 138, 138, 170, 170, 218, 218, 250, 250, 298, 298, 330, 330, 378, 378,
        410,
    ];
    check(with_rate(50, reader(3, 20)), |k| 10 + 9 * (k % 4), &fio);
    // Both directions of a mixed job are ahead.
    let rate_iops = [Some(20), Some(10), None];
    let mixed = JobSpec { direction: Direction::ReadWrite, rate_iops, ..reader(4, 24) };
    let waves = (1..=7).flat_map(|wave| [21 + 100 * wave; 3]);
    let fio: Vec<u64> = [0, 0].into_iter().chain(waves).chain([821]).collect();
    check(mixed, |_| 70, &fio);
    let offload = JobSpec { submission: Submission::Offload, ..with_rate(50, reader(4, 20)) };
    check(offload, |_| 30, &(0..20).map(|k| 20 * k).collect::<Vec<_>>());
}

#[test]
fn a_queue_fills_again_when_few_enough_are_in_flight() {
    let fio = [[0; 8].as_slice(), &[35; 6], &[77; 6], &[120; 4]].concat();
    check(reaping(2, 1, reader(8, 24)), |k| 20 + 7 * (k % 5), &fio);
    let fio = [[0].as_slice(), &[66; 6], &[167; 8], &[243; 5], &[299; 5], &[356; 5]].concat();
    let job = with_rate(100, reader(8, 30));
    check(reaping(3, 1, job), |k| 55 + 20 * (k % 3), &fio);
}

#[test]
fn completions_are_reaped_in_batches() {
    let fio = [[0; 8].as_slice(), &[28; 4], &[50; 4], &[71; 4], &[99; 4]].concat();
    check(reaping(8, 4, reader(8, 24)), |k| 20 + 7 * (k % 5), &fio);
    let fio = [[0; 8], [49; 8], [98; 8]].concat();
    check(reaping(1, 3, reader(8, 24)), |k| 20 + 7 * (k % 5), &fio);
    let fio = [[0; 8], [76; 8], [152; 8], [228; 8]].concat();
    check(reaping(3, 4, reader(8, 32)), |k| 20 + 11 * (k % 6), &fio);
}

#[test]
fn a_pause_follows_the_completions_that_the_host_has_reaped() {
    let latency = |k| 20 + 11 * (k % 6);
    let fio = [
        0, 0, 0, 0, 0, 0, 0, 0, 21, 21, 32, 32, 43, 149, 220, 220, 220, 220, 220, 220, 220, 221,
        241, 253, 263, 263, 369, 452, 452, 452,
    ];
    check(thinking(reader(8, 30)), latency, &fio);
    let fio = [
        0, 0, 0, 0, 21, 21, 21, 21, 42, 102, 103, 103, 103, 123, 123, 184, 184, 184, 184, 205, 205,
        266, 266, 266, 266, 287, 287, 348, 348, 348,
    ];
    check(thinking(reader(4, 30)), |_| 20, &fio);
    let fio = [0, 20, 41, 61, 82, 102, 163, 184, 204, 225, 245, 265, 326, 347, 367];
    check(thinking(reader(1, 15)), |_| 20, &fio);
    let fio = [[0; 8].as_slice(), &[32; 3], &[137; 8], &[253; 8], &[369; 3]].concat();
    check(thinking(reaping(5, 3, reader(8, 30))), latency, &fio);
    let fio = [[0; 6], [116; 6], [233; 6], [349; 6], [465; 6]].concat();
    check(JobSpec { thinktime_issued: true, ..thinking(reader(8, 30)) }, latency, &fio);
}

#[test]
fn a_search_for_the_depth_submits_in_bursts_too() {
    let latency_target = Some(LatencyTarget {
        nanoseconds: 1000 * MS,
        window: 2000 * MS,
        percentile: 99.0,
        keeps_looking: false,
    });
    let job = JobSpec { latency_target, time_based: true, ..reader(8, 1000) };
    let latency = |command: &Command| MS * (20 + 11 * (command.lba / 8 % 6));
    let mut jobs = ClosedLoop::new(vec![reaping(1, 1, job)], 1, false).unwrap();
    let all = drive_each(&mut jobs, latency);
    let bursts: Vec<u64> = all.chunk_by(|a, b| a.0 == b.0).map(|burst| burst[0].0).collect();
    let in_flight = |at: &u64| {
        let before = all.iter().take_while(|(time, ..)| time < at);
        before.filter(|(time, _, command)| time + latency(command) > *at).count()
    };
    // Except for the moments at which the depth has grown.
    let others = bursts.iter().filter(|at| in_flight(at) > 1).count();
    assert!(bursts.len() > 50 && others < 5, "{others} of {}", bursts.len());
}

/// By fio's source: after each command it waits for a completion if the queue is full, then spins (`do_io`).
#[test]
fn the_thread_works_for_each_command_before_the_next() {
    let times = |latency: u64, job: JobSpec| -> Vec<u64> {
        let mut jobs = ClosedLoop::new(vec![job], 1, false).unwrap();
        drive(&mut jobs, latency).iter().map(|(time, ..)| *time).collect()
    };
    let working = |depth, commands| JobSpec { thinkcycles: 30, ..reader(depth, commands) };
    assert_eq!(times(100, working(1, 4)), [0, 130, 260, 390]);
    // All slots are in flight when the first command completes.
    assert_eq!(times(100, working(3, 7)), [0, 30, 60, 130, 160, 190, 260]);
    // The thread is the limit.
    assert_eq!(times(100, working(8, 5)), [0, 30, 60, 90, 120]);
    // It works before it pauses, and not after a Flush.
    let pausing = JobSpec { thinktime_us: 1, thinktime_blocks: 2, ..working(1, 5) };
    assert_eq!(times(100, pausing), [0, 130, 1260, 1390, 2520]);
    let flushing = JobSpec { fsync: 2, direction: Direction::Write, ..working(1, 4) };
    assert_eq!(times(100, flushing), [0, 130, 260, 360, 490]);
}
