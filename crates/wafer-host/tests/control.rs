//! Injected faults: the effect of each kind on hosts, and the operators' socket.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wafer_host::{Host, Io, Queue};
use wafer_nvme::zerocopy::FromBytes as _;
use wafer_nvme::*;
use wafer_storage::DataSpec;
use wafer_target::control::{self, MAX_LINE, Response, execute};

use crate::common::Target;

const IO: Io = Io { nsid: 1 };

/// Executes a valid request and returns what it affects.
fn ctl(target: &Target, request: Value) -> Value {
    match execute(&target.subsystem, serde_json::from_value(request).unwrap()) {
        Response::Done(value) => value,
        other => panic!("{other:?}"),
    }
}

/// Executes a request that is refused and returns the reason.
fn refused(target: &Target, request: Value) -> String {
    match execute(&target.subsystem, serde_json::from_value(request).unwrap()) {
        Response::Refused(reason) => reason,
        other => panic!("{other:?}"),
    }
}

fn status(queue: &mut Queue, sqe: Sqe, receive: usize) -> Status {
    queue.execute(sqe, &[], receive).unwrap().status
}

fn read(queue: &mut Queue, lba: u64) -> Status {
    status(queue, IO.read(lba, 1), 4096)
}

fn smart(host: &mut Host) -> SmartLog {
    SmartLog::read_from_bytes(&host.log(Lid::SMART, 0, 0, 512).unwrap()).unwrap()
}

fn newest_error(host: &mut Host) -> ErrorEntry {
    ErrorEntry::read_from_bytes(&host.log(Lid::ERROR, 0, 0, 64).unwrap()).unwrap()
}

/// Enables asynchronous events and requests one.
fn await_event(host: &mut Host, config: AsyncEventConfig) -> u16 {
    let set = Sqe {
        opcode: AdminOpcode::SET_FEATURES.0,
        cdw10: u32::from(Fid::ASYNC_EVENT.0).into(),
        cdw11: config.into_bits().into(),
        ..Default::default()
    };
    host.admin("set features", set, &[], 0).unwrap();
    ask_event(host)
}

fn ask_event(host: &mut Host) -> u16 {
    let sqe = Sqe { opcode: AdminOpcode::ASYNC_EVENT_REQUEST.0, ..Default::default() };
    host.admin.submit(sqe, &[], 0)
}

fn event(host: &mut Host) -> (u8, u8, u8) {
    let event = AsyncEvent::from_bits(host.admin.complete().unwrap().dw as u32);
    (event.event_type(), event.information(), event.log_page())
}

fn range(command: &str, lba: u64, blocks: u64) -> Value {
    json!({ "command": command, "namespace": 1, "lba": lba, "blocks": blocks })
}

