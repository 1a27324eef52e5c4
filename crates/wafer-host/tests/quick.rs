//! A single host that sends one command after another. Its queue has its own thread, which it leaves for anything
//! other than commands and their data.

use std::time::{Duration, Instant};

use wafer_controller::Access;
use wafer_host::{Host, Io, Queue};
use wafer_nvme::zerocopy::FromBytes as _;
use wafer_nvme::*;
use wafer_storage::DataSpec;
use wafer_target::transport::ServerOptions;

use crate::common::{Target, config};

const IO: Io = Io { nsid: 1 };
/// More commands in a row than that takes.
const MANY: u64 = 100;

/// Writes and reads single blocks, one after another.
fn hurry(queue: &mut Queue, byte: u8) {
    for lba in 0..MANY {
        let done = queue.execute(IO.write(lba, 1, None), &[byte; 4096], 0).unwrap();
        assert_eq!(done.status, Status::SUCCESS);
        let done = queue.execute(IO.read(lba, 1), &[], 4096).unwrap();
        assert_eq!((done.status, done.data), (Status::SUCCESS, vec![byte; 4096]));
    }
}

fn counted(host: &mut Host) -> u64 {
    let log = host.log(Lid::SMART, 0, 0, size_of::<SmartLog>() as u32).unwrap();
    let (smart, _) = SmartLog::read_from_prefix(&log).unwrap();
    smart.host_writes.get() as u64
}

#[test]
fn a_quick_host_may_be_slow_send_long_data_and_meet_others() {
    let target = Target::start(DataSpec::Memory);
    let (mut host, other) = (target.host("a"), target.host("b"));
    let mut queue = host.io_queue(1).unwrap();
    hurry(&mut queue, 1);
    // Every write is counted before its host receives the completion.
    assert_eq!(counted(&mut host), MANY);
    // Slower than a thread waits.
    std::thread::sleep(Duration::from_millis(50));
    hurry(&mut queue, 2);
    // Data that the server has to request, and more than one turn.
    for byte in 3..20 {
        let long = vec![byte; 1 << 20];
        let done = queue.execute(IO.write(0, 256, None), &long, 0).unwrap();
        assert_eq!(done.status, Status::SUCCESS);
        let done = queue.execute(IO.read(0, 256), &[], 1 << 20).unwrap();
        assert!(done.status == Status::SUCCESS && done.data == long);
        hurry(&mut queue, byte);
    }
    // Another host in between, and both concurrently.
    let mut second = other.io_queue(1).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..MANY {
                let done = second.execute(IO.read(5000, 1), &[], 4096).unwrap();
                assert_eq!(done.status, Status::SUCCESS);
            }
        });
        hurry(&mut queue, 20);
    });
    // An error, and commands after it.
    let beyond = queue.execute(IO.read(u64::MAX - 8, 1), &[], 4096).unwrap();
    assert_eq!(beyond.status, Status::LBA_OUT_OF_RANGE);
    hurry(&mut queue, 21);
    target.stop();
}

#[test]
fn a_quick_host_is_gone_when_it_or_the_server_ends() {
    let target = Target::start(DataSpec::Memory);
    let host = target.host("a");
    let mut queue = host.io_queue(1).unwrap();
    hurry(&mut queue, 1);
    drop(queue);
    // Its queue ID is free again.
    let since = Instant::now();
    let mut queue = loop {
        match host.io_queue(1) {
            Ok(queue) => break queue,
            Err(error) => assert!(since.elapsed() < Duration::from_secs(10), "{error}"),
        }
    };
    hurry(&mut queue, 2);
    let since = Instant::now();
    target.stop();
    assert!(since.elapsed() < Duration::from_secs(10));
    assert!(queue.execute(IO.read(0, 1), &[], 4096).is_err());
}

#[test]
fn a_quick_host_that_takes_no_output_is_disconnected() {
    let limit = Duration::from_secs(1);
    let options = ServerOptions { timeout: limit, ..ServerOptions::default() };
    let access = Access::default();
    let target = Target::with_options(config("64MiB"), DataSpec::Memory, false, options, access);
    let host = target.host("a");
    let mut queue = host.io_queue(1).unwrap();
    hurry(&mut queue, 1);
    // More than the sockets can buffer: 60 reads of 2 MiB.
    for _ in 0..60 {
        queue.submit(IO.read(0, 512), &[], 2 << 20);
    }
    queue.flush().unwrap();
    std::thread::sleep(3 * limit);
    let mut taken = 0;
    while queue.complete().is_ok() {
        taken += 1;
    }
    assert!(taken < 60);
    // Others continue.
    let other = target.host("b");
    let mut second = other.io_queue(1).unwrap();
    hurry(&mut second, 2);
    target.stop();
}
