//! Hosts that share a drive: none reaches the data of another, and none blocks the others.

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use wafer_controller::identify::COPY_RANGE_BLOCKS;
use wafer_controller::{Access, Rights};
use wafer_device::DeviceConfig;
use wafer_drive::NamespaceRequest;
use wafer_host::{Host, HostError, HostOptions, Io, Queue, QueueOptions, copy_ranges};
use wafer_io::Pool;
use wafer_nvme::zerocopy::{FromZeros as _, IntoBytes as _};
use wafer_nvme::*;
use wafer_storage::DataSpec;
use wafer_target::transport::ServerOptions;

use crate::common::{NQN, Target, config};

const IO: Io = Io { nsid: 1 };
/// Blocks of the longest copy.
const COPY: u32 = 2048;

fn manage(select: u32, nsid: u32) -> Sqe {
    Sqe {
        opcode: AdminOpcode::NAMESPACE_MANAGEMENT.0,
        nsid: nsid.into(),
        cdw10: select.into(),
        ..Default::default()
    }
}

fn format(nsid: u32) -> Sqe {
    // LBA format 1: 4 KiB.
    Sqe {
        opcode: AdminOpcode::FORMAT_NVM.0,
        nsid: nsid.into(),
        cdw10: 1.into(),
        ..Default::default()
    }
}

fn write(queue: &mut Queue, lba: u64, byte: u8) {
    let done = queue.execute(IO.write(lba, 256, None), &vec![byte; 1 << 20], 0).unwrap();
    assert_eq!(done.status, Status::SUCCESS);
}

fn read(queue: &mut Queue, lba: u64) -> Vec<u8> {
    let done = queue.execute(IO.read(lba, 256), &[], 1 << 20).unwrap();
    assert_eq!(done.status, Status::SUCCESS);
    done.data
}

/// In each round, copies of old data are in flight when the namespace is removed, and its successor is written
/// immediately. No old data may appear.
fn copies_against(renew: impl Fn(&Target, &mut Host)) {
    let folder = tempfile::tempdir().unwrap();
    let target = Target::start(DataSpec::File(folder.path().join("drive.img")));
    let mut admin = target.host("admin");
    let (copier, user) = (target.host("copier"), target.host("user"));
    let (mut copies, mut data) = (copier.io_queue(1).unwrap(), user.io_queue(1).unwrap());
    for round in 0..6u8 {
        for lba in (0..u64::from(COPY)).step_by(256) {
            write(&mut data, lba, 0x80 | round);
        }
        let ranges = copy_ranges(0, COPY, COPY_RANGE_BLOCKS);
        for n in 0..40 {
            let to = u64::from(COPY) * (1 + n % 5);
            copies.submit(IO.copy(to, ranges.len(), None), ranges.as_bytes(), 0);
        }
        copies.flush().unwrap();
        renew(&target, &mut admin);
        let places = (1..6).map(|n| u64::from(COPY) * n);
        for lba in places.clone() {
            write(&mut data, lba, round);
        }
        assert!(data.execute(IO.flush(), &[], 0).unwrap().status.is_success());
        while copies.outstanding() > 0 {
            let _ = copies.complete().unwrap();
        }
        for lba in places {
            // A copy that began later sees the new source, which is empty.
            let found = read(&mut data, lba);
            assert!(found.iter().all(|b| *b == round || *b == 0), "round {round}, block {lba}");
        }
        assert!(read(&mut data, 0).iter().all(|b| *b == 0), "round {round}");
    }
    target.drive.check_invariants().unwrap();
    target.stop();
}

#[test]
fn copies_do_not_reach_the_namespace_that_follows_a_deleted_one() {
    copies_against(|target, admin| {
        admin.admin("delete", manage(1, 1), &[], 0).unwrap();
        let pages = (64 << 20) / 4096;
        let request = NamespaceRequest {
            pages,
            lba_bytes: 4096,
            handles: Vec::new(),
            everyone: true,
            private: false,
        };
        assert_eq!(target.drive.create_namespace(request), Ok(1));
    });
}

#[test]
fn copies_do_not_reach_the_namespace_after_a_format() {
    copies_against(|_, admin| {
        admin.admin("format", format(1), &[], 0).unwrap();
    });
}

