//! Reservations: permissions, persistence and notifications.

use std::sync::Arc;

use wafer_controller::{Controller, Subsystem, admin};
use wafer_drive::{Drive, Environment};
use wafer_io::IoQueue;
use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::*;
use wafer_storage::DataSpec;
use wafer_target::fuzzing;

use crate::common::{connect_host, sqe};

/// Bytes of a block.
const BLOCK: usize = 512;

/// A host with its own queue.
struct Host {
    controller: Arc<Controller>,
    queue: IoQueue,
    key: u64,
}

impl Host {
    fn new(subsystem: &Arc<Subsystem>, number: u8) -> Self {
        let controller = connect_host(subsystem, number);
        let queue = IoQueue::new(Arc::clone(&controller));
        Host { controller, queue, key: 0x100 + u64::from(number) }
    }

    fn execute(&mut self, opcode: NvmOpcode, cdw10: u32, cdw11: u32, data: &[u8]) -> Status {
        let sqe = Sqe {
            opcode: opcode.0,
            nsid: 1.into(),
            cdw10: cdw10.into(),
            cdw11: cdw11.into(),
            ..Default::default()
        };
        let mut out = Vec::new();
        let done = self.queue.execute(&sqe, data, &mut out);
        self.queue.end_batch().unwrap();
        done.map_or_else(|failure| failure.status, |()| Status::SUCCESS)
    }

    fn change(&mut self, rrega: u8, cptpl: u8, iekey: bool, keys: [u64; 2]) -> Status {
        let cdw10 = RegisterCdw10::new().with_rrega(rrega).with_cptpl(cptpl).with_iekey(iekey);
        self.with_keys(NvmOpcode::RESERVATION_REGISTER, cdw10.into_bits(), keys)
    }

    fn register(&mut self) -> Status {
        self.change(0, 0, false, [0, self.key])
    }

    fn unregister(&mut self) -> Status {
        self.change(1, 0, false, [self.key, 0])
    }

    fn acquire(&mut self, rtype: ReservationType) -> Status {
        let cdw10 = ReservationCdw10::new().with_rtype(rtype.0);
        let keys = [self.key, 0];
        self.with_keys(NvmOpcode::RESERVATION_ACQUIRE, cdw10.into_bits(), keys)
    }

    fn preempt(&mut self, action: u8, key: u64, rtype: ReservationType) -> Status {
        let cdw10 = ReservationCdw10::new().with_action(action).with_rtype(rtype.0);
        let keys = [self.key, key];
        self.with_keys(NvmOpcode::RESERVATION_ACQUIRE, cdw10.into_bits(), keys)
    }

    fn release(&mut self, action: u8, rtype: ReservationType) -> Status {
        let cdw10 = ReservationCdw10::new().with_action(action).with_rtype(rtype.0);
        let keys = [self.key, 0];
        self.with_keys(NvmOpcode::RESERVATION_RELEASE, cdw10.into_bits(), keys)
    }

    fn with_keys(&mut self, opcode: NvmOpcode, cdw10: u32, [current, other]: [u64; 2]) -> Status {
        let keys = ReservationKeys { current: current.into(), other: other.into() };
        self.execute(opcode, cdw10, 0, keys.as_bytes())
    }

    fn read(&mut self) -> Status {
        self.execute(NvmOpcode::READ, 0, 0, &[])
    }

    fn write(&mut self) -> Status {
        self.execute(NvmOpcode::WRITE, 0, 0, &[1; BLOCK])
    }

    /// Returns the header of the status and, for each registrant, host, key and whether it holds the reservation.
    fn report(&mut self) -> (ReservationStatus, Vec<(u8, u64, bool)>) {
        let report = Sqe {
            opcode: NvmOpcode::RESERVATION_REPORT.0,
            nsid: 1.into(),
            cdw10: 255.into(),
            cdw11: ReportCdw11::new().with_eds(true).into_bits().into(),
            ..Default::default()
        };
        let mut out = Vec::new();
        self.queue.execute(&report, &[], &mut out).unwrap();
        assert_eq!(out.len(), 1024);
        let (head, rest) = ReservationStatus::read_from_prefix(&out).unwrap();
        let count = usize::from(head.regctl.get());
        let (list, _) = <[RegisteredController]>::ref_from_prefix_with_elems(rest, count).unwrap();
        assert!(list.iter().all(|entry| entry.cntlid.get() == 0xffff));
        let entry = |e: &RegisteredController| (e.hostid[0], e.rkey.get(), e.rcsts == 1);
        (head, list.iter().map(entry).collect())
    }

