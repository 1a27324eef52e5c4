//! Files that belong together, and files that do not.

use std::path::Path;
use std::sync::Arc;

use wafer_drive::{Drive, DriveError};
use wafer_interface::{NsId, Placement};
use wafer_storage::DataSpec;

use crate::{DATA, commands, on, open, options, with};
use wafer_faults::FaultyStorage;

const STATE: &str = "drive.img.state";
const NEW: &str = "drive.img.state.new";
const JOURNAL: &str = "drive.img.journal";

/// Opens, uses and kills a drive several times, and returns copies of its files from each time.
fn history(without_marks: bool) -> Vec<FaultyStorage> {
    let mut storage = FaultyStorage::default();
    if without_marks {
        storage = storage.without_marks();
    }
    (0..4)
        .map(|seed| {
            let drive = on(&storage).unwrap();
            drive.apply(0, &commands(1000, seed)).unwrap();
            drive.flush(0, Some(NsId(0))).unwrap();
            drop(drive);
            storage.copy()
        })
        .collect()
}

/// Checks that the files are refused, unchanged, with a single line that names a file and a remedy.
fn refused(storage: &FaultyStorage, file: &str, reasons: &[&str]) {
    let names = storage.names();
    for _ in 0..2 {
        let said = on(storage).err().expect("the files are refused").to_string();
        assert!(said.starts_with(&format!("{file}: ")), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        for reason in reasons {
            assert!(said.contains(reason), "{said}");
        }
        assert_eq!(storage.names(), names, "{said}");
    }
}

#[test]
fn files_that_belong_together_open() {
    for storage in history(false) {
        let drive = on(&storage).unwrap();
        assert_eq!(drive.check_invariants(), Ok(()));
    }
    // The partial checkpoint of a killed server.
    let storage = history(false).pop().unwrap();
    storage.replace(Path::new(NEW), Some(b"half of a checkpoint".to_vec()));
    on(&storage).unwrap();
    assert_eq!(storage.names().len(), 3, "{:?}", storage.names());
}

#[test]
fn missing_files_are_refused() {
    for without_marks in [false, true] {
        for file in [DATA, STATE, JOURNAL] {
            let storage = history(without_marks).pop().unwrap();
            storage.take(&FaultyStorage::default(), Path::new(file));
            refused(
                &storage,
                file,
                &["missing", "put it back", "move the drive's other files away"],
            );
        }
    }
    let storage = FaultyStorage::default();
    storage.replace(Path::new(DATA), Some(b"somebody else's".to_vec()));
    refused(&storage, DATA, &["has data but no drive state", "move it away"]);
}

#[test]
fn truncated_files_are_refused() {
    for (file, reason) in [
        (DATA, "truncated"),
        (STATE, "damaged"),
        (JOURNAL, "truncated; put the drive's journal back"),
    ] {
        for keep in [0, 1, 50, 60_000] {
            let storage = history(false).pop().unwrap();
            storage.change(Path::new(file), |bytes| {
                bytes.truncate(keep.min(bytes.len() - 1));
            });
            let reason = if keep == 0 && file == JOURNAL { "empty; put" } else { reason };
            refused(&storage, file, &[reason]);
        }
    }
}

#[test]
fn older_files_are_refused() {
    let versions = history(false);
    let newest = versions.last().unwrap();
    for older in &versions[..2] {
        for (file, blamed, reason) in [
            (DATA, DATA, "older than the state of the drive; put its newest data back"),
            (STATE, STATE, "older than the journal; put the newest state of the drive back"),
            (JOURNAL, JOURNAL, "older than the state of the drive; put its newest journal back"),
        ] {
            let storage = newest.copy();
            storage.take(older, Path::new(file));
            refused(&storage, blamed, &[reason]);
        }
        // State and journal of an older copy match each other, but not the data.
        let storage = newest.copy();
        storage.take(older, Path::new(STATE));
        storage.take(older, Path::new(JOURNAL));
        refused(&storage, DATA, &["newer than the state of the drive"]);
        // A copy of everything opens.
        on(&older.copy()).unwrap();
    }
}

#[test]
fn files_of_another_drive_are_refused() {
    let (ours, theirs) = (history(false).pop().unwrap(), history(false).pop().unwrap());
    for (file, blamed, reason) in [
        (DATA, DATA, "the data of another drive"),
        (STATE, JOURNAL, "the journal of another drive"),
        (JOURNAL, JOURNAL, "the journal of another drive"),
    ] {
        let storage = ours.copy();
        storage.take(&theirs, Path::new(file));
        refused(&storage, blamed, &[reason, "put the drive's own back"]);
    }
    // A copy of the data without its mark.
    let bare = FaultyStorage::default().without_marks();
    drop(on(&bare).unwrap());
    let storage = ours.copy();
    storage.take(&bare, Path::new(DATA));
    refused(
        &storage,
        DATA,
        &["does not have the mark of the drive", "setfattr -n user.wafer.drive -v '"],
    );
    // Where files cannot carry marks, only the length can be checked.
    on(&history(true).pop().unwrap()).unwrap();
}

/// Opens a drive after changing the value of a key.
fn with_key(path: &Path, key: &str, value: serde_json::Value) -> Result<Drive, DriveError> {
    let mut options = options(DataSpec::File(path.to_owned()));
    let mut config = serde_json::to_value(&options.device).unwrap();
    config[key] = value;
    options.device = serde_json::from_value(config).unwrap();
    with(&FaultyStorage::default(), options.clone(), &Arc::default()).unwrap();
    Drive::new(options)
}

#[test]
fn a_key_that_differs_from_what_the_drive_was_made_with_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.img");
    let drive = open(&path).unwrap();
    drive.delete_namespace(1).unwrap();
    drive.set_fdp(false).unwrap();
    drive.close().unwrap();
    drop(drive);
    // A host disabled FDP, which does not change the configuration at creation.
    assert!(!open(&path).unwrap().fdp_enabled());
    for (key, value, differs) in [
        ("fdp", false.into(), "fdp"),
        ("namespaces", serde_json::json!([{ "size": "32MiB" }]), "namespaces"),
        ("gc", serde_json::json!({ "policy": "fifo" }), "gc.policy"),
    ] {
        let said = with_key(&path, key, value).err().unwrap().to_string();
        let expected = format!("drive.img.state: this drive was made with another `{differs}`");
        assert!(said.ends_with(&expected), "{said}");
    }
}

