//! Copy from other namespaces: descriptor formats 2 and 3.

use std::sync::Arc;

use wafer_controller::{Controller, NamespaceChange, Reply, Subsystem, admin};
use wafer_drive::{Environment, NamespaceRequest, Protection, ReservationAction};
use wafer_io::{IoQueue, Progress};
use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::*;
use wafer_storage::DataSpec;
use wafer_target::fuzzing;

use crate::common::{identify, sqe};

const HOST: &str = "nqn.2026-11.io.wafer:host";
/// Blocks of 512 bytes in a namespace.
const BLOCKS: u64 = (1 << 20) / 512;

/// Creates namespaces 1 and 2 with 512-byte blocks, attached to all hosts.
fn two() -> (Arc<Subsystem>, Arc<Controller>, IoQueue) {
    let subsystem = fuzzing::subsystem_on(DataSpec::Memory, Environment::default());
    subsystem.drive.delete_namespace(1).unwrap();
    let controller = fuzzing::connect(&subsystem);
    for nsid in 1..=2 {
        assert_eq!(add(&subsystem, 512, true), nsid);
    }
    let mut queue = IoQueue::new(Arc::clone(&controller));
    for nsid in 1..=2u32 {
        for lba in 0..BLOCKS {
            let write = Sqe { cdw10: (lba as u32).into(), ..io(NvmOpcode::WRITE, nsid) };
            queue.execute(&write, &block(nsid, lba), &mut Vec::new()).unwrap();
        }
    }
    queue.end_batch().unwrap();
    (subsystem, controller, queue)
}

fn add(subsystem: &Subsystem, lba_bytes: u32, everyone: bool) -> u32 {
    let request = NamespaceRequest {
        pages: BLOCKS / 8,
        lba_bytes,
        handles: Vec::new(),
        everyone,
        private: false,
    };
    subsystem.drive.create_namespace(request).unwrap()
}

fn block(nsid: u32, lba: u64) -> Vec<u8> {
    (0..512u64).map(|i| (u64::from(nsid) * 101 + lba * 7 + i) as u8).collect()
}

fn io(opcode: NvmOpcode, nsid: u32) -> Sqe {
    Sqe { opcode: opcode.0, nsid: nsid.into(), ..Default::default() }
}

/// Returns a Copy to block `to` of namespace 1 and its source ranges: namespace, first block, blocks.
fn copy(format: u8, to: u64, ranges: &[(u32, u64, u16)]) -> (Sqe, Vec<u8>) {
    let cdw12 = CopyCdw12::new().with_nr_z(ranges.len() as u8 - 1).with_desfmt(format);
    let sqe = Sqe {
        cdw10: (to as u32).into(),
        cdw12: cdw12.into_bits().into(),
        ..io(NvmOpcode::COPY, 1)
    };
    let mut data = Vec::new();
    for (snsid, slba, blocks) in ranges {
        let entry = CopyRange {
            snsid: (*snsid).into(),
            slba: (*slba).into(),
            nlb_z: (*blocks - 1).into(),
            ..Default::default()
        };
        data.extend_from_slice(entry.as_bytes());
        data.resize(data.len() + cdw12.entry_bytes() as usize - entry.as_bytes().len(), 0xff);
    }
    (sqe, data)
}

fn enable(controller: &Controller, formats: u16) -> Result<Reply, Status> {
    let behavior = HostBehavior { cdfe: formats.into(), ..Default::default() };
    let command = sqe(AdminOpcode::SET_FEATURES, Fid::HOST_BEHAVIOR.0.into(), 0);
    admin(controller, &command, behavior.as_bytes()).map_err(|failure| failure.status)
}

fn run(queue: &mut IoQueue, (sqe, data): &(Sqe, Vec<u8>)) -> Result<(), Status> {
    assert_eq!(queue.data_length(sqe).unwrap(), data.len() as u64);
    queue.execute(sqe, data, &mut Vec::new()).map_err(|failure| failure.status)
}

fn read(queue: &mut IoQueue, lba: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let read = Sqe { cdw10: (lba as u32).into(), ..io(NvmOpcode::READ, 1) };
    queue.execute(&read, &[], &mut out).unwrap();
    out
}

