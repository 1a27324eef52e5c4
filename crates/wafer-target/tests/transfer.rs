//! Commands with the maximum amount of data: MDTS.

use std::sync::Arc;

use wafer_controller::MAX_TRANSFER;
use wafer_drive::Environment;
use wafer_io::IoQueue;
use wafer_nvme::*;
use wafer_storage::DataSpec;
use wafer_target::fuzzing;

use crate::common::{identify, log};

fn command(opcode: NvmOpcode, blocks: u64) -> Sqe {
    Sqe {
        opcode: opcode.0,
        nsid: 1.into(),
        cdw12: (blocks as u32 - 1).into(),
        ..Default::default()
    }
}

#[test]
fn commands_move_two_mebibytes() {
    let subsystem = fuzzing::subsystem_on(DataSpec::Memory, Environment::default());
    let controller = fuzzing::connect(&subsystem);
    assert_eq!(4096u64 << identify(&controller).mdts, 2 << 20);
    assert_eq!(MAX_TRANSFER, 2 << 20);
    let data: Vec<u8> = (0..2u32 << 20).map(|i| (i / 512 * 31 + i) as u8).collect();
    let mut queue = IoQueue::new(Arc::clone(&controller));
    queue.begin_batch();
    queue.execute(&command(NvmOpcode::WRITE, 4096), &data, &mut Vec::new()).unwrap();
    queue.execute(&command(NvmOpcode::COMPARE, 4096), &data, &mut Vec::new()).unwrap();
    // The buffer of a nearly complete turn does not double for the last command or its completion.
    let mut out = vec![0; (1 << 20) - 1];
    queue.execute(&command(NvmOpcode::READ, 4096), &[], &mut out).unwrap();
    assert!(out[(1 << 20) - 1..] == data);
    out.extend_from_slice(&[0; size_of::<CapsuleResp>()]);
    assert!(out.capacity() <= 3 << 20 | 4 << 10, "{} bytes", out.capacity());
    queue.end_batch().unwrap();
    for opcode in [NvmOpcode::READ, NvmOpcode::WRITE, NvmOpcode::COMPARE, NvmOpcode::VERIFY] {
        let longer = command(opcode, 4097);
        let failed = queue.execute(&longer, &vec![0; 4097 * 512], &mut Vec::new());
        assert_eq!(failed.unwrap_err().status, Status::INVALID_FIELD, "{opcode:?}");
    }
    // A log page may be as long.
    assert_eq!(log::<0x8000>(&controller, Lid::ERROR, 0).len(), 0x8000 * 4);
}
