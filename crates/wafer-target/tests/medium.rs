//! Commands on a failing medium.

use std::sync::Arc;
use std::time::Duration;

use wafer_controller::{Controller, Failure, Subsystem, admin};
use wafer_drive::{Environment, Health};
use wafer_faults::{FaultyStorage, ManualClock, Operation};
use wafer_io::IoQueue;
use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::*;
use wafer_storage::DataSpec;
use wafer_target::fuzzing;

/// Offset of the frames in a journal.
pub(crate) const FRAMES: u64 = 512 + (1 << 20);

fn subsystem(storage: &FaultyStorage) -> Arc<Subsystem> {
    let clock = Arc::new(ManualClock::default());
    let environment =
        Environment { storage: Arc::new(storage.clone()), clock, ..Environment::default() };
    fuzzing::subsystem_on(DataSpec::File("drive.img".into()), environment)
}

fn command(opcode: NvmOpcode) -> Sqe {
    Sqe { opcode: opcode.0, nsid: 1.into(), ..Default::default() }
}

/// A drive on faulty storage, and a host that enabled critical warnings and waits for one.
struct Bench {
    storage: FaultyStorage,
    clock: Arc<ManualClock>,
    subsystem: Arc<Subsystem>,
    controller: Arc<Controller>,
    queue: IoQueue,
}

impl Bench {
    fn new() -> Self {
        let (storage, clock) = (FaultyStorage::default(), Arc::new(ManualClock::default()));
        let environment = Environment {
            storage: Arc::new(storage.clone()),
            clock: Arc::clone(&clock) as _,
            ..Environment::default()
        };
        let subsystem = fuzzing::subsystem_on(DataSpec::File("drive.img".into()), environment);
        let controller = fuzzing::connect(&subsystem);
        let queue = IoQueue::new(Arc::clone(&controller));
        let bench = Bench { storage, clock, subsystem, controller, queue };
        let config = AsyncEventConfig::new().with_smart(0xff);
        let set = Sqe {
            cdw10: SetFeaturesCdw10::new().with_fid(Fid::ASYNC_EVENT.0).into_bits().into(),
            cdw11: config.into_bits().into(),
            ..sqe(AdminOpcode::SET_FEATURES.0, 0)
        };
        assert_eq!(bench.admin(&set, &[]), Status::SUCCESS);
        bench.expect_event();
        bench
    }

    /// Sends an asynchronous event request.
    fn expect_event(&self) {
        let request = sqe(AdminOpcode::ASYNC_EVENT_REQUEST.0, 0);
        assert_eq!(self.admin(&request, &[]), Status::SUCCESS);
    }

    fn admin(&self, sqe: &Sqe, data: &[u8]) -> Status {
        status(admin(&self.controller, sqe, data).map(|_| ()))
    }

    /// Executes an I/O command in its own batch. A failure must set Do Not Retry.
    fn io(&mut self, sqe: &Sqe) -> Status {
        self.queue.begin_batch();
        let done = self.queue.execute(sqe, &[7; 512], &mut Vec::new());
        let recorded = self.queue.end_batch();
        let changes_data = NvmOpcode(sqe.opcode).info().unwrap().effects.lbcc();
        let done = if changes_data { done.and(recorded.map_err(Failure::from)) } else { done };
        if let Err(failure) = &done {
            assert!(self.controller.fail(1, sqe, failure).dnr(), "{failure:?}");
        }
        status(done.map(|_| ()))
    }

    fn smart(&self) -> SmartLog {
        let page = GetLogCdw10::new().with_lid(Lid::SMART.0).with_numdl_z(127);
        let get = Sqe { cdw10: page.into_bits().into(), ..sqe(AdminOpcode::GET_LOG_PAGE.0, 0) };
        SmartLog::read_from_bytes(&admin(&self.controller, &get, &[]).unwrap().data).unwrap()
    }

    fn warning(&self) -> CriticalWarning {
        CriticalWarning::from_bits(self.smart().critical_warning)
    }