    fn notification(&self) -> ReservationNotification {
        let page = GetLogCdw10::new().with_lid(Lid::RESERVATION_NOTIFICATION.0).with_numdl_z(15);
        let command = sqe(AdminOpcode::GET_LOG_PAGE, page.into_bits(), 0);
        let data = admin(&self.controller, &command, &[]).unwrap().data;
        ReservationNotification::read_from_bytes(&data).unwrap()
    }
}

fn subsystem() -> Arc<Subsystem> {
    fuzzing::subsystem_on(DataSpec::Memory, Environment::default())
}

fn three() -> [Host; 3] {
    let subsystem = subsystem();
    [1, 2, 3].map(|number| Host::new(&subsystem, number))
}

/// Ends the associations of two hosts.
fn leave(subsystem: &Subsystem, hosts: [Host; 2]) {
    hosts.iter().for_each(|host| subsystem.remove(&host.controller));
}

const OK: Status = Status::SUCCESS;
const CONFLICT: Status = Status::RESERVATION_CONFLICT;

/// Whether a registrant and another host may read and write while a third one holds a reservation (Base 2.1, figure
/// "Command Behavior in the Presence of a Reservation").
const ACCESS: [(ReservationType, [Status; 4]); 6] = [
    (ReservationType::WRITE_EXCLUSIVE, [OK, CONFLICT, OK, CONFLICT]),
    (ReservationType::EXCLUSIVE_ACCESS, [CONFLICT, CONFLICT, CONFLICT, CONFLICT]),
    (ReservationType::WRITE_EXCLUSIVE_REGISTRANTS_ONLY, [OK, OK, OK, CONFLICT]),
    (ReservationType::EXCLUSIVE_ACCESS_REGISTRANTS_ONLY, [OK, OK, CONFLICT, CONFLICT]),
    (ReservationType::WRITE_EXCLUSIVE_ALL_REGISTRANTS, [OK, OK, OK, CONFLICT]),
    (ReservationType::EXCLUSIVE_ACCESS_ALL_REGISTRANTS, [OK, OK, CONFLICT, CONFLICT]),
];

#[test]
fn each_type_keeps_out_whom_it_should() {
    for (rtype, access) in ACCESS {
        let [mut holder, mut registrant, mut other] = three();
        assert_eq!([holder.register(), registrant.register(), holder.acquire(rtype)], [OK; 3]);
        assert_eq!([holder.read(), holder.write()], [OK; 2], "{rtype:?}");
        let found = [registrant.read(), registrant.write(), other.read(), other.write()];
        assert_eq!(found, access, "{rtype:?}");
        assert_eq!(holder.release(0, rtype), OK);
        assert_eq!([other.read(), other.write()], [OK; 2], "{rtype:?}");
    }
}

