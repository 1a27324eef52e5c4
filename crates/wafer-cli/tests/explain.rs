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
    let record = crate::schema::valid(&std::fs::read(&path).unwrap());
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
fn a_record_without_attribution_is_explained_from_its_counters() {
    let folder = tempfile::tempdir().unwrap();
    let path = run(folder.path(), "without.json", &[]);
    let text = String::from_utf8(wafer(&["explain", &path]).stdout).unwrap();
    assert!(text.contains("--attribution") && text.contains("\n- WAF "), "{text}");
    let record = crate::schema::valid(&std::fs::read(&path).unwrap());
    let json: Value = serde_json::from_slice(&wafer(&["explain", "--json", &path]).stdout).unwrap();
    assert_eq!(json[0]["findings"], record["findings"]);
    // A record of version 0.1.0 has neither findings nor metrics: the same are computed.
    let mut old = record.clone();
    for key in ["findings", "metrics"] {
        old.as_object_mut().unwrap().remove(key);
    }
    std::fs::write(&path, old.to_string()).unwrap();
    let again: Value =
        serde_json::from_slice(&wafer(&["explain", "--json", &path]).stdout).unwrap();
    assert_eq!(json, again);
}

#[test]
fn a_broken_record_is_an_error_of_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("broken.json").display().to_string();
    std::fs::write(&broken, "{\n\"schema\": }").unwrap();
    let output = wafer(&["explain", &broken]);
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("broken.json:2: ") && error.lines().count() == 1, "{error}");
}
