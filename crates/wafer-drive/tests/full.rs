//! A real file system that accepts no more data: a separate process with a file size limit.

use std::path::Path;
use std::process::Command;

use wafer_drive::Health;

use crate::{commands, open};

/// The environment variable that holds the folder of the limited process.
const FOLDER: &str = "WAFER_TEST_LIMITED_FOLDER";

/// Runs a test of this file again in a process whose files are limited to 2 MiB, and which gets errors instead of
/// signals.
fn limited(test: &str, folder: &Path) {
    let script = "trap '' XFSZ; ulimit -f 4096; [ $(ulimit -f) = 4096 ] && exec \"$@\"";
    let output = Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(FOLDER, folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("limited: done"), "{said}");
}

#[test]
fn a_drive_whose_journal_finds_no_space_is_not_made() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        let folder = Path::new(&folder);
        let refused = open(&folder.join("drive.img")).err().unwrap().to_string();
        assert!(refused.contains("drive.img.journal: "), "{refused}");
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
        eprintln!("limited: done");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    limited("full::a_drive_whose_journal_finds_no_space_is_not_made", folder.path());
}

#[test]
fn a_journal_that_cannot_be_written_is_an_error_and_no_signal() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        let path = Path::new(&folder).join("drive.img");
        let drive = open(&path).unwrap();
        let mut seed = 0;
        while drive.check_writable().is_ok() {
            let applied = drive.apply(0, &commands(20_000, seed));
            assert_eq!(applied, drive.check_writable(), "what it cannot record is not done");
            seed += 1;
            assert!(seed < 20, "2 MiB have an end");
        }
        assert!(matches!(drive.health(), Health::Failing { .. }));
        let told = drive.counters();
        assert!(drive.flush(0, None).is_err());
        let mut byte = [0];
        drive.namespace(1).unwrap().store.read(0, &mut byte).unwrap();
        // A checkpoint is small and needs no journal.
        std::thread::sleep(std::time::Duration::from_millis(1100));
        drive.maintain().unwrap();
        assert_eq!(drive.health(), Health::Saved);
        assert!(drive.counters().lifetime.host_bytes > told.lifetime.host_bytes);
        drive.close().unwrap();
        eprintln!("limited: done");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.img");
    open(&path).unwrap().close().unwrap();
    limited("full::a_journal_that_cannot_be_written_is_an_error_and_no_signal", folder.path());
    open(&path).unwrap();
}
