//! Runs of the binary: records, determinism, and the files left by a stopped run.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

const DEVICE: &str = "tests/bad/good.toml";
const JOB: &str = "tests/bad/good.fio";

fn wafer(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wafer")).args(arguments).output().unwrap()
}

fn good(more: &[&str]) -> Output {
    let mut arguments = vec!["run", "--device", DEVICE, "--fio", JOB, "--volume", "2x"];
    arguments.extend(more);
    wafer(&arguments)
}

fn record(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    crate::schema::valid(&output.stdout)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_record_has_what_the_contract_says() {
    let record = record(&good(&["--samples", "10", "--seed", "3", "--json", "-"]));
    assert_eq!(record["schema"], "wafer.result/1");
    for key in ["version", "git", "config", "seed", "started", "host"] {
        assert!(!record["provenance"][key].is_null(), "{key}");
    }
    assert_eq!(record["provenance"]["seed"], 3);
    assert_eq!(record["provenance"]["config"]["capacity"], "4GiB");
    let summary = &record["summary"];
    assert_eq!(summary["host_bytes"], 8u64 << 30);
    for key in ["media_bytes", "erased_bytes"] {
        assert!(summary[key].is_u64(), "{key}");
    }
    let waf = summary["media_bytes"].as_f64().unwrap() / summary["host_bytes"].as_f64().unwrap();
    assert!((summary["waf"].as_f64().unwrap() - waf).abs() < 1e-12);
    let timeline = &record["timeline"];
    for series in [timeline, &timeline["handles"]["0"], &timeline["handles"]["gc"]] {
        assert_eq!(series["host_bytes"].as_array().unwrap().len(), 10);
        assert_eq!(series["media_bytes"].as_array().unwrap().len(), 10);
    }
    assert_eq!(timeline["handles"].as_object().unwrap().len(), 2);
    for key in ["wall_seconds", "host_pages_per_second", "media_pages_per_second", "peak_rss_bytes"]
    {
        assert!(record["performance"][key].as_f64().unwrap() > 0.0, "{key}");
    }
}

#[test]
fn the_same_seed_gives_the_same_record_whatever_the_threads() {
    let digests = |threads: &str| -> Vec<String> {
        let output = good(&["--seeds", "3", "--threads", threads, "--json", "-"]);
        let records = record(&output);
        records
            .as_array()
            .unwrap()
            .iter()
            .map(|r| r["digest"].as_str().unwrap().to_owned())
            .collect()
    };
    let one = digests("1");
    assert_eq!(one, digests("2"));
    assert_ne!(one[0], one[1]);
}

#[test]
fn several_runs_give_a_file_each_or_an_array() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    assert!(good(&["--seeds", "2", "--json", path]).status.success());
    assert_eq!(names(folder.path()), ["good-good-seed0.json", "good-good-seed1.json"]);
    let array = folder.path().join("all.json");
    assert!(good(&["--seeds", "2", "--json", array.to_str().unwrap()]).status.success());
    let records: Value = crate::schema::valid(&std::fs::read(&array).unwrap());
    assert_eq!(records.as_array().unwrap().len(), 2);
}

#[test]
fn an_experiment_file_is_the_options_in_one_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("e.toml");
    let here = std::env::current_dir().unwrap();
    let text = format!(
        "volume = \"2x\"\nseed = 5\nsamples = 7\n\n[device]\nprofile = \"{0}/{DEVICE}\"\n\
         overprovisioning = 0.2\n\n[workload]\nfio = \"{0}/{JOB}\"\n",
        here.display()
    );
    std::fs::write(&path, text).unwrap();
    let of_file = record(&wafer(&["run", path.to_str().unwrap(), "--json", "-"]));
    let options = ["--set", "overprovisioning=0.2", "--seed", "5", "--samples", "7", "--json", "-"];
    let of_options = record(&good(&options));
    assert_eq!(of_file["digest"], of_options["digest"]);
    assert_eq!(of_file["timeline"]["host_bytes"].as_array().unwrap().len(), 7);
}

