//! Sanitize: the erased data, permitted commands, restarts and failures.

use std::sync::Arc;
use std::time::Duration;

use wafer_controller::{Controller, Subsystem, admin};
use wafer_drive::Environment;
use wafer_faults::{FaultyStorage, ManualClock, Operation};
use wafer_io::IoQueue;
use wafer_nvme::zerocopy::FromBytes as _;
use wafer_nvme::*;
use wafer_storage::DataSpec;
use wafer_target::fuzzing;

use crate::common::{log, sqe};

const DATA: &str = "drive.img";

struct Bench {
    storage: FaultyStorage,
    clock: Arc<ManualClock>,
    subsystem: Arc<Subsystem>,
    controller: Arc<Controller>,
    queue: IoQueue,
}

impl Bench {
    fn on(storage: FaultyStorage) -> Self {
        let clock = Arc::<ManualClock>::default();
        let environment = Environment {
            storage: Arc::new(storage.clone()),
            clock: Arc::clone(&clock) as _,
            ..Environment::default()
        };
        let subsystem = fuzzing::subsystem_on(DataSpec::File(DATA.into()), environment);
        let controller = fuzzing::connect(&subsystem);
        let queue = IoQueue::new(Arc::clone(&controller));
        Bench { storage, clock, subsystem, controller, queue }
    }

    fn new() -> Self {
        Self::on(FaultyStorage::default())
    }

    fn after_power_loss(&self) -> Self {
        let storage = self.storage.copy();
        storage.lose_power(|_, _| false);
        Self::on(storage)
    }

    /// Executes an I/O command on the first page and returns the data of a read.
    fn io(&mut self, opcode: NvmOpcode) -> Result<Vec<u8>, Status> {
        let cdw12 = RwCdw12::new().with_nlb_z(7).into_bits();
        let sqe =
            Sqe { opcode: opcode.0, nsid: 1.into(), cdw12: cdw12.into(), ..Default::default() };
        let mut out = Vec::new();
        self.queue.begin_batch();
        let result = self
            .queue
            .data_length(&sqe)
            .and_then(|_| self.queue.execute(&sqe, &[0xa7; 4096], &mut out));
        self.queue.end_batch().unwrap();
        result.map(|()| out).map_err(|failure| failure.status)
    }

    fn admin(&self, sqe: &Sqe) -> Result<(), Status> {
        admin(&self.controller, sqe, &[]).map(|_| ()).map_err(|failure| failure.status)
    }

    fn sanitize(&self, cdw10: SanitizeCdw10) -> Result<(), Status> {
        self.admin(&sqe(AdminOpcode::SANITIZE, cdw10.into_bits(), 0))
    }

    fn status(&self) -> (u8, bool, u16) {
        let page = log::<128>(&self.controller, Lid::SANITIZE_STATUS, 0);
        let log = SanitizeLog::read_from_bytes(&page).unwrap();
        let field = SanitizeStatusField::from_bits(log.sstat.get());
        (field.status(), field.erased(), log.sprog.get())
    }

    fn maintain(&self) {
        let _ = self.subsystem.drive.maintain();
    }

    /// Returns whether any file contains written data.
    fn has_data(&self) -> bool {
        let files =
            self.storage.names().into_iter().filter_map(|name| self.storage.contents(&name));
        files.into_iter().any(|bytes| bytes.windows(64).any(|window| window == [0xa7; 64]))
    }
}

const NONE: u16 = 0xffff;
const BLOCK_ERASE: SanitizeCdw10 = SanitizeCdw10::new().with_sanact(2);
const EXIT: SanitizeCdw10 = SanitizeCdw10::new().with_sanact(1);