#[test]
fn long_commands_do_not_stop_a_neighbour() {
    // The pool has room for one copy that needs all its data at once.
    let options = ServerOptions { buffers: Pool::SMALLEST, ..ServerOptions::default() };
    let (device, access) = (config("64MiB"), Access::default());
    let target = Target::with_options(device, DataSpec::Memory, false, options, access);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for name in ["a", "b", "c", "d", "e"] {
            let (target, stop) = (&target, &stop);
            scope.spawn(move || {
                let host = target.host(name);
                let mut queue = host.io_queue(1).unwrap();
                // The second kind overlaps, so it reads everything before it writes.
                let ranges = [
                    copy_ranges(0, COPY, COPY_RANGE_BLOCKS),
                    copy_ranges(1000, COPY, COPY_RANGE_BLOCKS),
                ];
                while !stop.load(Ordering::Relaxed) {
                    while queue.outstanding() < 60 {
                        let ranges = &ranges[queue.outstanding() % 2];
                        queue.submit(IO.copy(2048, ranges.len(), None), ranges.as_bytes(), 0);
                    }
                    assert!(queue.complete().unwrap().status.is_success());
                }
            });
        }
        std::thread::sleep(Duration::from_millis(300));
        let host = target.host("neighbour");
        let mut queue = host.io_queue(1).unwrap();
        let started = Instant::now();
        let mut writes = 0;
        // If each write waited for a batch of copies, there would be less than one per second.
        while writes < 500 && started.elapsed() < Duration::from_secs(30) {
            let done = queue.execute(IO.write(16000, 1, None), &[1; 4096], 0).unwrap();
            assert!(done.status.is_success());
            writes += 1;
        }
        stop.store(true, Ordering::Relaxed);
        assert_eq!(writes, 500, "in {:?}", started.elapsed());
    });
}

#[test]
fn a_list_of_whole_drives_is_deallocated_once() {
    let device: DeviceConfig = serde_json::from_value(serde_json::json!({
        "capacity": "256GiB", "reclaim_unit": { "size": "1GiB" }, "overprovisioning": 0.1,
    }))
    .unwrap();
    let target = Target::with(device, DataSpec::None, false, Duration::from_secs(30));
    let (a, b) = (target.host("a"), target.host("b"));
    let (mut hostile, mut neighbour) = (a.io_queue(1).unwrap(), b.io_queue(1).unwrap());
    let blocks = (256u64 << 30) / 4096;
    let done = hostile.execute(IO.write(blocks - 256, 256, None), &vec![1; 1 << 20], 0).unwrap();
    assert!(done.status.is_success());
    let mut whole = DsmRange::new_zeroed();
    whole.length = (blocks as u32).into();
    let list: Vec<u8> = [whole; 256].iter().flat_map(|r| r.as_bytes().to_vec()).collect();
    for _ in 0..3 {
        hostile.submit(IO.deallocate(256), &list, 0);
    }
    hostile.flush().unwrap();
    let started = Instant::now();
    for _ in 0..50 {
        let done = neighbour.execute(IO.read(0, 1), &[], 4096).unwrap();
        assert!(done.status.is_success());
    }
    for _ in 0..3 {
        assert!(hostile.complete().unwrap().status.is_success());
    }
    // Done in full, 768 ranges of 64 Mi pages each would take minutes.
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    let counters = target.drive.snapshot().counters;
    assert_eq!((counters.deallocated_pages, counters.rejected), (256, 0));
}

#[test]
fn a_reset_drops_asynchronous_event_requests() {
    let target = Target::start(DataSpec::None);
    let mut host = target.host("a");
    // The admin queue has 32 entries; a leak would cost four per round.
    for _ in 0..12 {
        for _ in 0..4 {
            let request = Sqe { opcode: AdminOpcode::ASYNC_EVENT_REQUEST.0, ..Default::default() };
            host.admin.submit(request, &[], 0);
        }
        host.admin.flush().unwrap();
        host.reset().unwrap();
    }
    assert_eq!(host.admin.outstanding(), 0);
    let _: IdentifyController = host.identify(Cns::CONTROLLER, 0).unwrap();
}

#[test]
fn a_byte_now_and_then_does_not_hold_a_connection() {
    let timeout = Duration::from_millis(600);
    let target = Target::with(config("64MiB"), DataSpec::None, false, timeout);
    let mut stream = TcpStream::connect(target.address).unwrap();
    let request = IcReq {
        header: PduHeader { pdu_type: 0, hlen: 128, plen: 128.into(), ..Default::default() },
        ..Default::default()
    };
    // The response to the first PDU does not restart the timer for the second.
    std::thread::sleep(Duration::from_millis(300));
    stream.write_all(request.as_bytes()).unwrap();
    let started = Instant::now();
    let header = [4, 0, 72, 0, 72, 0, 0, 0];
    for byte in header.iter().chain(&[0; 60]) {
        std::thread::sleep(Duration::from_millis(100));
        if stream.write_all(&[*byte]).is_err() {
            break;
        }
    }
    assert!(started.elapsed() < Duration::from_secs(5), "the connection is still open");
}

