//! `wafer mount` with real programs: a file system on a loop device, a killed server, a replay.
//!
//! Needs /dev/fuse, root, losetup, and the tools of ext4, XFS and Btrfs (`scripts/need-fuse`). If one is
//! missing, the test fails and names it. For swap and a virtual machine, see `make mount-load`.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

const DEVICE: &str = "capacity = \"96MiB\"\noverprovisioning = 0.5\nhandles = 2\n\
    [reclaim_unit]\nsize = \"1MiB\"\n\
    [[namespaces]]\nsize = \"64MiB\"\nhandles = [0]\n[[namespaces]]\nsize = \"32MiB\"\nhandles = [1]\n";

struct Drive {
    folder: tempfile::TempDir,
    server: Option<Child>,
}

/// Runs a program and returns its output.
fn sh(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap_or_else(|e| {
        panic!("{program} cannot run ({e}): install it with scripts/need-fuse")
    });
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn wait_for(what: &str, mut ready: impl FnMut() -> bool) {
    let start = Instant::now();
    while !ready() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what} takes too long");
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Drive {
    fn new() -> Self {
        Self::with(DEVICE)
    }

    fn with(device: &str) -> Self {
        assert!(Path::new("/dev/fuse").exists(), "this test needs /dev/fuse (modprobe fuse)");
        assert_eq!(sh("id", &["-u"]), "0", "this test mounts file systems: it needs root");
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("device.toml"), device).unwrap();
        fs::create_dir(folder.path().join("drive")).unwrap();
        fs::create_dir(folder.path().join("root")).unwrap();
        let mut drive = Drive { folder, server: None };
        drive.start("first.trace");
        drive
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn start(&mut self, trace: &str) {
        self.server = Some(self.command(trace).arg("--quiet").spawn().unwrap());
        let counters = self.path("drive/counters.json");
        wait_for("mounting", || counters.exists());
    }

    /// Returns the command that mounts it.
    fn command(&self, trace: &str) -> Command {
        let data = format!("file:{}", self.text("data"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_wafer"));
        command
            .args([
                "mount",
                &self.text("drive"),
                "--device",
                &self.text("device.toml"),
                "--data",
                &data,
            ])
            .args(["--record", &self.text(trace), "--json", &self.text("counters.json")])
            .stderr(Stdio::inherit());
        command
    }

    /// Unmounts it, and returns the counters.
    fn stop(&mut self) -> Value {
        sh("umount", &[&self.text("drive")]);
        let mut server = self.server.take().unwrap();
        wait_for("the server's end", || server.try_wait().unwrap().is_some());
        assert!(server.wait().unwrap().success());
        crate::schema::valid(&fs::read(self.path("counters.json")).unwrap())
    }

    fn counters(&self) -> Value {
        crate::schema::valid(&fs::read(self.path("drive/counters.json")).unwrap())
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            let _ = Command::new("umount").arg(self.folder.path().join("drive")).output();
            let _ = server.kill();
            let _ = server.wait();
            let _ = Command::new("umount").arg(self.folder.path().join("drive")).output();
        }
    }
}

fn run_trace(drive: &Drive, trace: &str) -> Value {
    run_trace_with(drive, trace, &[])
}

fn run_trace_with(drive: &Drive, trace: &str, more: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_wafer"))
        .args(["run", "--device", &drive.text("device.toml"), "--trace", &drive.text(trace)])
        .args(["--trace-set", "volumes=namespaces", "--json", "-"])
        .args(more)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_capture_of_a_used_drive_says_so() {
    let mut drive = Drive::new();
    let disk = OpenOptions::new().write(true).open(drive.path("drive/nvme0n2")).unwrap();
    disk.write_all_at(&[7; 1 << 20], 0).unwrap();
    drop(disk);
    drive.stop();
    let log = File::create(drive.path("log")).unwrap();
    drive.server = Some(drive.command("second.trace").stderr(log).spawn().unwrap());
    let counters = drive.path("drive/counters.json");
    wait_for("mounting", || counters.exists());
    drive.stop();
    let said = fs::read_to_string(drive.path("log")).unwrap();
    assert!(said.contains("second.trace: the drive had written 1.05 MB before"), "{said}");
}

/// Programs see the latency of the media, and the record contains it.
#[test]
fn with_a_clock_requests_take_the_time_of_the_media() {
    let cells = Duration::from_millis(20);
    let timing = "[timing]\ndies = 4\nread_us = 20000\nprogram_us = 500\nslice_us = 100\nwrite_buffer = \"192KiB\"\n\
        read_overhead_us = 10\nwrite_overhead_us = 5\nlink_read = \"3GB\"\nlink_write = \"3GB\"\n";
    let mut drive = Drive::with(&format!("{DEVICE}{timing}"));
    drive.stop();
    drive.server = Some(drive.command("timed.trace").args(["--quiet", "--time"]).spawn().unwrap());
    let counters = drive.path("drive/counters.json");
    wait_for("mounting", || counters.exists());
    let disk = OpenOptions::new().read(true).write(true).open(drive.path("drive/nvme0n1")).unwrap();
    let data = noise(7, 4 << 20);
    disk.write_all_at(&data, 0).unwrap();
    disk.sync_all().unwrap();
    for page in [0, 700, 300, 512] {
        let mut read = [0; 4096];
        let began = Instant::now();
        disk.read_exact_at(&mut read, 4096 * page).unwrap();
        assert!(began.elapsed() >= cells, "{:?}", began.elapsed());
        assert_eq!(read, data[4096 * page as usize..][..4096]);
    }
    drop(disk);
    let record = drive.stop();
    let time = &record["time"];
    assert_eq!(time["read"]["count"], 4, "{time}");
    assert!(time["read"]["min_us"].as_f64().unwrap() >= 19_800.0, "{time}");
    assert_eq!(time["write"]["bytes"], record["summary"]["host_bytes"]);
    assert_eq!(time["flush"]["count"], 1);
    assert!(time["late_us"]["50"].is_number() && time["handles"]["0"].is_object(), "{time}");
    let played = run_trace(&drive, "timed.trace");
    assert_eq!(played["summary"]["host_bytes"], record["summary"]["host_bytes"]);
}

#[test]
fn files_are_disks() {
    let mut drive = Drive::new();
    let disk = OpenOptions::new().read(true).write(true).open(drive.path("drive/nvme0n2")).unwrap();
    assert_eq!(disk.metadata().unwrap().len(), 32 << 20);
    disk.write_all_at(&[7; 10_000], 5_000).unwrap();
    disk.sync_all().unwrap();
    let mut back = [0; 10_002];
    disk.read_exact_at(&mut back, 4_999).unwrap();
    assert_eq!((back[0], back[1], back[10_000], back[10_001]), (0, 7, 7, 0));
    // Beyond the end, as on a block device.
    assert!(disk.write_all_at(&[1; 4096], 32 << 20).is_err());
    assert_eq!(disk.read_at(&mut back, 32 << 20).unwrap(), 0);
    sh(
        "fallocate",
        &["--punch-hole", "--offset", "8192", "--length", "4096", &drive.text("drive/nvme0n2")],
    );
    disk.read_exact_at(&mut back[..8192], 4_096).unwrap();
    assert_eq!((back[4095], back[4096], back[8191]), (7, 0, 0));
    // Disks cannot be truncated.
    File::create(drive.path("drive/nvme0n2")).unwrap();
    assert_eq!(disk.metadata().unwrap().len(), 32 << 20);
    // Nor enlarged.
    let (truncated, longer) = (disk.set_len(0), disk.set_len((32 << 20) + 1));
    assert!(truncated.is_ok() && longer.is_err(), "{truncated:?} {longer:?}");
    let file = drive.text("drive/nvme0n2");
    let allocate = |length: &str| {
        Command::new("fallocate").args(["--length", length, &file]).status().unwrap().success()
    };
    assert_eq!([allocate("32M"), allocate("33M")], [true, false]);
    // Users cannot change its owners and times either.
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    assert!(fs::set_permissions(drive.path("drive/nvme0n2"), mode).is_err());
    assert!(disk.set_modified(std::time::UNIX_EPOCH).is_err());
    // `counters.json` has no size that a program could rely on while reading it.
    assert_eq!(fs::metadata(drive.path("drive/counters.json")).unwrap().len(), 0);
    // Programs cannot change its names either.
    let refused = [
        fs::create_dir(drive.path("drive/new")),
        fs::write(drive.path("drive/new"), "x"),
        fs::remove_file(drive.path("drive/nvme0n2")),
        fs::rename(drive.path("drive/nvme0n2"), drive.path("drive/disk")),
    ];
    for result in refused {
        assert_eq!(result.unwrap_err().kind(), std::io::ErrorKind::PermissionDenied);
    }
    let counters = drive.counters();
    // 5,000 to 15,000 touches sectors 9 to 29, in pages 1 to 3.
    assert_eq!(counters["summary"]["host_bytes"], 21 * 512);
    assert_eq!(counters["timeline"]["handles"]["1"]["media_bytes"][0], 3 * 4096);
    // fallocate(1) syncs its changes.
    assert_eq!(
        (&counters["summary"]["deallocated_pages"], &counters["live"]["drive"]["flushes"]),
        (&1.into(), &3.into())
    );
    drop(disk);
    assert_eq!(drive.stop()["summary"]["host_bytes"], 21 * 512);
    // Another mount of the same file has the same data.
    drive.start("second.trace");
    let disk = File::open(drive.path("drive/nvme0n2")).unwrap();
    disk.read_exact_at(&mut back[..8192], 4_096).unwrap();
    assert_eq!((back[904], back[4096]), (7, 0));
    drop(disk);
    drive.stop();
}

#[test]
fn a_preconditioned_drive_is_that_of_a_run() {
    const STATE: [&str; 2] = ["--precondition", "sequential+random:1"];
    let mut drive = Drive::new();
    drive.stop();
    // A used drive keeps its state.
    let refused =
        drive.command("second.trace").args(STATE).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    let expected = "error: --precondition: the drive has been used before and keeps its state; a new one needs other files\n";
    assert_eq!(message, expected);
    // Its clean end is not lost either.
    let server = drive.command("second.trace").stderr(Stdio::piped()).spawn().unwrap();
    wait_for("mounting", || drive.path("drive/counters.json").exists());
    sh("umount", &[&drive.text("drive")]);
    let notices = server.wait_with_output().unwrap().stderr;
    let notices = String::from_utf8_lossy(&notices).into_owned();
    assert_eq!(notices.lines().count(), 1, "{notices}");
    for end in ["", ".state", ".journal"] {
        let _ = fs::remove_file(drive.path(&format!("data{end}")));
    }
    drive.server = Some(drive.command("second.trace").arg("--quiet").args(STATE).spawn().unwrap());
    wait_for("mounting", || drive.path("drive/counters.json").exists());
    let disk = OpenOptions::new().write(true).open(drive.path("drive/nvme0n1")).unwrap();
    for at in 0..200 {
        disk.write_all_at(&[3; 4096], at * 7 % 256 * 65_536).unwrap();
    }
    drop(disk);
    let counters = drive.stop();
    let replay = run_trace_with(&drive, "second.trace", &STATE);
    for key in ["host_bytes", "media_bytes", "erased_bytes"] {
        assert_eq!(replay["summary"][key], counters["summary"][key], "{key}");
    }
    let host = counters["summary"]["host_bytes"].as_u64().unwrap();
    assert!(counters["summary"]["media_bytes"].as_u64().unwrap() > host, "GC worked: {counters}");
}

#[test]
fn an_interrupt_ends_a_precondition() {
    let mut drive = Drive::new();
    drive.stop();
    for end in ["", ".state", ".journal"] {
        let _ = fs::remove_file(drive.path(&format!("data{end}")));
    }
    // Half a minute of preconditioning, or more.
    let mut server =
        drive.command("second.trace").args(["--precondition", "random:1000"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let began = Instant::now();
    sh("kill", &["-INT", &server.id().to_string()]);
    assert_eq!(server.wait().unwrap().code(), Some(130));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert!(!drive.path("drive/counters.json").exists());
    let output = drive.command("third.trace").stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("the precondition of this drive was interrupted"), "{output:?}");
}

#[test]
fn an_interrupt_with_a_file_open_leaves_no_dead_mount() {
    let mut drive = Drive::new();
    let file = OpenOptions::new().write(true).open(drive.path("drive/nvme0n1")).unwrap();
    let mut server = drive.server.take().unwrap();
    sh("kill", &["-INT", &server.id().to_string()]);
    // The mount point is free at once; the file remains usable until it is closed.
    wait_for("the mount point", || !drive.path("drive/counters.json").exists());
    fs::write(drive.path("drive/free"), "an ordinary folder").unwrap();
    file.write_all_at(&[7; 8192], 4096).unwrap();
    assert!(server.try_wait().unwrap().is_none(), "the server waits for the file");
    drop(file);
    wait_for("the server's end", || server.try_wait().unwrap().is_some());
    assert!(server.wait().unwrap().success());
    let counters = crate::schema::valid(&fs::read(drive.path("counters.json")).unwrap());
    assert_eq!(counters["summary"]["host_bytes"], 8192);
    assert_eq!(fs::read(drive.path("data")).unwrap()[4096..][..8192], [7; 8192]);
}

#[test]
fn nothing_but_the_drive_is_unmounted() {
    let mut drive = Drive::new();
    let place = drive.text("drive");
    let second = Command::new(env!("CARGO_BIN_EXE_wafer"))
        .args(["mount", &place, "--device", "warp", "--data", "none"])
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(2));
    let told = String::from_utf8(second.stderr).unwrap();
    assert!(told.ends_with("a drive is mounted there\n"), "{told}");
    drive.stop();
    let other = |drive: &Drive| {
        sh("mount", &["-t", "tmpfs", "other", &place]);
        fs::write(drive.path("drive/precious"), "data").unwrap();
    };
    let interrupt = |drive: &mut Drive| {
        let server = drive.server.take().unwrap();
        sh("kill", &["-INT", &server.id().to_string()]);
        server
    };
    let ends = |drive: &Drive, mut server: Child| {
        wait_for("the server's end", || server.try_wait().unwrap().is_some());
        assert!(server.wait().unwrap().success());
        assert_eq!(fs::read_to_string(drive.path("drive/precious")).unwrap(), "data");
        sh("umount", &[&place]);
    };
    // Another file system was mounted before, below the drive.
    other(&drive);
    drive.start("below.trace");
    let server = interrupt(&mut drive);
    ends(&drive, server);
    // Another one was mounted after the drive was detached; an open file kept the drive alive.
    drive.start("after.trace");
    let file = File::open(drive.path("drive/nvme0n1")).unwrap();
    let server = interrupt(&mut drive);
    wait_for("the mount point", || !drive.path("drive/counters.json").exists());
    other(&drive);
    drop(file);
    ends(&drive, server);
    // Another one is mounted over the drive; the drive, whose server has ended, is below it.
    drive.start("over.trace");
    other(&drive);
    let server = interrupt(&mut drive);
    ends(&drive, server);
    sh("umount", &[&place]);
}

#[test]
fn a_capture_that_fails_is_told_at_once_and_the_counters_all_the_same() {
    let mut drive = Drive::new();
    drive.stop();
    let small = drive.path("small");
    fs::create_dir(&small).unwrap();
    sh("mount", &["-t", "tmpfs", "-o", "size=4k", "small", &drive.text("small")]);
    let errors = File::create(drive.path("errors")).unwrap();
    let mut server = drive.command("small/c.trace").stderr(errors).spawn().unwrap();
    wait_for("mounting", || drive.path("drive/counters.json").exists());
    let file = OpenOptions::new().write(true).open(drive.path("drive/nvme0n1")).unwrap();
    let told = || fs::read_to_string(drive.path("errors")).unwrap();
    let mut written = 0;
    wait_for("the warning", || {
        for _ in 0..1000 {
            file.write_all_at(&[1; 4096], (written * 7919 % 16_384) * 4096).unwrap();
            written += 1;
        }
        told().contains("warning: ")
    });
    drop(file);
    sh("umount", &[&drive.text("drive")]);
    wait_for("the server's end", || server.try_wait().unwrap().is_some());
    sh("umount", &[&drive.text("small")]);
    assert_eq!(server.wait().unwrap().code(), Some(1), "{}", told());
    assert!(told().contains("error: ") && told().contains("incomplete"), "{}", told());
    let counters = crate::schema::valid(&fs::read(drive.path("counters.json")).unwrap());
    assert_eq!(counters["summary"]["host_bytes"], written * 4096);
}

#[test]
fn a_file_system_lives_on_a_loop_device_and_its_trace_replays() {
    let mut drive = Drive::new();
    let disk = drive.text("drive/nvme0n1");
    let device = sh("losetup", &["--direct-io=on", "--find", "--show", &disk]);
    sh("mkfs.ext4", &["-q", &device]);
    let root = drive.text("root");
    sh("mount", &["-o", "discard", &device, &root]);
    for round in 0..6u8 {
        for number in 0..20u8 {
            let mut file = File::create(drive.path(&format!("root/file{number}"))).unwrap();
            file.write_all(&vec![round ^ number; 300_000]).unwrap();
        }
        sh("sync", &["--file-system", &root]);
    }
    sh("umount", &[&root]);
    sh("fsck.ext4", &["-f", "-n", &device]);
    sh("mount", &["-o", "ro", &device, &root]);
    for number in 0..20u8 {
        assert_eq!(
            fs::read(drive.path(&format!("root/file{number}"))).unwrap(),
            vec![5 ^ number; 300_000]
        );
    }
    sh("umount", &[&root]);
    sh("losetup", &["--detach", &device]);
    // The loop device is released in the background.
    wait_for("losetup --detach", || !sh("losetup", &["--all"]).contains(&disk));
    let counters = drive.stop();
    assert!(counters["summary"]["host_bytes"].as_u64().unwrap() > 30 << 20, "{counters}");
    assert!(counters["summary"]["deallocated_pages"].as_u64().unwrap() > 1000, "{counters}");
    let replay = run_trace(&drive, "first.trace");
    for key in ["host_bytes", "media_bytes", "erased_bytes", "deallocated_pages"] {
        assert_eq!(replay["summary"][key], counters["summary"][key], "{key}");
    }
}

#[test]
fn a_killed_server_leaves_data_and_trace() {
    let mut drive = Drive::new();
    let disk = OpenOptions::new().write(true).open(drive.path("drive/nvme0n1")).unwrap();
    // Small enough for one request each: the kernel splits large ones at page boundaries of the
    // program's memory, which need not be sector boundaries.
    for piece in 16..32 {
        disk.write_all_at(&[9; 1 << 16], piece << 16).unwrap();
    }
    disk.sync_all().unwrap();
    // A frame of the trace ends every half second.
    std::thread::sleep(Duration::from_millis(1500));
    let mut server = drive.server.take().unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(disk.write_all_at(&[1], 0).is_err());
    drop(disk);
    let refused = drive.command("second.trace").stderr(Stdio::piped()).output().unwrap();
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(message.contains("drive: what is mounted there has lost its server"), "{message}");
    sh("umount", &[&drive.text("drive")]);
    let replay = run_trace(&drive, "first.trace");
    assert_eq!(replay["summary"]["host_bytes"], 1 << 20);
    drive.start("second.trace");
    let mut back = [0; 2];
    File::open(drive.path("drive/nvme0n1")).unwrap().read_exact_at(&mut back, 1 << 20).unwrap();
    assert_eq!(back, [9, 9]);
    drive.stop();
}

/// Returns the bytes derived from `seed`.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let words = std::iter::repeat_with(|| {
        // Xorshift: any fixed bytes that do not compress would do.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    words.flatten().take(length).collect()
}

/// A file system, by its tools.
struct FileSystem {
    make: &'static [&'static str],
    check: &'static [&'static str],
}

