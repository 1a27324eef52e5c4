//! Writes of up to 16 blocks are never torn: not by a concurrent read, a kill, or a power loss.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use wafer_drive::Drive;
use wafer_faults::{FaultyStorage, Operation, Verdict};
use wafer_storage::{ATOMIC_BLOCKS, DataSpec, Store};

use crate::{DATA, on, open, options};

/// Bytes of an atomic write with blocks of 4 KiB.
const UNIT: usize = ATOMIC_BLOCKS as usize * 4096;
/// Where writes go.
const AT: u64 = 5 * 4096;

fn store(drive: &Drive) -> Arc<dyn Store> {
    Arc::clone(&drive.namespace(1).unwrap().store)
}

fn read(drive: &Drive, at: u64, length: usize) -> Vec<u8> {
    let mut buffer = vec![0xee; length];
    store(drive).read(at, &mut buffer).unwrap();
    buffer
}

/// Returns the byte that fills the buffer.
fn whole(buffer: &[u8], context: &str) -> u8 {
    let torn = buffer.iter().position(|byte| *byte != buffer[0]);
    assert_eq!(torn, None, "{context}: {} and {:?}", buffer[0], torn.map(|at| buffer[at]));
    buffer[0]
}

/// Has threads fill a range, each with one byte value, while reading it.
fn race(store: &Arc<dyn Store>) {
    std::thread::scope(|scope| {
        let write = |writer: u8| {
            scope.spawn(move || {
                for round in 0..400u16 {
                    let byte = writer * 100 + (round % 50) as u8;
                    store.write(AT, &[byte; UNIT]).unwrap();
                }
            })
        };
        let writers = [write(1), write(2)];
        let mut buffer = vec![0; UNIT];
        while writers.iter().any(|writer| !writer.is_finished()) {
            store.read(AT, &mut buffer).unwrap();
            whole(&buffer, "a reader");
        }
    });
}

#[test]
fn readers_see_all_of_a_write_or_nothing() {
    race(&store(&Drive::new(options(DataSpec::Memory)).unwrap()));
    // The log of the file holds 1 MiB, so it fills up and is emptied during this.
    let folder = tempfile::tempdir().unwrap();
    race(&store(&open(&folder.path().join(DATA)).unwrap()));
}

#[test]
fn a_kill_in_a_write_leaves_all_of_it_or_nothing() {
    // After each sector that the write stores, inside sectors, and before and after the write.
    for at in (0..=UNIT / 512 + 2).map(|sector| sector * 512 + sector % 3 * 100) {
        let storage = FaultyStorage::default();
        let drive = on(&storage).unwrap();
        store(&drive).write(AT, &[1; UNIT]).unwrap();
        storage.set_judge(Arc::new(move |_, operation| match operation {
            Operation::Write(_, data) if at < data.len() => {
                Verdict::Torn(at, io::Error::other("killed"))
            }
            Operation::Write(..) => Verdict::Done,
            _ => Verdict::Fails(io::Error::other("killed")),
        }));
        let written = store(&drive).write(AT, &[2; UNIT]).is_ok();
        drop(drive);
        storage.heal();
        let byte = whole(&read(&on(&storage).unwrap(), AT, UNIT), &format!("{at} bytes"));
        assert_eq!(byte, if written { 2 } else { 1 }, "{at} bytes");
    }
}

