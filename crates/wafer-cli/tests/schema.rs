//! Every record that wafer writes is valid against `wafer schema record`.

use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;

static VALIDATOR: LazyLock<jsonschema::Validator> = LazyLock::new(|| {
    let output =
        Command::new(env!("CARGO_BIN_EXE_wafer")).args(["schema", "record"]).output().unwrap();
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
});

/// Reads a record, or an array of records, and checks each against the schema.
pub(crate) fn valid(text: &[u8]) -> Value {
    let value: Value = serde_json::from_slice(text).unwrap();
    let records = match &value {
        Value::Array(records) => records.iter().collect(),
        record => vec![record],
    };
    for record in records {
        let errors: Vec<String> = (VALIDATOR.iter_errors(record))
            .map(|e| format!("{}: {e}", e.instance_path()))
            .collect();
        assert_eq!(errors, [""; 0]);
    }
    value
}

#[test]
fn records_of_every_workload_are_valid_and_so_are_old_ones() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| -> Value {
        let output = Command::new(env!("CARGO_BIN_EXE_wafer"))
            .args(["--quiet", "run", "--json", "-"])
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        valid(&output.stdout)
    };
    let device =
        ["--device", "tests/bad/good.toml", "--fio", "tests/bad/good.fio", "--volume", "2x"];
    let both = run(&[&device[..], &["--seeds", "2", "--attribution"]].concat());
    assert_eq!(both.as_array().unwrap().len(), 2);
    let experiment = folder.path().join("model.toml");
    let text = "volume = \"1x\"\n[device]\ncapacity = \"1GiB\"\noverprovisioning = 0.28\n\
                reclaim_unit = { size = \"4MiB\" }\n[workload]\nmodel = \"jesd219a\"\n";
    std::fs::write(&experiment, text).unwrap();
    run(&[experiment.to_str().unwrap()]);
    // A record of version 0.1.0: without metrics, findings, kind, jobs and commands.
    let mut old = both[0].clone();
    for (pointer, keys) in [
        ("", &["metrics", "findings"][..]),
        ("/provenance", &["kind"]),
        ("/provenance/workload", &["jobs"]),
        ("/summary", &["commands", "rejected"]),
    ] {
        let object = old.pointer_mut(pointer).unwrap().as_object_mut().unwrap();
        keys.iter().for_each(|key| assert!(object.remove(*key).is_some(), "{key}"));
    }
    valid(old.to_string().as_bytes());
    let not = VALIDATOR.is_valid(&serde_json::json!({ "schema": "wafer.result/2" }));
    assert!(!not, "the schema refuses something");
}
