//! A drive with a file after a kill, and after a clean shutdown.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use wafer_device::{DeviceConfig, EnduranceConfig};
use wafer_drive::{Drive, DriveError, DriveOptions, Environment, Given, NamespaceRequest};
use wafer_faults::{FaultyStorage, ManualClock, Operation};
use wafer_storage::DataSpec;

use crate::{commands, config, on, open, options};
use wafer_interface::stream::from_fn;
use wafer_interface::{Bytes, Command, CommandStream, NsId, Placement, RuhId};

#[test]
fn a_killed_server_loses_nothing_that_it_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.img");
    let first = open(&path).unwrap();
    first.apply(0, &commands(30_000, 1)).unwrap();
    first.namespace(1).unwrap().store.write(8192, b"kept").unwrap();
    let namespace = first.namespace(1).unwrap();
    first.update(0, &namespace, Placement(2)).unwrap();
    first.apply(0, &commands(500, 2)).unwrap();
    let counters = first.snapshot().counters;
    first.identify_namespace(&namespace, [7; 16]).unwrap();
    let identity = namespace.identity();
    assert_eq!(identity.uuid, [7; 16]);
    // Killed: not closed, but the lock on the file must be released.
    drop(namespace);
    drop(first);

    let second = open(&path).unwrap();
    assert_eq!(second.notices().len(), 1, "{:?}", second.notices());
    assert!(second.notices()[0].contains("30501 commands"), "{:?}", second.notices());
    assert_eq!(second.snapshot().counters, counters);
    assert_eq!(second.unsafe_shutdowns(), 1);
    assert_eq!(second.check_invariants(), Ok(()));
    let namespace = second.namespace(1).unwrap();
    assert_eq!(namespace.identity(), identity);
    let mut data = [0; 4];
    namespace.store.read(8192, &mut data).unwrap();
    assert_eq!(&data, b"kept");

    // It continues like a drive that was never killed.
    second.apply(0, &commands(5_000, 3)).unwrap();
    let straight = Drive::new(options(DataSpec::None)).unwrap();
    straight.apply(0, &commands(30_000, 1)).unwrap();
    straight.update(0, &straight.namespace(1).unwrap(), Placement(2)).unwrap();
    straight.apply(0, &commands(500, 2)).unwrap();
    straight.apply(0, &commands(5_000, 3)).unwrap();
    assert_eq!(second.snapshot().counters, straight.snapshot().counters);
    second.close().unwrap();
    drop(namespace);
    drop(second);

    let third = open(&path).unwrap();
    assert_eq!(third.notices(), &[] as &[String]);
    assert_eq!(third.namespace(1).unwrap().identity(), identity);
    assert_eq!(third.snapshot().counters, straight.snapshot().counters);
    assert_eq!(third.unsafe_shutdowns(), 1);
}

/// Returns a precondition of four batches, during which the journal fills once.
fn filling() -> impl CommandStream {
    let mut left = commands(200_000, 1);
    from_fn(move |batch, max| batch.extend(left.drain(..max.min(left.len()))))
}

#[test]
fn a_drive_that_was_preconditioned_in_part_is_refused() {
    for (closed, until) in [(false, 2), (false, 4), (true, 2), (true, 4)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("drive.img");
        let first = open(&path).unwrap();
        let mut pieces = 1;
        let stopped = first.precondition(&mut filling(), |_| {
            pieces += 1;
            pieces < until
        });
        assert!(matches!(stopped, Err(DriveError::Interrupted)), "{stopped:?}");
        // Killed, or ended in order.
        if closed {
            first.close().unwrap();
        }
        drop(first);
        let refused = open(&path).err().expect("it is refused").to_string();
        assert!(
            refused.contains("drive.img.state: the precondition of this drive was"),
            "{refused}"
        );
        for end in ["", ".state", ".journal"] {
            std::fs::remove_file(folder.path().join(format!("drive.img{end}"))).unwrap();
        }
        let second = open(&path).unwrap();
        second.precondition(&mut filling(), |_| true).unwrap();
        drop(second);
        assert_eq!(open(&path).unwrap().snapshot().counters.commands, 200_000);
    }
}

