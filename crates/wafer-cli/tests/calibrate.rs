//! `wafer devices from-datasheet` and `wafer calibrate`, from the data sheet to a run.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn wafer(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wafer")).args(arguments).current_dir(folder).output().unwrap()
}

fn json(output: &Output) -> serde_json::Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_data_sheet_becomes_a_fitted_drive_that_runs() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let sheet = "devices from-datasheet --capacity 960GB --seq-read 6500MB/s --seq-write 1500MB/s \
                 --rand-read 580000 --rand-write 70000 -o mine.toml --json";
    let sheet = json(&wafer(folder, &sheet.split_whitespace().collect::<Vec<_>>()));
    assert_eq!(sheet["file"], "mine.toml");
    assert!(sheet["lines"].as_array().unwrap().iter().all(|line| line["basis"].is_string()));

    // Without reads, their parameters are unchanged, and nothing is searched.
    fs::write(folder.join("measured.csv"), "writes_per_s,write_mean_us\n10000,20\n40000,21\n")
        .unwrap();
    let calibrate =
        ["calibrate", "--device", "mine.toml", "--timing", "measured.csv", "--hold-out", "1"];
    let fit = wafer(folder, &[&calibrate[..], &["-o", "fitted.toml", "--json"]].concat());
    let fit = json(&fit);
    let parameter = |key: &str| {
        let all = fit["parameters"].as_array().unwrap();
        all.iter().find(|parameter| parameter["key"] == key).unwrap().clone()
    };
    assert_eq!(parameter("write_overhead_us")["identified"], true);
    assert_eq!(parameter("slice_us")["identified"], false);
    let roles: Vec<&str> =
        fit["rows"].as_array().unwrap().iter().map(|row| row["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["fitted", "predicted"]);

    let text = fs::read_to_string(folder.join("fitted.toml")).unwrap();
    let other = |text: &str| -> Vec<String> {
        let kept = text.lines().filter(|line| !line.starts_with("write_overhead_us"));
        kept.map(str::to_owned).collect()
    };
    let mine = fs::read_to_string(folder.join("mine.toml")).unwrap();
    assert_eq!(other(&text)[1..], other(&mine), "one line above, one line changed");
    let again = wafer(folder, &[&calibrate[..], &["-o", "-"]].concat());
    assert_eq!(String::from_utf8(again.stdout).unwrap(), text, "the same again");

    fs::write(folder.join("job.fio"), "[w]\nrw=randwrite\nbs=4k\nsize=5%\n").unwrap();
    let run = "run --device fitted.toml --set capacity=1GB --set reclaim_unit.size=1MiB --fio job.fio --time --json -";
    let run = json(&wafer(folder, &run.split_whitespace().collect::<Vec<_>>()));
    let mean = run["time"]["write"]["mean_us"].as_f64().unwrap();
    assert!(mean > 19.0, "{mean}");
}

/// Nothing is written before the end, and no other message is printed.
#[test]
fn an_interrupted_fit_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let rows: String = (1..=50).map(|i| format!("{},90\n", 1000 * i)).collect();
    fs::write(folder.join("rows.csv"), format!("writes_per_s,read_mean_us\n{rows}")).unwrap();
    // Background processes of a shell ignore SIGINT, and this one would too.
    let child = Command::new("env")
        .args(["--default-signal=INT", env!("CARGO_BIN_EXE_wafer"), "-q", "calibrate"])
        .args(["--device", "pm9a3", "--timing", "rows.csv", "-o", "out.toml"])
        .current_dir(folder)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(2));
    let arguments = ["-INT".to_owned(), child.id().to_string()];
    assert!(Command::new("kill").args(arguments).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!((text.as_str(), output.status.code()), ("error: interrupted\n", Some(130)));
    assert!(!folder.join("out.toml").exists());
}
