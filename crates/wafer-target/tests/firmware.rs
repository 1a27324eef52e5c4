//! Firmware: downloads, slots, activation, and what survives a restart.

use std::sync::Arc;

use wafer_controller::{Access, Controller, Rights, Subsystem, admin};
use wafer_drive::Environment;
use wafer_faults::FaultyStorage;
use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::*;
use wafer_storage::DataSpec;
use wafer_target::fuzzing;

use crate::common::{configure, identify, log, set, sqe, subsystem};

/// Bytes of a piece.
const PIECE: usize = 4096;

/// Returns an image of `bytes` bytes, padded to whole pieces.
pub(crate) fn image(revision: &[u8; 8], bytes: usize) -> Vec<u8> {
    let mut image: Vec<u8> = (0..bytes).map(|at| (at / 3) as u8).collect();
    let mut header = FirmwareHeader {
        magic: FirmwareHeader::MAGIC,
        length: (bytes as u32).into(),
        revision: *revision,
        ..Default::default()
    };
    image[..32].copy_from_slice(header.as_bytes());
    header.check = crc32c(&image[FirmwareHeader::CHECKED..]).into();
    image[..32].copy_from_slice(header.as_bytes());
    image.resize(bytes.next_multiple_of(PIECE), 0xff);
    image
}

fn send(controller: &Controller, offset: usize, data: &[u8]) -> Status {
    let dwords_z = (data.len() / 4) as u32 - 1;
    let command = sqe(AdminOpcode::FIRMWARE_DOWNLOAD, dwords_z, (offset / 4) as u32);
    admin(controller, &command, data).map_or_else(|failure| failure.status, |_| Status::SUCCESS)
}

pub(crate) fn download(controller: &Controller, image: &[u8]) {
    // In any order.
    for offset in (0..image.len()).step_by(2 * PIECE).rev().collect::<Vec<_>>() {
        let end = image.len().min(offset + 2 * PIECE);
        assert_eq!(send(controller, offset, &image[offset..end]), Status::SUCCESS);
    }
}

pub(crate) fn commit(controller: &Controller, slot: u8, action: CommitAction) -> Status {
    let cdw10 = FirmwareCommitCdw10::new().with_slot(slot).with_action(action.0);
    let command = sqe(AdminOpcode::FIRMWARE_COMMIT, cdw10.into_bits(), 0);
    admin(controller, &command, &[]).map_or_else(|failure| failure.status, |_| Status::SUCCESS)
}

fn reset(controller: &Controller) {
    configure(controller, Cc::new()).unwrap();
    configure(controller, Cc::new().with_en(true).with_iosqes(6).with_iocqes(4)).unwrap();
}

/// Returns the active slot, the next one, and the revisions of the first three slots.
fn slots(controller: &Controller) -> (u8, u8, [String; 3]) {
    let log = FirmwareLog::read_from_bytes(&log::<128>(controller, Lid::FIRMWARE, 0)).unwrap();
    assert!(log.slots[3..].iter().all(|slot| *slot == [0; 8]));
    let active = ActiveFirmware::from_bits(log.afi);
    let text = |slot: [u8; 8]| String::from_utf8(slot.to_vec()).unwrap();
    let slots = [text(log.slots[0]), text(log.slots[1]), text(log.slots[2])];
    (active.active(), active.next(), slots)
}

fn running(controller: &Controller) -> String {
    String::from_utf8(identify(controller).fr.to_vec()).unwrap()
}