#[test]
fn a_capture_onto_a_file_of_the_drive_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.img");
    let drive = open(&path).unwrap();
    drive.apply(0, &[wafer_interface::Command::write(0, 8, Placement(0))]).unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let mut names = vec![link, folder.path().join(".").join("drive.img")];
    names.extend([STATE, JOURNAL, NEW].map(|name| folder.path().join(name)));
    for name in names {
        let said = drive.record(&name).unwrap_err().to_string();
        assert!(said.ends_with(": this is a file of the drive; record to another"), "{said}");
    }
    drive.record(&folder.path().join("capture")).unwrap();
    drive.close().unwrap();
    drop(drive);
    open(&path).unwrap();
    let capture = std::fs::File::open(folder.path().join("capture")).unwrap();
    let capture = wafer_record::capture::CaptureReader::new(capture).unwrap();
    assert_eq!(capture.header().drive.as_ref().map(String::len), Some(36));
    assert_eq!(capture.header().earlier_media_bytes, 4096);
}

#[test]
fn a_capture_that_ends_early_is_an_error_at_the_end_too() {
    let storage = FaultyStorage::default();
    let drive = on(&storage).unwrap();
    drive.record(Path::new("capture")).unwrap();
    drive.apply(0, &commands(5000, 1)).unwrap();
    storage.limit_space(1000);
    let at_once = drive.maintain().unwrap_err().to_string();
    drive.maintain().unwrap();
    storage.limit_space(u64::MAX);
    let said = drive.close().unwrap_err().to_string();
    assert!(said.starts_with("the capture ends early: "), "{said}");
    assert_eq!(at_once, said);
    drop(drive);
    assert_eq!(on(&storage).unwrap().unsafe_shutdowns(), 0);
}

#[test]
fn an_older_state_file_version_is_refused() {
    let storage = history(false).pop().unwrap();
    storage.change(Path::new(STATE), |bytes| {
        bytes[8] = 4;
        let check = wafer_nvme::crc32c(&bytes[..28]).to_le_bytes();
        bytes[28..32].copy_from_slice(&check);
    });
    refused(&storage, STATE, &["written by another version of wafer; create the drive again"]);
}

#[test]
fn marks_are_extended_attributes_where_the_file_system_has_them() {
    use wafer_storage::{Files, Storage as _};
    let folder = tempfile::tempdir().unwrap();
    let file = Files.open(&folder.path().join("file")).unwrap();
    assert_eq!(file.mark().unwrap(), None);
    let kept = file.set_mark(b"a mark").unwrap();
    assert_eq!(file.mark().unwrap().as_deref(), kept.then_some(&b"a mark"[..]));
}
