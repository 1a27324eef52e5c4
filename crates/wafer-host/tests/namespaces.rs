//! Namespaces that an operator switches off and on, moves to other ANA groups, and gives other identities.

use std::sync::Arc;

use serde_json::{Value, json};
use wafer_drive::NamespaceRequest;
use wafer_host::{Host, Io};
use wafer_nvme::zerocopy::FromBytes as _;
use wafer_nvme::*;
use wafer_storage::DataSpec;
use wafer_target::control::{Response, execute};

use crate::common::Target;

const BLOCK: usize = 4096;

fn ctl(target: &Target, request: Value) -> Response {
    execute(&target.subsystem, serde_json::from_value(request).unwrap())
}

fn change(target: &Target, request: Value) {
    let done = ctl(target, request);
    assert!(matches!(done, Response::Done(_)), "{done:?}");
}

/// Starts a target with two namespaces that every host sees.
fn two() -> Target {
    let target = Target::start(DataSpec::Memory);
    target.drive.delete_namespace(1).unwrap();
    for nsid in 1..=2 {
        let request = NamespaceRequest {
            pages: 4096,
            lba_bytes: 4096,
            handles: vec![],
            everyone: true,
            private: false,
        };
        assert_eq!(target.drive.create_namespace(request), Ok(nsid));
    }
    target
}

fn active(host: &mut Host) -> Vec<u32> {
    let list: [u8; 4096] = host.identify(Cns::ACTIVE_NAMESPACES, 0).unwrap();
    let (nsids, _) = list.as_chunks();
    nsids.iter().map(|nsid| u32::from_le_bytes(*nsid)).take_while(|nsid| *nsid > 0).collect()
}

/// Returns the identifiers of a namespace: NGUID and UUID.
fn identifiers(host: &mut Host, nsid: u32) -> ([u8; 16], [u8; 16]) {
    let list: [u8; 4096] = host.identify(Cns::NAMESPACE_DESCRIPTORS, nsid).unwrap();
    let of = |at: usize, kind: Nidt| {
        assert_eq!((list[at], list[at + 1]), (kind.0, 16));
        list[at + 4..at + 20].try_into().unwrap()
    };
    (of(0, Nidt::NGUID), of(20, Nidt::UUID))
}

/// Returns the group, state and namespaces of each descriptor of the ANA log.
fn groups(host: &mut Host) -> Vec<(u32, u8, Vec<u32>)> {
    let page = host.log(Lid::ANA, 0, 0, 256).unwrap();
    let (head, mut rest) = AnaLog::ref_from_prefix(&page).unwrap();
    let mut groups = Vec::new();
    for _ in 0..head.groups.get() {
        let (group, after) = AnaGroup::read_from_prefix(rest).unwrap();
        let (nsids, after) = after.split_at(4 * group.nsids.get() as usize);
        let nsids = nsids.as_chunks().0.iter().map(|nsid| u32::from_le_bytes(*nsid)).collect();
        groups.push((group.group.get(), group.state, nsids));
        rest = after;
    }
    groups
}