#[test]
fn stdout_carries_only_what_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.json");
    let output = good(&["--json", path.to_str().unwrap()]);
    assert!(output.status.success() && output.stdout.is_empty());
    assert_eq!(names(folder.path()), ["r.json"]);
    let both = good(&["--json", path.to_str().unwrap(), "--table"]);
    let json: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(json["schema"], "wafer.result/1");
    assert!(String::from_utf8(both.stdout).unwrap().contains("WAF"));
    assert_eq!(good(&["--json", "-", "--table"]).status.code(), Some(2));
    let text = String::from_utf8(good(&[]).stdout).unwrap();
    assert!(text.contains("WAF") && !text.contains('\u{1b}'), "{text}");
    let fio = ["--device", "pm9a3", "--set", "capacity=64MiB", "--set", "reclaim_unit.size=1MiB"];
    let fio = [&["run", "--time", "--fio", JOB, "--volume", "1MiB", "--fio-json", "-"], &fio[..]]
        .concat();
    let output = wafer(&fio);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(json["jobs"].is_array(), "{json}");
    assert_eq!(wafer(&[&fio[..], &["--table"]].concat()).status.code(), Some(2));
}

#[test]
fn several_runs_with_a_clock_have_a_table_of_latencies() {
    let small = ["--set", "capacity=4GiB", "--set", "reclaim_unit.size=8MiB"];
    let run =
        ["run", "--device", "pm9a3", "--fio", JOB, "--volume", "1MiB", "--time", "--seeds", "2"];
    let output = wafer(&[&run[..], &small].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines().skip_while(|line| !line.starts_with("run "));
    assert!(lines.next().is_some_and(|header| header.contains("IOPS") && header.contains("p99.9")));
    for seed in 0..2 {
        let start = format!("pm9a3-good, seed {seed}  write ");
        assert!(lines.next().is_some_and(|line| line.starts_with(&start)), "{text}");
    }
    assert!(!String::from_utf8(good(&["--seeds", "2"]).stdout).unwrap().contains("IOPS"));
}

#[test]
fn a_run_ends_where_the_drive_becomes_read_only() {
    let worn = ["--set", "firmware.retire_after=5", "--json", "-"];
    let ended = |device: &str, more: &[&str], volume: &str| -> Value {
        let mut arguments = vec!["run", "--device", device, "--fio", JOB, "--volume", volume];
        arguments.extend(worn.iter().chain(more));
        record(&wafer(&arguments))
    };
    let timed = ["--time", "--set", "capacity=4GiB", "--set", "reclaim_unit.size=8MiB"];
    let findings = |record: &Value| record["findings"].to_string();
    for (device, more) in [(DEVICE, &[][..]), ("pm9a3", &timed)] {
        let record = ended(device, more, "40x");
        let host = record["summary"]["host_bytes"].as_u64().unwrap();
        assert!(host > 4 << 30 && host < 40 << 30, "{device}: {host}");
        assert_eq!(record["summary"]["wear"]["read_only"], true, "{device}");
        assert!(findings(&record).contains("The drive became read-only after"), "{device}");
        let last = record["timeline"]["host_bytes"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(last, host, "{device}: the timeline ends where the run does");
        // At the exact command, however many samples are taken.
        let few = ended(device, &[more, &["--samples", "7"]].concat(), "40x");
        assert_eq!(few["summary"], record["summary"], "{device}");
        assert_eq!(record["summary"]["rejected"], 0, "{device}");
        // With half of that volume, the drive survives.
        let half = (host / 2).to_string() + "B";
        let lives = ended(device, more, &half);
        assert!(lives["summary"]["wear"]["read_only"].is_null(), "{device}");
        assert!(!findings(&lives).contains("read-only"), "{device}");
    }
    // A drive that does not survive its preparation has no run, and no record.
    let prepared =
        good(&["--set", "firmware.retire_after=1", "--precondition", "random:9", "--json", "-"]);
    let message = String::from_utf8(prepared.stderr).unwrap();
    assert_eq!(prepared.status.code(), Some(1));
    assert!(
        prepared.stdout.is_empty()
            && message.contains("before the run begins, the drive is read-only"),
        "{message}"
    );
}

/// The handle's bytes are part of the host's; without it the handles would not add up to them.
#[test]
fn a_handle_whose_writes_stay_in_the_buffer_is_in_the_record() {
    let folder = tempfile::tempdir().unwrap();
    let job = folder.path().join("small.fio");
    std::fs::write(&job, "[w]\nrw=randwrite\nbs=4k\nsize=4m\ntime_based\nruntime=1d\n").unwrap();
    let buffered = ["--set", "firmware.write_buffer=8MiB", "--volume", "64MiB", "--json", "-"];
    let arguments = ["run", "--device", DEVICE, "--fio", job.to_str().unwrap()];
    let record = record(&wafer(&[&arguments[..], &buffered].concat()));
    assert_eq!(record["summary"]["media_bytes"], 0);
    let host = &record["timeline"]["handles"]["0"]["host_bytes"];
    assert_eq!(host.as_array().unwrap().last().unwrap(), &record["summary"]["host_bytes"]);
}

#[test]
fn a_failed_or_refused_run_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.json");
    let output = good(&["--set", "gc.policy=gredy", "--json", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1);
    assert!(names(folder.path()).is_empty());
}

#[test]
fn experiments_of_the_same_name_are_not_averaged() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, spare: &str, seed: u64| {
        let (under, job) = (folder.path().join(name), std::path::absolute(JOB).unwrap());
        std::fs::create_dir(&under).unwrap();
        let device = std::path::absolute(DEVICE).unwrap();
        let text = format!(
            "volume = \"2x\"\nseed = {seed}\ndevice = {{ profile = {device:?}, overprovisioning = {spare} }}\n\
             workload = {{ fio = {job:?} }}\n"
        );
        std::fs::write(under.join("run.toml"), text).unwrap();
        under.join("run.toml").to_str().unwrap().to_owned()
    };
    let (small, large) = (file("small", "0.1", 0), file("large", "0.4", 0));
    let table = |more: &[&str]| {
        let output = wafer(&[&["run", &small, &large], more].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(!table(&[]).contains("mean WAF"), "{}", table(&[]));
    let several = table(&["--seeds", "2"]);
    let spread = several.split_once("mean WAF").unwrap().1;
    let rows: Vec<Vec<&str>> =
        spread.lines().skip(1).map(|l| l.split_whitespace().collect()).collect();
    let rows: Vec<&Vec<&str>> = rows.iter().filter(|row| row.len() == 5).collect();
    assert_eq!(rows.len(), 2, "{several}");
    assert!(
        rows.iter().all(|row| row[..2] == ["run", "2"]) && rows[0][2] != rows[1][2],
        "{several}"
    );
}

#[test]
fn advice_on_an_experiment_has_its_pace() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("paced.toml");
    let [device, job] = [DEVICE, JOB].map(|path| std::path::absolute(path).unwrap());
    let text =
        format!("device = {device:?}\nworkload = {{ fio = {job:?} }}\npace = \"ghost=0.5\"\n");
    std::fs::write(&file, text).unwrap();
    let output = wafer(&["advise", "--experiment", file.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("ghost"), "{said}");
}

#[test]
fn each_failed_run_of_several_is_named() {
    let output = good(&["--precondition", "load", "--seeds", "2"]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    let errors: Vec<&str> = text.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(errors.len(), 2, "{text}");
    for (seed, line) in errors.iter().enumerate() {
        let name = format!(", seed {seed}: precondition: `load`: the workload has nothing to load");
        assert!(line.contains(&name), "{text}");
    }
}

#[test]
fn outputs_that_cannot_be_are_refused_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let here = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(here("file"), "").unwrap();
    std::fs::create_dir(here("records")).unwrap();
    let refused = |output: Output, text: &str| {
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(text) && error.lines().count() == 1, "{error}");
        assert_eq!(output.status.code(), Some(2));
    };
    for records in ["records", "new/"] {
        refused(good(&["--json", &here(records), "--name", "../out"]), "`../out`");
    }
    refused(good(&["--time", "--json", "-", "--fio-json", "-"]), "stdout takes one output");
    let advise = ["advise", "--fio", JOB, "--device", DEVICE, "--volume", "2x", "--out"];
    refused(wafer(&[&advise[..], &[&here("file")]].concat()), "--out");
    assert_eq!(names(folder.path()), ["file", "records"]);
    assert!(names(&folder.path().join("records")).is_empty());
}

#[test]
fn comparisons_tell_which_policy_wears_a_drive_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("worn.toml");
    let job = std::fs::canonicalize(JOB).unwrap();
    let device = "profile = \"warp\", capacity = \"64MiB\", reclaim_unit.size = \"1MiB\", \
                  overprovisioning = 0.5, firmware.retire_after = 5";
    let text = format!(
        "volume = \"20x\"\ndevice = {{ {device} }}\nworkload.fio = \"{}\"\n",
        job.display()
    );
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap();
    let output = wafer(&["compare", "greedy", "fifo", "--seeds", "1", "--workloads", path]);
    let error = String::from_utf8_lossy(&output.stderr);
    let told: Vec<_> = error.lines().filter(|line| line.contains("became read-only")).collect();
    assert_eq!(told.len(), 2, "{error}");
    for (line, policy) in told.iter().zip(["greedy", "fifo"]) {
        assert!(line.contains(&format!("{policy}: worn: the drive")), "{line}");
    }
}

#[test]
fn a_comparison_names_the_runs_that_fail_and_ranks_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let job = std::fs::canonicalize(JOB).unwrap();
    let device = "profile = \"warp\", capacity = \"64MiB\", reclaim_unit.size = \"1MiB\", overprovisioning = 0.5";
    let mut paths = Vec::new();
    for (name, precondition) in [("loads", "load"), ("fills", "sequential")] {
        let path = folder.path().join(format!("{name}.toml"));
        let text = format!(
            "volume = \"2x\"\nprecondition = \"{precondition}\"\ndevice = {{ {device} }}\nworkload.fio = \"{}\"\n",
            job.display()
        );
        std::fs::write(&path, text).unwrap();
        paths.push(path.to_str().unwrap().to_owned());
    }
    let compare = ["compare", "greedy", "fifo", "--seeds", "2", "--workloads"];
    let run = |paths: &[String]| {
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let output = wafer(&[&compare[..], &paths].concat());
        assert_eq!(output.status.code(), Some(2));
        let [errors, table] =
            [output.stderr, output.stdout].map(|it| String::from_utf8(it).unwrap());
        let errors: Vec<&str> = errors.lines().filter(|line| line.starts_with("error: ")).collect();
        assert_eq!(errors.len(), 4, "{errors:?}");
        for (line, run) in errors.iter().zip(["greedy, seed 0", "greedy, seed 1", "fifo, seed 0"]) {
            assert!(line.contains(&format!("loads, {run}: precondition: `load`")), "{line}");
        }
        table
    };
    assert_eq!(run(&paths[..1]), "");
    let table = run(&paths);
    assert!(table.contains("fills") && !table.contains("loads"), "{table}");
}

