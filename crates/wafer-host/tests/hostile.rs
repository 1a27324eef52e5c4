//! Hosts that violate the protocol: they get an error, and others are unaffected.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::common::{NQN, Target, config};
use wafer_host::{Host, HostError, HostOptions, Io, Load, Pattern, Queue, QueueOptions};
use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::*;
use wafer_storage::DataSpec;

const IO: Io = Io { nsid: 1 };

/// Reads until the end and returns the terminate request, if the last PDU is one.
fn rest(stream: &mut TcpStream) -> Option<FatalError> {
    terminate(stream).map(|(term, _)| FatalError(term.fes.get()))
}

/// Returns the same with all of its fields, and the header that it contains.
fn terminate(stream: &mut TcpStream) -> Option<(TermReq, Vec<u8>)> {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut all = Vec::new();
    if let Err(error) = stream.read_to_end(&mut all) {
        assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "the connection stays open");
    }
    let mut at = &all[..];
    let mut last = None;
    while let Ok((header, _)) = PduHeader::read_from_prefix(at) {
        if header.pdu_type == PduType::C2H_TERM_REQ.0 {
            let (term, shown) = TermReq::read_from_prefix(at).unwrap();
            assert_eq!(term.header.plen.get() as usize, at.len(), "nothing follows it");
            last = Some((term, shown.to_vec()));
        }
        at = at.get(header.plen.get() as usize..)?;
    }
    last
}

fn ic_req() -> IcReq {
    IcReq {
        header: PduHeader { pdu_type: 0, hlen: 128, plen: 128.into(), ..Default::default() },
        ..Default::default()
    }
}

fn capsule(sqe: Sqe, data: &[u8]) -> Vec<u8> {
    let header = PduHeader {
        pdu_type: PduType::CAPSULE_CMD.0,
        hlen: 72,
        pdo: if data.is_empty() { 0 } else { 72 },
        plen: (72 + data.len() as u32).into(),
        ..Default::default()
    };
    [CapsuleCmd { header, sqe }.as_bytes(), data].concat()
}

fn h2c(cid: u16, ttag: u16, offset: u32, data: &[u8], last: bool) -> Vec<u8> {
    let pdu = DataPdu {
        header: PduHeader {
            pdu_type: PduType::H2C_DATA.0,
            flags: PduFlags::new().with_last(last).into_bits(),
            hlen: 24,
            pdo: 24,
            plen: (24 + data.len() as u32).into(),
        },
        cccid: cid.into(),
        ttag: ttag.into(),
        datao: offset.into(),
        datal: (data.len() as u32).into(),
        ..Default::default()
    };
    [pdu.as_bytes(), data].concat()
}

#[test]
fn first_bytes_that_are_no_request() {
    let target = Target::start(DataSpec::None);
    let cases: Vec<(Vec<u8>, FatalError)> = vec![
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(), FatalError::INVALID_HEADER),
        (vec![0xff; 200], FatalError::INVALID_HEADER),
        (capsule(Sqe::default(), &[]), FatalError::SEQUENCE),
        (
            IcReq { pfv: 1.into(), ..ic_req() }.as_bytes().to_vec(),
            FatalError::UNSUPPORTED_PARAMETER,
        ),
        (IcReq { hpda_z: 99, ..ic_req() }.as_bytes().to_vec(), FatalError::INVALID_HEADER),
        ([ic_req().as_bytes(), ic_req().as_bytes()].concat(), FatalError::SEQUENCE),
    ];
    for (bytes, expected) in cases {
        let mut stream = TcpStream::connect(target.address).unwrap();
        stream.write_all(&bytes).unwrap();
        assert_eq!(rest(&mut stream), Some(expected), "{bytes:?}");
    }
    for (at, value) in [(2u8, 100u8), (4, 1), (4, 129)] {
        let mut bytes = ic_req().as_bytes().to_vec();
        bytes[usize::from(at)] = value;
        let mut stream = TcpStream::connect(target.address).unwrap();
        stream.write_all(&bytes).unwrap();
        assert_eq!(rest(&mut stream), Some(FatalError::INVALID_HEADER), "byte {at}");
    }
}