#[test]
fn a_block_erase_leaves_nothing() {
    let mut bench = Bench::new();
    let identify = sqe(AdminOpcode::IDENTIFY, Cns::CONTROLLER.0.into(), 0);
    let id = admin(&bench.controller, &identify, &[]).unwrap().data;
    let id = IdentifyController::read_from_bytes(&id).unwrap();
    assert_eq!(id.sanicap.get(), 0x6000_0002);
    assert_eq!(bench.status(), (0, true, NONE));
    bench.io(NvmOpcode::WRITE).unwrap();
    assert!(bench.has_data());
    assert_eq!(bench.status(), (0, false, NONE));
    bench.admin(&sqe(AdminOpcode::ASYNC_EVENT_REQUEST, 0, 0)).unwrap();
    bench.sanitize(BLOCK_ERASE).unwrap();
    assert_eq!(bench.status(), (2, false, 0));
    bench.maintain();
    assert_eq!(bench.status(), (1, true, NONE));
    assert!(!bench.has_data());
    assert_eq!(bench.io(NvmOpcode::READ).unwrap(), [0; 4096]);
    assert_eq!(bench.status(), (1, true, NONE), "a read changes nothing");
    let events = bench.controller.due_events();
    let event = AsyncEvent::from_bits(events[0].dw0.get());
    let expected = (6, 1, Lid::SANITIZE_STATUS.0);
    assert_eq!((event.event_type(), event.information(), event.log_page()), expected);
    bench.io(NvmOpcode::WRITE).unwrap();
    assert_eq!(bench.status(), (1, false, NONE));
    bench.subsystem.drive.check_invariants().unwrap();
}

#[test]
fn meanwhile_hosts_may_only_look() {
    let mut bench = Bench::new();
    bench.sanitize(BLOCK_ERASE).unwrap();
    let refused = Status::SANITIZE_IN_PROGRESS;
    for opcode in [NvmOpcode::READ, NvmOpcode::WRITE, NvmOpcode::FLUSH, NvmOpcode::VERIFY] {
        assert_eq!(bench.io(opcode), Err(refused), "{opcode:?}");
    }
    let page =
        |lid: Lid, cdw11| sqe(AdminOpcode::GET_LOG_PAGE, u32::from(lid.0) | 127 << 16, cdw11);
    let delete = Sqe { nsid: 1.into(), ..sqe(AdminOpcode::NAMESPACE_MANAGEMENT, 1, 0) };
    let format = Sqe { nsid: 1.into(), ..sqe(AdminOpcode::FORMAT_NVM, 0, 0) };
    let protect = sqe(AdminOpcode::SET_FEATURES, Fid::WRITE_PROTECTION.0.into(), 1);
    let protect = Sqe { nsid: 1.into(), ..protect };
    for sqe in [delete, format, protect, page(Lid::FDP_STATISTICS, 1 << 16)] {
        assert_eq!(bench.admin(&sqe), Err(refused), "{sqe:?}");
    }
    assert_eq!(bench.sanitize(BLOCK_ERASE), Err(refused));
    assert_eq!(bench.sanitize(EXIT), Err(refused));
    let identify = sqe(AdminOpcode::IDENTIFY, Cns::CONTROLLER.0.into(), 0);
    let features = sqe(AdminOpcode::GET_FEATURES, Fid::NUMBER_OF_QUEUES.0.into(), 0);
    for sqe in [identify, features, page(Lid::SMART, 0), page(Lid::EFFECTS, 0), page(Lid::ANA, 0)] {
        bench.admin(&sqe).unwrap();
    }
    bench.maintain();
    bench.io(NvmOpcode::WRITE).unwrap();
    bench.admin(&page(Lid::FDP_STATISTICS, 1 << 16)).unwrap();
}

#[test]
fn a_drive_that_lost_power_goes_on() {
    let mut bench = Bench::new();
    bench.io(NvmOpcode::WRITE).unwrap();
    bench.io(NvmOpcode::FLUSH).unwrap();
    bench.sanitize(BLOCK_ERASE).unwrap();
    let mut again = bench.after_power_loss();
    assert_eq!(again.status(), (2, false, 0));
    assert_eq!(again.io(NvmOpcode::READ), Err(Status::SANITIZE_IN_PROGRESS));
    // Now from the checkpoint, no longer from the journal.
    let mut again = again.after_power_loss();
    assert!(again.has_data());
    again.maintain();
    assert!(!again.has_data());
    assert_eq!(again.status(), (1, true, NONE));
    assert_eq!(again.io(NvmOpcode::READ).unwrap(), [0; 4096]);
    assert_eq!(again.after_power_loss().status(), (1, true, NONE));
}