#[test]
fn a_media_error_fails_reads_until_the_block_is_written() {
    let target = Target::start(DataSpec::Memory);
    let mut host = target.host("media");
    let mut queue = host.io_queue(1).unwrap();
    let before = smart(&mut host);
    ctl(&target, range("media-error", 8, 4));
    assert_eq!(read(&mut queue, 7), Status::SUCCESS);
    assert_eq!(status(&mut queue, IO.read(7, 3), 3 * 4096), Status::UNRECOVERED_READ_ERROR);
    let entry = newest_error(&mut host);
    assert_eq!((entry.lba.get(), entry.nsid.get(), entry.sqid.get()), (8, 1, 1));
    let verify = Sqe { opcode: NvmOpcode::VERIFY.0, ..IO.read(11, 1) };
    assert_eq!(status(&mut queue, verify, 0), Status::UNRECOVERED_READ_ERROR);
    let after = smart(&mut host);
    assert_eq!(after.media_errors.get() - before.media_errors.get(), 2);
    assert_eq!(after.error_entries.get() - before.error_entries.get(), 2);
    let ocp = host.log(Lid::OCP_SMART, 0, 0, 512).unwrap();
    let ocp = OcpSmartLog::read_from_bytes(&ocp).unwrap();
    assert_eq!(u128::from(ocp.uncorrectable_reads.get()), after.media_errors.get());
    let ask = Sqe {
        opcode: AdminOpcode::GET_LBA_STATUS.0,
        nsid: 1.into(),
        cdw12: 15.into(),
        cdw13: LbaStatusCdw13::new().with_atype(LbaStatusAction::TRACKED.0).into_bits().into(),
        ..Default::default()
    };
    let list = host.admin("get lba status", ask, &[], 64).unwrap().data;
    let (head, rest) = LbaStatusList::read_from_prefix(&list).unwrap();
    let (first, _) = LbaStatusDescriptor::read_from_prefix(rest).unwrap();
    assert_eq!((head.count.get(), first.slba.get(), first.blocks_z.get()), (1, 8, 3));
    let listed = &ctl(&target, json!({ "command": "status" }))["media_errors"];
    assert_eq!(*listed, json!([{ "namespace": 1, "lba": 8, "blocks": 4 }]));
    // A write repairs only its block, and `clear` the rest; a host's own mark remains.
    assert!(queue.execute(IO.write(8, 1, None), &[1; 4096], 0).unwrap().status.is_success());
    let mark = Sqe { opcode: NvmOpcode::WRITE_UNCORRECTABLE.0, ..IO.read(10, 1) };
    assert_eq!(status(&mut queue, mark, 0), Status::SUCCESS);
    assert_eq!(
        [8, 9].map(|lba| read(&mut queue, lba)),
        [Status::SUCCESS, Status::UNRECOVERED_READ_ERROR]
    );
    let clear = json!({
        "command": "media-error", "namespace": 1, "lba": 0, "blocks": 100, "clear": true,
    });
    ctl(&target, clear);
    assert_eq!([9, 11].map(|lba| read(&mut queue, lba)), [Status::SUCCESS; 2]);
    assert_eq!(read(&mut queue, 10), Status::UNRECOVERED_READ_ERROR);
    // A host's mark is not a media error.
    assert_eq!(smart(&mut host).media_errors.get() - before.media_errors.get(), 3);
}

#[test]
fn a_slow_read_delays_no_other_command() {
    let target = Target::start(DataSpec::Memory);
    let host = target.host("slow");
    let mut queue = host.io_queue(1).unwrap();
    let mut delay = range("read-delay", 100, 1);
    delay["milliseconds"] = 400.into();
    ctl(&target, delay.clone());
    let begun = Instant::now();
    let slow = queue.submit(IO.read(100, 1), &[], 4096);
    let quick = queue.submit(IO.read(101, 1), &[], 4096);
    assert_eq!(queue.complete().unwrap().cid, quick);
    // The fast read, which was submitted later, completed first.
    assert!(begun.elapsed() < Duration::from_millis(400));
    let done = queue.complete().unwrap();
    assert_eq!((done.cid, done.status, done.data.len()), (slow, Status::SUCCESS, 4096));
    assert!(begun.elapsed() >= Duration::from_millis(400));
    ctl(&target, range("media-error", 100, 1));
    assert_eq!(read(&mut queue, 100), Status::UNRECOVERED_READ_ERROR);
    delay["milliseconds"] = 0.into();
    assert_eq!(ctl(&target, delay), json!({ "cleared": 1 }));
    let mut long = range("read-delay", 0, 1);
    long["milliseconds"] = 60_001.into();
    assert!(refused(&target, long).contains("60 s"));
}

#[test]
fn a_server_does_not_wait_for_slow_reads() {
    let target = Target::start(DataSpec::Memory);
    let host = target.host("slow");
    let mut queue = host.io_queue(1).unwrap();
    let mut delay = range("read-delay", 0, 8);
    delay["milliseconds"] = 60_000.into();
    ctl(&target, delay);
    queue.submit(IO.read(0, 1), &[], 4096);
    target.stop();
}