#[test]
fn images_go_through_their_slots() {
    let subsystem = subsystem();
    let controller = fuzzing::connect(&subsystem);
    let id = identify(&controller);
    assert_eq!(
        (id.frmw, id.fwug),
        (0b1_0111, 1),
        "three slots, the first read only, no reset needed"
    );
    assert!(Oacs::from_bits(id.oacs.get()).firmware());
    let built_in = running(&controller);
    let empty = "\0".repeat(8);
    assert_eq!(slots(&controller), (1, 0, [built_in.clone(), empty.clone(), empty.clone()]));

    // Only replaced.
    download(&controller, &image(b"ONE     ", 9000));
    assert_eq!(commit(&controller, 2, CommitAction::REPLACE), Status::SUCCESS);
    reset(&controller);
    let one = || "ONE     ".to_owned();
    assert_eq!(slots(&controller), (1, 0, [built_in.clone(), one(), empty.clone()]));
    // Replaced and activated at a reset, in a slot chosen by the drive.
    download(&controller, &image(b"TWO     ", 1 << 20));
    assert_eq!(commit(&controller, 0, CommitAction::REPLACE_AND_ACTIVATE), Status::SUCCESS);
    // A drive is not sanitized while a reset would activate firmware.
    let sanitize = sqe(AdminOpcode::SANITIZE, SanitizeCdw10::new().with_sanact(2).into_bits(), 0);
    let refused = admin(&controller, &sanitize, &[]).map(|_| ()).unwrap_err();
    assert_eq!(refused.status, Status::FIRMWARE_NEEDS_RESET);
    let all = [built_in.clone(), one(), "TWO     ".to_owned()];
    assert_eq!((slots(&controller), running(&controller)), ((1, 3, all.clone()), built_in.clone()));
    reset(&controller);
    assert_eq!((slots(&controller), running(&controller)), ((3, 0, all.clone()), all[2].clone()));
    // The running image remains when its slot gets another image.
    download(&controller, &image(b"THREE   ", 32));
    assert_eq!(commit(&controller, 3, CommitAction::REPLACE), Status::SUCCESS);
    assert_eq!(
        (slots(&controller).2[2].as_str(), running(&controller)),
        ("THREE   ", all[2].clone())
    );
    // Activated at a reset.
    assert_eq!(commit(&controller, 2, CommitAction::ACTIVATE), Status::SUCCESS);
    reset(&controller);
    assert_eq!((slots(&controller).0, running(&controller)), (2, one()));
    // Immediately, without and with a download.
    assert_eq!(commit(&controller, 1, CommitAction::ACTIVATE_NOW), Status::SUCCESS);
    assert_eq!((slots(&controller).0, running(&controller)), (1, built_in));
    download(&controller, &image(b"FOUR    ", 5000));
    assert_eq!(commit(&controller, 2, CommitAction::ACTIVATE_NOW), Status::SUCCESS);
    assert_eq!((slots(&controller).0, running(&controller)), (2, "FOUR    ".to_owned()));
}

#[test]
fn downloads_that_are_no_image_are_refused() {
    let subsystem = subsystem();
    let controller = fuzzing::connect(&subsystem);
    let whole = image(b"GOOD    ", 3 * PIECE);
    let replace = |slot| commit(&controller, slot, CommitAction::REPLACE);
    let granularity = [(0, 4092), (512, PIECE), (1 << 20, PIECE), ((1 << 20) - PIECE, 2 * PIECE)];
    for (offset, length) in granularity {
        assert_eq!(send(&controller, offset, &vec![0; length]), Status::INVALID_FIELD);
    }
    let short = sqe(AdminOpcode::FIRMWARE_DOWNLOAD, 2047, 0);
    let failure = admin(&controller, &short, &[0; PIECE]).err().unwrap();
    assert_eq!(failure.status, Status::INVALID_SGL_LENGTH);
    assert_eq!(replace(2), Status::INVALID_FIRMWARE_IMAGE, "nothing was downloaded");
    // A gap, and a missing end.
    for pieces in [[0, 2], [0, 1]] {
        for piece in pieces {
            let at = piece * PIECE;
            assert_eq!(send(&controller, at, &whole[at..at + PIECE]), Status::SUCCESS);
        }
        assert_eq!(replace(2), Status::INVALID_FIRMWARE_IMAGE);
    }
    // Overlapping pieces restart the download.
    assert_eq!(send(&controller, 0, &whole[..2 * PIECE]), Status::SUCCESS);
    assert_eq!(send(&controller, PIECE, &whole[PIECE..]), Status::OVERLAPPING_RANGE);
    download(&controller, &whole);
    assert_eq!(replace(1), Status::INVALID_FIRMWARE_SLOT, "read only");
    assert_eq!(replace(4), Status::INVALID_FIRMWARE_SLOT);
    assert_eq!(replace(3), Status::SUCCESS);
    // Various invalid images.
    for (at, byte) in
        [(0, 0), (8, 31), (9, 0xff), (12, 0), (20, 0x1f), (PIECE, 7), (3 * PIECE - 1, 0)]
    {
        let mut wrong = whole.clone();
        wrong[at] = byte;
        download(&controller, &wrong);
        assert_eq!(replace(2), Status::INVALID_FIRMWARE_IMAGE, "byte {at}");
    }
    download(&controller, &image(&[b' '; 8], PIECE));
    assert_eq!(replace(2), Status::INVALID_FIRMWARE_IMAGE, "a revision of spaces");
    for action in [CommitAction::ACTIVATE, CommitAction::ACTIVATE_NOW] {
        assert_eq!(commit(&controller, 2, action), Status::INVALID_FIRMWARE_IMAGE, "empty");
        assert_eq!(commit(&controller, 0, action), Status::INVALID_FIRMWARE_SLOT);
        assert_eq!(commit(&controller, 7, action), Status::INVALID_FIRMWARE_SLOT);
    }
    assert_eq!(commit(&controller, 2, CommitAction(6)), Status::INVALID_FIELD, "a boot partition");
    // A reset or another host ends a download.
    download(&controller, &whole);
    reset(&controller);
    assert_eq!(replace(2), Status::INVALID_FIRMWARE_IMAGE);
    let other = fuzzing::connect(&subsystem);
    download(&controller, &whole);
    download(&other, &whole);
    assert_eq!(replace(2), Status::INVALID_FIRMWARE_IMAGE);
    // So does removing its controller, whose identifier is free again.
    download(&controller, &whole);
    subsystem.remove(&controller);
    let next = fuzzing::connect(&subsystem);
    assert_eq!(next.cntlid, controller.cntlid);
    assert_eq!(commit(&next, 2, CommitAction::REPLACE), Status::INVALID_FIRMWARE_IMAGE);
}

