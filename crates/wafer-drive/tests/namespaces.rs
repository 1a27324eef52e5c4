//! Namespaces that are removed while commands are in flight.

use std::sync::Arc;

use wafer_drive::{Batch, Drive, DriveOptions, Environment, Namespace, NamespaceRequest};
use wafer_faults::{FaultyStorage, ManualClock};
use wafer_interface::{Command, Placement};
use wafer_storage::DataSpec;

const BYTES: u64 = 4 << 20;

fn open(storage: &FaultyStorage) -> Drive {
    let device = serde_json::from_value(serde_json::json!({
        "capacity": "32MiB", "reclaim_unit": { "size": "1MiB" }, "overprovisioning": 0.6,
        "handles": 4, "namespaces": [{ "size": "4MiB" }],
    }))
    .unwrap();
    let clock = Arc::new(ManualClock::default());
    let environment =
        Environment { storage: Arc::new(storage.clone()), clock, ..Environment::default() };
    let data = DataSpec::File("drive.img".into());
    let options = DriveOptions {
        device,
        seed: 3,
        data,
        lba_bytes: 4096,
        events_enabled: false,
        given: Default::default(),
    };
    Drive::with(options, environment).unwrap()
}

fn create(drive: &Drive) -> Arc<Namespace> {
    let request = NamespaceRequest {
        pages: BYTES / 4096,
        lba_bytes: 4096,
        handles: Vec::new(),
        everyone: true,
        private: false,
    };
    drive.namespace(drive.create_namespace(request).unwrap()).unwrap()
}

fn read(namespace: &Namespace) -> [u8; 8] {
    let mut bytes = [0xaa; 8];
    namespace.store.read(0, &mut bytes).unwrap();
    bytes
}

#[test]
fn commands_in_flight_do_not_reach_the_next_namespace() {
    let drive = open(&FaultyStorage::default());
    for format in [false, true] {
        let old = drive.namespace(1).unwrap();
        old.store.write(0, b"old data").unwrap();
        let new = if format {
            drive.format_namespace(0, 1, 512).unwrap();
            drive.namespace(1).unwrap()
        } else {
            drive.delete_namespace(1).unwrap();
            create(&drive)
        };
        assert_eq!((new.nsid, read(&new)), (1, [0; 8]));
        new.store.write(0, b"new data").unwrap();
        // A copy that began earlier reads the old data, and writes where nobody reads.
        assert_eq!(&read(&old), b"old data");
        old.store.write(0, b"too late").unwrap();
        assert_eq!(&read(&new), b"new data");
    }
    drive.delete_namespace(1).unwrap();
}

#[test]
fn space_is_freed_with_the_last_reference_and_then_used_again() {
    let drive = open(&FaultyStorage::default());
    let old = drive.namespace(1).unwrap();
    old.store.write(0, b"old data").unwrap();
    drive.delete_namespace(1).unwrap();
    drop(old);
    // The first takes the place of the old one; the second must not overlap it.
    let (first, second) = (create(&drive), create(&drive));
    assert_eq!((read(&first), read(&second)), ([0; 8], [0; 8]));
    first.store.write(0, b"first---").unwrap();
    second.store.write(0, b"second--").unwrap();
    assert_eq!((&read(&first), &read(&second)), (b"first---", b"second--"));
}

#[test]
fn a_kill_before_the_space_is_freed_leaves_nothing_to_the_next_namespace() {
    let storage = FaultyStorage::default();
    let drive = open(&storage);
    let old = drive.namespace(1).unwrap();
    old.store.write(0, b"old data").unwrap();
    drive.delete_namespace(1).unwrap();
    // The reference keeps the space from being freed until the server exits.
    drop(drive);
    drop(old);
    let drive = open(&storage);
    assert!(drive.namespace(1).is_none());
    assert_eq!(read(&create(&drive)), [0; 8]);
}

#[test]
fn commands_on_a_namespace_that_went_do_not_count() {
    let storage = FaultyStorage::default();
    let drive = open(&storage);
    let second = create(&drive);
    let written = |drive: &Drive| drive.counters().counters.host_bytes;
    for format in [false, true] {
        let old = drive.namespace(1).unwrap();
        let mut batch = Batch::default();
        for namespace in [&old, &second, &old] {
            let command = Command::write(0, 8, Placement::NONE).on(namespace.id());
            batch.push(namespace, command);
        }
        if format {
            drive.format_namespace(0, 1, 4096).unwrap();
        } else {
            drive.delete_namespace(1).unwrap();
            create(&drive);
        }
        let before = written(&drive);
        drive.apply_batch(0, &mut batch).unwrap();
        assert_eq!(written(&drive) - before, 4096, "only the command on the other namespace");
    }
    // The journal does not have them either.
    let before = written(&drive);
    drop((drive, second));
    assert_eq!(written(&open(&storage)), before);
}

#[test]
fn a_namespace_is_neither_formatted_nor_deleted_twice_at_a_time() {
    let drive = open(&FaultyStorage::default());
    let format = drive.begin_format(0, 1, 512).unwrap();
    assert_eq!(drive.begin_format(0, 1, 512).err(), Some(wafer_nvme::Status::FORMAT_IN_PROGRESS));
    assert_eq!(drive.begin_delete(1).err(), Some(wafer_nvme::Status::FORMAT_IN_PROGRESS));
    let mut rest = Some(format);
    while let Some(removal) = rest {
        rest = drive.remove_slice(removal).unwrap();
    }
    assert_eq!(drive.namespace(1).unwrap().lba_bytes(), 512);
    let deletion = drive.begin_delete(1).unwrap();
    assert_eq!(drive.begin_delete(1).err(), Some(wafer_nvme::Status::INVALID_NAMESPACE));
    // Its capacity is not free yet.
    assert!(drive.set_fdp(false).is_err());
    let mut rest = Some(deletion);
    while let Some(removal) = rest {
        rest = drive.remove_slice(removal).unwrap();
    }
    assert!(drive.namespace(1).is_none());
}