#[test]
fn smart_values_and_warnings_are_those_that_are_injected() {
    let target = Target::start(DataSpec::None);
    let mut host = target.host("smart");
    let own = smart(&mut host);
    let config = AsyncEventConfig::new().with_smart(0x3f);
    let first = await_event(&mut host, config);
    ctl(&target, json!({ "command": "health", "available_spare": 9, "percentage_used": 130 }));
    assert_eq!(event(&mut host), (1, 2, Lid::SMART.0));
    assert_eq!(host.admin.outstanding(), 0, "{first}");
    let now = smart(&mut host);
    assert_eq!((now.available_spare, now.percentage_used, now.critical_warning), (9, 130, 1));
    assert_eq!(now.endurance_warning, 1);
    let group = host.log(Lid::ENDURANCE_GROUP, 0, 1, 512).unwrap();
    let group = EnduranceGroupLog::read_from_bytes(&group).unwrap();
    assert_eq!((group.available_spare, group.percentage_used, group.critical_warning), (9, 130, 1));
    // Beyond the default threshold of a controller.
    ask_event(&mut host);
    ctl(&target, json!({ "command": "health", "temperature": 350 }));
    assert_eq!(event(&mut host), (1, 1, Lid::SMART.0));
    let now = smart(&mut host);
    assert_eq!((now.temperature.get(), now.available_spare, now.critical_warning), (350, 9, 3));
    ask_event(&mut host);
    ctl(&target, json!({ "command": "health", "critical_warning": 0x18 }));
    assert_eq!(event(&mut host), (1, 0, Lid::SMART.0));
    assert_eq!(smart(&mut host).critical_warning, 0x1b);
    ctl(&target, json!({ "command": "health", "clear": true }));
    let now = smart(&mut host);
    assert_eq!(
        (now.temperature, now.available_spare, now.percentage_used, now.critical_warning),
        (own.temperature, own.available_spare, own.percentage_used, own.critical_warning)
    );
    refused(&target, json!({ "command": "health", "available_spare": 101 }));
    refused(&target, json!({ "command": "health", "critical_warning": 0x40 }));
}

#[test]
fn commands_fail_with_the_status_that_is_injected() {
    let target = Target::start(DataSpec::Memory);
    let (mut host, other) = (target.host("victim"), target.host("other"));
    let (mut queue, mut others) = (host.io_queue(1).unwrap(), other.io_queue(1).unwrap());
    let before = smart(&mut host);
    ctl(
        &target,
        json!({
            "command": "fail", "opcode": "write", "status": "2/0x80", "count": 2, "dnr": true,
            "host": "nqn.2026-11.io.wafer:victim", "namespace": 1,
        }),
    );
    // Also a write whose data is not in the capsule: the host is not asked to send it.
    let long = vec![1; 64 * 4096];
    let write = |queue: &mut Queue, data: &[u8]| {
        queue.execute(IO.write(0, data.len() as u32 / 4096, None), data, 0).unwrap().status
    };
    assert_eq!(write(&mut others, &long), Status::SUCCESS);
    assert_eq!(write(&mut queue, &long), Status::WRITE_FAULT);
    let entry = newest_error(&mut host);
    let field = StatusField::from_bits(entry.status.get());
    assert_eq!((field.status(), field.dnr(), entry.opcode), (0x280, true, NvmOpcode::WRITE.0));
    assert_eq!(write(&mut queue, &[1; 4096]), Status::WRITE_FAULT);
    assert_eq!(write(&mut queue, &long), Status::SUCCESS);
    assert_eq!(smart(&mut host).media_errors, before.media_errors);
    // An admin command, by code, and a retryable failure; a failed read counts as a media error.
    ctl(
        &target,
        json!({ "command": "fail", "opcode": "admin:6", "status": "internal-error", "count": 1 }),
    );
    let identify = Sqe { opcode: AdminOpcode::IDENTIFY.0, cdw10: 1.into(), ..Default::default() };
    assert_eq!(status(&mut host.admin, identify, 4096), Status::INTERNAL_ERROR);
    assert!(!StatusField::from_bits(newest_error(&mut host).status.get()).dnr());
    ctl(
        &target,
        json!({
            "command": "fail", "opcode": "read", "status": "unrecovered-read-error", "count": 7,
        }),
    );
    assert_eq!(read(&mut queue, 0), Status::UNRECOVERED_READ_ERROR);
    assert_eq!(smart(&mut host).media_errors.get(), before.media_errors.get() + 1);
    let left = &ctl(&target, json!({ "command": "status" }))["failing"];
    assert_eq!(left[0]["count"], 6);
    assert_eq!(
        (&left[0]["opcode"], &left[0]["status"]),
        (&json!("read"), &json!("unrecovered-read-error"))
    );
    ctl(&target, json!({ "command": "clear" }));
    assert_eq!(read(&mut queue, 0), Status::SUCCESS);
}

