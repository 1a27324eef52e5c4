//! Turns of a queue: commands that take more than one, and namespaces that are removed in between.

use std::sync::Arc;

use wafer_controller::Subsystem;
use wafer_controller::identify::COPY_RANGE_BLOCKS;
use wafer_drive::{Environment, NamespaceRequest};
use wafer_io::{IoQueue, Progress};
use wafer_nvme::zerocopy::{FromZeros as _, IntoBytes as _};
use wafer_nvme::*;
use wafer_storage::DataSpec;
use wafer_target::fuzzing;

/// Blocks of 512 bytes in the namespace.
const BLOCKS: u32 = (4 << 20) / 512;

fn subsystem() -> Arc<Subsystem> {
    fuzzing::subsystem_on(DataSpec::Memory, Environment::default())
}

fn command(opcode: NvmOpcode, lba: u32, blocks: u32) -> Sqe {
    Sqe {
        opcode: opcode.0,
        nsid: 1.into(),
        cdw10: lba.into(),
        cdw12: RwCdw12::new().with_nlb_z((blocks - 1) as u16).into_bits().into(),
        ..Default::default()
    }
}

/// Returns a copy of 1 MiB in ranges of maximum length.
fn copy(to: u32, from: u64) -> (Sqe, Vec<CopyRange>) {
    let range = |at: u32| {
        let mut range = CopyRange::new_zeroed();
        range.slba = (from + u64::from(at)).into();
        range.nlb_z = (COPY_RANGE_BLOCKS - 1).into();
        range
    };
    let ranges: Vec<_> = (0..2048).step_by(COPY_RANGE_BLOCKS.into()).map(range).collect();
    (command(NvmOpcode::COPY, to, ranges.len() as u32), ranges)
}

fn renew(subsystem: &Subsystem) {
    subsystem.drive.delete_namespace(1).unwrap();
    let request = NamespaceRequest {
        pages: u64::from(BLOCKS) / 8,
        lba_bytes: 512,
        handles: Vec::new(),
        everyone: true,
        private: false,
    };
    assert_eq!(subsystem.drive.create_namespace(request), Ok(1));
}

fn read(queue: &mut IoQueue, lba: u32, blocks: u32) -> Vec<u8> {
    let mut out = Vec::new();
    queue.execute(&command(NvmOpcode::READ, lba, blocks), &[], &mut out).unwrap();
    out
}

#[test]
fn a_batch_does_not_count_for_the_namespace_that_follows() {
    let subsystem = subsystem();
    let controller = fuzzing::connect(&subsystem);
    let mut queue = IoQueue::new(Arc::clone(&controller));
    let host_bytes = || subsystem.drive.counters().counters.host_bytes;
    let write = command(NvmOpcode::WRITE, 0, 8);
    queue.begin_batch();
    queue.execute(&write, &[7; 4096], &mut Vec::new()).unwrap();
    renew(&subsystem);
    // A write in the same batch to the new namespace counts; the first does not.
    assert_eq!(read(&mut queue, 0, 8), [0; 4096]);
    queue.execute(&write, &[8; 4096], &mut Vec::new()).unwrap();
    queue.end_batch().unwrap();
    assert_eq!((host_bytes(), read(&mut queue, 0, 8)), (4096, vec![8; 4096]));
    queue.end_batch().unwrap();
    subsystem.drive.check_invariants().unwrap();
}

