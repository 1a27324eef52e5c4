//! `wafer validate` on a folder of one small experiment.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn validate(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wafer"))
        .args(["validate", "--experiments", folder.to_str().unwrap()])
        .args(arguments)
        .output()
        .unwrap()
}

/// Creates an experiment that hits its first figure and misses its second.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let here = std::env::current_dir().unwrap().join("tests/bad");
    let experiment = format!(
        "device = \"{0}/good.toml\"\nvolume = \"2x\"\ncompare = \"small.csv\"\n\n[workload]\n\
         fio = \"{0}/good.fio\"\n\n[validate]\nstanding = \"predicted\"\nvolumes = [1, 2]\n\
         tolerance_percent = [5, 5]\n",
        here.display()
    );
    std::fs::write(folder.path().join("small.toml"), experiment).unwrap();
    let reference = "# source = made up\nvolume,waf\n1,1.0\n2,9.0\n";
    std::fs::write(folder.path().join("small.csv"), reference).unwrap();
    folder
}

#[test]
fn misses_are_reported_and_fail_only_when_strict() {
    let folder = folder();
    let output = validate(folder.path(), &["--seeds", "2"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("spread") && text.contains("miss\n"), "{text}");
    assert!(text.contains("1 of 2 within tolerance, 1 not;"), "{text}");
    // Named twice, it runs once.
    let twice = validate(folder.path(), &["--seeds", "2", "small", "small"]);
    let twice = String::from_utf8(twice.stdout).unwrap();
    assert!(twice.contains("1 of 2 within tolerance, 1 not;"), "{twice}");

    let strict = validate(folder.path(), &["--strict", "--json", "-"]);
    assert_eq!(strict.status.code(), Some(1));
    let json: Value = serde_json::from_slice(&strict.stdout).unwrap();
    assert_eq!(json["schema"], "wafer.validate/1");
    let rows = json["curves"][0]["rows"].as_array().unwrap();
    assert_eq!((&rows[0]["ok"], &rows[1]["ok"]), (&Value::Bool(true), &Value::Bool(false)));
}

#[test]
fn the_document_keeps_what_people_wrote() {
    let folder = folder();
    let path = folder.path().join("validation.md");
    let markdown = ["--markdown", path.to_str().unwrap()];
    assert!(validate(folder.path(), &markdown).status.success());
    let made = std::fs::read_to_string(&path).unwrap();
    assert!(made.contains("| small/x1 | WAF at x1 |") && made.contains("**miss**"), "{made}");
    std::fs::write(&path, format!("{made}\nBy hand.\n")).unwrap();
    assert!(validate(folder.path(), &markdown).status.success());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{made}\nBy hand.\n"));

    let printed = validate(folder.path(), &["--markdown", "-"]);
    assert_eq!(String::from_utf8_lossy(&printed.stdout), made);

    std::fs::write(&path, "no marks\n").unwrap();
    let refused = validate(folder.path(), &markdown);
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "no marks\n");
}