    /// Tries every command that makes a promise; none may change anything.
    fn promises(&mut self, expected: Status) {
        let write = command(NvmOpcode::WRITE);
        let fua = Sqe { cdw12: RwCdw12::new().with_fua(true).into_bits().into(), ..write };
        assert_eq!(self.io(&fua), expected, "FUA");
        assert_eq!(self.io(&command(NvmOpcode::FLUSH)), expected, "Flush");
        let create = NamespaceCreate { nsze: 8.into(), ncap: 8.into(), ..Default::default() };
        let before = self.subsystem.drive.namespaces().len();
        let management = sqe(AdminOpcode::NAMESPACE_MANAGEMENT.0, 0);
        let status = self.admin(&management, create.as_bytes());
        if expected == Status::SUCCESS {
            assert_eq!(status, Status::INVALID_PLACEMENT_HANDLE_LIST, "all are in use");
        } else {
            assert_eq!(status, expected, "create");
            assert_eq!(self.admin(&sqe(AdminOpcode::FORMAT_NVM.0, 1), &[]), expected, "format");
            let delete = Sqe {
                cdw10: NamespaceCdw10::new().with_select(1).into_bits().into(),
                ..management
            };
            let delete = Sqe { nsid: 1.into(), ..delete };
            assert_eq!(self.admin(&delete, &[]), expected, "delete");
            let list =
                ControllerList { count: 1.into(), ids: [self.controller.cntlid.into(); 2047] };
            let detach = Sqe {
                cdw10: NamespaceCdw10::new().with_select(1).into_bits().into(),
                ..sqe(AdminOpcode::NAMESPACE_ATTACHMENT.0, 1)
            };
            assert_eq!(self.admin(&detach, list.as_bytes()), expected, "detach");
            let events = Sqe {
                cdw10: SetFeaturesCdw10::new().with_fid(Fid::FDP_EVENTS.0).into_bits().into(),
                cdw11: FdpEventsCdw11::new().with_noet(1).into_bits().into(),
                ..sqe(AdminOpcode::SET_FEATURES.0, 1)
            };
            assert_eq!(self.admin(&events, &[0]), expected, "FDP events");
        }
        assert_eq!(self.subsystem.drive.namespaces().len(), before);
    }
}

fn sqe(opcode: u8, nsid: u32) -> Sqe {
    Sqe { opcode, nsid: nsid.into(), ..Default::default() }
}

fn status(done: Result<(), Failure>) -> Status {
    done.map_or_else(|failure| failure.status, |()| Status::SUCCESS)
}

#[test]
fn a_drive_that_cannot_be_saved_promises_nothing_until_it_is() {
    let mut bench = Bench::new();
    let (write, read) = (command(NvmOpcode::WRITE), command(NvmOpcode::READ));
    assert!(bench.controller.due_events().is_empty());
    bench.promises(Status::SUCCESS);
    bench.storage.fail_syncs(true);
    assert_eq!(bench.io(&write), Status::SUCCESS);
    assert!(bench.controller.due_events().is_empty(), "nothing was promised yet");
    bench.promises(Status::WRITE_FAULT);
    // The host is notified once, and again only after it has read the log and the drive has recovered.
    let due = bench.controller.due_events();
    assert_eq!(due.len(), 1);
    assert_eq!(due[0].dw0.get(), 0x0002_0001, "SMART / health, reliability, log page 2");
    bench.expect_event();
    assert!(bench.controller.due_events().is_empty());
    assert!(bench.warning().read_only() && bench.warning().unreliable());
    assert!(bench.controller.due_events().is_empty());
    // The medium recovers. The drive does not until it is saved.
    bench.storage.fail_syncs(false);
    bench.promises(Status::WRITE_FAULT);
    assert_eq!(bench.io(&write), Status::SUCCESS);
    assert_eq!(bench.io(&read), Status::SUCCESS);
    bench.subsystem.drive.maintain().unwrap();
    bench.promises(Status::WRITE_FAULT);
    bench.clock.advance(Duration::from_secs(1));
    bench.subsystem.drive.maintain().unwrap();
    assert_eq!(bench.warning(), CriticalWarning::new());
    bench.promises(Status::SUCCESS);
    bench.storage.fail_syncs(true);
    bench.promises(Status::WRITE_FAULT);
    assert_eq!(bench.controller.due_events().len(), 1);
}

#[test]
fn data_that_failed_to_sync_is_lost_until_the_drive_is_opened_again() {
    let mut bench = Bench::new();
    bench.storage.fail(|_, path, operation| {
        let fails = matches!(operation, Operation::Sync) && path.ends_with("drive.img");
        fails.then(|| std::io::Error::other("injected: the medium failed"))
    });
    // A short write and a few zeroes are durable in the write log; many zeroes are not.
    for (opcode, blocks_z, flushed) in [
        (NvmOpcode::WRITE, 0, Status::SUCCESS),
        (NvmOpcode::WRITE_ZEROES, 0, Status::SUCCESS),
        (NvmOpcode::WRITE_ZEROES, 8191u32, Status::WRITE_FAULT),
    ] {
        let changed = Sqe { cdw12: blocks_z.into(), ..command(opcode) };
        assert_eq!(bench.io(&changed), Status::SUCCESS);
        assert_eq!(bench.io(&command(NvmOpcode::FLUSH)), flushed);
    }
    bench.storage.heal();
    for _ in 0..100 {
        bench.clock.advance(Duration::from_secs(10));
        bench.subsystem.drive.maintain().unwrap();
    }
    bench.promises(Status::WRITE_FAULT);
    assert!(matches!(bench.subsystem.drive.health(), Health::Lost { .. }));
    assert_eq!(
        bench.subsystem.drive.close().unwrap_err().to_string(),
        "the drive is not saved: injected: the medium failed"
    );
    let reopened = subsystem(&bench.storage.copy());
    assert!(reopened.drive.notices().iter().any(|notice| notice.contains("failed to sync")));
    let life = reopened.drive.counters().life;
    assert_eq!((life.media_errors, life.unsafe_shutdowns), (1, 1));
}

