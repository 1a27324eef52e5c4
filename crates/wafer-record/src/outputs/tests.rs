//! Refused outputs, and failed writes.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_failed_write_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    assert!(write_json(&folder.path().join("missing/result.json"), &1).is_err());
    let path = folder.path().join("result.json");
    write_json(&path, &[1, 2]).unwrap();
    let failed = write_file(&path, |file| {
        file.write_all(b"half")?;
        Err(io::Error::other("broken"))
    });
    assert_eq!(failed.unwrap_err().to_string(), path.display().to_string());
    let panicked = std::panic::catch_unwind(|| write_file(&path, |_| panic!("on purpose")));
    assert!(panicked.is_err());
    assert_eq!(names(folder.path()), ["result.json"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "[\n  1,\n  2\n]\n");
}

#[test]
fn links_stay_and_modes_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let [real, link, dangling] = ["real", "link", "dangling"].map(|n| folder.path().join(n));
    fs::write(&real, "old").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("real", &link).unwrap();
    symlink("later", &dangling).unwrap();
    write_text(&link, "new").unwrap();
    write_text(&dangling, "later").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::symlink_metadata(&dangling).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&real).unwrap(), "new");
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read_to_string(folder.path().join("later")).unwrap(), "later");
    let mode = fs::metadata(folder.path().join("later")).unwrap().permissions().mode();
    assert_eq!(mode & 0o600, 0o600);
}

#[test]
fn streams_are_written_to_and_devices_are_refused() {
    write_text(Path::new("/dev/null"), "gone").unwrap();
    let full = write_text(Path::new("/dev/full"), "x").unwrap_err();
    assert!(matches!(full, RecordError::Io { .. }), "{full:?}");
    for device in ["/dev/zero", "/dev/random"] {
        let error = write_text(Path::new(device), "x").unwrap_err();
        assert_eq!(error.to_string(), format!("{device}: is a device or a socket, not a file"));
        assert!(fs::metadata(device).unwrap().file_type().is_char_device());
    }
    let folder = tempfile::tempdir().unwrap();
    assert!(write_text(folder.path(), "x").unwrap_err().to_string().ends_with("is a folder"));
    assert!(write_text(Path::new(""), "x").is_err());
    let missing = write_text(&folder.path().join("none/x"), "x").unwrap_err();
    let cause = std::error::Error::source(&missing).unwrap().to_string();
    assert_eq!(cause, "No such file or directory (os error 2)");
}

#[test]
fn a_file_is_known_by_any_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a"), "").unwrap();
    symlink("a", path("symbolic")).unwrap();
    symlink("new", path("dangling")).unwrap();
    fs::hard_link(path("a"), path("hard")).unwrap();
    fs::create_dir(path("sub")).unwrap();
    for name in ["a", "./a", "sub/../a", "symbolic", "hard"] {
        let mut outputs = Outputs::default();
        outputs.input(&path("a"));
        let error = outputs.output(&path(name)).unwrap_err().to_string();
        assert!(error.ends_with("is also an input, which the output would overwrite"), "{error}");
    }
    fs::write(path("b.json"), "").unwrap();
    let mut outputs = Outputs::default();
    outputs.input(folder.path());
    assert!(outputs.output(&path("b.json")).is_err(), "a record of a folder that is read");
    outputs.output(&path("report.html")).unwrap();
    let mut outputs = Outputs::default();
    outputs.output(&path("new")).unwrap();
    for name in ["new", "./sub/../new", "dangling"] {
        let error = outputs.output(&path(name)).unwrap_err().to_string();
        assert!(error.ends_with("is another output too"), "{error}");
    }
    outputs.output(Path::new("/dev/null")).unwrap();
    outputs.output(Path::new("/dev/null")).unwrap();
    let error = outputs.output(&path("none/x")).unwrap_err().to_string();
    assert!(error.contains("no folder"), "{error}");
}
