//! Fused Compare and Write over a socket.

use std::sync::atomic::{AtomicU64, Ordering};

use wafer_host::{Completion, HostOptions, Io, Queue, QueueOptions};
use wafer_nvme::*;
use wafer_storage::DataSpec;

use crate::common::{NQN, Target, config};

const IO: Io = Io { nsid: 1 };
const FIRST: u8 = 1;
const SECOND: u8 = 2;

fn fused(sqe: Sqe, fuse: u8) -> Sqe {
    Sqe { flags: sqe.flags | fuse, ..sqe }
}

fn compare(lba: u64, blocks: u32) -> Sqe {
    let write = IO.write(lba, blocks, None);
    fused(Sqe { opcode: NvmOpcode::COMPARE.0, ..write }, FIRST)
}

fn write(lba: u64, blocks: u32) -> Sqe {
    fused(IO.write(lba, blocks, None), SECOND)
}

/// Submits commands together and returns the statuses in order.
fn submit(queue: &mut Queue, commands: &[(Sqe, &[u8])]) -> Vec<Status> {
    let cids: Vec<u16> = commands.iter().map(|(sqe, data)| queue.submit(*sqe, data, 0)).collect();
    let done: Vec<Completion> = commands.iter().map(|_| queue.complete().unwrap()).collect();
    let status = |cid: &u16| done.iter().find(|done| done.cid == *cid).unwrap().status;
    cids.iter().map(status).collect()
}

fn read(queue: &mut Queue, lba: u64, blocks: u32) -> Vec<u8> {
    queue.execute(IO.read(lba, blocks), &[], blocks as usize * 4096).unwrap().data
}

const DONE: [Status; 2] = [Status::SUCCESS, Status::SUCCESS];
const DIFFERENT: [Status; 2] = [Status::COMPARE_FAILURE, Status::FAILED_FUSED];

fn swap(queue: &mut Queue, lba: u64, blocks: u32, from: u8, to: u8) -> Vec<Status> {
    let bytes = blocks as usize * 4096;
    let (from, to) = (vec![from; bytes], vec![to; bytes]);
    submit(queue, &[(compare(lba, blocks), &from), (write(lba, blocks), &to)])
}

/// Returns a queue that sends data in capsules, one that never does, and one that does for single blocks.
fn queues(target: &Target) -> Vec<Queue> {
    [16384, 1024, 4096]
        .map(|in_capsule| {
            let mut options = HostOptions::new(NQN, &format!("host{in_capsule}"));
            options.queue = QueueOptions { in_capsule, ..QueueOptions::default() };
            let host = wafer_host::Host::connect(target.address, options).unwrap();
            let queue = host.io_queue(1).unwrap();
            // The controller lives as long as its admin queue.
            std::mem::forget(host);
            queue
        })
        .into()
}

fn backends(folder: &std::path::Path) -> [DataSpec; 2] {
    [DataSpec::Memory, DataSpec::File(folder.join("drive.img"))]
}

#[test]
fn blocks_are_written_only_if_they_are_equal() {
    let folder = tempfile::tempdir().unwrap();
    for data in backends(folder.path()) {
        let target = Target::start(data);
        for (at, queue) in queues(&target).iter_mut().enumerate() {
            let lba = 7 + 100 * at as u64;
            for blocks in [1, 4, 16] {
                let bytes = blocks as usize * 4096;
                assert_eq!(swap(queue, lba, blocks, 1, 2), DIFFERENT);
                assert_eq!(read(queue, lba, blocks), vec![0; bytes]);
                assert_eq!(swap(queue, lba, blocks, 0, 1), DONE);
                assert_eq!(swap(queue, lba, blocks, 0, 2), DIFFERENT);
                assert_eq!(swap(queue, lba, blocks, 1, 3), DONE);
                assert_eq!(read(queue, lba, blocks), vec![3; bytes]);
                assert_eq!(swap(queue, lba, blocks, 3, 0), DONE);
            }
        }
    }
}

