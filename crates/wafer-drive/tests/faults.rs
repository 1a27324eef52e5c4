//! Failing storage: confirmed operations persist, and refused ones leave no trace.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use wafer_drive::{Drive, DriveError, DriveOptions, Health, NamespaceRequest, Transferred};
use wafer_interface::{Command, NsId, Placement, RuhId};
use wafer_nvme::Status;
use wafer_storage::DataSpec;

use crate::count;
use crate::{DATA, commands, options, with};
use wafer_faults::{FaultyStorage, ManualClock, Operation};

const EIO: i32 = 5;
const EMFILE: i32 = 24;
const ENOSPC: i32 = 28;
const EROFS: i32 = 30;

fn request(pages: u64, handle: u16) -> NamespaceRequest {
    NamespaceRequest {
        pages,
        lba_bytes: 4096,
        handles: vec![RuhId(handle)],
        everyone: false,
        private: false,
    }
}

/// What a drive has confirmed to a host.
#[derive(Clone, Debug, Default, PartialEq)]
struct Known {
    /// Namespaces by NSID: pages, bytes of a block, whether the host is attached.
    namespaces: Vec<(u32, u64, u64, bool)>,
    fdp: bool,
    /// Bytes at the start of a namespace, written and flushed.
    flushed: Vec<(u32, u8)>,
    /// Enabled events of handle 0.
    events: Vec<(u8, bool)>,
    /// Read and write commands, host bytes, unsafe shutdowns, power cycles and error entries, from SMART.
    counted: [u64; 6],
}

fn counted(drive: &Drive) -> [u64; 6] {
    let now = drive.counters();
    let life = now.life;
    [
        life.read_commands,
        life.write_commands,
        now.lifetime.host_bytes,
        life.unsafe_shutdowns,
        life.power_cycles,
        life.error_entries,
    ]
}

/// Returns what the drive reports.
fn seen(drive: &Drive) -> Known {
    let namespaces = drive.namespaces().into_iter().flatten();
    Known {
        namespaces: namespaces
            .map(|n| (n.nsid, n.bytes / 4096, n.lba_bytes(), n.is_attached("host")))
            .collect(),
        fdp: drive.fdp_enabled(),
        flushed: Vec::new(),
        events: drive.supported_events(RuhId(0)),
        counted: counted(drive),
    }
}

/// Writes to a namespace as a controller does: first the data, then the count.
fn write(drive: &Drive, nsid: u32, byte: u8) -> Result<(), Status> {
    drive.check_writable()?;
    let namespace = drive.namespace(nsid).ok_or(Status::INVALID_NAMESPACE)?;
    namespace.store.write(0, &[byte; 4096]).map_err(|_| Status::WRITE_FAULT)?;
    let write = Command::write(0, 8, Placement(0)).on(NsId(nsid as u8 - 1));
    count(drive, &[write], Transferred { reads: 0, writes: 1 })
}

/// Runs a script of commands. After each, the drive must report its previous state plus what it confirmed. Returns what
/// it confirmed.
fn script(drive: &Drive, clock: &ManualClock) -> Known {
    let mut known = seen(drive);
    let mut byte = 0;
    for step in 0..24 {
        let before = seen(drive);
        byte += 1;
        let mut expected = before.clone();
        let done = match step {
            0 => drive.delete_namespace(1).inspect(|()| expected.namespaces.clear()),
            1 => drive.set_fdp(false).inspect(|()| expected.fdp = false),
            2 => drive.set_fdp(true).inspect(|()| expected.fdp = true),
            3 | 4 | 16 => {
                drive.create_namespace(request(300 + step, (step % 3) as u16)).map(|nsid| {
                    expected.namespaces.push((nsid, 300 + step, 4096, false));
                    expected.namespaces.sort_unstable();
                    // Nothing remains of an earlier namespace in the same place.
                    known.flushed.push((nsid, 0));
                })
            }
            5 => drive.attach_namespace(1, vec!["host".to_owned()], true).inspect(|()| {
                expected.namespaces.iter_mut().filter(|n| n.0 == 1).for_each(|n| n.3 = true);
            }),
            // A failed format may or may not have deallocated the namespace; the drive reports which.
            9 => drive.format_namespace(0, 1, 512).inspect(|()| {
                expected.namespaces.iter_mut().filter(|n| n.0 == 1).for_each(|n| n.2 = 512);
                known.flushed.retain(|(nsid, _)| *nsid != 1);
                known.flushed.push((1, 0));
            }),
            12 => drive.enable_events(RuhId(0), &[0], true).inspect(|()| {
                expected.events[0].1 = true;
            }),
            15 => drive.delete_namespace(2).inspect(|()| {
                expected.namespaces.retain(|n| n.0 != 2);
                known.flushed.retain(|(nsid, _)| *nsid != 2);
            }),
            6 | 10 | 13 | 17 | 20 => {
                let nsid = if step % 2 == 0 { 1 } else { 2 };
                // A write may change the data whether or not it is confirmed.
                known.flushed.retain(|(n, _)| *n != nsid);
                write(drive, nsid, byte).and_then(|()| {
                    drive.flush(0, None).map_err(|_| Status::WRITE_FAULT)?;
                    known.flushed.push((nsid, byte));
                    Ok(())
                })
            }
            14 => drive.apply(0, &commands(2000, 1)),
            7 | 11 | 18 | 21 => {
                drive.count_error(false);
                clock.advance(Duration::from_secs(2));
                drive.maintain().map_err(|_| Status::WRITE_FAULT)
            }
            _ => drive.flush(0, Some(NsId(0))).map_err(|_| Status::WRITE_FAULT),
        };
        let after = seen(drive);
        assert!(
            after.counted.iter().zip(before.counted).all(|(after, before)| *after >= before),
            "step {step}: {:?} after {:?}",
            after.counted,
            before.counted
        );
        expected.counted = after.counted;
        if step == 9 && done.is_err() {
            expected.namespaces = after.namespaces.clone();
            known.flushed.retain(|(nsid, _)| *nsid != 1);
        }
        assert_eq!(after, expected, "step {step}: {done:?}");
        // A namespace that could not be deleted may give its handles another format.
        if let Err(status) = done
            && status != Status::INVALID_NAMESPACE
            && status != Status::SEQUENCE_ERROR
            && status != Status::INVALID_FORMAT
        {
            assert!(
                [Status::WRITE_FAULT, Status::INSUFFICIENT_CAPACITY, Status::INTERNAL_ERROR]
                    .contains(&status),
                "step {step}: {status:?}"
            );
        }
        known = Known { flushed: known.flushed, ..after };
    }
    known
}