#[test]
fn a_journal_that_cannot_be_written_makes_the_drive_read_only() {
    let mut bench = Bench::new();
    let (write, read) = (command(NvmOpcode::WRITE), command(NvmOpcode::READ));
    assert_eq!(bench.io(&write), Status::SUCCESS);
    // The write log, in front of the frames, still works.
    bench.storage.fail(|_, path, operation| {
        let fails = matches!(operation, Operation::Write(at, _) if at == 0 || at >= FRAMES)
            && path.ends_with("drive.img.journal");
        fails.then(|| std::io::Error::from_raw_os_error(28))
    });
    // After a restart, a write that is not in the journal would be unknown.
    let before = bench.smart();
    assert_eq!(bench.io(&write), Status::WRITE_FAULT);
    for opcode in [NvmOpcode::WRITE, NvmOpcode::WRITE_ZEROES] {
        assert_eq!(bench.io(&command(opcode)), Status::WRITE_FAULT);
    }
    assert_eq!(bench.io(&read), Status::SUCCESS);
    bench.promises(Status::WRITE_FAULT);
    // Hosts read no more than a restart would find.
    let after = bench.smart();
    assert_eq!((before.host_writes, before.host_reads), (after.host_writes, after.host_reads));
    assert_eq!(before.data_units_written, after.data_units_written);
    let left = self::subsystem(&bench.storage.copy());
    assert_eq!(u128::from(left.drive.counters().life.write_commands), after.host_writes.get());
    bench.storage.heal();
    bench.clock.advance(Duration::from_secs(1));
    bench.subsystem.drive.maintain().unwrap();
    let healed = bench.smart();
    assert_eq!(healed.host_writes.get(), before.host_writes.get() + 1);
    assert_eq!(healed.host_reads.get(), before.host_reads.get() + 1);
    bench.promises(Status::SUCCESS);
}

#[test]
fn a_full_medium_is_an_error_of_the_command() {
    let mut bench = Bench::new();
    bench.storage.limit_space(0);
    let mut write = || {
        let mut done = Ok(());
        // First the write log uses its reserved space, and then the data file needs more.
        for _ in 0..4096 {
            done = done.and(bench.queue.execute(
                &command(NvmOpcode::WRITE),
                &[7; 512],
                &mut Vec::new(),
            ));
        }
        done
    };
    assert_eq!(write().unwrap_err().status, Status::WRITE_FAULT);
    // The space of the journal is reserved, so the drive is as healthy as before.
    assert_eq!(bench.io(&command(NvmOpcode::READ)), Status::SUCCESS);
    assert_eq!(bench.io(&command(NvmOpcode::FLUSH)), Status::SUCCESS);
    assert_eq!(bench.warning(), CriticalWarning::new());
}

#[test]
fn the_error_log_has_the_location_of_the_field() {
    let subsystem = subsystem(&FaultyStorage::default());
    let controller = fuzzing::connect(&subsystem);
    let mut queue = IoQueue::new(Arc::clone(&controller));
    let streams = RwCdw12::new().with_dtype(DirectiveType::STREAMS.0);
    let sqe = Sqe { cdw12: streams.into_bits().into(), ..command(NvmOpcode::WRITE) };
    let failure = queue.execute(&sqe, &[7; 512], &mut Vec::new()).unwrap_err();
    controller.fail(1, &sqe, &failure);
    let page = GetLogCdw10::new().with_lid(Lid::ERROR.0).with_numdl_z(15);
    let get = Sqe {
        opcode: AdminOpcode::GET_LOG_PAGE.0,
        cdw10: page.into_bits().into(),
        ..Default::default()
    };
    let reply = admin(&controller, &get, &[]).unwrap();
    let entry = ErrorEntry::read_from_bytes(&reply.data).unwrap();
    // DTYPE: bits 23:20 of dword 12.
    assert_eq!((entry.location.get() & 0xff, entry.location.get() >> 8), (50, 4));
}