#[test]
fn a_fused_operation_fails_as_a_whole() {
    let target = Target::start(DataSpec::Memory);
    let host = target.host("fused");
    let mut queue = host.io_queue(1).unwrap();
    ctl(
        &target,
        json!({ "command": "fail", "opcode": "write", "status": "write-fault", "count": 1 }),
    );
    let compare = Sqe { opcode: NvmOpcode::COMPARE.0, flags: 1, ..IO.write(0, 1, None) };
    let write = Sqe { flags: 2, ..IO.write(0, 1, None) };
    let pair = [(compare, 0), (write, 1)].map(|(sqe, byte)| queue.submit(sqe, &[byte; 4096], 0));
    for _ in pair {
        let done = queue.complete().unwrap();
        let expected = [Status::FAILED_FUSED, Status::WRITE_FAULT];
        let at = pair.iter().position(|cid| *cid == done.cid).unwrap();
        assert_eq!(done.status, expected[at]);
    }
    let back = queue.execute(IO.read(0, 1), &[], 4096).unwrap();
    assert_eq!(back.data, [0; 4096]);
}

#[test]
fn connections_are_dropped() {
    let target = Target::start(DataSpec::Memory);
    let mut host = target.host("dropped");
    let mut other = target.host("stays");
    let (mut one, mut two) = (host.io_queue(1).unwrap(), host.io_queue(2).unwrap());
    let dropped = json!({ "command": "drop", "host": "nqn.2026-11.io.wafer:dropped", "queue": 1 });
    assert_eq!(ctl(&target, dropped.clone()), json!({ "connections": 1 }));
    assert!(one.execute(IO.read(0, 1), &[], 4096).is_err());
    assert_eq!(read(&mut two, 0), Status::SUCCESS);
    // Once the queue is removed, the host can connect it again.
    let again = (0..100).find_map(|_| {
        std::thread::sleep(Duration::from_millis(20));
        host.io_queue(1).ok()
    });
    assert_eq!(read(&mut again.unwrap(), 0), Status::SUCCESS);
    ctl(&target, json!({ "command": "drop", "host": "nqn.2026-11.io.wafer:dropped" }));
    assert!(two.execute(IO.read(0, 1), &[], 4096).is_err());
    assert!(host.statistics().is_err());
    other.statistics().unwrap();
    let gone = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        target.subsystem.controllers().len() == 1
    });
    assert!(gone);
    assert!(refused(&target, dropped).contains("no such connection"));
    ctl(&target, json!({ "command": "drop" }));
    assert!(other.statistics().is_err());
}

#[test]
fn events_of_every_kind_reach_hosts_that_enabled_them() {
    let target = Target::start(DataSpec::None);
    let mut host = target.host("events");
    let send = |kind: &str| json!({ "command": "event", "kind": kind });
    for kind in [
        "reliability",
        "temperature",
        "spare",
        "namespace-attribute",
        "telemetry",
        "firmware-activation",
    ] {
        assert!(refused(&target, send(kind)).contains("has enabled"), "{kind}");
    }
    let config = AsyncEventConfig::new()
        .with_smart(0xff)
        .with_namespace_attribute(true)
        .with_firmware(true)
        .with_telemetry(true);
    let mut request = Some(await_event(&mut host, config));
    for (kind, expected) in [
        ("diagnostic-failure", (0, 2, Lid::ERROR)),
        ("persistent-internal-error", (0, 3, Lid::ERROR)),
        ("transient-internal-error", (0, 4, Lid::ERROR)),
        ("reliability", (1, 0, Lid::SMART)),
        ("temperature", (1, 1, Lid::SMART)),
        ("spare", (1, 2, Lid::SMART)),
        ("namespace-attribute", (2, 0, Lid::CHANGED_NAMESPACES)),
        ("firmware-activation", (2, 1, Lid::FIRMWARE)),
        ("telemetry", (2, 2, Lid::TELEMETRY_CONTROLLER)),
        ("reservation", (6, 0, Lid::RESERVATION_NOTIFICATION)),
        ("sanitize", (6, 1, Lid::SANITIZE_STATUS)),
    ] {
        request.take().unwrap_or_else(|| ask_event(&mut host));
        assert_eq!(ctl(&target, send(kind)), json!({ "controllers": [host.cntlid] }));
        let (event_type, information, lid) = expected;
        assert_eq!(event(&mut host), (event_type, information, lid.0), "{kind}");
        // Masked until the log page is read.
        if kind == "spare" {
            ask_event(&mut host);
            ctl(&target, send(kind));
            assert_eq!(host.log(Lid::FIRMWARE, 0, 0, 512).map(|_| ()).ok(), Some(()));
            smart(&mut host);
            assert_eq!(event(&mut host).1, information);
        }
        let bytes = match lid {
            Lid::CHANGED_NAMESPACES => 4096,
            Lid::TELEMETRY_CONTROLLER => 512,
            _ => 64,
        };
        let page = host.log(lid, 0, 0, bytes).unwrap();
        if kind == "persistent-internal-error" {
            let entry = ErrorEntry::read_from_bytes(&page).unwrap();
            assert_eq!((entry.sqid.get(), entry.cid.get()), (0xffff, 0xffff));
        }
    }
    let stranger =
        json!({ "command": "event", "kind": "spare", "host": "nqn.2026-11.io.wafer:stranger" });
    refused(&target, stranger);
}

