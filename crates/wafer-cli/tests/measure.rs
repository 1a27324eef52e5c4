//! `wafer measure` and `wafer report` with a shell script as nvme-cli.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Creates a drive: each FDP statistics call returns the next line of `readings`, the last forever.
fn drive(folder: &Path, readings: &str) -> String {
    std::fs::write(folder.join("readings"), readings).unwrap();
    let script = format!(
        r#"#!/bin/sh
cd '{}' || exit 9
case "$1 $2" in
"version "*) echo "nvme version 2.13 (fake)";;
"id-ctrl "*) echo '{{"mn":"FAKE FDP    ","sn":"S1","fr":"1.0","tnvmcap":1000000000}}';;
"fdp stats")
    [ "$*" = "fdp stats /dev/nvme9 -e 1 -o json" ] || {{ echo "bad call: $*" >&2; exit 1; }}
    n=$(cat count 2>/dev/null || echo 0); n=$((n + 1)); echo $n > new; mv new count
    line=$(sed -n "${{n}}p" readings); [ -n "$line" ] || line=$(tail -n 1 readings)
    [ "$line" != hang ] || exec sleep 60
    [ "$line" != fail ] || {{ echo "NVMe status: Internal Error" >&2; exit 1; }}
    set -- $line
    echo "{{\"hbmw\":$1,\"mbmw\":$2,\"mbe\":$3}}";;
*) echo "no such log" >&2; exit 1;;
esac
"#,
        folder.display()
    );
    let path = folder.join("nvme").display().to_string();
    // By another process: if the file were open for writing here, a test that forks would keep it busy.
    let install = "printf %s \"$1\" >\"$0\" && chmod 755 \"$0\"";
    assert!(Command::new("sh").args(["-c", install, &path, &script]).status().unwrap().success());
    path
}