#[test]
fn damage_within_the_journal_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.img");
    let first = open(&path).unwrap();
    let batches = [1, 2, 3].map(|seed| commands(500, seed));
    batches.iter().for_each(|batch| first.apply(0, batch).unwrap());
    drop(first);
    let journal = folder.path().join("drive.img.journal");
    let mut bytes = std::fs::read(&journal).unwrap();
    let Command { lba, blocks, .. } = batches[1][0];
    let command = [&lba.to_le_bytes()[..], &blocks.to_le_bytes()].concat();
    let at = bytes.windows(command.len()).position(|bytes| bytes == command).unwrap();
    bytes[at] ^= 1;
    std::fs::write(&journal, bytes).unwrap();
    let second = open(&path).unwrap();
    let said = second.notices().concat();
    assert!(said.contains("500 commands") && said.contains("damaged"), "{said}");
    assert_eq!(second.snapshot().counters.commands, 500);
}

#[test]
fn a_full_journal_makes_a_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.img");
    let first = open(&path).unwrap();
    // The journal has 4 MiB: 174,762 records.
    for seed in 0..5 {
        first.apply(0, &commands(100_000, seed)).unwrap();
    }
    let counters = first.snapshot().counters;
    drop(first);
    let second = open(&path).unwrap();
    assert_eq!(second.snapshot().counters, counters);
    assert_eq!(second.check_invariants(), Ok(()));
}

#[test]
fn namespaces_and_fdp_survive() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.img");
    let data = DataSpec::File(path.clone());
    let first = Drive::new(DriveOptions { events_enabled: true, ..options(data) }).unwrap();
    first.delete_namespace(1).unwrap();
    first.set_fdp(false).unwrap();
    first.set_fdp(true).unwrap();
    assert!(first.supported_events(RuhId(1)).iter().all(|(_, enabled)| *enabled));
    let request = NamespaceRequest {
        pages: 1000,
        lba_bytes: 512,
        handles: vec![RuhId(3), RuhId(1)],
        everyone: false,
        private: false,
    };
    let nsid = first.create_namespace(request.clone()).unwrap();
    let other = first.create_namespace(NamespaceRequest { handles: vec![], ..request }).unwrap();
    assert_eq!((nsid, other), (1, 2));
    first.apply(0, &[Command::write(8, 16, Placement(1)).on(NsId(0))]).unwrap();
    drop(first);
    // Whatever the options of the next server.
    let second = open(&path).unwrap();
    assert!(second.supported_events(RuhId(1)).iter().all(|(_, enabled)| *enabled));
    let (a, b) = (second.namespace(1).unwrap(), second.namespace(2).unwrap());
    assert_eq!(
        (a.bytes, a.lba_bytes(), &a.handles[..]),
        (4_096_000, 512, &[RuhId(3), RuhId(1)][..])
    );
    assert_eq!((b.controller_specified, &b.handles[..]), (true, &[RuhId(0)][..]));
    assert_eq!(second.handle_usage(), [2, 1, 0, 1]);
    assert_eq!(second.snapshot().counters.host_bytes, 8192);
    assert_eq!(second.unallocated_bytes(), Bytes((8192 - 2000) * 4096));
}

#[test]
fn settings_that_were_asked_for_are_those_of_the_drive() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.img");
    let own = options(DataSpec::File(path.clone()));
    Drive::new(own.clone()).unwrap().close().unwrap();
    let other = DriveOptions { seed: 4, lba_bytes: 512, events_enabled: true, ..own.clone() };
    for (seed, lba_bytes, events_enabled, reason) in [
        (true, false, false, "made with seed 3"),
        (false, true, false, "made with blocks of 4096 bytes"),
        (false, false, true, "made with other FDP events"),
    ] {
        let given = Given { seed, lba_bytes, events_enabled };
        let before = std::fs::read(path.with_extension("img.state")).unwrap();
        let refused = Drive::new(DriveOptions { given, ..other.clone() });
        let error = refused.err().unwrap().to_string();
        assert!(error.contains(reason) && error.contains("drive.img.state"), "{error}");
        assert_eq!(std::fs::read(path.with_extension("img.state")).unwrap(), before);
        Drive::new(DriveOptions { given, ..own.clone() }).unwrap().close().unwrap();
    }
    // Settings that were not given explicitly are ignored.
    let drive = Drive::new(other).unwrap();
    assert_eq!(drive.namespace(1).unwrap().lba_bytes(), 4096);
}