#[test]
fn sources_may_be_in_other_namespaces() {
    let (subsystem, controller, mut queue) = two();
    assert_eq!(identify(&controller).cdfs.get(), 0b1111);
    let before = subsystem.drive.counters().counters;
    for (format, ranges) in [
        (2, [(2, 5, 3), (1, 100, 2), (2, 900, 250)]),
        (3, [(2, 7, 1), (2, 90, 20), (1, 300, 4)]),
        // Overlaps the destination only in the same namespace.
        (2, [(2, 10, 40), (1, 12, 5), (2, 10, 1)]),
    ] {
        let whole = copy(format, 10, &ranges);
        assert_eq!(run(&mut queue, &whole), Err(Status::INVALID_FIELD), "not enabled");
        enable(&controller, 1 << format).unwrap();
        let mut expected = Vec::new();
        for (nsid, first, blocks) in ranges {
            for lba in first..first + u64::from(blocks) {
                expected.push(if nsid == 1 { read(&mut queue, lba) } else { block(2, lba) });
            }
        }
        assert_eq!(run(&mut queue, &whole), Ok(()));
        for (at, expected) in (10..).zip(expected) {
            assert!(read(&mut queue, at) == expected, "format {format}, block {at}");
        }
        enable(&controller, 0).unwrap();
    }
    // In formats without a source namespace, bytes 3:0 have no meaning.
    assert_eq!(run(&mut queue, &copy(0, 0, &[(2, 1000, 1)])), Ok(()));
    assert_eq!(run(&mut queue, &copy(1, 1, &[(2, 1000, 1)])), Ok(()));
    assert_eq!(read(&mut queue, 0), read(&mut queue, 1000));
    assert_eq!(read(&mut queue, 1), read(&mut queue, 1000));
    assert_eq!(run(&mut queue, &copy(4, 0, &[(2, 0, 1)])), Err(Status::INVALID_FIELD));
    queue.end_batch().unwrap();
    let after = subsystem.drive.counters().counters;
    let copied = (255 + 25 + 46 + 2) * 512;
    assert_eq!(after.host_bytes - before.host_bytes, copied);
}

#[test]
fn only_formats_of_copy_are_enabled() {
    let (_, controller, _) = two();
    let get = sqe(AdminOpcode::GET_FEATURES, Fid::HOST_BEHAVIOR.0.into(), 0);
    let enabled = || {
        let data = admin(&controller, &get, &[]).unwrap().data;
        HostBehavior::read_from_bytes(&data).unwrap().cdfe.get()
    };
    // Other bits are ignored.
    for (asked, expected) in [(1 << 4, 0), (0b0111, 0b0100), (u16::MAX, HostBehavior::COPY_FORMATS)]
    {
        enable(&controller, asked).unwrap();
        assert_eq!(enabled(), expected);
    }
    let set = sqe(AdminOpcode::SET_FEATURES, Fid::HOST_BEHAVIOR.0.into(), 0);
    for (acre, accepted) in [(1, true), (2, false)] {
        let behavior = HostBehavior { acre, ..Default::default() };
        assert_eq!(admin(&controller, &set, behavior.as_bytes()).is_ok(), accepted);
    }
}

#[test]
fn sources_that_cannot_be_read_are_refused() {
    let (subsystem, controller, mut queue) = two();
    let (other, hidden) = (add(&subsystem, 4096, true), add(&subsystem, 512, false));
    enable(&controller, HostBehavior::COPY_FORMATS).unwrap();
    let source = |nsid, lba| copy(2, 0, &[(1, 64, 1), (nsid, lba, 1)]);
    assert_eq!(run(&mut queue, &source(other, 0)), Err(Status::INCOMPATIBLE_NAMESPACE));
    assert_eq!(run(&mut queue, &source(hidden, 0)), Err(Status::INVALID_FIELD));
    assert_eq!(run(&mut queue, &source(77, 0)), Err(Status::INVALID_FIELD));
    for invalid in [0, 256, u32::MAX] {
        assert_eq!(run(&mut queue, &source(invalid, 0)), Err(Status::INVALID_NAMESPACE));
    }
    assert_eq!(run(&mut queue, &source(2, BLOCKS)), Err(Status::LBA_OUT_OF_RANGE));
    let (sqe, mut data) = source(2, 0);
    data[32 + 23] = 0x80;
    assert_eq!(run(&mut queue, &(sqe, data)), Err(Status::FAST_COPY_NOT_POSSIBLE));

    subsystem.drive.attach_namespace(hidden, vec![HOST.to_owned()], true).unwrap();
    let written = io(NvmOpcode::WRITE, hidden);
    queue.execute(&written, &[9; 512], &mut Vec::new()).unwrap();
    assert_eq!(run(&mut queue, &source(hidden, 0)), Ok(()));
    assert_eq!(read(&mut queue, 1), [9; 512]);

    // Conditions that prevent reading, in a source; conditions that prevent writing, in the destination.
    let (first, second) =
        (subsystem.drive.namespace(1).unwrap(), subsystem.drive.namespace(2).unwrap());
    subsystem.drive.mark_uncorrectable(&second, 512, 512).unwrap();
    assert_eq!(run(&mut queue, &source(2, 1)), Err(Status::UNRECOVERED_READ_ERROR));
    subsystem.drive.protect(0, 2, Protection::Protected).unwrap();
    assert_eq!(run(&mut queue, &source(2, 2)), Ok(()));
    subsystem.drive.protect(0, 1, Protection::Protected).unwrap();
    assert_eq!(run(&mut queue, &source(2, 2)), Err(Status::NAMESPACE_WRITE_PROTECTED));
    subsystem.drive.protect(0, 1, Protection::None).unwrap();
    assert!(first.check_unprotected().is_ok());

    let owner = [7; 16];
    for action in [
        ReservationAction::Register(1),
        ReservationAction::Acquire(1, ReservationType::EXCLUSIVE_ACCESS),
    ] {
        subsystem.drive.reserve(&second, &owner, Some(action), None).unwrap();
    }
    assert_eq!(run(&mut queue, &source(2, 2)), Err(Status::RESERVATION_CONFLICT));
}