#[test]
fn a_terminate_request_says_what_is_wrong_where() {
    let target = Target::start(DataSpec::None);
    let changed = |at: usize, value: u8| {
        let mut bytes = ic_req().as_bytes().to_vec();
        bytes[at] = value;
        bytes
    };
    let after = |pdu: Vec<u8>| [ic_req().as_bytes(), &pdu].concat();
    // Offset of the field for a faulty header or parameter; zero for a PDU out of order.
    let cases: Vec<(Vec<u8>, FatalError, u32, usize)> = vec![
        (changed(0, 9), FatalError::INVALID_HEADER, 0, 0),
        (changed(2, 100), FatalError::INVALID_HEADER, 2, 0),
        (changed(4, 129), FatalError::INVALID_HEADER, 4, 0),
        (changed(8, 1), FatalError::UNSUPPORTED_PARAMETER, 8, 0),
        (changed(10, 32), FatalError::INVALID_HEADER, 10, 0),
        (after(capsule(Sqe::default(), &[])[..8].to_vec()), FatalError::INVALID_HEADER, 0, 128),
        (after(h2c(1, 1, 0, &[0; 8], true)), FatalError::SEQUENCE, 0, 128),
        (after(ic_req().as_bytes().to_vec()), FatalError::SEQUENCE, 0, 128),
    ];
    for (mut bytes, expected, information, at) in cases {
        if bytes.len() == 136 {
            // An undefined type.
            bytes[128] = 0x33;
        }
        let mut stream = TcpStream::connect(target.address).unwrap();
        stream.write_all(&bytes).unwrap();
        let (term, shown) = terminate(&mut stream).expect("a terminate request");
        assert_eq!((FatalError(term.fes.get()), term.fei.get()), (expected, information));
        assert_eq!((term.header.hlen, term.header.pdo, term.header.flags), (24, 0, 0));
        // The beginning of the faulty PDU, at most 128 bytes of it.
        assert!(shown.len() >= 8 && shown.len() <= 128, "{} bytes", shown.len());
        assert_eq!(shown, bytes[at..at + shown.len()], "{expected:?}");
    }
}

#[test]
fn more_data_in_a_pdu_than_was_agreed_on() {
    let target = Target::start(DataSpec::None);
    let other = target.host("other");
    for (bytes, plain) in [(131_076usize, true), (1 << 20, false)] {
        let mut options = HostOptions::new(NQN, "large");
        options.queue = QueueOptions { in_capsule: 1024, ..QueueOptions::default() };
        let owner = Host::connect(other.address(), options).unwrap();
        let mut queue = owner.io_queue(1).unwrap();
        let stream = queue.stream();
        let mut sqe = IO.write(0, 64, None);
        sqe.cid = 5.into();
        sqe.sgl = Sgl::transport(64 * 4096);
        stream.write_all(&capsule(sqe, &[])).unwrap();
        let mut r2t = [0; 24];
        stream.read_exact(&mut r2t).unwrap();
        let r2t = R2t::read_from_bytes(&r2t).unwrap();
        let pdu = h2c(5, r2t.ttag.get(), 0, &vec![1; bytes], !plain);
        // The connection may end before it has taken all.
        let _ = stream.write_all(&pdu);
        assert_eq!(rest(stream), Some(FatalError::LIMIT_EXCEEDED), "{bytes} bytes");
    }
    assert_eq!(target.drive.snapshot().counters.host_bytes, 0);
}

