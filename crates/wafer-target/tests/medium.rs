//! Commands on a medium that fails.

use std::sync::Arc;

use wafer_drive::Environment;
use wafer_drive::backend::DataSpec;
use wafer_faults::{FaultyStorage, ManualClock};
use wafer_nvme::zerocopy::FromBytes as _;
use wafer_nvme::*;
use wafer_target::controller::{IoQueue, Subsystem, admin};
use wafer_target::fuzzing;

fn subsystem(storage: &FaultyStorage) -> Arc<Subsystem> {
    let clock = Arc::new(ManualClock::default());
    let environment =
        Environment { storage: Arc::new(storage.clone()), clock, ..Environment::default() };
    fuzzing::subsystem_on(DataSpec::File("drive.img".into()), environment)
}

fn command(opcode: NvmOpcode) -> Sqe {
    Sqe { opcode: opcode.0, nsid: 1.into(), ..Default::default() }
}

#[test]
fn flush_and_fua_fail_when_the_medium_does_not_sync() {
    let storage = FaultyStorage::default();
    let subsystem = subsystem(&storage);
    let mut queue = IoQueue::new(fuzzing::connect(&subsystem));
    let write = command(NvmOpcode::WRITE);
    let fua = Sqe { cdw12: RwCdw12::new().with_fua(true).into_bits().into(), ..write };
    let mut out = Vec::new();
    let mut status = |queue: &mut IoQueue, sqe: &Sqe| match queue.execute(sqe, &[7; 512], &mut out)
    {
        Ok(_) => Status::SUCCESS,
        Err(failure) => failure.status,
    };
    storage.fail_syncs(true);
    assert_eq!(status(&mut queue, &write), Status::SUCCESS);
    assert_eq!(status(&mut queue, &fua), Status::WRITE_FAULT);
    assert_eq!(status(&mut queue, &command(NvmOpcode::FLUSH)), Status::WRITE_FAULT);
    storage.fail_syncs(false);
    assert_eq!(status(&mut queue, &command(NvmOpcode::FLUSH)), Status::SUCCESS);
    storage.limit_space(0);
    assert_eq!(status(&mut queue, &write), Status::WRITE_FAULT);
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