#[test]
fn options_of_a_job_that_take_no_time_here_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("waits.fio");
    let text = "[j]\nrw=randwrite\niodepth=4\nsize=1m\nwrite_barrier=8\nend_syncfs=1\nverify=crc32c\nmax_latency=1s\nrefill_buffers\n";
    std::fs::write(&path, text).unwrap();
    let notes = |more: &[&str]| {
        let run = ["run", "--device", "pm9a3", "--set", "reclaim_unit.size=16MiB", "--fio"];
        let output = wafer(&[&run[..], &[path.to_str().unwrap(), "--json", "-"], more].concat());
        record(&output);
        String::from_utf8(output.stderr).unwrap()
    };
    let timed = notes(&["--time"]);
    assert!(
        timed.contains("not simulated: write_barrier, end_syncfs, verify, max_latency\n"),
        "{timed}"
    );
    assert!(timed.contains("no effect on bytes or time: refill_buffers\n"), "{timed}");
    assert!(timed.contains("job j sets no ioengine and keeps its iodepth"), "{timed}");
    let untimed = notes(&[]);
    assert!(!untimed.contains("not simulated") && !untimed.contains("ioengine"), "{untimed}");
    let all = "no effect on what is written: write_barrier, end_syncfs, verify, max_latency, refill_buffers\n";
    assert!(untimed.contains(all), "{untimed}");
}