#[test]
fn every_command_is_checked() {
    let [mut holder, mut other, _] = three();
    assert_eq!([holder.register(), holder.acquire(ReservationType::EXCLUSIVE_ACCESS)], [OK; 2]);
    let range = DsmRange { length: 1.into(), ..Default::default() };
    let copy = CopyRange::read_from_bytes(&[0; size_of::<CopyRange>()]).unwrap();
    for (opcode, data) in [
        (NvmOpcode::FLUSH, &[][..]),
        (NvmOpcode::WRITE, &[0; BLOCK]),
        (NvmOpcode::READ, &[]),
        (NvmOpcode::WRITE_UNCORRECTABLE, &[]),
        (NvmOpcode::COMPARE, &[0; BLOCK]),
        (NvmOpcode::WRITE_ZEROES, &[]),
        (NvmOpcode::DATASET_MANAGEMENT, range.as_bytes()),
        (NvmOpcode::VERIFY, &[]),
        (NvmOpcode::COPY, copy.as_bytes()),
        (NvmOpcode::IO_MANAGEMENT_SEND, &[0; 2]),
    ] {
        assert_eq!(other.execute(opcode, 0, 0, data), CONFLICT, "{opcode:?}");
    }
    let fused = |opcode: NvmOpcode, fuse| Sqe {
        opcode: opcode.0,
        flags: fuse,
        nsid: 1.into(),
        ..Default::default()
    };
    let pair = [fused(NvmOpcode::COMPARE, 1), fused(NvmOpcode::WRITE, 2)];
    let data = [&[0; BLOCK][..], &[2; BLOCK]];
    let done = other.queue.compare_and_write([&pair[0], &pair[1]], data);
    assert_eq!(done[0].unwrap_err().status, CONFLICT);
    for command in [
        Sqe { nsid: 1.into(), ..sqe(AdminOpcode::FORMAT_NVM, 0, 0) },
        sqe(AdminOpcode::SANITIZE, 2, 0),
        Sqe { nsid: 1.into(), ..sqe(AdminOpcode::NAMESPACE_MANAGEMENT, 1, 0) },
    ] {
        let failure = admin(&other.controller, &command, &[]).err().unwrap();
        assert_eq!(failure.status, CONFLICT, "{}", command.opcode);
    }
    assert_eq!([holder.read(), holder.write()], [OK; 2]);
}

/// A command for all namespaces reaches those that are attached to the host.
#[test]
fn namespaces_of_other_hosts_hold_nothing_up() {
    let subsystem = subsystem();
    let [mut owner, other] = [1, 2].map(|number| Host::new(&subsystem, number));
    assert_eq!(owner.register(), Status::SUCCESS);
    assert_eq!(owner.acquire(ReservationType::WRITE_EXCLUSIVE), Status::SUCCESS);
    let format = || {
        let sqe = Sqe { nsid: u32::MAX.into(), ..sqe(AdminOpcode::FORMAT_NVM, 0, 0) };
        admin(&other.controller, &sqe, &[]).map_or_else(|f| f.status, |_| Status::SUCCESS)
    };
    assert_eq!(format(), Status::RESERVATION_CONFLICT);
    let host = other.controller.hostnqn.clone();
    subsystem.drive.attach_namespace(1, vec![host], false).unwrap();
    assert_eq!(format(), Status::SUCCESS);
    assert_eq!(owner.write(), Status::SUCCESS, "it was not formatted");
    subsystem.set_ana_state(1, None, AnaState::INACCESSIBLE).unwrap();
    assert!(other.controller.check_path(u32::MAX).is_ok());
    assert!(owner.controller.check_path(u32::MAX).is_err());
}

#[test]
fn keys_and_generations_follow_registrations() {
    let [mut one, mut two, _] = three();
    assert_eq!(one.acquire(ReservationType::WRITE_EXCLUSIVE), CONFLICT, "it is not registered");
    assert_eq!(one.register(), OK);
    assert_eq!(one.register(), OK, "with the same key");
    assert_eq!(one.change(0, 0, false, [0, 77]), CONFLICT, "with another key");
    assert_eq!(one.change(2, 0, false, [77, 78]), CONFLICT, "the current key is wrong");
    assert_eq!(one.change(2, 0, true, [77, 78]), OK, "which is ignored");
    one.key = 78;
    assert_eq!(two.register(), OK);
    let (head, list) = one.report();
    assert_eq!((head.generation.get(), head.rtype, head.ptpls), (3, 0, 0));
    assert_eq!(list, [(1, 78, false), (2, 0x102, false)]);
    assert_eq!(one.acquire(ReservationType::WRITE_EXCLUSIVE), OK);
    assert_eq!(one.acquire(ReservationType::WRITE_EXCLUSIVE), OK, "it holds it");
    assert_eq!(one.acquire(ReservationType::EXCLUSIVE_ACCESS), CONFLICT, "of another type");
    assert_eq!(two.acquire(ReservationType::WRITE_EXCLUSIVE), CONFLICT);
    assert_eq!(two.release(0, ReservationType::WRITE_EXCLUSIVE), OK, "it holds none");
    assert_eq!(one.release(0, ReservationType::EXCLUSIVE_ACCESS), Status::INVALID_FIELD);
    assert_eq!(one.report().1, [(1, 78, true), (2, 0x102, false)]);
    assert_eq!(one.unregister(), OK, "which releases it");
    assert_eq!(two.write(), OK);
    let (head, list) = two.report();
    assert_eq!((head.generation.get(), head.rtype, list), (4, 0, vec![(2, 0x102, false)]));
}

