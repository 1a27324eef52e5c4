//! A drive whose media wear out: what hosts see before that, and its behavior afterwards.

use std::sync::Arc;

use wafer_controller::{Controller, admin};
use wafer_drive::Environment;
use wafer_faults::FaultyStorage;
use wafer_io::IoQueue;
use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::*;
use wafer_storage::DataSpec;
use wafer_target::fuzzing;

use crate::common::{set, smart, sqe};

/// Returns a host with a queue on a drive whose reclaim units endure 20 erases.
fn open(storage: &FaultyStorage) -> (Arc<Controller>, IoQueue) {
    let environment = Environment { storage: Arc::new(storage.clone()), ..Environment::default() };
    let keys = serde_json::json!({ "firmware": { "retire_after": 20 } });
    let data = DataSpec::File("drive.img".into());
    let controller = fuzzing::connect(&fuzzing::subsystem_of(keys, data, environment));
    let queue = IoQueue::new(Arc::clone(&controller));
    (controller, queue)
}

/// Executes an I/O command on namespace 1 in its own batch.
fn run(queue: &mut IoQueue, sqe: Sqe, data: &[u8]) -> Status {
    queue.begin_batch();
    let done = queue.execute(&Sqe { nsid: 1.into(), ..sqe }, data, &mut Vec::new());
    let recorded = queue.end_batch();
    done.map_or_else(|failure| failure.status, |()| recorded.err().unwrap_or(Status::SUCCESS))
}

/// Writes a page.
fn write(queue: &mut IoQueue, page: u64) -> Status {
    let (slba, blocks_z) = (page as u32 * 8, 7u32);
    let opcode = NvmOpcode::WRITE.0;
    let sqe = Sqe { opcode, cdw10: slba.into(), cdw12: blocks_z.into(), ..Default::default() };
    run(queue, sqe, &[1; 4096])
}

#[test]
fn spare_falls_until_the_media_are_read_only() {
    let storage = FaultyStorage::default();
    let (controller, mut queue) = open(&storage);
    let warnings = AsyncEventConfig::new().with_smart(0xff).into_bits();
    set(&controller, Fid::ASYNC_EVENT, warnings).unwrap();
    admin(&controller, &sqe(AdminOpcode::ASYNC_EVENT_REQUEST, 0, 0), &[]).unwrap();
    let (mut page, mut seen, mut status) = (1u64, vec![100], Status::SUCCESS);
    for _ in 0..200_000 {
        page = page.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        status = write(&mut queue, (page >> 33) % 1024);
        if status != Status::SUCCESS {
            break;
        }
        let spare = controller.subsystem.drive.spare();
        if seen.last() != Some(&spare.percent) {
            seen.push(spare.percent);
            assert_eq!(smart(&controller).available_spare, spare.percent);
        }
    }
    assert_eq!(status, Status::READ_ONLY_RANGE);
    assert!(seen.len() > 2 && seen.windows(2).all(|pair| pair[0] > pair[1]), "{seen:?}");
    let log = smart(&controller);
    let ended = CriticalWarning::new().with_spare(true).with_read_only(true);
    assert_eq!((CriticalWarning::from(log.critical_warning), log.available_spare), (ended, 0));
    assert_eq!(log.endurance_warning, ended.into_bits());
    assert_eq!(controller.due_events().len(), 1, "a warning that came up is an event");
    let snapshot = controller.subsystem.drive.snapshot();
    assert_eq!(snapshot.live.state, "read-only");
    assert!(snapshot.wear.is_some_and(|wear| wear.read_only && wear.retired > 0));

    let range = DsmRange { length: 8.into(), ..Default::default() };
    let deallocate = Sqe {
        opcode: NvmOpcode::DATASET_MANAGEMENT.0,
        cdw11: DsmCdw11::new().with_ad(true).into_bits().into(),
        ..Default::default()
    };
    let zeroes = Sqe { opcode: NvmOpcode::WRITE_ZEROES.0, ..Default::default() };
    let read = Sqe { opcode: NvmOpcode::READ.0, ..Default::default() };
    for (sqe, data, expected) in [
        (deallocate, range.as_bytes(), Status::READ_ONLY_RANGE),
        (zeroes, &[], Status::READ_ONLY_RANGE),
        (read, &[], Status::SUCCESS),
    ] {
        assert_eq!(run(&mut queue, sqe, data), expected, "{:#x}", sqe.opcode);
    }
    drop(queue);
    // As after a kill: the journal is replayed.
    let (controller, mut queue) = open(&storage.copy());
    assert_eq!(write(&mut queue, 0), Status::READ_ONLY_RANGE);
    assert_eq!(smart(&controller).available_spare, 0);
}