#[test]
fn traces_that_cannot_be_read_twice_or_have_no_times_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let lines = |time: fn(u64) -> String| -> String {
        (0..500).map(|i| format!("0,{},4096,W,{}\n", i * 8, time(i))).collect()
    };
    std::fs::write(path("times.csv"), lines(|i| format!("{}", i as f64 / 1000.0))).unwrap();
    std::fs::write(path("none.csv"), lines(|_| "0".to_owned())).unwrap();
    let cat = |arguments: &str| {
        let command =
            format!("cat {} | {} {arguments}", path("times.csv"), env!("CARGO_BIN_EXE_wafer"));
        let output = Command::new("sh").args(["-c", &command]).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let options = "--device pm9a3 --trace-set format=spc --trace /dev/stdin";
    for command in [
        format!("run {options}"),
        "advise --device pm9a3 --trace-set format=spc /dev/stdin".to_owned(),
        format!("trace convert --trace-set format=spc /dev/stdin {}", path("c")),
    ] {
        let (code, said) = cat(&command);
        assert_eq!(code, Some(2), "{said}");
        assert!(
            said.contains("/dev/stdin: is not a regular file; a trace is read twice"),
            "{said}"
        );
    }
    let times = path("times.csv");
    let after =
        ["trace", "convert", "--trace-set", "format=spc", "--trace-set", "from=100", &times];
    let output = wafer(&[&after[..], &[&path("c")]].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && said.contains("no request is within"), "{said}");
    assert_eq!(names(folder.path()), ["none.csv", "times.csv"]);
    // One after the other, not all at once.
    let none = path("none.csv");
    let run =
        ["run", "--device", "pm9a3", "--set", "reclaim_unit.size=16MiB", "--time", "--json", "-"];
    let output = wafer(&[&run[..], &["--trace", &none, "--trace-set", "format=spc"]].concat());
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(
        said.contains("none.csv: without times; `queue_depth` requests, 1 by default"),
        "{said}"
    );
    let mean = record(&output)["time"]["write"]["mean_us"].as_f64().unwrap();
    assert!(mean < 20.0, "{mean}");
}

