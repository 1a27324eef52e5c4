//! `wafer explain` on records with and without attribution.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

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

/// A write buffer merges host writes into fewer pages than their bytes, while garbage collection still moves data.
#[test]
fn what_a_cache_unites_hides_no_relocation() {
    let folder = tempfile::tempdir().unwrap();
    let job = folder.path().join("two.fio");
    let text = "[global]\ntime_based\nruntime=1d\nnorandommap=1\nfdp=1\nrw=randwrite\nbs=4k\n\
                [hot]\nsize=8%\nrandom_distribution=zipf:1.4\nplids=0\n[cold]\noffset=10%\nsize=90%\nplids=1\n";
    std::fs::write(&job, text).unwrap();
    let (job, json) = (job.to_str().unwrap(), folder.path().join("r.json"));
    let mut arguments = vec!["run", "--device", "warp", "--volume", "8x", "--fio", job, "--json"];
    arguments.push(json.to_str().unwrap());
    for set in [
        "capacity=64MiB",
        "reclaim_unit.size=1MiB",
        "overprovisioning=0.6",
        "firmware.write_buffer=8MiB",
    ] {
        arguments.extend(["--set", set]);
    }
    let metrics = |arguments: &[&str]| -> Value {
        let output = wafer(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap()
    };
    let record = metrics(&arguments);
    let summary = |key: &str| record["summary"][key].as_u64().unwrap();
    let moved = summary("relocated_pages") * 4096;
    assert!(summary("media_bytes") < summary("host_bytes") && moved > summary("media_bytes") / 10);
    let text = wafer(&["explain", json.to_str().unwrap()]).stdout;
    let text = String::from_utf8(text).unwrap();
    assert!(!text.contains("little is relocated") && !text.contains("Handle 1"), "{text}");

    arguments.push("--attribution");
    let record = metrics(&arguments);
    let owners = record["attribution"]["owners"].as_array().unwrap().iter();
    for (owner, collected) in owners.zip(record["attribution"]["collected"].as_array().unwrap()) {
        let handle = &record["metrics"]["handles"][owner.as_str().unwrap()];
        assert_eq!(handle["moved_bytes"], collected["relocated_bytes"], "{owner}");
    }
}

/// Bytes of commands that continue where the previous one ended do not exceed those written.
#[test]
fn parts_of_pages_in_sequence_are_no_more_than_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let job = folder.path().join("seq.fio");
    std::fs::write(&job, "[s]\nrw=write\nbs=512\nsize=100%\ntime_based\nruntime=1d\n").unwrap();
    let mut arguments = vec!["run", "--device", "warp", "--volume", "1x", "--attribution"];
    arguments.extend(["--json", "-", "--fio", job.to_str().unwrap()]);
    for set in ["capacity=32MiB", "reclaim_unit.size=1MiB", "overprovisioning=0.9"] {
        arguments.extend(["--set", set]);
    }
    let record: Value = serde_json::from_slice(&wafer(&arguments).stdout).unwrap();
    let bytes = |key: &str| record["attribution"][key][0].as_u64().unwrap();
    let (sequential, host) = (bytes("sequential_bytes"), bytes("host_bytes"));
    assert!(sequential <= host && sequential > host * 9 / 10, "{sequential} of {host}");
}

/// Background GC moves data to handle 0 here, which no host writes.
#[test]
fn what_is_collected_adds_up_to_what_is_relocated() {
    let folder = tempfile::tempdir().unwrap();
    let job = folder.path().join("parts.fio");
    let text = "[w]\nrw=randrw\nbs=512\noffset=50%\nnorandommap=1\ntime_based\nruntime=1d\nfdp=1\nplids=2\n";
    std::fs::write(&job, text).unwrap();
    let mut arguments = vec!["run", "--device", "warp", "--volume", "1x", "--attribution"];
    arguments.extend(["--json", "-", "--fio", job.to_str().unwrap()]);
    for set in [
        "capacity=32MiB",
        "reclaim_unit.size=1MiB",
        "overprovisioning=0.9",
        "handles=4",
        "isolation=persistently",
        "gc.destination=writer",
    ] {
        arguments.extend(["--set", set]);
    }
    let record: Value = serde_json::from_slice(&wafer(&arguments).stdout).unwrap();
    let attribution = &record["attribution"];
    let collected = attribution["collected"].as_array().unwrap().iter();
    let collected: u64 = collected.map(|of| of["relocated_bytes"].as_u64().unwrap()).sum();
    let page = record["provenance"]["geometry"]["page_bytes"].as_u64().unwrap();
    assert_eq!(collected, record["summary"]["relocated_pages"].as_u64().unwrap() * page);
    assert_eq!(attribution["owners"].as_array().unwrap().len(), 2);
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
    // A record of version 0.1.0 has neither findings nor metrics: the same ones are computed.
    let mut old = record.clone();
    for key in ["findings", "metrics"] {
        old.as_object_mut().unwrap().remove(key);
    }
    std::fs::write(&path, old.to_string()).unwrap();
    let again: Value =
        serde_json::from_slice(&wafer(&["explain", "--json", &path]).stdout).unwrap();
    assert_eq!(json, again);
}