#[test]
fn a_reservation_is_preempted() {
    for action in [1, 2] {
        let [mut holder, mut thief, mut third] = three();
        assert_eq!([holder.register(), thief.register(), third.register()], [OK; 3]);
        assert_eq!(holder.acquire(ReservationType::WRITE_EXCLUSIVE_REGISTRANTS_ONLY), OK);
        let wanted = ReservationType::EXCLUSIVE_ACCESS;
        assert_eq!(thief.preempt(action, 0x999, wanted), CONFLICT, "nobody has this key");
        assert_eq!(thief.preempt(action, 0, wanted), Status::INVALID_FIELD);
        assert_eq!(thief.preempt(action, third.key, wanted), OK, "a registration only");
        assert_eq!(thief.report().0.rtype, ReservationType::WRITE_EXCLUSIVE_REGISTRANTS_ONLY.0);
        assert_eq!(third.write(), CONFLICT);
        assert_eq!(third.register(), OK);
        assert_eq!(thief.preempt(action, holder.key, wanted), OK);
        let (head, list) = thief.report();
        assert_eq!(head.rtype, wanted.0);
        assert_eq!(list, [(2, 0x102, true), (3, 0x103, false)]);
        assert_eq!([holder.read(), third.read(), thief.read()], [CONFLICT, CONFLICT, OK]);
        let told = |host: &Host| (host.notification().kind, host.notification().kind);
        assert_eq!(told(&holder), (1, 0), "registration preempted");
        assert_eq!(told(&third), (1, 2), "registration preempted, then reservation released");
        assert_eq!(told(&thief), (0, 0));
    }
}

#[test]
fn all_registrants_hold_it_until_the_last_is_gone() {
    let [mut one, mut two, mut other] = three();
    assert_eq!([one.register(), two.register()], [OK; 2]);
    assert_eq!(one.acquire(ReservationType::EXCLUSIVE_ACCESS_ALL_REGISTRANTS), OK);
    assert_eq!(two.report().1, [(1, 0x101, true), (2, 0x102, true)]);
    assert_eq!(one.unregister(), OK);
    assert_eq!([two.write(), one.read()], [OK, CONFLICT]);
    assert_eq!(other.register(), OK);
    assert_eq!(other.preempt(1, 0, ReservationType::WRITE_EXCLUSIVE), OK, "everybody's");
    assert_eq!(two.report().1, [(3, 0x103, true)]);
    assert_eq!(other.unregister(), OK);
    assert_eq!(one.write(), OK);
}

#[test]
fn notifications_can_be_masked_and_cause_events() {
    let [mut one, two, mut three] = three();
    let mut two = two;
    assert_eq!([one.register(), two.register(), three.register()], [OK; 3]);
    let mask = ReservationMask::new().with_preempted(true).into_bits();
    let fid = u32::from(Fid::RESERVATION_NOTIFICATION.0);
    let set = Sqe { nsid: 1.into(), ..sqe(AdminOpcode::SET_FEATURES, fid, mask) };
    admin(&three.controller, &set, &[]).unwrap();
    let get = Sqe { nsid: 1.into(), ..sqe(AdminOpcode::GET_FEATURES, fid, 0) };
    assert_eq!(admin(&three.controller, &get, &[]).unwrap().dw0, mask);
    let request = sqe(AdminOpcode::ASYNC_EVENT_REQUEST, 0, 0);
    for host in [&two, &three] {
        assert!(admin(&host.controller, &request, &[]).unwrap().deferred);
    }
    assert_eq!(one.release(1, ReservationType(0)), OK, "clear");
    let event = two.controller.due_events()[0].dw0.get();
    assert_eq!(event, 6 | u32::from(Lid::RESERVATION_NOTIFICATION.0) << 16);
    assert!(three.controller.due_events().is_empty());
    let page = two.notification();
    assert_eq!((page.count.get(), page.kind, page.available, page.nsid.get()), (1, 3, 0, 1));
    assert_eq!(two.notification().count.get(), 0, "it is read once");
    assert!(one.report().1.is_empty());
}