#[test]
fn an_interrupt_ends_advice_soon() {
    let folder = tempfile::tempdir().unwrap();
    let job = folder.path().join("j.fio");
    std::fs::write(&job, "[j]\nrw=randwrite\nsize=100%\nnorandommap\ntime_based\nruntime=1d\n")
        .unwrap();
    // Background processes of a shell ignore SIGINT, and this one would too.
    let mut command = Command::new("env");
    command.args(["--default-signal=INT", env!("CARGO_BIN_EXE_wafer"), "-q", "advise"]);
    command.args([
        "--device",
        "warp",
        "--set",
        "capacity=64MiB",
        "--set",
        "reclaim_unit.size=1MiB",
    ]);
    command.args(["--set", "overprovisioning=0.4", "--volume", "96GiB", "--fio"]).arg(&job);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(3));
    let began = Instant::now();
    let arguments = ["-INT".to_owned(), child.id().to_string()];
    assert!(Command::new("kill").args(arguments).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.starts_with("error: interrupted") && output.stdout.is_empty(), "{said}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn reads_of_a_fresh_drive_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reads.fio");
    let warnings = |job: &str, more: &[&str]| {
        std::fs::write(&path, format!("[j]\nbs=4k\nnumber_ios=2000\n{job}")).unwrap();
        let run = ["run", "--device", "pm9a3", "--set", "reclaim_unit.size=16MiB", "--time"];
        let fio = ["--fio", path.to_str().unwrap(), "--json", "-"];
        let output = wafer(&[&run[..], &fio, more].concat());
        record(&output);
        String::from_utf8(output.stderr).unwrap().contains("no read reached the flash")
    };
    assert!(warnings("rw=randread\n", &[]));
    assert!(!warnings("rw=randread\n", &["--precondition", "sequential"]));
    assert!(!warnings("rw=randwrite\n", &[]));
}

