//! `wafer serve --time`: hosts see the latency of the drive, and its counters do not change.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use wafer_host::{HostOptions, Load, LoadResult, Pattern};

use crate::serve::{NQN, Server, says};

/// Cell read time per page in milliseconds.
const CELLS: u64 = 10;

/// Writes the file of a device with slow cells.
fn device(folder: &Path) {
    let device = format!(
        "capacity = \"32MiB\"\noverprovisioning = 0.3\nhandles = 2\n[reclaim_unit]\nsize = \"1MiB\"\n\
         [timing]\ndies = 4\nread_us = {CELLS}000\nprogram_us = 500\nslice_us = 100\nwrite_buffer = \"192KiB\"\n\
         read_overhead_us = 10\nwrite_overhead_us = 5\nlink_read = \"3GB\"\nlink_write = \"3GB\"\n"
    );
    std::fs::write(folder.join("device.toml"), device).unwrap();
}

fn load(server: &Server, pattern: Pattern, depth: u16, commands: u64, verify: bool) -> LoadResult {
    let load = Load {
        pattern,
        bytes: 4096,
        depth,
        connections: 2,
        time: Duration::from_secs(60),
        commands: Some(commands),
        span: 0,
        pids: if pattern == Pattern::Write { vec![0, 1] } else { Vec::new() },
        seed: 1,
        verify,
    };
    let options = HostOptions::new(NQN, "load");
    load.run(server.address, &options, 1).unwrap()
}

#[test]
fn hosts_see_the_latency_of_the_media_and_every_byte_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    device(folder.path());
    let trace = folder.path().join("run.trace.zst").display().to_string();
    let server = Server::start(folder.path(), &["--time", "--record", &trace]);
    // More than the drive holds.
    assert_eq!(load(&server, Pattern::Write, 16, 6000, false).failed, 0);
    // Data is read back and compared.
    let written = load(&server, Pattern::Write, 16, 200, true);
    assert_eq!((written.failed, written.wrong), (0, 0));
    assert!(written.verified > 300, "{written:?}");
    let read = load(&server, Pattern::Read, 1, 8, false);
    assert_eq!(read.failed, 0);
    assert!(read.latency_us[0] >= CELLS * 1000, "{read:?}");
    let served = server.stop();
    // Each command of the hosts is counted once: reads, and those that read written blocks back.
    let time = &served["time"];
    assert_eq!(time["write"]["count"], 2 * 6200);
    assert_eq!(time["read"]["count"].as_u64().unwrap(), 16 + written.verified);
    assert!(time["read"]["percentiles_us"]["50"].as_f64().unwrap() >= CELLS as f64 * 990.0);
    assert!(time["late_us"]["50"].is_number() && time["handles"]["1"].is_object(), "{time}");
    let output = Command::new(env!("CARGO_BIN_EXE_wafer"))
        .args(["--quiet", "run", "--json", "-", "--trace", &trace, "--device"])
        .arg(folder.path().join("device.toml"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let played: Value = serde_json::from_slice(&output.stdout).unwrap();
    for key in ["host_bytes", "media_bytes", "read_bytes", "relocated_pages", "erased_bytes"] {
        assert_eq!(served["summary"][key], played["summary"][key], "{key}");
    }
    assert!(served["summary"]["relocated_pages"].as_u64().unwrap() > 100, "garbage was collected");
}

/// With a clock, too, the counters are those of a run with the same precondition.
#[test]
fn a_drive_begins_in_the_state_that_is_asked_for() {
    const STATE: [&str; 2] = ["--precondition", "sequential+random:1"];
    let folder = tempfile::tempdir().unwrap();
    device(folder.path());
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (data, trace) = (format!("file:{}", path("drive.img")), path("run.trace"));
    let filled = Server::start(folder.path(), &STATE).stop();
    let server = Server::start(
        folder.path(),
        &[STATE.as_slice(), &["--time", "--data", &data, "--record", &trace]].concat(),
    );
    assert_eq!(load(&server, Pattern::Write, 16, 1500, false).failed, 0);
    let served = server.stop();
    let output = Command::new(env!("CARGO_BIN_EXE_wafer"))
        .args([
            "--quiet",
            "run",
            "--json",
            "-",
            "--trace",
            &trace,
            "--device",
            &path("device.toml"),
        ])
        .args(STATE)
        .output()
        .unwrap();
    let played: Value = serde_json::from_slice(&output.stdout).unwrap();
    let of = |record: &Value, key: &str| record["summary"][key].as_u64().unwrap();
    for key in ["host_bytes", "media_bytes", "relocated_pages", "erased_bytes"] {
        assert_eq!((of(&served, key), of(&filled, key)), (of(&played, key), 0), "{key}");
    }
    assert!(of(&played, "relocated_pages") > 100, "garbage was collected");
    // Only the time of the hosts is counted.
    assert_eq!(served["time"]["write"]["count"], 3000);
    let again = ["--device", &path("device.toml"), "--data", &data, STATE[0], STATE[1]];
    says(
        &again,
        &[
            "--precondition: the drive has been used before and keeps its state; a new one needs other files",
        ],
    );
    // It was saved again, and has counted nothing new.
    let kept = Server::start(folder.path(), &["--data", &data]).stop();
    assert_eq!(of(&kept, "host_bytes"), of(&served, "host_bytes") + (64 << 20));
    says(
        &["--device", &path("device.toml"), "--precondition", "steady"],
        &["--precondition: `load` and `steady` need a workload"],
    );
}

#[test]
fn a_device_without_times_has_no_clock() {
    let folder = tempfile::tempdir().unwrap();
    device(folder.path());
    let path = folder.path().join("device.toml").display().to_string();
    let without = std::fs::read_to_string(&path).unwrap();
    let (without, _) = without.split_once("[timing]").unwrap();
    std::fs::write(&path, without).unwrap();
    let data = format!("file:{}", folder.path().join("drive.img").display());
    says(&["--device", &path, "--time", "--data", &data], &["device.toml", "`timing` is missing"]);
    let file = folder.path().join("drives.toml");
    std::fs::write(&file, format!("[[subsystem]]\ndevice = \"{path}\"\ntime = true\n")).unwrap();
    let file = file.display().to_string();
    says(&["--subsystems", &file], &["drives.toml:3: time: ", "`timing` is missing"]);
    says(&["--subsystems", &file, "--time"], &["--time"]);
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 2, "nothing was made");
}

/// As a drive that was filled in part is refused, this says so at once.
#[test]
fn an_interrupt_ends_the_precondition_of_a_served_drive() {
    let folder = tempfile::tempdir().unwrap();
    let data = format!("file:{}", folder.path().join("drive.img").display());
    // Background processes of a shell ignore SIGINT, and this one would too.
    let mut command = Command::new("env");
    command.args([
        "--default-signal=INT",
        env!("CARGO_BIN_EXE_wafer"),
        "serve",
        "--device",
        "warp",
    ]);
    command.args(["--set", "capacity=1GiB", "--set", "reclaim_unit.size=4MiB"]);
    command.args(["--set", "overprovisioning=0.3", "--data", &data, "--listen", "127.0.0.1:0"]);
    command.args(["--precondition", "random:1000"]).stderr(Stdio::piped());
    let server = command.spawn().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let arguments = ["-INT".to_owned(), server.id().to_string()];
    assert!(Command::new("kill").args(arguments).status().unwrap().success());
    let output = server.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("interrupted"), "{said}");
}