#[test]
fn nobody_comes_between_compare_and_write() {
    let folder = tempfile::tempdir().unwrap();
    for data in backends(folder.path()) {
        let target = Target::start(data);
        let mut counter = queues(&target);
        let won = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for queue in &mut counter {
                let won = &won;
                scope.spawn(move || {
                    for _ in 0..200 {
                        let now = read(queue, 9, 1)[0];
                        if swap(queue, 9, 1, now, now.wrapping_add(1)) == DONE {
                            won.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        let won = won.into_inner();
        assert!(won >= 200, "{won}");
        assert_eq!(read(&mut counter[0], 9, 1), vec![won as u8; 4096], "each that won counts");
    }
}

#[test]
fn commands_that_do_not_belong_together_fail() {
    let target = Target::start(DataSpec::Memory);
    for queue in &mut queues(&target) {
        let block = vec![0; 4096];
        let plain = IO.write(50, 1, None);
        // The first alone, the second alone, two firsts.
        let statuses = submit(queue, &[(compare(50, 1), &block), (plain, &block)]);
        assert_eq!(statuses, [Status::MISSING_FUSED, Status::SUCCESS]);
        assert_eq!(submit(queue, &[(write(50, 1), &block)]), [Status::MISSING_FUSED]);
        let three =
            [(compare(50, 1), &block[..]), (compare(50, 1), &block), (write(50, 1), &block)];
        assert_eq!(submit(queue, &three)[0], Status::MISSING_FUSED);
        // Other commands, different blocks, too many blocks, blocks outside the namespace.
        let invalid = Status::INVALID_FIELD;
        let wrong = [(fused(plain, FIRST), &block[..]), (write(50, 1), &block)];
        assert_eq!(submit(queue, &wrong), [invalid, invalid]);
        let wrong = [(compare(50, 1), &block[..]), (write(51, 1), &block)];
        assert_eq!(submit(queue, &wrong), [invalid, invalid]);
        let long = vec![0; 17 * 4096];
        let wrong = [(compare(50, 17), &long[..]), (write(50, 17), &long)];
        assert_eq!(submit(queue, &wrong), [invalid, Status::FAILED_FUSED]);
        let end = u64::from(u32::MAX);
        let wrong = [(compare(end, 1), &block[..]), (write(end, 1), &block)];
        assert_eq!(submit(queue, &wrong), [Status::LBA_OUT_OF_RANGE, Status::FAILED_FUSED]);
        assert_eq!(swap(queue, 50, 1, 0, 5), DONE, "the queue goes on");
        assert_eq!(swap(queue, 50, 1, 5, 0), DONE);
    }
}

#[test]
fn operations_beyond_those_that_may_wait_for_data_can_be_tried_again() {
    let target = Target::start(DataSpec::Memory);
    let mut options = HostOptions::new(NQN, "many");
    options.queue.in_capsule = 1024;
    let host = wafer_host::Host::connect(target.address, options).unwrap();
    let mut queue = host.io_queue(1).unwrap();
    let block = vec![0; 4096];
    let commands: Vec<(Sqe, &[u8])> = (0..20)
        .flat_map(|lba| [(compare(lba, 1), &block[..]), (write(lba, 1), &block[..])])
        .collect();
    let statuses = submit(&mut queue, &commands);
    let interrupted = [Status::INTERNAL_ERROR; 2];
    let pairs: Vec<_> = statuses.chunks(2).collect();
    assert!(pairs.iter().all(|pair| **pair == DONE || **pair == interrupted), "{pairs:?}");
    assert!(pairs.iter().filter(|pair| ***pair == DONE).count() >= 2, "{pairs:?}");
    assert_eq!(swap(&mut queue, 3, 1, 0, 1), DONE);
}

#[test]
fn a_first_command_waits_for_a_limited_time_and_not_beyond_a_reset() {
    let timeout = std::time::Duration::from_millis(400);
    let target = Target::with(config("64MiB"), DataSpec::Memory, false, timeout);
    let mut host =
        wafer_host::Host::connect(target.address, HostOptions::new(NQN, "alone")).unwrap();
    let mut queue = host.io_queue(1).unwrap();
    let block = vec![0; 4096];
    assert_eq!(submit(&mut queue, &[(compare(3, 1), &block)]), [Status::MISSING_FUSED]);
    queue.submit(compare(3, 1), &block, 0);
    queue.flush().unwrap();
    // It has to arrive before the reset, which uses another connection.
    std::thread::sleep(timeout / 4);
    host.reset().unwrap();
    // The first gets no completion, because it was outstanding at the reset.
    assert_eq!(submit(&mut queue, &[(write(3, 1), &block)]), [Status::MISSING_FUSED]);
    assert_eq!(swap(&mut queue, 3, 1, 0, 1), DONE);
}