/// Dword 0 is the first source range that was not copied (NVM Command Set 1.1, 3.3.2).
#[test]
fn a_failed_copy_tells_how_far_it_came() {
    let (subsystem, controller, mut queue) = two();
    enable(&controller, HostBehavior::COPY_FORMATS).unwrap();
    let second = subsystem.drive.namespace(2).unwrap();
    subsystem.drive.mark_uncorrectable(&second, 900 * 512, 512).unwrap();
    let mut failed = |(sqe, data): (Sqe, Vec<u8>)| {
        let failure = queue.execute(&sqe, &data, &mut Vec::new()).unwrap_err();
        assert_eq!(failure.status, Status::UNRECOVERED_READ_ERROR);
        failure.dw0
    };
    let ranges: Vec<_> = (0..1024).step_by(256).map(|from| (2, from, 256)).collect();
    assert_eq!(failed(copy(2, 0, &ranges)), 3);
    assert_eq!(failed(copy(2, 0, &ranges[3..])), 0);
    assert_eq!(failed(copy(2, 0, &[(2, 899, 1), (2, 900, 1), (2, 901, 1)])), 0, "one piece");
    // Everything is read before anything is written.
    let first = subsystem.drive.namespace(1).unwrap();
    subsystem.drive.mark_uncorrectable(&first, 900 * 512, 512).unwrap();
    let ranges: Vec<_> = (0..1024).step_by(256).map(|from| (1, from, 256)).collect();
    assert_eq!(failed(copy(0, 100, &ranges)), 0);
}

#[test]
fn a_copy_ends_when_its_source_goes() {
    let (subsystem, controller, mut queue) = two();
    enable(&controller, HostBehavior::COPY_FORMATS).unwrap();
    let ranges: Vec<_> = (0..BLOCKS).step_by(256).map(|from| (2, from, 256)).collect();
    let (sqe, data) = copy(2, 0, &ranges);
    let begin = |queue: &mut IoQueue| {
        queue.begin_batch();
        // Fill the turn, so that the copy is not finished immediately.
        let verify = Sqe { cdw12: (BLOCKS as u32 - 1).into(), ..io(NvmOpcode::VERIFY, 1) };
        queue.execute(&verify, &[], &mut Vec::new()).unwrap();
        assert_eq!(queue.begin(&sqe, &data, &mut Vec::new()), Ok(Progress::More));
        queue.end_batch().unwrap();
        queue.begin_batch();
    };
    begin(&mut queue);
    subsystem.drive.format_namespace(0, 2, 512).unwrap();
    assert_eq!(queue.resume().map_err(|f| f.status), Err(Status::FORMAT_IN_PROGRESS));
    begin(&mut queue);
    subsystem.drive.delete_namespace(2).unwrap();
    assert_eq!(queue.resume().map_err(|f| f.status), Err(Status::INVALID_NAMESPACE));
    queue.end_batch().unwrap();
    subsystem.drive.check_invariants().unwrap();
}

#[test]
fn sources_are_reached_through_the_port_of_the_host() {
    let (subsystem, controller, mut queue) = two();
    enable(&controller, 1 << 2).unwrap();
    let second = subsystem.drive.namespace(2).unwrap();
    let moved = NamespaceChange { off: true, ana_group: Some(2), on: true, uuid: None };
    subsystem.change_namespace(&second, moved).unwrap();
    let whole = copy(2, 0, &[(2, 8, 1)]);
    run(&mut queue, &whole).unwrap();
    subsystem.set_ana_state(1, Some(2), AnaState::INACCESSIBLE).unwrap();
    assert_eq!(run(&mut queue, &whole), Err(Status::ANA_INACCESSIBLE));
    run(&mut queue, &copy(2, 0, &[(1, 8, 1)])).unwrap();
}