/// Checks that a drive has everything that another one confirmed.
fn holds(drive: &Drive, known: &Known, what: &str) {
    let found = seen(drive);
    let mut expected = known.clone();
    expected.flushed.clear();
    expected.counted = found.counted;
    assert_eq!(found, expected, "{what}");
    let told = found.counted.iter().zip(known.counted);
    assert!(told.clone().all(|(f, k)| *f >= k), "{what}: {:?}, {:?}", found.counted, known.counted);
    for (nsid, byte) in &known.flushed {
        let mut data = [0xff; 4096];
        drive.namespace(*nsid).unwrap().store.read(0, &mut data).unwrap();
        assert_eq!(data, [*byte; 4096], "{what}: namespace {nsid}");
    }
    assert_eq!(drive.check_invariants(), Ok(()), "{what}");
}

/// Returns options of a small drive, whose files are copied often.
fn small() -> DriveOptions {
    let device = serde_json::from_value(serde_json::json!({
        "capacity": "4MiB", "reclaim_unit": { "size": "1MiB", "count": 16 }, "handles": 3,
    }));
    DriveOptions { device: device.unwrap(), ..options(DataSpec::File(DATA.into())) }
}

fn with_clock(storage: &FaultyStorage, clock: &Arc<ManualClock>) -> Drive {
    with(storage, small(), clock).unwrap()
}

fn on(storage: &FaultyStorage) -> Result<Drive, DriveError> {
    with(storage, small(), &Arc::default())
}

/// Returns the number of storage operations of the script.
fn operations() -> u64 {
    let (storage, clock) = (FaultyStorage::default(), Arc::default());
    let drive = with_clock(&storage, &clock);
    let before = storage.operations();
    let known = script(&drive, &clock);
    assert_eq!(known.flushed.len(), 2, "{known:?}");
    assert_eq!(drive.health(), Health::Saved);
    storage.operations() - before
}

#[test]
fn whichever_operation_fails_confirmed_commands_hold_and_refused_ones_left_no_trace() {
    let operations = operations();
    assert!(operations > 40, "{operations}");
    for error in [EIO, ENOSPC] {
        for nth in 0..operations {
            let (storage, clock) = (FaultyStorage::default(), Arc::default());
            let drive = with_clock(&storage, &clock);
            storage.fail_nth(nth, error);
            let known = script(&drive, &clock);
            storage.heal();
            // Killed: the files stay as they are.
            let killed = storage.copy();
            holds(&on(&killed).unwrap(), &known, &format!("operation {nth}, {error}"));
            // Not killed: unless data may be lost, the drive recovers and shuts down cleanly.
            clock.advance(Duration::from_secs(60));
            drive.maintain().unwrap();
            let lost = matches!(drive.health(), Health::Lost { .. });
            assert_eq!(drive.is_saved(), !lost, "operation {nth}: {:?}", drive.health());
            assert_eq!(drive.close().is_err(), lost, "operation {nth}");
            drop(drive);
            let reopened = on(&storage).unwrap();
            holds(&reopened, &known, &format!("operation {nth}, {error}, closed"));
            assert_eq!(reopened.counters().life.media_errors, u64::from(lost));
            assert_eq!(reopened.unsafe_shutdowns(), u64::from(lost));
        }
    }
}