#[test]
fn a_copy_ends_when_its_namespace_goes() {
    let subsystem = subsystem();
    let controller = fuzzing::connect(&subsystem);
    let mut queue = IoQueue::new(Arc::clone(&controller));
    // Fill the turn, so that the copy is not finished immediately.
    let begin = |queue: &mut IoQueue| {
        queue.begin_batch();
        let (sqe, ranges) = copy(2048, 0);
        read(queue, 0, 2047);
        queue.begin(&sqe, ranges.as_bytes(), &mut Vec::new())
    };
    assert_eq!(begin(&mut queue), Ok(Progress::More));
    queue.end_batch().unwrap();
    renew(&subsystem);
    queue.begin_batch();
    assert_eq!(queue.resume().map_err(|f| f.status), Err(Status::INVALID_NAMESPACE));
    assert_eq!(begin(&mut queue), Ok(Progress::More));
    queue.end_batch().unwrap();
    subsystem.drive.format_namespace(0, 1, 512).unwrap();
    queue.begin_batch();
    assert_eq!(queue.resume().map_err(|f| f.status), Err(Status::FORMAT_IN_PROGRESS));
    queue.end_batch().unwrap();
    assert_eq!(subsystem.drive.counters().counters.host_bytes, 0);
}

#[test]
fn a_copy_in_slices_is_a_copy() {
    let subsystem = subsystem();
    let controller = fuzzing::connect(&subsystem);
    let mut queue = IoQueue::new(Arc::clone(&controller));
    let data: Vec<u8> = (0..4u32 << 20).map(|i| (i / 512 * 31 + i) as u8).collect();
    for part in 0..4u32 {
        let at = part as usize * (1 << 20);
        let write = command(NvmOpcode::WRITE, part * 2048, 2048);
        queue.execute(&write, &data[at..at + (1 << 20)], &mut Vec::new()).unwrap();
    }
    // Disjoint, overlapping upwards and downwards, and onto itself.
    let mut model = data;
    for (to, from) in [(4096, 0), (100, 0), (0, 1500), (3000, 3000)] {
        let (sqe, ranges) = copy(to, from);
        let mut turns = 1;
        queue.begin_batch();
        let mut progress = queue.begin(&sqe, ranges.as_bytes(), &mut Vec::new()).unwrap();
        while progress == Progress::More {
            queue.end_batch().unwrap();
            queue.begin_batch();
            progress = queue.resume().unwrap();
            turns += 1;
        }
        queue.end_batch().unwrap();
        assert!(turns <= 3, "{turns} turns for 1 MiB");
        let (from, to) = (from as usize * 512, to as usize * 512);
        model.copy_within(from..from + (1 << 20), to);
        for part in 0..4 {
            let at = part as usize * (1 << 20);
            assert!(
                read(&mut queue, part * 2048, 2048) == model[at..at + (1 << 20)],
                "{to} {from}"
            );
        }
    }
}

#[test]
fn a_copy_is_no_longer_than_identify_says() {
    let subsystem = subsystem();
    let mut queue = IoQueue::new(fuzzing::connect(&subsystem));
    let mut copies = |lengths: &[u16]| {
        let (_, mut ranges) = copy(0, 0);
        ranges.resize(lengths.len(), ranges[0]);
        for (range, length) in ranges.iter_mut().zip(lengths) {
            range.nlb_z = (length - 1).into();
        }
        let sqe = command(NvmOpcode::COPY, 4096, lengths.len() as u32);
        queue.execute(&sqe, ranges.as_bytes(), &mut Vec::new()).map_err(|failure| failure.status)
    };
    let whole = [COPY_RANGE_BLOCKS; 8];
    assert_eq!(copies(&whole), Ok(()));
    assert_eq!(copies(&[&whole[..], &[1]].concat()), Err(Status::COMMAND_SIZE_LIMIT));
    assert_eq!(copies(&[COPY_RANGE_BLOCKS + 1]), Err(Status::COMMAND_SIZE_LIMIT));
}

#[test]
fn a_batch_is_bounded_by_its_work() {
    let subsystem = subsystem();
    let controller = fuzzing::connect(&subsystem);
    let mut queue = IoQueue::new(Arc::clone(&controller));
    queue.begin_batch();
    let mut commands = 0;
    while !queue.is_turn_over() {
        // Commands that produce no output.
        queue.execute(&command(NvmOpcode::VERIFY, 0, 256), &[], &mut Vec::new()).unwrap();
        commands += 1;
    }
    assert!((5..=8).contains(&commands), "{commands} commands of 128 KiB");
    queue.begin_batch();
    assert!(!queue.is_turn_over());
}