#[test]
fn files_that_do_not_fit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.img");
    open(&path).unwrap().close().unwrap();
    let options = |device: DeviceConfig| DriveOptions {
        device,
        seed: 0,
        data: DataSpec::File(path.clone()),
        lba_bytes: 4096,
        events_enabled: false,
        given: Default::default(),
    };
    let other = DeviceConfig { handles: 8, ..config() };
    let refused = Drive::new(options(other)).err().unwrap().to_string();
    assert!(
        refused.ends_with("drive.img.state: this drive was made with another `handles`"),
        "{refused}"
    );

    // Times change no data, so a drive may be served with others.
    let timing = serde_json::json!({
        "dies": 4, "read_us": 50.0, "program_us": 900.0, "link_read": "1GB", "link_write": "1GB",
        "read_overhead_us": 1.0, "write_overhead_us": 1.0, "write_buffer": "1MiB",
    });
    let timing = Some(serde_json::from_value(timing).unwrap());
    let timed = DeviceConfig { timing, ..config() };
    Drive::new(options(timed)).unwrap().close().unwrap();

    // The same holds for its endurance, which rates its blocks.
    let rated = |pe_cycles| {
        let endurance = Some(EnduranceConfig { pe_cycles });
        let drive = Drive::new(options(DeviceConfig { endurance, ..config() })).unwrap();
        let rated = drive.wear().rated_bytes;
        drive.close().unwrap();
        rated
    };
    let flash = rated(1);
    assert_eq!((flash % (1 << 20), rated(3000)), (0, 3000 * flash));

    let state = folder.path().join("drive.img.state");
    let good = std::fs::read(&state).unwrap();
    for at in (0..good.len()).step_by(good.len() / 50) {
        let mut bad = good.clone();
        bad[at] ^= 4;
        std::fs::write(&state, &bad).unwrap();
        assert!(Drive::new(options(config())).is_err(), "byte {at}");
    }
    std::fs::write(&state, &good[..good.len() / 2]).unwrap();
    let refused = Drive::new(options(config())).err().unwrap().to_string();
    assert!(refused.contains("damaged"), "{refused}");
    std::fs::remove_file(&state).unwrap();
    let refused = Drive::new(options(config())).err().unwrap().to_string();
    assert!(refused.ends_with("drive.img.state: this file of the drive is missing; put it back, or move the drive's other files away \
             to make a new drive"), "{refused}");
}

#[test]
fn a_flush_fails_when_the_medium_does_not_sync() {
    let storage = FaultyStorage::default();
    let drive = on(&storage).unwrap();
    drive.apply(0, &commands(100, 1)).unwrap();
    drive.flush(0, Some(NsId(0))).unwrap();
    storage.fail_syncs(true);
    let refused = drive.flush(0, Some(NsId(0))).unwrap_err();
    assert_eq!(refused.to_string(), "injected: sync failed");
    // Not before the drive is saved again, by `maintain`.
    storage.fail_syncs(false);
    drive.flush(0, Some(NsId(0))).unwrap_err();
}