#[test]
fn files_that_overlap_on_the_drive_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("files.fio");
    let notes = |jobs: &str| {
        std::fs::write(&path, format!("[global]\nrw=randwrite\nsize=8m\n{jobs}")).unwrap();
        let run = ["run", "--device", DEVICE, "--json", "-", "--fio", path.to_str().unwrap()];
        let output = wafer(&run);
        record(&output);
        String::from_utf8(output.stderr).unwrap()
    };
    let told = |jobs: &str| {
        let notes = notes(jobs);
        let note =
            notes.lines().find_map(|line| line.split_once(" are the same blocks of namespace 1"));
        note.map(|(files, _)| files.trim_start_matches("note: ").to_owned())
    };
    let clones = "[db]\ndirectory=/mnt/data\nnumjobs=3\n";
    assert_eq!(told(clones).unwrap(), "/mnt/data/db.0.0 and /mnt/data/db.1.0");
    let drives = "[a]\nfilename=/dev/nvme0n1\n[b]\nfilename=/dev/nvme1n1\n";
    assert_eq!(told(drives).unwrap(), "/dev/nvme0n1 and /dev/nvme1n1");
    for apart in [
        "[db]\ndirectory=/mnt/data\nnumjobs=3\noffset_increment=8m\n",
        "[a]\nfilename=/dev/nvme0n1\n[b]\nfilename=/dev/ng0n1\n",
        "[db]\ndirectory=/mnt/data\nfilename=one\nnumjobs=3\n",
        "[a]\n[b]\n",
    ] {
        assert_eq!(told(apart), None, "{apart}");
    }
}

#[test]
fn advice_takes_volume_and_seed_of_an_experiment_and_tells_of_files_of_other_advice() {
    let folder = tempfile::tempdir().unwrap();
    let here = |name: &str| folder.path().join(name);
    let path = |name: &str| here(name).to_str().unwrap().to_owned();
    let job = std::fs::canonicalize(JOB).unwrap();
    let device = "capacity = \"64MiB\", reclaim_unit.size = \"1MiB\", overprovisioning = 0.25";
    let with = |name: &str, seed: u32| {
        let fio = job.display();
        let text = format!(
            "volume = \"6x\"\nseed = {seed}\ndevice = {{ {device} }}\nworkload.fio = \"{fio}\"\n"
        );
        std::fs::write(here(name), text).unwrap();
    };
    with("three.toml", 3);
    with("four.toml", 4);
    let advice = |experiment: &str, more: &[&str]| -> (Value, String) {
        let arguments = ["advise", "--experiment", experiment, "--fill", "0", "--json", "-"];
        let output = wafer(&[&arguments[..], more].concat());
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{errors}");
        (serde_json::from_slice(&output.stdout).unwrap(), errors)
    };
    let (three, four) = (path("three.toml"), path("four.toml"));
    let (of_three, _) = advice(&three, &[]);
    assert_eq!(of_three["write_bytes"], 6 * (64 << 20));
    let (of_four, _) = advice(&four, &[]);
    assert!(of_three["ways"] != of_four["ways"]);
    let (seeded, _) = advice(&four, &["--seed", "3"]);
    assert!(of_three["ways"] == seeded["ways"]);

    // A job has no placement map.
    std::fs::create_dir(here("out")).unwrap();
    std::fs::write(here("out").join("map.csv"), "start,bytes,handle\n").unwrap();
    let (_, errors) = advice(&three, &["--out", &path("out")]);
    assert!(errors.contains("map.csv is of other advice: this has no map\n"), "{errors}");
}

#[test]
fn a_page_of_the_manual_names_the_version() {
    let page = String::from_utf8(wafer(&["man", "run"]).stdout).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert!(page.contains(&format!(".TH wafer-run 1  \"wafer {version}\"")), "{page}");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_wafer"))
        .args(["man", "run"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_soon_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.json");
    let mut child = Command::new(env!("CARGO_BIN_EXE_wafer"))
        .args(["run", "--device", DEVICE, "--fio", JOB, "--volume", "1000000x", "--json"])
        .arg(&path)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < Duration::from_secs(20), "still running");
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(names(folder.path()).is_empty());
}

#[test]
fn a_long_run_without_a_volume_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let job = folder.path().join("loops.fio");
    let notices = |text: &str| {
        std::fs::write(&job, text).unwrap();
        let output = wafer(&["run", "--device", DEVICE, "--fio", job.to_str().unwrap()]);
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let told = notices("[j]\nrw=write\nbs=1m\nsize=100%\nloops=120\n");
    assert!(told.contains("writes 120 times the capacity; volume 5x"), "{told}");
    let told = notices("[j]\nrw=write\nbs=1m\nsize=64m\ntime_based\nruntime=1\n");
    assert!(told.contains("runs until the runtime of the jobs ends; volume 5x"), "{told}");
    let told = notices("[j]\nrw=write\nbs=1m\nsize=100%\nloops=2\n");
    assert!(!told.contains("--volume"), "{told}");
}