#[test]
fn what_persists_is_found_by_the_next_server() {
    let folder = tempfile::tempdir().unwrap();
    let open = || {
        let data = DataSpec::File(folder.path().join("drive.img"));
        fuzzing::subsystem_on(data, Environment::default())
    };
    for (persists, orderly) in [(true, true), (true, false), (false, true), (false, false)] {
        let subsystem = open();
        let (mut one, mut two) = (Host::new(&subsystem, 1), Host::new(&subsystem, 2));
        assert_eq!(one.change(0, if persists { 3 } else { 2 }, false, [0, one.key]), OK);
        assert_eq!(one.acquire(ReservationType::WRITE_EXCLUSIVE), OK);
        assert_eq!(two.write(), CONFLICT);
        let drive: Arc<Drive> = Arc::clone(&subsystem.drive);
        leave(&subsystem, [one, two]);
        drop(subsystem);
        if orderly {
            drive.close().unwrap();
        }
        drop(drive);
        let again = open();
        let (mut one, mut two) = (Host::new(&again, 1), Host::new(&again, 2));
        let (head, list) = two.report();
        let context = format!("persists {persists}, closed in order {orderly}");
        assert_eq!(two.write(), if persists { CONFLICT } else { OK }, "{context}");
        assert_eq!((head.ptpls == 1, list.len()), (persists, usize::from(persists)), "{context}");
        if persists {
            let fid = u32::from(Fid::RESERVATION_PERSISTENCE.0);
            let set = Sqe { nsid: 1.into(), ..sqe(AdminOpcode::SET_FEATURES, fid, 0) };
            admin(&one.controller, &set, &[]).unwrap();
            assert_eq!((one.report().0.ptpls, one.unregister()), (0, OK));
        }
        leave(&again, [one, two]);
        again.drive.close().unwrap();
    }
}

#[test]
fn fields_are_checked() {
    let subsystem = subsystem();
    let mut host = Host::new(&subsystem, 1);
    let acquire = |rtype| ReservationCdw10::new().with_rtype(rtype).into_bits();
    let keys = [0; 16];
    for (opcode, cdw10) in [
        (NvmOpcode::RESERVATION_REGISTER, RegisterCdw10::new().with_rrega(3).into_bits()),
        (NvmOpcode::RESERVATION_REGISTER, RegisterCdw10::new().with_cptpl(1).into_bits()),
        (NvmOpcode::RESERVATION_ACQUIRE, acquire(0)),
        (NvmOpcode::RESERVATION_ACQUIRE, acquire(7)),
        (NvmOpcode::RESERVATION_ACQUIRE, acquire(1) | 3),
        (NvmOpcode::RESERVATION_ACQUIRE, acquire(1) | 8),
        (NvmOpcode::RESERVATION_RELEASE, acquire(1) | 2),
    ] {
        let status = host.execute(opcode, cdw10, 0, &keys);
        assert_eq!(status, Status::INVALID_FIELD, "{opcode:?} {cdw10:#x}");
    }
    let short = host.execute(NvmOpcode::RESERVATION_REPORT, 255, 0, &[]);
    assert_eq!(short, Status::HOST_ID_INCONSISTENT);
    let mut nobody = Host::new(&subsystem, 0);
    assert_eq!(nobody.register(), Status::HOST_ID_NOT_INITIALIZED);
    let id = crate::common::identify(&host.controller);
    assert!(Oncs::from_bits(id.oncs.get()).reservations());
}