/// The causes of some of the runs would be no answer.
#[test]
fn an_interrupt_leaves_no_causes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.json").display().to_string();
    let job = folder.path().join("j.fio");
    std::fs::write(&job, "[j]\nrw=randwrite\nsize=100%\nnorandommap\ntime_based\nruntime=1d\n")
        .unwrap();
    let command = "run --device warp --set capacity=3GiB --set reclaim_unit.size=1MiB --set overprovisioning=0.1 \
                   --volume 10x";
    let arguments: Vec<&str> = command.split_whitespace().collect();
    let output =
        wafer(&[&arguments[..], &["--fio", job.to_str().unwrap(), "--json", &path]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let why = folder.path().join("why.json");
    // Background processes of a shell ignore SIGINT, and this one would too.
    let child = Command::new("env")
        .args([
            "--default-signal=INT",
            env!("CARGO_BIN_EXE_wafer"),
            "-q",
            "explain",
            &path,
            "--why",
        ])
        .args(["--threads", "1", "--json", why.to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    let arguments = ["-INT".to_owned(), child.id().to_string()];
    assert!(Command::new("kill").args(arguments).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!((text.as_str(), output.status.code()), ("error: interrupted\n", Some(130)));
    assert!(output.stdout.is_empty() && !why.exists());
}

#[test]
fn causes_are_found_by_running_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = run(folder.path(), "result.json", &[]);
    let why = folder.path().join("why.json").display().to_string();
    let output = wafer(&["explain", &path, "--why", "--json", &why]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let json: Value = serde_json::from_slice(&std::fs::read(&why).unwrap()).unwrap();
    let record: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(json["waf"], record["summary"]["waf"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for cause in json["causes"].as_array().unwrap() {
        assert!(cause["waf_without"].as_f64().unwrap() >= 1.0, "{cause}");
        assert!(text.contains(cause["cause"].as_str().unwrap()), "{text}");
        assert!(text.contains(cause["text"].as_str().unwrap()), "{text}");
    }
    // With two records, it is not clear enough which is the result to overwrite one.
    let before = std::fs::read(&path).unwrap();
    for (arguments, what) in [
        (vec!["explain", &path, "--json", &path], "explain onto itself"),
        (vec!["explain", "--json", &path, &path], "explain onto itself"),
        (vec!["explain", &path, &path, "--why"], "two records"),
    ] {
        let output = wafer(&arguments);
        assert_eq!(output.status.code(), Some(2), "{what}");
        assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1, "{what}");
        assert_eq!(std::fs::read(&path).unwrap(), before, "{what}");
    }
}

#[test]
fn causes_of_a_run_with_a_clock_are_found_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("timed.json").display().to_string();
    let small = ["--set", "capacity=1GiB", "--set", "reclaim_unit.size=4MiB"];
    let job = ["--fio", "tests/bad/good.fio", "--volume", "2x", "--json", &path];
    for (more, noted) in [(&["--time"][..], true), (&[], false)] {
        let run = [&["run", "--device", "pm9a3"], &small[..], &job[..], more].concat();
        let output = wafer(&run);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let record: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let waf = record["summary"]["waf"].as_f64().unwrap();
        let output = wafer(&["explain", &path, "--why"]);
        assert!(output.status.success());
        let text = String::from_utf8(output.stderr).unwrap();
        let note = format!("these runs have no clock; with one, WAF was {waf:.3}");
        assert_eq!(text.contains(&note), noted, "{text}");
    }
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

#[test]
fn what_firmware_adds_is_counted_and_explained() {
    let folder = tempfile::tempdir().unwrap();
    let set = |keys: &[&str]| -> Vec<String> {
        keys.iter().flat_map(|key| ["--set".to_owned(), (*key).to_owned()]).collect()
    };
    let keys = set(&["firmware.parity=15", "firmware.slc_cache=4MiB"]);
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let path = run(folder.path(), "firmware.json", &keys);
    let record = crate::schema::valid(&std::fs::read(&path).unwrap());
    let summary = &record["summary"];
    let count = |key: &str| summary[key].as_u64().unwrap();
    let page = record["provenance"]["geometry"]["page_bytes"].as_u64().unwrap();
    let pages = ["host_pages", "relocated_pages", "parity_pages", "cache_pages"].map(count);
    assert_eq!(count("media_bytes"), pages.iter().sum::<u64>() * page);
    assert!(pages.iter().all(|pages| *pages > 0), "{summary}");
    let text = String::from_utf8(wafer(&["explain", &path]).stdout).unwrap();
    assert!(text.contains("Parity adds ") && text.contains("The SLC cache adds "), "{text}");
}

#[test]
fn a_map_that_is_partly_in_flash_is_counted_and_explained() {
    let folder = tempfile::tempdir().unwrap();
    let path = run(folder.path(), "map.json", &["--set", "firmware.mapping_cache=16KiB"]);
    let record = crate::schema::valid(&std::fs::read(&path).unwrap());
    let (summary, geometry) = (&record["summary"], &record["provenance"]["geometry"]);
    let count = |key: &str| summary[key].as_u64().unwrap();
    let pages = ["host_pages", "relocated_pages", "map_pages"].map(count);
    let page = geometry["page_bytes"].as_u64().unwrap();
    assert_eq!(count("media_bytes"), pages.iter().sum::<u64>() * page);
    assert!(count("map_reads") > 0, "{summary}");
    let text = String::from_utf8(wafer(&["explain", &path]).stdout).unwrap();
    assert!(
        text.contains("The mapping table adds ") && text.contains("Memory holds 16 KiB of its"),
        "{text}"
    );
}

#[test]
fn a_run_with_a_clock_needs_the_times_of_an_slc_cache() {
    let small = ["capacity=1GiB", "--set", "reclaim_unit.size=4MiB", "--set"];
    let arguments = [&["run", "--device", "pm9a3", "--set"][..], &small].concat();
    for times in [&[][..], &["--set", "timing.slc_read_us=30"]] {
        let more = ["firmware.slc_cache=64MiB", "--fio", "tests/bad/good.fio", "--time"];
        let output = wafer(&[&arguments[..], &more[..], times, &["--json", "-"]].concat());
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains("needs `timing.slc_program_us` and `timing.slc_read_us`"), "{text}");
    }
}