#[test]
fn a_namespace_goes_and_comes_back_as_another() {
    let target = two();
    let mut host = target.host("switch");
    let mut queue = host.io_queue(1).unwrap();
    let io = Io { nsid: 2 };
    assert!(queue.execute(io.write(7, 1, None), &[9; BLOCK], 0).unwrap().status.is_success());
    let before = identifiers(&mut host, 2);
    let enable = Sqe {
        opcode: AdminOpcode::SET_FEATURES.0,
        cdw10: u32::from(Fid::ASYNC_EVENT.0).into(),
        cdw11: AsyncEventConfig::new().with_namespace_attribute(true).into_bits().into(),
        ..Default::default()
    };
    host.admin("set features", enable, &[], 0).unwrap();
    let request = Sqe { opcode: AdminOpcode::ASYNC_EVENT_REQUEST.0, ..Default::default() };

    // Hosts rely on the identity of a namespace as long as they see it.
    let uuid = "9f1a6c8e-0d3b-4a6e-8a56-2f7c1d0b7e11";
    for wrong in [
        json!({ "command": "namespace", "namespace": 2, "uuid": uuid }),
        json!({ "command": "namespace", "namespace": 2, "ana_group": 3 }),
        json!({ "command": "namespace", "namespace": 2 }),
        json!({ "command": "namespace", "namespace": 3, "on": false }),
        json!({ "command": "namespace", "namespace": 2, "on": false, "ana_group": 17 }),
        json!({ "command": "namespace", "namespace": 2, "on": false, "ana_group": 0 }),
    ] {
        let refused = ctl(&target, wrong.clone());
        assert!(matches!(refused, Response::Refused(_)), "{wrong}: {refused:?}");
    }
    assert_eq!((active(&mut host), identifiers(&mut host, 2)), (vec![1, 2], before));

    let cid = host.admin.submit(request, &[], 0);
    host.admin.flush().unwrap();
    change(&target, json!({ "command": "namespace", "namespace": 2, "on": false }));
    let event = host.admin.complete().unwrap();
    assert_eq!((event.cid, event.dw), (cid, 0x0004_0002), "notice, attached namespace changed");
    let changed = host.log(Lid::CHANGED_NAMESPACES, 0, 0, 4096).unwrap();
    assert_eq!(changed[..8], [2, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(active(&mut host), [1]);
    let allocated: [u8; 4096] = host.identify(Cns::ALLOCATED_NAMESPACES, 0).unwrap();
    assert_eq!(allocated[..12], [1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
    for sqe in [io.read(7, 1), Io { nsid: 1 }.read(7, 1)] {
        let status = queue.execute(sqe, &[], BLOCK).unwrap().status;
        assert_eq!(status.is_success(), sqe.nsid.get() == 1, "{status:?}");
    }
    // Hosts that connect now do not see it either.
    assert_eq!(active(&mut target.host("later")), [1]);
    // Switching it off again changes nothing: no event is sent, and the next completion belongs to a command.
    let cid = host.admin.submit(request, &[], 0);
    change(&target, json!({ "command": "namespace", "namespace": 2, "on": false }));
    assert_eq!(active(&mut host), [1]);

    let back = json!({
        "command": "namespace", "namespace": 2, "uuid": uuid, "ana_group": 3, "on": true,
    });
    change(&target, back);
    assert_eq!(host.admin.complete().unwrap().cid, cid);
    assert_eq!(active(&mut host), [1, 2]);
    let after = identifiers(&mut host, 2);
    assert_ne!(after.0, before.0);
    assert_eq!(after.1, u128::from_str_radix(&uuid.replace('-', ""), 16).unwrap().to_be_bytes());
    let id: IdentifyNamespace = host.identify(Cns::NAMESPACE, 2).unwrap();
    assert_eq!((id.anagrpid.get(), id.nguid), (3, after.0));
    assert_eq!(queue.execute(io.read(7, 1), &[], BLOCK).unwrap().data, [9; BLOCK]);
    let Response::Done(status) = ctl(&target, json!({ "command": "status" })) else { panic!() };
    assert_eq!(status["namespaces"][1]["uuid"], uuid);
    assert_eq!(status["ports"][0]["groups"].as_array().unwrap().len(), 2);
    // A group without namespaces is listed if its state is not the default.
    change(&target, json!({ "command": "ana", "port": 1, "group": 9, "state": "change" }));
    let Response::Done(status) = ctl(&target, json!({ "command": "status" })) else { panic!() };
    assert_eq!(status["ports"][0]["groups"][2], json!({ "group": 9, "state": "change" }));
    target.stop();
}

#[test]
fn groups_have_states_of_their_own() {
    let target = two();
    let mut host = target.host("groups");
    let mut queue = host.io_queue(1).unwrap();
    let optimized = AnaState::OPTIMIZED.0;
    assert_eq!(groups(&mut host), [(1, optimized, vec![1, 2])]);
    change(&target, json!({ "command": "namespace", "namespace": 2, "on": false }));
    change(&target, json!({ "command": "namespace", "namespace": 2, "ana_group": 16, "on": true }));
    assert_eq!(groups(&mut host), [(1, optimized, vec![1]), (16, optimized, vec![2])]);
    let closed = json!({ "command": "ana", "port": 1, "group": 16, "state": "inaccessible" });
    change(&target, closed);
    let state = AnaState::INACCESSIBLE.0;
    assert_eq!(groups(&mut host), [(1, optimized, vec![1]), (16, state, vec![2])]);
    let mut statuses = |sqe: fn(Io) -> Sqe| {
        [1, 2, 0xffff_ffff].map(|nsid| {
            let receive = if sqe(Io { nsid }).opcode == NvmOpcode::READ.0 { BLOCK } else { 0 };
            queue.execute(sqe(Io { nsid }), &[], receive).unwrap().status
        })
    };
    let [first, second, _] = statuses(|io| io.read(0, 1));
    assert_eq!([first, second], [Status::SUCCESS, Status::ANA_INACCESSIBLE]);
    // A flush of all namespaces includes one that cannot be reached.
    let [first, second, all] = statuses(Io::flush);
    assert_eq!(
        [first, second, all],
        [Status::SUCCESS, Status::ANA_INACCESSIBLE, Status::ANA_INACCESSIBLE]
    );
    change(&target, json!({ "command": "ana", "port": 1, "state": "optimized" }));
    assert_eq!(statuses(Io::flush), [Status::SUCCESS; 3]);
    target.stop();
}

#[test]
fn two_operators_switch_one_namespace() {
    let target = Arc::new(two());
    let mut host = target.host("loop");
    let operators = [false, true].map(|first| {
        let target = Arc::clone(&target);
        std::thread::spawn(move || {
            for round in 0..200 {
                let on = (round % 2 == 0) == first;
                change(&target, json!({ "command": "namespace", "namespace": 2, "on": on }));
            }
        })
    });
    while operators.iter().any(|operator| !operator.is_finished()) {
        assert!([&[1][..], &[1, 2]].contains(&&active(&mut host)[..]));
    }
    for operator in operators {
        operator.join().unwrap();
    }
    change(&target, json!({ "command": "namespace", "namespace": 2, "on": true }));
    assert_eq!(active(&mut host), [1, 2]);
}
