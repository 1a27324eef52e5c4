//! Get LBA Status.

use wafer_controller::{Controller, admin};
use wafer_drive::Environment;
use wafer_io::IoQueue;
use wafer_nvme::zerocopy::FromBytes as _;
use wafer_nvme::*;
use wafer_storage::DataSpec;
use wafer_target::fuzzing;

use crate::common::sqe;

/// Requests the ranges that start within `blocks` blocks of `lba`, in `dwords` dwords.
fn ask(action: u8, lba: u32, blocks: u16, dwords: u32) -> Sqe {
    Sqe {
        nsid: 1.into(),
        cdw12: (dwords - 1).into(),
        cdw13: LbaStatusCdw13::new().with_rl(blocks).with_atype(action).into_bits().into(),
        ..sqe(AdminOpcode::GET_LBA_STATUS, lba, 0)
    }
}

type Ranges = Vec<(u64, u32)>;

/// Returns the completion condition and the ranges: first block and blocks.
fn ranges(controller: &Controller, lba: u32, blocks: u16, dwords: u32) -> (u8, Ranges) {
    let sqe = ask(LbaStatusAction::TRACKED.0, lba, blocks, dwords);
    let data = admin(controller, &sqe, &[]).unwrap().data;
    assert_eq!(data.len(), dwords as usize * 4, "as much as was asked for");
    let (head, rest) = LbaStatusList::ref_from_prefix(&data).unwrap();
    let count = head.count.get() as usize;
    let (list, _) = <[LbaStatusDescriptor]>::ref_from_prefix_with_elems(rest, count).unwrap();
    assert!(list.iter().all(|d| d.status == 1), "reading may fail");
    (head.cmpc, list.iter().map(|d| (d.slba.get(), d.blocks_z.get() + 1)).collect())
}

#[test]
fn blocks_marked_as_uncorrectable_are_listed_until_they_are_written() {
    let subsystem = fuzzing::subsystem_on(DataSpec::Memory, Environment::default());
    let controller = fuzzing::connect(&subsystem);
    let id = admin(&controller, &sqe(AdminOpcode::IDENTIFY, 1, 0), &[]).unwrap().data;
    let id = IdentifyController::read_from_bytes(&id).unwrap();
    assert!(Oacs::from_bits(id.oacs.get()).lba_status());
    let mut queue = IoQueue::new(std::sync::Arc::clone(&controller));
    let mut io = |opcode: NvmOpcode, lba: u32, blocks: u32, data: &[u8]| {
        let sqe = Sqe {
            opcode: opcode.0,
            nsid: 1.into(),
            cdw10: lba.into(),
            cdw12: (blocks - 1).into(),
            ..Default::default()
        };
        queue.execute(&sqe, data, &mut Vec::new()).unwrap();
        queue.end_batch().unwrap();
    };
    assert_eq!(ranges(&controller, 0, 0, 64), (2, vec![]));
    for (lba, blocks) in [(8, 4), (100, 1), (200, 50)] {
        io(NvmOpcode::WRITE_UNCORRECTABLE, lba, blocks, &[]);
    }
    assert_eq!(ranges(&controller, 0, 0, 64), (2, vec![(8, 4), (100, 1), (200, 50)]));
    // Ranges are clipped to the request.
    assert_eq!(ranges(&controller, 10, 91, 64), (2, vec![(10, 2), (100, 1)]));
    assert_eq!(ranges(&controller, 10, 90, 64), (2, vec![(10, 2)]));
    assert_eq!(ranges(&controller, 249, 1, 64), (2, vec![(249, 1)]));
    // A list with room for two descriptors has none for a third; a header alone has none for any.
    assert_eq!(ranges(&controller, 0, 0, 10), (1, vec![(8, 4), (100, 1)]));
    assert_eq!(ranges(&controller, 9, 0, 2), (1, vec![]));
    assert_eq!(ranges(&controller, 100, 0, 10), (2, vec![(100, 1), (200, 50)]));
    io(NvmOpcode::WRITE, 202, 1, &[7; 512]);
    assert_eq!(ranges(&controller, 150, 0, 64), (2, vec![(200, 2), (203, 47)]));
}