fn wafer(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wafer")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_command_is_measured_with_missed_readings_and_a_reset() {
    let folder = tempfile::tempdir().unwrap();
    let nvme = drive(
        folder.path(),
        "1000000 2000000 0\n2000000 5000000 100\nfail\n4000000 9000000 200\n500000 600000 0\n",
    );
    let json = folder.path().join("r.json").display().to_string();
    let html = folder.path().join("r.html").display().to_string();
    let output = wafer(&[
        "measure",
        "/dev/nvme9",
        "--interval",
        "50ms",
        "--nvme-cli",
        &nvme,
        "--json",
        &json,
        "--report",
        &html,
        "--",
        "sh",
        "-c",
        // Until the fifth reading was taken.
        &format!(
            "while [ $(cat {0}/count) -lt 5 ]; do sleep 0.02; done; echo done",
            folder.path().display()
        ),
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let stdout = text(&output.stdout);
    assert!(
        stdout.starts_with("done\nnvme9-sh, /dev/nvme9 (FAKE FDP), FDP statistics\n"),
        "{stdout}"
    );
    let stderr = text(&output.stderr);
    assert!(stderr.contains("missed a reading"), "{stderr}");
    assert!(stderr.contains("the counters were reset"), "{stderr}");
    assert!(stderr.contains("cumulative  instantaneous  clamped"), "{stderr}");

    let record: serde_json::Value = crate::schema::valid(&std::fs::read(&json).unwrap());
    assert_eq!(record["schema"], "wafer.result/1");
    // 3,000,000 before the reset, 500,000 after; media 7,000,000 and 600,000.
    assert_eq!(record["summary"]["host_bytes"], 3_500_000);
    assert_eq!(record["summary"]["media_bytes"], 7_600_000);
    let measured = &record["provenance"]["measured"];
    assert_eq!((&measured["missed"], &measured["wraps"]), (&1.into(), &0.into()));
    assert_eq!(measured["resets"].as_array().unwrap().len(), 1);
    assert_eq!((&measured["model"], &measured["exit_status"]), (&"FAKE FDP".into(), &0.into()));
    assert_eq!(record["timeline"]["host_bytes"][0], 1_000_000);
    assert_eq!(record["timeline"]["media_bytes"][1], 7_000_000);

    let page = std::fs::read_to_string(&html).unwrap();
    assert!(page.starts_with("<!doctype html>"));
    let again = folder.path().join("again.html").display().to_string();
    let done = wafer(&["report", &json, "-o", &again]);
    assert!(done.status.success());
    assert!(String::from_utf8_lossy(&done.stderr).contains(": 1 run, "), "{done:?}");
    assert_eq!(page, std::fs::read_to_string(&again).unwrap());
}

#[test]
fn the_record_is_written_when_the_command_fails() {
    let folder = tempfile::tempdir().unwrap();
    let nvme = drive(folder.path(), "0 0 0\n10 30 0\n");
    let output = wafer(&[
        "--quiet",
        "measure",
        "/dev/nvme9",
        "--nvme-cli",
        &nvme,
        "--json",
        "-",
        "--",
        "sh",
        "-c",
        "exit 3",
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).ends_with("`sh -c exit 3`: exit status: 3\n"));
    let record = crate::schema::valid(&output.stdout);
    assert_eq!(
        (&record["summary"]["waf"], &record["summary"]["erased_bytes"]),
        (&3.0.into(), &0.into())
    );
}

#[test]
fn what_cannot_be_measured_is_told_before_the_command_runs() {
    let folder = tempfile::tempdir().unwrap();
    let nvme = drive(folder.path(), "fail\n");
    let mark = folder.path().join("ran").display().to_string();
    let output = wafer(&["measure", "/dev/nvme9", "--nvme-cli", &nvme, "--", "touch", &mark]);
    assert_eq!(output.status.code(), Some(2));
    let stderr = text(&output.stderr);
    assert!(stderr.starts_with("error: /dev/nvme9: FDP statistics: "), "{stderr}");
    assert_eq!(stderr.lines().count(), 1);
    assert!(!Path::new(&mark).exists());
    let output = wafer(&["measure", "/dev/nvme9", "--nvme-cli", "/nonexistent/nvme"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("install nvme-cli"));
}

#[test]
fn a_time_limit_ends_a_measurement_without_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let nvme = drive(folder.path(), "0 0 0\n4096 4096 0\n");
    let output = wafer(&[
        "measure",
        "/dev/nvme9",
        "--nvme-cli",
        &nvme,
        "--for",
        "120ms",
        "--interval",
        "40ms",
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("1.000"));
}

#[test]
fn a_second_interrupt_gives_up_the_last_reading_and_keeps_the_record() {
    let folder = tempfile::tempdir().unwrap();
    let nvme = drive(folder.path(), "0 0 0\n4096 8192 0\nhang\n");
    let child = Command::new(env!("CARGO_BIN_EXE_wafer"))
        .args(["measure", "/dev/nvme9", "--nvme-cli", &nvme, "--interval", "40ms", "--json", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let count = folder.path().join("count");
    while !std::fs::read_to_string(&count).is_ok_and(|n| n.trim() == "3") {
        std::thread::sleep(Duration::from_millis(20));
    }
    for _ in 0..2 {
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        std::thread::sleep(Duration::from_millis(100));
    }
    let output = child.wait_with_output().unwrap();
    let errors = text(&output.stderr);
    assert!(output.status.success(), "{:?} {errors}", output.status);
    assert!(errors.contains("the last reading failed"), "{errors}");
    let record = crate::schema::valid(&output.stdout);
    assert_eq!(record["summary"]["host_bytes"], 4096);
}

#[test]
fn interrupts_end_a_command_that_does_not_end_itself() {
    let folder = tempfile::tempdir().unwrap();
    let nvme = drive(folder.path(), "0 0 0\n4096 8192 0\n");
    let number = folder.path().join("number");
    let script = format!("echo $$ >{}; exec sleep 60 >/dev/null 2>&1", number.display());
    let measure =
        ["measure", "/dev/nvme9", "--nvme-cli", &nvme, "--interval", "40ms", "--json", "-"];
    let start = |more: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_wafer"))
            .args(measure)
            .args(more)
            .args(["--", "sh", "-c", &script])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let child = start(&[]);
    let command = loop {
        match std::fs::read_to_string(&number).map(|text| text.trim().to_owned()) {
            Ok(command) if !command.is_empty() => break command,
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let is_running = || Path::new("/proc").join(&command).join("cwd").exists();
    let count = || std::fs::read_to_string(folder.path().join("count")).unwrap_or_default();
    while count().trim().parse::<u32>().is_ok_and(|readings| readings < 2) {
        std::thread::sleep(Duration::from_millis(20));
    }
    for _ in 0..2 {
        assert!(is_running());
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        std::thread::sleep(Duration::from_millis(100));
    }
    let output = child.wait_with_output().unwrap();
    let errors = text(&output.stderr);
    assert!(errors.contains("` did not end and was terminated"), "{errors}");
    crate::schema::valid(&output.stdout);
    assert!(!is_running());

    // At the end of the time, the command goes on.
    std::fs::remove_file(&number).unwrap();
    let output = start(&["--for", "300ms"]).wait_with_output().unwrap();
    let command = std::fs::read_to_string(&number).unwrap().trim().to_owned();
    let errors = text(&output.stderr);
    assert!(errors.contains(&format!("still runs, as process {command}")), "{errors}");
    assert!(Command::new("kill").arg(&command).status().unwrap().success());
}

#[test]
fn a_last_reading_that_steps_back_is_tried_again() {
    let measured = |readings: &str| {
        let folder = tempfile::tempdir().unwrap();
        let nvme = drive(folder.path(), readings);
        let output =
            wafer(&["measure", "/dev/nvme9", "--nvme-cli", &nvme, "--json", "-", "--", "true"]);
        let summary = || crate::schema::valid(&output.stdout)["summary"].clone();
        let bytes = output.status.success().then(|| summary()["host_bytes"].as_u64().unwrap());
        (bytes, text(&output.stderr))
    };
    let (bytes, _) = measured("1000000 2000000 0\n995000 2000500 0\n1000100 2001000 0\n");
    assert_eq!(bytes, Some(100));
    let (bytes, errors) = measured("1000000 2000000 0\n995000 2000000 0\n");
    assert!(bytes.is_none() && errors.contains("no reading succeeded after the first"), "{errors}");
}
