//! `wafer explain` on records with and without attribution.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn wafer(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wafer")).args(arguments).output().unwrap()
}

fn run(folder: &Path, name: &str, more: &[&str]) -> String {
    let path = folder.join(name).display().to_string();
    let mut arguments =
        vec!["run", "--device", "tests/bad/good.toml", "--fio", "tests/bad/good.fio"];
    arguments.extend(["--volume", "4x", "--json", &path]);
    arguments.extend(more);
    let output = wafer(&arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    path
}

#[test]
fn a_record_is_explained_in_words_and_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = run(folder.path(), "with.json", &["--attribution"]);
    let record: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let moved: u64 = record["attribution"]["relocated_bytes"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|row| row.as_array().unwrap())
        .map(|bytes| bytes.as_u64().unwrap())
        .sum();
    let page = record["provenance"]["geometry"]["page_bytes"].as_u64().unwrap();
    assert_eq!(moved, record["summary"]["relocated_pages"].as_u64().unwrap() * page);

    let text = String::from_utf8(wafer(&["explain", &path]).stdout).unwrap();
    assert!(text.contains("handle") && text.contains("\n- "), "{text}");
    let json: Value = serde_json::from_slice(&wafer(&["explain", "--json", &path]).stdout).unwrap();
    assert_eq!(json[0]["relocated_bytes"].as_u64().unwrap(), moved);
}

#[test]
fn what_cannot_be_explained_is_told_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let without = run(folder.path(), "without.json", &[]);
    let broken = folder.path().join("broken.json").display().to_string();
    std::fs::write(&broken, "{\n\"schema\": }").unwrap();
    for (path, told) in [(without, "--attribution"), (broken, "broken.json:2: ")] {
        let output = wafer(&["explain", &path]);
        assert_eq!(output.status.code(), Some(2));
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(told) && error.lines().count() == 1, "{error}");
    }
}