#[test]
fn ranges_outside_of_the_namespace_and_other_actions_are_refused() {
    let subsystem = fuzzing::subsystem_on(DataSpec::Memory, Environment::default());
    let controller = fuzzing::connect(&subsystem);
    let blocks = subsystem.drive.namespace(1).unwrap().blocks() as u32;
    let failed = |sqe: Sqe| admin(&controller, &sqe, &[]).err().unwrap();
    let scan = LbaStatusAction::SCAN.0;
    admin(&controller, &ask(scan, blocks - 1, 1, 64), &[]).unwrap();
    for (lba, count) in [(blocks - 1, 2), (blocks, 0), (blocks, 1)] {
        let failure = failed(ask(scan, lba, count, 64));
        assert_eq!((failure.status, failure.lba), (Status::LBA_OUT_OF_RANGE, lba.into()));
    }
    let wrong = |sqe: Sqe| failed(sqe).location.unwrap().byte;
    assert_eq!(wrong(ask(0x12, 0, 0, 64)), 55, "action type");
    assert_eq!(wrong(ask(scan, 0, 0, 1)), 48, "no room for the head");
    assert_eq!(wrong(ask(scan, 0, 0, 1 << 20)), 48, "more than MDTS");
    let missing = Sqe { nsid: 9.into(), ..ask(scan, 0, 0, 64) };
    assert_eq!(wrong(missing), 4, "inactive");
}

#[test]
fn the_log_lists_the_blocks_of_each_namespace_that_cannot_be_read() {
    let subsystem = fuzzing::subsystem_on(DataSpec::Memory, Environment::default());
    let controller = fuzzing::connect(&subsystem);
    let read = || {
        let cdw10 = GetLogCdw10::new().with_lid(Lid::LBA_STATUS.0).with_numdl_z(255).into_bits();
        let sqe = Sqe { nsid: 0.into(), ..sqe(AdminOpcode::GET_LOG_PAGE, cdw10, 0) };
        let data = admin(&controller, &sqe, &[]).unwrap().data;
        let (head, rest) = LbaStatusLog::read_from_prefix(&data).unwrap();
        assert!(rest[head.length.get() as usize - 16..].iter().all(|&byte| byte == 0));
        (head, rest.to_vec())
    };
    let (empty, _) = read();
    assert_eq!((empty.length.get(), empty.elements.get(), empty.blocks.get()), (16, 0, 0));
    let namespace = subsystem.drive.namespace(1).unwrap();
    let block = 1 << namespace.lba_shift;
    subsystem.drive.mark_uncorrectable(&namespace, 8 * block, 4 * block).unwrap();
    subsystem.drive.set_media_error(&namespace, 100 * block, block, true).unwrap();
    let (head, rest) = read();
    assert_eq!((head.length.get(), head.elements.get(), head.blocks.get()), (64, 1, 5));
    assert_eq!(head.generation.get(), empty.generation.get() + 1);
    let (element, rest) = LbaStatusElement::ref_from_prefix(&rest).unwrap();
    let (nsid, count, action) = (element.nsid.get(), element.ranges.get(), element.action);
    assert_eq!((nsid, count, action), (1, 2, LbaStatusAction::TRACKED.0));
    let (list, _) = <[LbaStatusDescriptor]>::ref_from_prefix_with_elems(rest, 2).unwrap();
    let ranges: Ranges = list.iter().map(|d| (d.slba.get(), d.blocks_z.get())).collect();
    assert_eq!(ranges, [(8, 3), (100, 0)], "zero-based");
    assert_eq!(read().0.generation.get(), head.generation.get(), "nothing changed");
    subsystem.drive.set_media_error(&namespace, 100 * block, block, false).unwrap();
    assert_eq!(read().0.generation.get(), head.generation.get() + 1);
    // One range more than the maximum listed.
    for at in 0..1024 {
        subsystem.drive.mark_uncorrectable(&namespace, (200 + 2 * at) * block, block).unwrap();
    }
    let (head, rest) = read();
    assert_eq!((head.length.get(), head.elements.get(), head.blocks.get()), (32, 1, 4 + 1024));
    let (element, _) = LbaStatusElement::ref_from_prefix(&rest).unwrap();
    assert_eq!((element.nsid.get(), element.ranges.get()), (1, u32::MAX));
}
