//! Blocks marked as uncorrectable, and write protection of namespaces.

use std::sync::Arc;

use wafer_controller::{Controller, Subsystem, admin};
use wafer_drive::Environment;
use wafer_faults::{FaultyStorage, ManualClock};
use wafer_io::IoQueue;
use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::*;
use wafer_storage::DataSpec;
use wafer_target::fuzzing;

use crate::common::sqe;

/// A drive on storage that can lose power.
struct Bench {
    storage: FaultyStorage,
    subsystem: Arc<Subsystem>,
    controller: Arc<Controller>,
    queue: IoQueue,
}

impl Bench {
    fn on(storage: FaultyStorage) -> Self {
        let environment = Environment {
            storage: Arc::new(storage.clone()),
            clock: Arc::<ManualClock>::default(),
            ..Environment::default()
        };
        let subsystem = fuzzing::subsystem_on(DataSpec::File("drive.img".into()), environment);
        let controller = fuzzing::connect(&subsystem);
        let queue = IoQueue::new(Arc::clone(&controller));
        Bench { storage, subsystem, controller, queue }
    }

    fn new() -> Self {
        Self::on(FaultyStorage::default())
    }

    /// Returns the drive as it would be after a power loss now.
    fn after_power_loss(&self) -> Self {
        let storage = self.storage.copy();
        storage.lose_power(|_, _| false);
        Self::on(storage)
    }

    /// Executes an I/O command of 8 blocks of 512 bytes in its own batch. A failure is a status and a block.
    fn io(&mut self, opcode: NvmOpcode, lba: u32) -> Result<(), (Status, u64)> {
        self.queue.begin_batch();
        let result = self.in_batch(opcode, lba);
        self.queue.end_batch().unwrap();
        result
    }

    fn in_batch(&mut self, opcode: NvmOpcode, lba: u32) -> Result<(), (Status, u64)> {
        let cdw12 = RwCdw12::new().with_nlb_z(7).into_bits();
        let sqe = Sqe {
            opcode: opcode.0,
            nsid: 1.into(),
            cdw10: lba.into(),
            cdw12: cdw12.into(),
            ..Default::default()
        };
        self.run(&sqe, &[7; 4096])
    }

    fn run(&mut self, sqe: &Sqe, data: &[u8]) -> Result<(), (Status, u64)> {
        let done = self.queue.execute(sqe, data, &mut Vec::new());
        done.map_err(|failure| (failure.status, failure.lba))
    }

    /// Copies 8 blocks.
    fn copy(&mut self, to: u32, from: u64) -> Result<(), (Status, u64)> {
        let range = CopyRange { slba: from.into(), nlb_z: 7.into(), ..Default::default() };
        let sqe = Sqe {
            opcode: NvmOpcode::COPY.0,
            nsid: 1.into(),
            cdw10: to.into(),
            ..Default::default()
        };
        self.run(&sqe, range.as_bytes())
    }

    fn deallocate(&mut self, slba: u64) -> Result<(), (Status, u64)> {
        let range = DsmRange { length: 8.into(), slba: slba.into(), ..Default::default() };
        let sqe = Sqe {
            opcode: NvmOpcode::DATASET_MANAGEMENT.0,
            nsid: 1.into(),
            cdw11: DsmCdw11::new().with_ad(true).into_bits().into(),
            ..Default::default()
        };
        let result = self.run(&sqe, range.as_bytes());
        self.queue.end_batch().unwrap();
        result
    }

    fn admin(&self, opcode: AdminOpcode, cdw10: u32, cdw11: u32) -> Result<u32, Status> {
        let sqe = Sqe { nsid: 1.into(), ..sqe(opcode, cdw10, cdw11) };
        admin(&self.controller, &sqe, &[]).map(|reply| reply.dw0).map_err(|failure| failure.status)
    }

    fn protect(&self, state: u32) -> Result<u32, Status> {
        self.admin(AdminOpcode::SET_FEATURES, Fid::WRITE_PROTECTION.0.into(), state)
    }

    fn protection(&self) -> u32 {
        self.admin(AdminOpcode::GET_FEATURES, Fid::WRITE_PROTECTION.0.into(), 0).unwrap()
    }

    fn identify(&self, cns: Cns) -> Vec<u8> {
        let sqe = Sqe { nsid: 1.into(), ..sqe(AdminOpcode::IDENTIFY, cns.0.into(), 0) };
        admin(&self.controller, &sqe, &[]).unwrap().data
    }
}

const UNREADABLE: Result<(), (Status, u64)> = Err((Status::UNRECOVERED_READ_ERROR, 100));

#[test]
fn marked_blocks_cannot_be_read_until_they_are_written() {
    let mut bench = Bench::new();
    let id = IdentifyController::read_from_bytes(&bench.identify(Cns::CONTROLLER)).unwrap();
    assert!(Oncs::from_bits(id.oncs.get()).write_uncorrectable());
    bench.io(NvmOpcode::WRITE, 96).unwrap();
    let errors = bench.subsystem.drive.counters().life.media_errors;
    bench.io(NvmOpcode::WRITE_UNCORRECTABLE, 100).unwrap();
    for opcode in [NvmOpcode::READ, NvmOpcode::VERIFY, NvmOpcode::COMPARE] {
        assert_eq!(bench.io(opcode, 96), UNREADABLE, "{opcode:?}");
        assert_eq!(bench.io(opcode, 104).unwrap_err().1, 104, "{opcode:?}");
    }
    assert_eq!(bench.copy(200, 96), UNREADABLE);
    bench.io(NvmOpcode::READ, 92).unwrap();
    bench.io(NvmOpcode::READ, 108).unwrap();
    // A write to the second half leaves the first.
    bench.io(NvmOpcode::WRITE, 104).unwrap();
    bench.io(NvmOpcode::READ, 104).unwrap();
    assert_eq!(bench.io(NvmOpcode::READ, 96), UNREADABLE);
    bench.deallocate(96).unwrap();
    bench.io(NvmOpcode::READ, 96).unwrap();
    let past = Err((Status::LBA_OUT_OF_RANGE, 8190));
    assert_eq!(bench.io(NvmOpcode::WRITE_UNCORRECTABLE, 8190), past);
    // The medium has not failed.
    assert_eq!(bench.subsystem.drive.counters().life.media_errors, errors);
}