#[test]
fn data_of_a_command_under_way_is_waited_for() {
    let mut bench = Bench::new();
    bench.io(NvmOpcode::WRITE).unwrap();
    let held = bench.subsystem.drive.namespace(1).unwrap();
    bench.sanitize(BLOCK_ERASE).unwrap();
    bench.maintain();
    assert_eq!(bench.status().0, 2);
    drop(held);
    bench.maintain();
    assert_eq!(bench.status().0, 1);
    assert!(!bench.has_data());
}

/// Fails a Sanitize operation, then repairs the storage.
fn fail(bench: &Bench, cdw10: SanitizeCdw10) {
    bench.sanitize(cdw10).unwrap();
    bench.storage.fail(|_, _, operation| {
        matches!(operation, Operation::Sync).then(|| std::io::Error::other("no sync"))
    });
    bench.maintain();
    assert_eq!(bench.status().0, 3);
}

#[test]
fn a_failure_bars_the_drive_until_it_is_sanitized() {
    let mut bench = Bench::new();
    bench.io(NvmOpcode::WRITE).unwrap();
    fail(&bench, BLOCK_ERASE);
    assert_eq!(bench.io(NvmOpcode::READ), Err(Status::SANITIZE_FAILED));
    assert_eq!(bench.sanitize(EXIT), Err(Status::SANITIZE_FAILED));
    let unrestricted = BLOCK_ERASE.with_ause(true);
    assert_eq!(bench.sanitize(unrestricted), Err(Status::SANITIZE_FAILED));
    let mut again = bench.after_power_loss();
    again.maintain();
    assert_eq!(again.status().0, 1, "a new server repeats it");
    assert_eq!(again.io(NvmOpcode::READ).unwrap(), [0; 4096]);
}

#[test]
fn the_failure_mode_can_be_left_if_the_host_allowed_it() {
    let mut bench = Bench::new();
    bench.sanitize(BLOCK_ERASE.with_ause(true)).unwrap();
    bench.storage.fail(|_, path, operation| {
        let journal = path.extension().is_some_and(|extension| extension == "journal");
        (journal && matches!(operation, Operation::Sync)).then(|| std::io::Error::other("no sync"))
    });
    bench.maintain();
    assert_eq!(bench.status().0, 3);
    bench.storage.heal();
    bench.clock.advance(Duration::from_secs(60));
    bench.maintain();
    assert_eq!(bench.io(NvmOpcode::WRITE), Err(Status::SANITIZE_FAILED));
    bench.sanitize(EXIT).unwrap();
    assert_eq!(bench.status().0, 3, "it is still the last operation");
    bench.io(NvmOpcode::WRITE).unwrap();
    let mut again = bench.after_power_loss();
    again.io(NvmOpcode::WRITE).unwrap();
    assert_eq!(again.status().0, 3);
}

#[test]
fn what_it_cannot_do_it_refuses() {
    let bench = Bench::new();
    for sanact in [0, 3, 4, 5] {
        let refused = bench.sanitize(SanitizeCdw10::new().with_sanact(sanact));
        assert_eq!(refused, Err(Status::INVALID_FIELD), "{sanact}");
    }
    for kept in [BLOCK_ERASE.with_ndas(true), BLOCK_ERASE.with_emvs(true)] {
        assert_eq!(bench.sanitize(kept), Err(Status::INVALID_FIELD), "{kept:?}");
    }
    bench.sanitize(EXIT.with_ndas(true)).unwrap();
    let protect = sqe(AdminOpcode::SET_FEATURES, Fid::WRITE_PROTECTION.0.into(), 1);
    bench.admin(&Sqe { nsid: 1.into(), ..protect }).unwrap();
    assert_eq!(bench.sanitize(BLOCK_ERASE), Err(Status::NAMESPACE_WRITE_PROTECTED));
    assert_eq!(bench.status().0, 0);
}