#[test]
fn hosts_hear_of_an_activation() {
    let subsystem = subsystem();
    let controllers = [fuzzing::connect(&subsystem), fuzzing::connect(&subsystem)];
    let [sender, enabled] = &controllers;
    let notices = AsyncEventConfig::new().with_firmware(true);
    assert!(AsyncEventConfig::from(identify(sender).oaes.get()).firmware());
    set(enabled, Fid::ASYNC_EVENT, notices.into_bits()).unwrap();
    let request = |cid: u16| {
        for controller in &controllers {
            let command = Sqe { cid: cid.into(), ..sqe(AdminOpcode::ASYNC_EVENT_REQUEST, 0, 0) };
            assert!(admin(controller, &command, &[]).unwrap().deferred);
        }
    };
    request(1);
    request(2);
    let activate = || {
        download(sender, &image(b"NEW     ", PIECE));
        assert_eq!(commit(sender, 2, CommitAction::ACTIVATE_NOW), Status::SUCCESS);
    };
    activate();
    assert!(sender.due_events().is_empty());
    let due = enabled.due_events();
    assert_eq!(due.len(), 1);
    assert_eq!(due[0].dw0.get(), 0x0003_0102, "notice, firmware activation starting, log page 3");
    activate();
    assert!(enabled.due_events().is_empty(), "the log was not read");
    slots(enabled);
    assert_eq!(enabled.due_events().len(), 1);
}

#[test]
fn slots_survive_a_restart_and_a_kill() {
    let storage = FaultyStorage::default();
    let start = |storage: &FaultyStorage| -> (Arc<Subsystem>, Arc<Controller>) {
        let environment =
            Environment { storage: Arc::new(storage.clone()), ..Environment::default() };
        let subsystem = fuzzing::subsystem_on(DataSpec::File("drive.img".into()), environment);
        let controller = fuzzing::connect(&subsystem);
        (subsystem, controller)
    };
    let (_, controller) = start(&storage);
    download(&controller, &image(b"ONE     ", PIECE));
    assert_eq!(commit(&controller, 2, CommitAction::ACTIVATE_NOW), Status::SUCCESS);
    download(&controller, &image(b"TWO     ", PIECE));
    assert_eq!(commit(&controller, 3, CommitAction::REPLACE_AND_ACTIVATE), Status::SUCCESS);
    // A kill is a reset, as is each start after it.
    let mut storage = storage;
    for _ in 0..2 {
        storage = storage.copy();
        let (subsystem, controller) = start(&storage);
        let (active, next, revisions) = slots(&controller);
        assert_eq!((active, next, running(&controller)), (3, 0, "TWO     ".to_owned()));
        assert_eq!(revisions[1], "ONE     ");
        subsystem.drive.close().unwrap();
    }
}

#[test]
fn a_change_that_cannot_be_kept_does_not_happen() {
    let storage = FaultyStorage::default();
    let environment = Environment { storage: Arc::new(storage.clone()), ..Environment::default() };
    let subsystem = fuzzing::subsystem_on(DataSpec::File("drive.img".into()), environment);
    let controller = fuzzing::connect(&subsystem);
    let before = slots(&controller);
    download(&controller, &image(b"ONE     ", PIECE));
    storage.fail_syncs(true);
    assert_eq!(commit(&controller, 2, CommitAction::ACTIVATE_NOW), Status::WRITE_FAULT);
    assert_eq!(slots(&controller), before);
}

#[test]
fn only_hosts_that_manage_the_drive_update_it() {
    let whole = subsystem();
    let access = Access::Everyone(Rights { manage: false });
    let subsystem = Subsystem::with_access(
        Arc::clone(&whole.drive),
        wafer_io::SUPPORTED,
        whole.options.clone(),
        access,
    );
    let controller = fuzzing::connect(&subsystem);
    assert_eq!(send(&controller, 0, &[0; PIECE]), Status::OPERATION_DENIED);
    assert_eq!(commit(&controller, 2, CommitAction::REPLACE), Status::OPERATION_DENIED);
    assert!(!Oacs::from_bits(identify(&controller).oacs.get()).firmware());
}