#[test]
fn whatever_fails_from_some_operation_on_confirmed_commands_hold() {
    for nth in 0..operations() {
        for error in [EIO, ENOSPC] {
            let (storage, clock) = (FaultyStorage::default(), Arc::default());
            let drive = with_clock(&storage, &clock);
            let first = storage.operations() + nth;
            // Only operations that change files fail, and the frame of a refused change can still be retracted.
            storage.fail(move |number, path, operation| {
                let taken_out = matches!(operation, Operation::Write(..))
                    && path.ends_with("drive.img.journal");
                let fails =
                    number >= first && !matches!(operation, Operation::Read(..)) && !taken_out;
                fails.then(|| std::io::Error::from_raw_os_error(error))
            });
            let known = script(&drive, &clock);
            assert!(!drive.is_saved() || storage.operations() <= first);
            storage.heal();
            drop(drive);
            holds(&on(&storage).unwrap(), &known, &format!("from operation {nth}, {error}"));
        }
    }
}

#[test]
fn a_loss_of_power_after_a_failure_keeps_what_was_confirmed() {
    for nth in 0..operations() {
        let (storage, clock) = (FaultyStorage::default(), Arc::default());
        let drive = with_clock(&storage, &clock);
        storage.fail_nth(nth, EIO);
        let known = script(&drive, &clock);
        if !drive.is_saved() {
            // A failed sync proves nothing about what was refused; what was confirmed is checked below.
            continue;
        }
        drive.flush(0, None).unwrap();
        storage.heal();
        drop(drive);
        // Torn sectors, except the header of the journal, which a medium writes whole.
        storage.tear(|path, sector| match sector {
            0 if path.ends_with("drive.img.journal") => 512,
            _ => sector * 37 % 512,
        });
        holds(&on(&storage).unwrap(), &known, &format!("power, operation {nth}"));
    }
}

#[test]
fn a_drive_that_cannot_be_made_leaves_no_files() {
    let storage = FaultyStorage::default();
    on(&storage).unwrap();
    let operations = storage.operations();
    let mut made = 0;
    for error in [EMFILE, EROFS, EIO, ENOSPC] {
        for nth in 0..operations {
            let storage = FaultyStorage::default();
            storage.fail_nth(nth, error);
            match on(&storage) {
                Ok(_) => made += 1,
                Err(refused) => {
                    assert_eq!(refused.to_string().lines().count(), 1);
                    assert!(storage.names().is_empty(), "operation {nth}: {refused}");
                }
            }
            storage.heal();
            on(&storage).unwrap();
        }
    }
    assert_eq!(made, 0);
}

#[test]
fn a_drive_that_cannot_be_opened_can_be_later() {
    let storage = FaultyStorage::default();
    let drive = on(&storage).unwrap();
    write(&drive, 1, 7).unwrap();
    let known = Known { flushed: vec![(1, 7)], ..seen(&drive) };
    drop(drive);
    let before = storage.operations();
    on(&storage.copy()).unwrap();
    let probe = storage.copy();
    on(&probe).unwrap();
    for nth in 0..probe.operations() {
        let storage = storage.copy();
        storage.fail_nth(nth, EMFILE);
        let failed = on(&storage);
        storage.heal();
        if failed.is_err() {
            drop(failed);
        }
        holds(&on(&storage).unwrap(), &known, &format!("operation {nth}"));
    }
    assert_eq!(storage.operations(), before);
}

/// Kills the drive at each operation, after which nothing happens.
#[test]
fn a_kill_between_any_two_writes_still_opens() {
    for nth in 0..operations() {
        let (storage, clock) = (FaultyStorage::default(), Arc::<ManualClock>::default());
        let drive = with_clock(&storage, &clock);
        let first = storage.operations() + nth;
        let copy = Arc::new(std::sync::Mutex::new(None));
        let (files, taken) = (storage.clone(), Arc::clone(&copy));
        storage.fail(move |number, _, _| {
            if number == first {
                *taken.lock().unwrap() = Some(files.copy());
            }
            None
        });
        script(&drive, &clock);
        let copy = copy.lock().unwrap().take().expect("the operation happens");
        let drive = on(&copy).unwrap_or_else(|e| panic!("killed at operation {nth}: {e}"));
        assert_eq!(drive.check_invariants(), Ok(()));
    }
    // The same while a drive is created, and while it is closed.
    for step in 0..2 {
        let mut nth = 0;
        loop {
            let storage = FaultyStorage::default();
            let drive = (step == 1).then(|| on(&storage).unwrap());
            let first = storage.operations() + nth;
            let copy = Arc::new(std::sync::Mutex::new(None));
            let (files, taken) = (storage.clone(), Arc::clone(&copy));
            storage.fail(move |number, _, _| {
                if number == first {
                    *taken.lock().unwrap() = Some(files.copy());
                }
                None
            });
            match drive {
                Some(drive) => drive.close().unwrap(),
                None => drop(on(&storage).unwrap()),
            }
            let Some(copy) = copy.lock().unwrap().take() else { break };
            on(&copy).unwrap_or_else(|e| panic!("killed at operation {nth} of {step}: {e}"));
            nth += 1;
        }
        assert!(nth > 5, "{nth}");
    }
}