#[test]
fn a_loss_of_power_leaves_all_of_a_write_or_nothing() {
    let sectors = |seed: u64, number: usize| {
        let mixed = (seed ^ number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed >> 61
    };
    for seed in 0..80u64 {
        let storage = FaultyStorage::default();
        let drive = on(&storage).unwrap();
        let unit = store(&drive);
        unit.write(AT, &[1; UNIT]).unwrap();
        drive.flush(0, None).unwrap();
        // Enough writes to empty the log in between, at different positions.
        for round in 0..seed % 40 {
            unit.write(AT, &[2 + round as u8; UNIT]).unwrap();
        }
        drop((unit, drive));
        // Some sectors reach the medium, some do not, some do in part.
        storage.tear(|path, number| match sectors(seed, number) {
            // A medium writes sectors whole, which headers rely on.
            0..3 => 0,
            3 if !path.ends_with("drive.img.journal") => 256,
            _ => 512,
        });
        let byte = whole(&read(&on(&storage).unwrap(), AT, UNIT), &format!("seed {seed}"));
        assert!(byte >= 1, "what was flushed is lost, seed {seed}");
    }
}

/// Makes each operation of emptying the log the last one before a kill and a power loss.
#[test]
fn the_log_is_emptied_whole_or_emptied_again() {
    for last in 0..40u64 {
        let storage = FaultyStorage::default();
        let drive = on(&storage).unwrap();
        for piece in 0..8u64 {
            store(&drive).write(piece * UNIT as u64, &[piece as u8 + 1; UNIT]).unwrap();
        }
        drive.flush(0, None).unwrap();
        let until = storage.operations() + last;
        let counter = storage.clone();
        storage.set_judge(Arc::new(move |_, operation| match operation {
            _ if counter.operations() - 1 < until => Verdict::Done,
            // A header of the journal fits in a sector, which a medium writes whole.
            Operation::Write(at, data) if at > 0 => {
                Verdict::Torn(data.len() / 2, io::Error::other("killed"))
            }
            _ => Verdict::Fails(io::Error::other("killed")),
        }));
        let _ = drive.save();
        drop(drive);
        storage.heal();
        let after = storage.copy();
        after.tear(|_, number| if number as u64 % 3 == last % 3 { 512 } else { 0 });
        for storage in [storage, after] {
            let drive = on(&storage).unwrap();
            for piece in 0..8u64 {
                let found = read(&drive, piece * UNIT as u64, UNIT);
                assert_eq!(whole(&found, &format!("operation {last}")), piece as u8 + 1);
            }
        }
    }
}

#[test]
fn a_failed_sync_of_the_log_does_not_make_a_later_flush_lie() {
    let storage = FaultyStorage::default();
    let drive = on(&storage).unwrap();
    store(&drive).write(AT, &[1; UNIT]).unwrap();
    storage.fail(|_, path, operation| {
        let fails = path.ends_with("drive.img.journal") && matches!(operation, Operation::Sync);
        fails.then(|| io::Error::other("injected"))
    });
    // The log fills up and cannot be emptied; nothing else notices.
    let refused = (0..32).find(|_| store(&drive).write(AT, &[2; UNIT]).is_err());
    assert!(refused.is_some());
    storage.heal();
    // The frames of the journal may be lost along with those of the log, so the drive has to be saved.
    drive.flush(0, None).unwrap_err();
    drive.save().unwrap();
    drive.flush(0, None).unwrap();
    drop(drive);
    storage.lose_power(|_, _| false);
    assert_eq!(whole(&read(&on(&storage).unwrap(), AT, UNIT), "flushed"), 2);
}

#[test]
fn a_failed_sync_of_the_journal_does_not_make_a_later_flush_lie() {
    let storage = FaultyStorage::default();
    let drive = on(&storage).unwrap();
    store(&drive).write(AT, &[1; UNIT]).unwrap();
    drive.flush(0, None).unwrap();
    store(&drive).write(AT, &[2; UNIT]).unwrap();
    storage.fail(|_, path, operation| {
        let fails = path.ends_with("drive.img.journal") && matches!(operation, Operation::Sync);
        fails.then(|| io::Error::other("injected"))
    });
    let namespace = drive.namespace(1).unwrap();
    drive.mark_uncorrectable(&namespace, 0, 4096).unwrap_err();
    storage.heal();
    drive.save().unwrap();
    drop((namespace, drive));
    storage.lose_power(|_, _| false);
    assert_eq!(whole(&read(&on(&storage).unwrap(), AT, UNIT), "saved"), 2);
}

/// The medium has the journal's writes but not those of the data file, and vice versa.
#[test]
fn a_loss_of_power_after_a_long_operation_brings_back_nothing_older_than_what_was_flushed() {
    let long = 4 * UNIT;
    for (operation, keeps_journal) in [(0, true), (0, false), (1, true), (1, false)] {
        let storage = FaultyStorage::default();
        let drive = on(&storage).unwrap();
        store(&drive).write(0, &vec![1; long]).unwrap();
        drive.save().unwrap();
        store(&drive).write(AT, &[2; UNIT]).unwrap();
        drive.flush(0, None).unwrap();
        match operation {
            0 => store(&drive).deallocate(0, long as u64).unwrap(),
            _ => store(&drive).write(0, &vec![3; long]).unwrap(),
        }
        drop(drive);
        storage.lose_power(|path, _| path.ends_with("drive.img.journal") == keeps_journal);
        let found = read(&on(&storage).unwrap(), AT, UNIT);
        let new = if operation == 0 { 0 } else { 3 };
        let context = format!("operation {operation}, journal {keeps_journal}");
        let byte = whole(&found, &context);
        assert!(byte == 2 || byte == new, "{context}: {byte}");
    }
}

/// Fails each sync of the journal's file while the drive is saved.
#[test]
fn writes_after_a_failed_attempt_to_empty_the_log_survive_a_kill() {
    for failing in 0..5 {
        let storage = FaultyStorage::default();
        let drive = on(&storage).unwrap();
        store(&drive).write(AT, &[1; UNIT]).unwrap();
        let syncs = AtomicU64::new(0);
        storage.fail(move |_, path, operation| {
            let sync = path.ends_with("drive.img.journal") && matches!(operation, Operation::Sync);
            let fails = sync && syncs.fetch_add(1, Ordering::Relaxed) == failing;
            fails.then(|| io::Error::other("injected"))
        });
        let _ = drive.save();
        storage.heal();
        store(&drive).write(AT, &[2; UNIT]).unwrap();
        drop(drive);
        let context = format!("sync {failing} failed");
        assert_eq!(whole(&read(&on(&storage).unwrap(), AT, UNIT), &context), 2);
    }
}

#[test]
fn a_full_log_that_can_never_be_emptied_refuses_writes_at_once() {
    let storage = FaultyStorage::default();
    let drive = on(&storage).unwrap();
    store(&drive).write(AT, &[1; UNIT]).unwrap();
    storage.fail(|_, path, operation| {
        let fails = path.ends_with(DATA) && matches!(operation, Operation::Sync);
        fails.then(|| io::Error::other("injected"))
    });
    drive.save().unwrap_err();
    storage.heal();
    let refused = (0..32).find(|_| store(&drive).write(AT, &[2; UNIT]).is_err());
    assert!(refused.is_some());
    let before = storage.operations();
    store(&drive).write(AT, &[3; UNIT]).unwrap_err();
    assert_eq!(storage.operations(), before, "the log was moved again");
    drop(drive);
    assert_eq!(whole(&read(&on(&storage).unwrap(), AT, UNIT), "opened again"), 2);
}

#[derive(Clone, Debug)]
enum Step {
    Write(u64, u64, u8),
    Deallocate(u64, u64),
    Flush,
    Save,
    Kill,
}

fn step() -> impl Strategy<Value = Step> {
    let range = || (0..64u64, prop_oneof![6 => 1..17u64, 1 => 17..64u64]);
    prop_oneof![
        12 => (range(), any::<u8>()).prop_map(|((at, blocks), byte)| Step::Write(at, blocks, byte)),
        3 => range().prop_map(|(at, blocks)| Step::Deallocate(at, blocks)),
        1 => Just(Step::Flush),
        1 => Just(Step::Save),
        1 => Just(Step::Kill),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn short_and_long_writes_are_those_of_an_array(steps in prop::collection::vec(step(), 1..120)) {
        let storage = FaultyStorage::default();
        let mut drive = on(&storage).unwrap();
        let mut model = vec![0u8; 128 * 4096];
        for step in steps {
            match step {
                Step::Write(at, blocks, byte) => {
                    let range = at as usize * 4096..(at + blocks) as usize * 4096;
                    model[range.clone()].fill(byte);
                    store(&drive).write(at * 4096, &model[range]).unwrap();
                }
                Step::Deallocate(at, blocks) => {
                    model[at as usize * 4096..(at + blocks) as usize * 4096].fill(0);
                    store(&drive).deallocate(at * 4096, blocks * 4096).unwrap();
                }
                Step::Flush => drive.flush(0, None).unwrap(),
                Step::Save => drive.save().unwrap(),
                Step::Kill => {
                    drop(drive);
                    drive = on(&storage).unwrap();
                }
            }
            prop_assert!(read(&drive, 0, model.len()) == model);
        }
        drive.close().unwrap();
        let data = storage.contents(Path::new(DATA)).unwrap();
        prop_assert!(data[..model.len()] == model, "the data file has everything after a close");
    }
}