#[test]
fn a_host_may_terminate_a_connection() {
    let target = Target::start(DataSpec::Memory);
    let terminate = |fes: FatalError, shown: &[u8]| {
        let header = PduHeader {
            pdu_type: PduType::H2C_TERM_REQ.0,
            hlen: 24,
            plen: (24 + shown.len() as u32).into(),
            ..Default::default()
        };
        let term = TermReq { header, fes: fes.0.into(), fei: 4.into(), ..Default::default() };
        [term.as_bytes(), shown].concat()
    };
    let mut host = target.host("host");
    let mut first = host.io_queue(1).unwrap();
    let mut second = host.io_queue(2).unwrap();
    first.stream().write_all(&terminate(FatalError::INVALID_HEADER, &[6; 24])).unwrap();
    // The connection ends without a response; the other queue continues, and the first can be connected again.
    assert_eq!(rest(first.stream()), None);
    assert!(second.execute(IO.read(0, 1), &[], 4096).unwrap().status.is_success());
    let started = Instant::now();
    while host.io_queue(1).is_err() {
        assert!(started.elapsed() < Duration::from_secs(5));
        std::thread::sleep(Duration::from_millis(10));
    }
    // A request longer than a header is itself a fault.
    let mut third = host.io_queue(3).unwrap();
    third.stream().write_all(&terminate(FatalError::SEQUENCE, &[0; 129])).unwrap();
    assert_eq!(rest(third.stream()), Some(FatalError::INVALID_HEADER));
    // On the admin queue, it ends the controller with all its queues.
    host.admin.stream().write_all(&terminate(FatalError::SEQUENCE, &[])).unwrap();
    assert_eq!(rest(host.admin.stream()), None);
    assert_eq!(rest(second.stream()), None);
    let started = Instant::now();
    while !target.subsystem.controllers().is_empty() {
        assert!(started.elapsed() < Duration::from_secs(5));
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns a queue with a write of 40 KiB that waits for its data, and the R2T.
fn waiting(host: &Host, r2ts: u32) -> (Queue, TcpStream, R2t) {
    let mut options = HostOptions::new(NQN, "waiting");
    options.queue = QueueOptions { r2ts, in_capsule: 1024, ..QueueOptions::default() };
    let owner = Host::connect(host.address(), options).unwrap();
    let mut queue = owner.io_queue(1).unwrap();
    // The admin connection must outlive the test.
    std::mem::forget(owner);
    let mut stream = queue.stream().try_clone().unwrap();
    let mut sqe = IO.write(0, 10, None);
    sqe.cid = 5.into();
    sqe.sgl = Sgl::transport(40960);
    stream.write_all(&capsule(sqe, &[])).unwrap();
    let mut bytes = [0; 24];
    stream.read_exact(&mut bytes).unwrap();
    let r2t = R2t::read_from_bytes(&bytes).unwrap();
    assert_eq!((r2t.cccid.get(), r2t.r2to.get(), r2t.r2tl.get()), (5, 0, 40960));
    (queue, stream, r2t)
}

#[test]
fn data_that_was_not_asked_for() {
    let target = Target::start(DataSpec::Memory);
    let other = target.host("other");
    let mut bystander = other.io_queue(1).unwrap();
    let page = vec![7; 4096];
    bystander.execute(IO.write(0, 1, None), &page, 0).unwrap();
    let half = vec![1; 20480];
    type Case = (&'static str, fn(u16, &[u8]) -> Vec<u8>, FatalError);
    let cases: [Case; 8] = [
        ("another tag", |t, d| h2c(5, t ^ 0x55, 0, d, false), FatalError::INVALID_HEADER),
        ("another command", |t, d| h2c(6, t, 0, d, false), FatalError::INVALID_HEADER),
        ("a gap", |t, d| h2c(5, t, 4096, d, false), FatalError::DATA_OUT_OF_RANGE),
        ("behind the end", |t, d| h2c(5, t, 0xffff_f000, d, false), FatalError::DATA_OUT_OF_RANGE),
        ("the last too early", |t, d| h2c(5, t, 0, d, true), FatalError::SEQUENCE),
        (
            "twice the same",
            |t, d| [h2c(5, t, 0, d, false), h2c(5, t, 0, d, false)].concat(),
            FatalError::DATA_OUT_OF_RANGE,
        ),
        (
            "more than asked for",
            |t, d| [h2c(5, t, 0, d, false), h2c(5, t, 20480, &[d, d].concat(), true)].concat(),
            FatalError::DATA_OUT_OF_RANGE,
        ),
        (
            "a length that is not that of the PDU",
            |t, d| {
                let mut bytes = h2c(5, t, 0, d, false);
                bytes[16] ^= 8;
                bytes
            },
            FatalError::INVALID_HEADER,
        ),
    ];
    for (what, make, expected) in cases {
        let (_queue, mut stream, r2t) = waiting(&other, 1);
        stream.write_all(&make(r2t.ttag.get(), &half)).unwrap();
        assert_eq!(rest(&mut stream), Some(expected), "{what}");
    }
    // Others were unaffected, and none of this was written.
    let done = bystander.execute(IO.read(0, 1), &[], 4096).unwrap();
    assert!(done.data == page);
    assert_eq!(target.drive.snapshot().counters.host_bytes, 4096);
}

fn host_with_digests(target: &Target) -> Host {
    let mut options = HostOptions::new(NQN, "digests");
    options.queue =
        QueueOptions { header_digest: true, data_digest: true, ..QueueOptions::default() };
    Host::connect(target.address, options).unwrap()
}

fn digest(bytes: &[u8]) -> [u8; 4] {
    wafer_nvme::crc32c(bytes).to_le_bytes()
}

#[test]
fn wrong_digests() {
    let target = Target::start(DataSpec::Memory);
    let host = host_with_digests(&target);
    let mut queue = host.io_queue(1).unwrap();
    let mut sqe = IO.write(0, 1, None);
    sqe.cid = 1.into();
    sqe.sgl = Sgl::in_capsule(0, 4096);
    let data = vec![3; 4096];
    let header = PduHeader {
        pdu_type: PduType::CAPSULE_CMD.0,
        flags: 3,
        hlen: 72,
        pdo: 76,
        plen: (76 + 4096 + 4).into(),
    };
    let head = CapsuleCmd { header, sqe };
    let mut bytes = [head.as_bytes(), &digest(head.as_bytes()), &data, &digest(&data)].concat();
    // A wrong data digest fails the command; the connection continues.
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    queue.stream().write_all(&bytes).unwrap();
    let mut received = [0; 28];
    queue.stream().read_exact(&mut received).unwrap();
    let (response, _) = CapsuleResp::read_from_prefix(&received).unwrap();
    let status = StatusField::from_bits(response.cqe.status.get());
    assert_eq!(Status(status.status()), Status::TRANSIENT_TRANSPORT_ERROR);
    assert!(!status.dnr(), "it may be tried again");
    bytes[last] ^= 1;
    queue.stream().write_all(&bytes).unwrap();
    queue.stream().read_exact(&mut received).unwrap();
    let (response, _) = CapsuleResp::read_from_prefix(&received).unwrap();
    assert_eq!(response.cqe.status.get(), 0);
    // A wrong header digest ends it.
    bytes[73] ^= 1;
    queue.stream().write_all(&bytes).unwrap();
    assert_eq!(rest(queue.stream()), Some(FatalError::HEADER_DIGEST));
    assert_eq!(target.drive.snapshot().counters.host_bytes, 4096);
}

#[test]
fn wrong_digests_of_data_that_was_asked_for() {
    let target = Target::start(DataSpec::Memory);
    let host = host_with_digests(&target);
    let mut queue = host.io_queue(1).unwrap();
    // One of the two parts has a wrong digest, then neither.
    for (wrong, expected) in [
        (0, Status::TRANSIENT_TRANSPORT_ERROR),
        (1, Status::TRANSIENT_TRANSPORT_ERROR),
        (2, Status::SUCCESS),
    ] {
        let mut sqe = IO.write(0, 2, None);
        sqe.cid = 7.into();
        sqe.sgl = Sgl::transport(8192);
        let header = PduHeader {
            pdu_type: PduType::CAPSULE_CMD.0,
            flags: 1,
            hlen: 72,
            pdo: 0,
            plen: 76.into(),
        };
        let head = CapsuleCmd { header, sqe };
        let stream = queue.stream();
        stream.write_all(&[head.as_bytes(), &digest(head.as_bytes())].concat()).unwrap();
        let mut r2t = [0; 28];
        stream.read_exact(&mut r2t).unwrap();
        let (r2t, _) = R2t::read_from_prefix(&r2t).unwrap();
        for part in 0..2u32 {
            let flags = PduFlags::new().with_hdgst(true).with_ddgst(true).with_last(part == 1);
            let header = PduHeader {
                pdu_type: PduType::H2C_DATA.0,
                flags: flags.into_bits(),
                hlen: 24,
                pdo: 28,
                plen: (28 + 4096 + 4).into(),
            };
            let pdu = DataPdu {
                header,
                cccid: 7.into(),
                ttag: r2t.ttag,
                datao: (part * 4096).into(),
                datal: 4096.into(),
                ..Default::default()
            };
            let data = [part as u8 + 1; 4096];
            let mut sum = digest(&data);
            sum[3] ^= u8::from(part == wrong);
            let bytes = [pdu.as_bytes(), &digest(pdu.as_bytes()), &data, &sum].concat();
            stream.write_all(&bytes).unwrap();
        }
        let mut received = [0; 28];
        stream.read_exact(&mut received).unwrap();
        let (response, _) = CapsuleResp::read_from_prefix(&received).unwrap();
        let status = StatusField::from_bits(response.cqe.status.get());
        assert_eq!(Status(status.status()), expected);
        let written = if expected == Status::SUCCESS { 8192 } else { 0 };
        assert_eq!(target.drive.snapshot().counters.host_bytes, written, "part {wrong}");
    }
}

#[test]
fn more_commands_than_the_queue_has_entries() {
    let target = Target::start(DataSpec::Memory);
    let mut options = HostOptions::new(NQN, "many");
    options.queue = QueueOptions { entries: 8, in_capsule: 1024, ..QueueOptions::default() };
    let host = Host::connect(target.address, options).unwrap();
    let mut queue = host.io_queue(1).unwrap();
    for cid in 0..9u16 {
        let mut sqe = IO.write(0, 16, None);
        sqe.cid = cid.into();
        sqe.sgl = Sgl::transport(65536);
        queue.stream().write_all(&capsule(sqe, &[])).unwrap();
    }
    assert_eq!(rest(queue.stream()), Some(FatalError::SEQUENCE));
}

#[test]
fn connecting_wrongly() {
    let target = Target::start(DataSpec::None);
    let status = |options: HostOptions| match Host::connect(target.address, options) {
        Err(HostError::Status { status, .. }) => status,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("connected"),
    };
    let other = HostOptions::new("nqn.2026-11.io.wafer:other", "x");
    assert_eq!(status(other), Status::CONNECT_INVALID_PARAMETERS);
    let mut unnamed = HostOptions::new(NQN, "x");
    unnamed.hostnqn = "someone".to_owned();
    assert_eq!(status(unnamed), Status::CONNECT_INVALID_PARAMETERS);
    let host = target.host("first");
    assert!(host.io_queue(65).is_err(), "64 I/O queues");
    let one = host.io_queue(1).unwrap();
    assert!(host.io_queue(1).is_err(), "a queue is connected once");
    drop(one);
    // Its slot is free again soon.
    let again = Instant::now();
    while host.io_queue(1).is_err() {
        assert!(again.elapsed() < Duration::from_secs(5));
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn silent_hosts_are_given_up() {
    let timeout = Duration::from_millis(400);
    let target = Target::with(config("64MiB"), DataSpec::Memory, false, timeout);
    // One never sends a byte, one sends half a PDU, and one owes data.
    let mut silent = TcpStream::connect(target.address).unwrap();
    let mut half = TcpStream::connect(target.address).unwrap();
    half.write_all(&ic_req().as_bytes()[..50]).unwrap();
    let other = target.host("other");
    let (_queue, mut owing, _) = waiting(&other, 1);
    let started = Instant::now();
    assert_eq!(rest(&mut silent), None);
    assert_eq!(rest(&mut half), None);
    assert_eq!(rest(&mut owing), None);
    assert!(started.elapsed() < Duration::from_secs(5));
    // An idle host is not disconnected.
    let mut queue = other.io_queue(1).unwrap();
    std::thread::sleep(3 * timeout);
    assert!(queue.execute(IO.read(0, 1), &[], 4096).unwrap().status.is_success());
}

#[test]
fn the_keep_alive_timer_ends_an_association() {
    let target = Target::start(DataSpec::None);
    let mut options = HostOptions::new(NQN, "dead");
    options.kato = 500;
    let mut host = Host::connect(target.address, options).unwrap();
    let mut queue = host.io_queue(1).unwrap();
    // Commands on any queue keep it alive.
    for _ in 0..5 {
        std::thread::sleep(Duration::from_millis(250));
        assert!(queue.execute(IO.read(0, 1), &[], 4096).unwrap().status.is_success());
    }
    let keep_alive = Sqe { opcode: AdminOpcode::KEEP_ALIVE.0, ..Default::default() };
    host.admin("keep alive", keep_alive, &[], 0).unwrap();
    assert_eq!(target.subsystem.controllers().len(), 1);
    assert_eq!(rest(host.admin.stream()), None);
    assert_eq!(rest(queue.stream()), None);
    assert_eq!(target.subsystem.controllers().len(), 0);
}

#[test]
fn a_thousand_connections() {
    let target = Target::start(DataSpec::Memory);
    let mut idle = Vec::new();
    for _ in 0..1000 {
        idle.push(TcpStream::connect(target.address).unwrap());
    }
    let hosts: Vec<Host> = (0..20).map(|n| target.host(&format!("h{n}"))).collect();
    let mut queues: Vec<Queue> =
        hosts.iter().flat_map(|h| (1..=4).map(|q| h.io_queue(q).unwrap())).collect();
    let data = vec![9; 40960];
    for queue in &mut queues {
        queue.submit(IO.write(0, 10, None), &data, 0);
        queue.flush().unwrap();
    }
    for queue in &mut queues {
        assert!(queue.complete().unwrap().status.is_success());
    }
    assert_eq!(target.drive.snapshot().counters.host_bytes, 80 * 40960);
    drop(idle);
    drop(queues);
    drop(hosts);
    let started = Instant::now();
    while !target.subsystem.controllers().is_empty() {
        assert!(started.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(20));
    }
    target.stop();
}

#[test]
fn a_load_loses_nothing() {
    let target = Target::start(DataSpec::None);
    let load = Load {
        pattern: Pattern::Write,
        bytes: 4096,
        depth: 64,
        connections: 3,
        time: Duration::from_secs(60),
        commands: Some(40_000),
        span: 0,
        pids: vec![0, 1, 2, 3],
        seed: 1,
        verify: false,
    };
    let mut options = HostOptions::new(NQN, "load");
    options.queue.in_capsule = 16384;
    let small = Load { bytes: 256, ..load.clone() };
    let refused = small.run(target.address, &options, 1).map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains("smaller than a logical block"), "{refused}");
    let result = load.run(target.address, &options, 1).unwrap();
    assert_eq!((result.commands, result.failed), (120_000, 0));
    let snapshot = target.drive.counters();
    assert_eq!(snapshot.counters.host_bytes, 120_000 * 4096);
    assert_eq!(snapshot.life.write_commands, 120_000);
    assert!(snapshot.counters.relocated_pages > 0);
    assert_eq!(target.drive.check_invariants(), Ok(()));
}

#[test]
fn a_load_that_verifies_notices_what_is_lost() {
    let load = Load {
        pattern: Pattern::Write,
        bytes: 8192,
        depth: 16,
        connections: 3,
        time: Duration::from_secs(60),
        commands: Some(3_000),
        span: 4_000,
        pids: vec![0, 1, 2, 3],
        seed: 1,
        verify: true,
    };
    let options = HostOptions::new(NQN, "load");
    let target = Target::start(DataSpec::Memory);
    let result = load.run(target.address, &options, 1).unwrap();
    assert_eq!((result.commands, result.failed, result.wrong), (9_000, 0, 0));
    assert!(result.verified > 1_500 && result.verified <= 2_000, "{}", result.verified);
    // A drive that stores nothing has lost everything.
    let target = Target::start(DataSpec::None);
    let result = load.run(target.address, &options, 1).unwrap();
    assert_eq!((result.failed, result.wrong), (0, result.verified));
}