#[test]
fn what_a_batch_wrote_before_does_not_take_marks_away() {
    let mut bench = Bench::new();
    bench.queue.begin_batch();
    bench.in_batch(NvmOpcode::WRITE, 100).unwrap();
    bench.in_batch(NvmOpcode::WRITE_UNCORRECTABLE, 100).unwrap();
    bench.queue.end_batch().unwrap();
    assert_eq!(bench.io(NvmOpcode::READ, 100), UNREADABLE);
}

#[test]
fn marks_survive_a_loss_of_power_and_a_restart_and_no_format() {
    let mut bench = Bench::new();
    bench.io(NvmOpcode::WRITE_UNCORRECTABLE, 100).unwrap();
    // From the journal, and then from the checkpoint written when the drive is opened.
    let mut again = bench.after_power_loss();
    assert_eq!(again.io(NvmOpcode::READ, 100), UNREADABLE);
    let mut again = again.after_power_loss();
    assert_eq!(again.io(NvmOpcode::READ, 100), UNREADABLE);
    again.io(NvmOpcode::WRITE, 100).unwrap();
    again.io(NvmOpcode::READ, 100).unwrap();
    again.io(NvmOpcode::FLUSH, 0).unwrap();
    // The write also removes the mark when the journal is replayed.
    let mut again = again.after_power_loss();
    again.io(NvmOpcode::READ, 100).unwrap();
    again.io(NvmOpcode::WRITE_UNCORRECTABLE, 100).unwrap();
    again.admin(AdminOpcode::FORMAT_NVM, 0, 0).unwrap();
    again.io(NvmOpcode::READ, 100).unwrap();
}

#[test]
fn a_write_protected_namespace_refuses_every_change() {
    let mut bench = Bench::new();
    let id = IdentifyController::read_from_bytes(&bench.identify(Cns::CONTROLLER)).unwrap();
    assert_eq!(id.nwpc, 0b011);
    bench.io(NvmOpcode::WRITE, 0).unwrap();
    bench.protect(1).unwrap();
    assert_eq!(bench.protection(), 1);
    let id = IdentifyNamespace::read_from_bytes(&bench.identify(Cns::NAMESPACE)).unwrap();
    let independent = bench.identify(Cns::INDEPENDENT_NAMESPACE);
    let independent = IndependentNamespace::read_from_bytes(&independent).unwrap();
    assert_eq!((id.nsattr, independent.nsattr), (1, 1));
    let refused = Status::NAMESPACE_WRITE_PROTECTED;
    for opcode in [NvmOpcode::WRITE, NvmOpcode::WRITE_ZEROES, NvmOpcode::WRITE_UNCORRECTABLE] {
        assert_eq!(bench.io(opcode, 0).map_err(|(status, _)| status), Err(refused), "{opcode:?}");
    }
    assert_eq!(bench.copy(64, 0).map_err(|(status, _)| status), Err(refused));
    assert_eq!(bench.deallocate(0).map_err(|(status, _)| status), Err(refused));
    assert_eq!(bench.admin(AdminOpcode::FORMAT_NVM, 0, 0), Err(refused));
    assert_eq!(bench.admin(AdminOpcode::NAMESPACE_MANAGEMENT, 1, 0), Err(refused));
    bench.io(NvmOpcode::COMPARE, 0).unwrap();
    bench.io(NvmOpcode::FLUSH, 0).unwrap();
    // The protection persists, and earlier writes are durable.
    let mut again = bench.after_power_loss();
    assert_eq!(again.protection(), 1);
    again.io(NvmOpcode::COMPARE, 0).unwrap();
    let mut again = again.after_power_loss();
    assert_eq!(again.protection(), 1);
    again.protect(0).unwrap();
    again.io(NvmOpcode::WRITE, 0).unwrap();
}

#[test]
fn protection_until_a_power_cycle_ends_with_it() {
    let bench = Bench::new();
    bench.protect(2).unwrap();
    for state in [0, 1] {
        assert_eq!(bench.protect(state), Err(Status::FEATURE_NOT_CHANGEABLE));
    }
    assert_eq!(bench.protect(3), Err(Status::INVALID_FIELD), "permanent protection");
    assert_eq!(bench.protection(), 2);
    // From the journal, and from a checkpoint.
    assert_eq!(bench.after_power_loss().protection(), 0);
    bench.subsystem.drive.save().unwrap();
    let mut again = bench.after_power_loss();
    assert_eq!(again.protection(), 0);
    again.io(NvmOpcode::WRITE, 0).unwrap();
}

#[test]
fn other_hosts_hear_of_a_protection() {
    let bench = Bench::new();
    let other = fuzzing::connect(&bench.subsystem);
    let config = AsyncEventConfig::new().with_namespace_attribute(true).into_bits();
    let set = sqe(AdminOpcode::SET_FEATURES, Fid::ASYNC_EVENT.0.into(), config);
    admin(&other, &set, &[]).unwrap();
    admin(&other, &sqe(AdminOpcode::ASYNC_EVENT_REQUEST, 0, 0), &[]).unwrap();
    assert!(other.due_events().is_empty());
    bench.protect(1).unwrap();
    assert_eq!(other.due_events().len(), 1);
}