#[test]
fn a_write_fails_when_the_medium_is_full() {
    let storage = FaultyStorage::default();
    let drive = on(&storage).unwrap();
    let namespace = drive.namespace(1).unwrap();
    storage.limit_space(4096);
    let long = namespace.store.write(0, &[1; 128 << 10]).unwrap_err();
    assert_eq!(long.kind(), io::ErrorKind::StorageFull);
    // Short writes succeed as long as the write log, whose space is reserved, has room.
    let write = |page: u64| namespace.store.write(page * 4096, &[page as u8 + 1; 4096]);
    let (full, refused) = (0..).find_map(|page| write(page).err().map(|e| (page, e))).unwrap();
    assert_eq!(refused.kind(), io::ErrorKind::StorageFull);
    drive.flush(0, None).unwrap();
    drop((namespace, drive));
    // Successful writes are there once there is space.
    storage.lose_power(|_, _| false);
    assert!(on(&storage).is_err());
    storage.limit_space(u64::MAX);
    let drive = on(&storage).unwrap();
    let mut found = [0];
    for page in 0..full {
        drive.namespace(1).unwrap().store.read(page * 4096, &mut found).unwrap();
        assert_eq!(found, [page as u8 + 1]);
    }
}

#[test]
fn what_was_flushed_survives_a_loss_of_power() {
    // Of the unsynced sectors, none survive, all, or every third.
    let keeps: [fn(usize) -> bool; 3] = [|_| false, |_| true, |sector| sector % 3 == 0];
    for keep in keeps {
        let storage = FaultyStorage::default();
        let drive = on(&storage).unwrap();
        drive.apply(0, &commands(20_000, 1)).unwrap();
        drive.namespace(1).unwrap().store.write(8192, b"kept").unwrap();
        drive.flush(0, Some(NsId(0))).unwrap();
        let flushed = drive.snapshot().counters;
        drive.apply(0, &commands(3_000, 2)).unwrap();
        let last = drive.snapshot().counters;
        drop(drive);
        storage.lose_power(|_, sector| keep(sector));

        let drive = on(&storage).unwrap();
        let found = drive.snapshot().counters;
        assert!(found.host_bytes >= flushed.host_bytes && found.host_bytes <= last.host_bytes);
        assert_eq!(drive.check_invariants(), Ok(()));
        let mut data = [0; 4];
        drive.namespace(1).unwrap().store.read(8192, &mut data).unwrap();
        assert_eq!(&data, b"kept");
    }
}

#[test]
fn time_is_that_of_the_clock() {
    let clock = Arc::new(ManualClock::default());
    let drive = Drive::with(
        options(DataSpec::None),
        Environment {
            storage: Arc::new(FaultyStorage::default()),
            clock: clock.clone(),
            ..Environment::default()
        },
    )
    .unwrap();
    clock.advance(Duration::from_secs(7));
    assert_eq!(drive.timestamp(), (7000, 0b010));
    drive.set_timestamp(1_000_000);
    clock.advance(Duration::from_millis(250));
    assert_eq!(drive.timestamp(), (1_000_250, 0b010));
    assert!((drive.snapshot().seconds - 7.25).abs() < 1e-9);
}

/// A failed sync drops the pending writes of the last server, and the server that requested it never starts.
#[test]
fn a_server_that_cannot_start_takes_no_data_with_it() {
    let storage = FaultyStorage::default();
    let drive = on(&storage).unwrap();
    // Too long for the write log, so only the file has it.
    let data = vec![7; 128 << 10];
    drive.namespace(1).unwrap().store.write(0, &data).unwrap();
    drive.apply(0, &[Command::write(0, 256, Placement::NONE)]).unwrap();
    drop(drive);
    storage.fail(|_, path, operation| {
        let sync = matches!(operation, Operation::Sync) && path.ends_with("drive.img");
        sync.then(|| io::Error::other("injected: sync failed"))
    });
    assert!(on(&storage).is_err());
    storage.heal();
    let drive = on(&storage).unwrap();
    drive.flush(0, None).unwrap();
    drop(drive);
    storage.lose_power(|_, _| false);
    let drive = on(&storage).unwrap();
    let mut found = vec![0; data.len()];
    drive.namespace(1).unwrap().store.read(0, &mut found).unwrap();
    assert!(found == data, "what was flushed is gone");
}