#[test]
fn connections_beyond_the_limit_are_closed() {
    let options = ServerOptions { max_connections: 3, ..ServerOptions::default() };
    let target =
        Target::with_options(config("64MiB"), DataSpec::None, false, options, Access::default());
    let host = target.host("a");
    let (first, second) = (host.io_queue(1).unwrap(), host.io_queue(2).unwrap());
    assert!(host.io_queue(3).is_err());
    drop((first, second));
    let started = Instant::now();
    while host.io_queue(3).is_err() {
        assert!(started.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Connects a queue whose writes send their data outside the capsule.
fn writer(target: &Target, name: &str) -> (Host, Queue) {
    let mut options = HostOptions::new(NQN, name);
    options.queue = QueueOptions { in_capsule: 1024, ..QueueOptions::default() };
    let host = Host::connect(target.address, options).unwrap();
    let queue = host.io_queue(1).unwrap();
    (host, queue)
}

#[test]
fn hosts_that_hoard_buffers_do_not_stop_others() {
    let timeout = Duration::from_secs(3);
    let options = ServerOptions { timeout, buffers: Pool::SMALLEST, ..ServerOptions::default() };
    let target =
        Target::with_options(config("64MiB"), DataSpec::None, false, options, Access::default());
    // Commands that request buffers and never fill them.
    let hoard = |name: &str| {
        let (host, mut queue) = writer(&target, name);
        for _ in 0..100 {
            queue.submit(IO.write(0, 256, None), &vec![1; 1 << 20], 0);
        }
        queue.flush().unwrap();
        (host, queue)
    };
    let (_other, mut queue) = writer(&target, "other");
    // What one connection can take leaves room for others.
    let one = hoard("one");
    let started = Instant::now();
    write(&mut queue, 0, 2);
    assert!(started.elapsed() < timeout, "{:?}", started.elapsed());
    // All together take everything; the others wait only until the first times out.
    let all: Vec<_> = (0..25).map(|n| hoard(&format!("h{n}"))).collect();
    let started = Instant::now();
    write(&mut queue, 0, 2);
    assert!(started.elapsed() < 5 * timeout, "{:?}", started.elapsed());
    drop((one, all));
}

#[test]
fn hosts_have_the_rights_that_the_list_gives_them() {
    let nqn = |name: &str| HostOptions::new(NQN, name).hostnqn;
    let list =
        [(nqn("admin"), Rights { manage: true }.into()), (nqn("user"), Rights::default().into())];
    let target = Target::with_options(
        config("64MiB"),
        DataSpec::None,
        false,
        ServerOptions::default(),
        Access::Listed(list.into()),
    );
    let refused = Host::connect(target.address, HostOptions::new(NQN, "stranger")).err();
    assert!(
        matches!(refused, Some(HostError::Status { status: Status::CONNECT_INVALID_HOST, .. })),
        "{refused:?}"
    );
    let (mut user, mut admin) = (target.host("user"), target.host("admin"));
    let fdp = Sqe {
        opcode: AdminOpcode::SET_FEATURES.0,
        cdw10: u32::from(Fid::FDP.0).into(),
        cdw11: 1.into(),
        ..Default::default()
    };
    let attach = Sqe { opcode: AdminOpcode::NAMESPACE_ATTACHMENT.0, nsid: 1.into(), ..fdp };
    for sqe in [manage(1, 1), manage(0, 0), format(1), attach, fdp] {
        let done = user.admin.execute(sqe, &[], 0).unwrap();
        assert_eq!((done.status, done.dnr), (Status::OPERATION_DENIED, true), "{sqe:?}");
    }
    let mut queue = user.io_queue(1).unwrap();
    write(&mut queue, 0, 1);
    // The controller does not report what the host may not do.
    let oacs = |host: &mut Host| {
        let id: IdentifyController = host.identify(Cns::CONTROLLER, 0).unwrap();
        let effects = host.log(Lid::EFFECTS, 0, 0, 4096).unwrap();
        let format = usize::from(AdminOpcode::FORMAT_NVM.0) * 4;
        // Format NVM, Namespace Management; Format NVM in the effects log.
        (id.oacs.get() & 0b1010, effects[format] & 1)
    };
    assert_eq!((oacs(&mut user), oacs(&mut admin)), ((0, 0), (0b1010, 1)));
    admin.admin("format", format(1), &[], 0).unwrap();
    admin.admin("delete", manage(1, 1), &[], 0).unwrap();
}