#[test]
fn wrong_requests_change_nothing() {
    let target = Target::start(DataSpec::Memory);
    let blocks = 64 << 20 >> 12;
    for (request, words) in [
        (range("media-error", blocks, 1), "has 16384 blocks"),
        (range("media-error", u64::MAX, 2), "has 16384 blocks"),
        (range("media-error", 0, 0), "has 16384 blocks"),
        (json!({ "command": "media-error", "namespace": 9, "lba": 0, "blocks": 1 }), "namespace 9"),
        (
            json!({ "command": "fail", "opcode": "reed", "status": "2/1", "count": 1 }),
            "unknown opcode `reed`",
        ),
        (
            json!({ "command": "fail", "opcode": "read", "status": "9/1", "count": 1 }),
            "unknown status `9/1`",
        ),
        (
            json!({ "command": "fail", "opcode": "read", "status": "2/1", "count": 0 }),
            "at least one",
        ),
        (json!({ "command": "drop" }), "no such connection"),
    ] {
        let reason = refused(&target, request);
        assert!(reason.contains(words), "{reason}");
    }
    let status = ctl(&target, json!({ "command": "status" }));
    for list in ["connections", "media_errors", "read_delays", "failing"] {
        assert_eq!(status[list], json!([]), "{list}");
    }
    // The number of each kind is limited.
    let fail = json!({ "command": "fail", "opcode": "read", "status": "2/1", "count": 1 });
    (0..256).for_each(|_| drop(ctl(&target, fail.clone())));
    assert!(refused(&target, fail).contains("256"));
}

/// Serves the socket of a target.
fn socket(target: &Target) -> (tempfile::TempDir, tokio::runtime::Runtime, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ctl.sock");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let inside = runtime.enter();
    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    drop(inside);
    runtime.spawn(control::serve(listener, target.subsystem.clone()));
    (folder, runtime, path)
}

#[test]
fn the_socket_takes_lines_of_json_and_bounds_them() {
    let target = Target::start(DataSpec::Memory);
    let (_folder, runtime, path) = socket(&target);
    let mut stream = UnixStream::connect(&path).unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap());
    let mut ask = |text: &str| {
        stream.write_all(text.as_bytes()).unwrap();
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        serde_json::from_str::<Value>(&line).unwrap()
    };
    for wrong in [
        "\n",
        "status\n",
        "{\"command\":\"stat\u{7}us\"}\n",
        "{\"command\":\"status\n",
        "{\"command\":\"drop\",\"queue\":-1}\n",
        "{\"command\":\"drop\",\"quueue\":1}\n",
        "[]\n",
    ] {
        assert!(ask(wrong)["refused"].as_str().unwrap().starts_with("not a request: "), "{wrong}");
    }
    assert_eq!(ask("{\"command\":\"status\"}\n")["done"]["connections"], json!([]));
    let long = ask(&" ".repeat(MAX_LINE as usize));
    assert!(long["refused"].as_str().unwrap().contains("at most 262144 bytes"), "{long}");
    assert_eq!(lines.read_line(&mut String::new()).unwrap(), 0, "the connection is over");
    // Clients beyond the limit are disconnected immediately; silent ones do not keep the server from shutting down.
    let silent: Vec<_> = (0..12).map(|_| UnixStream::connect(&path).unwrap()).collect();
    let closed = silent.iter().filter(|stream| {
        stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        (&**stream).read(&mut [0]).is_ok_and(|count| count == 0)
    });
    // The previous client may have seen its connection end before the server has freed its slot.
    assert!(matches!(closed.count(), 4 | 5));
    runtime.shutdown_timeout(Duration::from_secs(5));
}