#[test]
fn a_full_journal_on_a_full_medium_makes_the_drive_read_only_until_there_is_space() {
    let (storage, clock) = (FaultyStorage::default(), Arc::default());
    let drive = with_clock(&storage, &clock);
    storage.limit_space(0);
    let mut seed = 0;
    while drive.check_writable().is_ok() {
        let applied = drive.apply(0, &commands(50_000, seed));
        assert_eq!(applied, drive.check_writable(), "what it cannot record is not done");
        seed += 1;
        assert!(seed < 20, "the journal has an end");
    }
    assert!(seed > 1, "the journal has its space");
    let told = counted(&drive);
    // The partial checkpoint that did not fit is gone.
    assert_eq!(storage.names().len(), 3, "{:?}", storage.names());
    let killed = on(&storage.copy()).unwrap();
    assert_eq!(counted(&killed)[..3], told[..3]);
    storage.limit_space(u64::MAX);
    clock.advance(Duration::from_secs(1));
    drive.maintain().unwrap();
    assert!(drive.is_saved());
    assert!(counted(&drive)[2] > told[2]);
    drive.flush(0, None).unwrap();
}

#[test]
fn a_namespace_whose_removal_cannot_be_saved_keeps_its_unreadable_blocks() {
    let (storage, clock) = (FaultyStorage::default(), Arc::default());
    let drive = with_clock(&storage, &clock);
    let namespace = drive.namespace(1).unwrap();
    drive.mark_uncorrectable(&namespace, 0, 4096).unwrap();
    drive.set_media_error(&namespace, 8192, 4096, true).unwrap();
    let mut removal = Some(drive.begin_delete(1).unwrap());
    storage.fail(|_, _, operation| {
        matches!(operation, Operation::Write(..) | Operation::Sync)
            .then(|| std::io::Error::from_raw_os_error(EIO))
    });
    let failed = loop {
        match drive.remove_slice(removal.take().unwrap()) {
            Ok(rest) => removal = Some(rest.expect("it cannot be saved")),
            Err(status) => break status,
        }
    };
    assert_eq!(failed, Status::WRITE_FAULT);
    let again = drive.namespace(1).unwrap();
    assert!(again.retired().is_none());
    assert_eq!(again.uncorrectable_ranges(0, 1 << 20, 9), [(0, 4096), (8192, 12288)]);
}

#[test]
fn attempts_to_save_become_rarer() {
    let (storage, clock) = (FaultyStorage::default(), Arc::<ManualClock>::default());
    let drive = with_clock(&storage, &clock);
    let attempts = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&attempts);
    storage.fail(move |_, _, operation| {
        let fails = matches!(operation, Operation::Create);
        counted.fetch_add(u32::from(fails), Ordering::Relaxed);
        fails.then(|| std::io::Error::from_raw_os_error(EMFILE))
    });
    drive.save().unwrap_err();
    for _ in 0..300 {
        clock.advance(Duration::from_secs(1));
        drive.maintain().unwrap();
    }
    // Immediately; after 1, 2, 4, 8 and 16 seconds; then every 30.
    assert_eq!(attempts.load(Ordering::Relaxed), 1 + 5 + 8);
}

#[test]
fn a_journal_whose_header_was_never_synced_is_not_built_upon() {
    let fail = |storage: &FaultyStorage| {
        storage.fail(|_, path, operation| {
            let journal = path.extension().is_some_and(|extension| extension == "journal");
            (journal && matches!(operation, Operation::Sync))
                .then(|| std::io::Error::other("no sync"))
        });
    };
    let storage = FaultyStorage::default();
    let drive = on(&storage).unwrap();
    drive.apply(0, &commands(10, 1)).unwrap();
    let written = drive.counters().counters.host_bytes;
    fail(&storage);
    drive.save().unwrap_err();
    // After a kill, the next server finds the header that is not on the medium, and cannot sync either.
    let killed = storage.copy();
    fail(&killed);
    assert!(on(&killed).is_err());
    let after = killed.copy();
    after.lose_power(|_, _| false);
    let drive = on(&after).unwrap();
    assert_eq!(drive.counters().counters.host_bytes, written);
}