impl FileSystem {
    /// Creates it on the drive, writes, overwrites, renames and deletes files in several rounds, and checks
    /// every byte after a check, a remount, and a restart of the server.
    fn survives(&self, drive: &mut Drive) {
        let disk = drive.text("drive/nvme0n1");
        let root = drive.text("root");
        let attach = || sh("losetup", &["--direct-io=on", "--find", "--show", &disk]);
        let detach = |device: &str| {
            sh("losetup", &["--detach", device]);
            wait_for("losetup --detach", || !sh("losetup", &["--all"]).contains(&disk));
        };
        let tool = |command: &[&str], device: &str| {
            let arguments: Vec<&str> = command[1..].iter().copied().chain([device]).collect();
            sh(command[0], &arguments);
        };
        let device = attach();
        tool(self.make, &device);
        sh("mount", &["-o", "discard", &device, &root]);
        // The expected content of every file.
        let mut tree: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let place = |name: &str| drive.path("root").join(name);
        for round in 0..5u64 {
            fs::create_dir(place(&format!("d{round}"))).unwrap();
            for number in 0..40u64 {
                let name = format!("d{round}/f{number}");
                // From a few bytes to a megabyte.
                let length = 1 << (number % 11 * 2);
                let data = noise(round << 32 | number, length + number as usize);
                fs::write(place(&name), &data).unwrap();
                tree.insert(name, data);
            }
            let names: Vec<String> = tree.keys().cloned().collect();
            for (number, name) in names.iter().enumerate() {
                match (number + round as usize) % 7 {
                    0 => {
                        fs::remove_file(place(name)).unwrap();
                        tree.remove(name);
                    }
                    1 => {
                        let file = OpenOptions::new().write(true).open(place(name)).unwrap();
                        let piece = noise(number as u64, 5000);
                        let data = tree.get_mut(name).unwrap();
                        let at = data.len() / 3;
                        file.write_all_at(&piece, at as u64).unwrap();
                        file.sync_all().unwrap();
                        data.resize(data.len().max(at + piece.len()), 0);
                        data[at..at + piece.len()].copy_from_slice(&piece);
                    }
                    2 => {
                        let moved = format!("moved{round}-{number}");
                        fs::rename(place(name), place(&moved)).unwrap();
                        let data = tree.remove(name).unwrap();
                        tree.insert(moved, data);
                    }
                    _ => {}
                }
            }
            sh("sync", &["--file-system", &root]);
        }
        let all_there = |tree: &BTreeMap<String, Vec<u8>>| {
            for (name, data) in tree {
                assert!(fs::read(place(name)).unwrap() == *data, "{name} is not what was written");
            }
        };
        sh("umount", &[&root]);
        tool(self.check, &device);
        sh("mount", &["-o", "ro", &device, &root]);
        all_there(&tree);
        sh("umount", &[&root]);
        detach(&device);

        let counters = drive.counters();
        let data: usize = tree.values().map(Vec::len).sum();
        assert!(tree.len() > 80, "{} files are left", tree.len());
        assert!(counters["summary"]["host_bytes"].as_u64().unwrap() > data as u64, "{counters}");
        // File systems discard deleted data when they find the time, XFS the least.
        assert!(counters["summary"]["deallocated_pages"].as_u64().unwrap() > 200, "{counters}");
        drive.stop();
        drive.start("again.trace");
        let device = sh("losetup", &["--direct-io=on", "--find", "--show", &disk]);
        tool(self.check, &device);
        sh("mount", &["-o", "ro", &device, &root]);
        for (name, data) in &tree {
            assert!(
                fs::read(drive.path("root").join(name)).unwrap() == *data,
                "{name}, after a restart"
            );
        }
        sh("umount", &[&root]);
        sh("losetup", &["--detach", &device]);
        wait_for("losetup --detach", || !sh("losetup", &["--all"]).contains(&disk));
        drive.stop();
    }
}

/// Large enough for mkfs.xfs, which refuses less than 300 MiB.
const LARGE: &str = "capacity = \"384MiB\"\noverprovisioning = 0.2\nhandles = 1\n\
    [reclaim_unit]\nsize = \"1MiB\"\n[[namespaces]]\nsize = \"384MiB\"\nhandles = [0]\n";

#[test]
fn xfs_survives_a_load() {
    let xfs = FileSystem { make: &["mkfs.xfs", "-q"], check: &["xfs_repair", "-n"] };
    xfs.survives(&mut Drive::with(LARGE));
}

#[test]
fn btrfs_survives_a_load() {
    let check = &["btrfs", "check", "--readonly", "--check-data-csum"];
    FileSystem { make: &["mkfs.btrfs", "-q"], check }.survives(&mut Drive::with(LARGE));
}
