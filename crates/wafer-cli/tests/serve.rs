//! `wafer serve` as a program: its messages about wrong arguments, and its counters, which equal
//! those of `wafer run --trace` on its own capture.

use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use serde_json::Value;
use wafer_host::{Host, HostOptions, Io, Queue};
use wafer_nvme::zerocopy::{FromZeros as _, IntoBytes as _};
use wafer_nvme::*;

pub(crate) const NQN: &str = "nqn.2026-11.io.wafer:drive";

/// Creates a folder with a device of three namespaces.
pub(crate) fn folder(groups: u16) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let device = format!(
        "capacity = \"48MiB\"\noverprovisioning = 0.6\nhandles = 4\ngroups = {groups}\n\
         [reclaim_unit]\nsize = \"1MiB\"\n\
         [[namespaces]]\nsize = \"24MiB\"\nhandles = [0, 1]\n\
         [[namespaces]]\nsize = \"16MiB\"\nhandles = [2]\n\
         [[namespaces]]\nsize = \"8MiB\"\nhandles = [3, 0]\n"
    );
    std::fs::write(folder.path().join("device.toml"), device).unwrap();
    folder
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).display().to_string()
}

/// Runs `wafer serve` with wrong arguments, and returns exit status and message.
fn refused(arguments: &[&str]) -> (i32, String) {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_wafer"))
        .arg("serve")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(stdout.is_empty(), "{}", String::from_utf8_lossy(&stdout));
    (status.code().unwrap(), String::from_utf8(stderr).unwrap())
}

/// Asserts exit status 2 and a one-line message that contains these words.
pub(crate) fn says(arguments: &[&str], words: &[&str]) {
    let (code, line) = refused(arguments);
    assert_eq!(code, 2, "{line}");
    assert!(line.starts_with("error: ") && line.trim_end().lines().count() == 1, "{line}");
    for word in words {
        assert!(line.contains(word), "`{word}` is not in {line}");
    }
}

pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
    /// Its output on stdout when it was ready.
    ready: Value,
    /// Address of the live page.
    pub(crate) page: String,
    _stderr: BufReader<ChildStderr>,
}

impl Server {
    pub(crate) fn start(folder: &Path, more: &[&str]) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_wafer"))
            .args(["serve", "--json", "--device", &path(folder, "device.toml")])
            .args(["--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--nqn", NQN])
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let page = loop {
            let mut line = String::new();
            assert!(stderr.read_line(&mut line).unwrap() > 0, "the server ended");
            if let Some((_, url)) = line.split_once("live page: ") {
                break url.trim().trim_end_matches('/').to_owned();
            }
        };
        let mut ready = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut ready).unwrap();
        child.stdout = Some(stdout.into_inner());
        let ready: Value = serde_json::from_str(&ready).unwrap();
        let address = ready["address"].as_str().unwrap().parse().unwrap();
        Server { child, address, ready, page, _stderr: stderr }
    }

    fn get(&self, what: &str) -> Value {
        let mut answer = ureq::get(format!("{}{what}", self.page)).call().unwrap();
        serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap()
    }

    /// Ends the server in order, and returns its record.
    pub(crate) fn stop(self) -> Value {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        let output = self.child.wait_with_output().unwrap();
        assert!(output.status.success());
        crate::schema::valid(&output.stdout)
    }
}

#[test]
fn a_drive_that_ends_unsaved_is_an_error() {
    let folder = folder(1);
    let files = folder.path().join("files");
    std::fs::create_dir(&files).unwrap();
    let data = format!("file:{}", files.join("drive.img").display());
    let serve = || Server::start(folder.path(), &["--data", &data]);
    serve().stop();
    let mut server = serve();
    // Nothing can be saved in a deleted folder.
    std::fs::remove_dir_all(&files).unwrap();
    let pid = server.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let status = server.child.wait().unwrap();
    let mut said = String::new();
    std::io::Read::read_to_string(&mut server._stderr, &mut said).unwrap();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("the drive cannot be saved: ") && said.contains("error: "), "{said}");
    assert!(said.contains("the drive is not saved: "), "{said}");
}

#[test]
fn wrong_arguments_are_one_line() {
    let folder = folder(1);
    let device = path(folder.path(), "device.toml");
    let free = "127.0.0.1:0";
    let serve = |more: &[&'static str]| {
        let mut all = vec!["--device", device.as_str()];
        all.extend_from_slice(more);
        all
    };
    says(&serve(&["--listen", "nonsense"]), &["--listen", "nonsense"]);
    says(&serve(&["--listen", "192.0.2.1:0"]), &["--listen", "192.0.2.1:0", "assign"]);
    says(
        &serve(&["--listen", free, "--listen", "192.0.2.1:0"]),
        &["--listen", "192.0.2.1:0", "assign"],
    );
    says(
        &serve(&["--listen", free, "--advertise", free, "--advertise", free]),
        &["--advertise", "more often than --listen"],
    );
    says(&serve(&["--listen", free, "--data", "tape"]), &["--data", "tape"]);
    says(
        &serve(&["--listen", free, "--set", "gc.polcy=fifo"]),
        &["--set", "gc.polcy", "did you mean"],
    );
    says(&serve(&["--listen", free, "--set", "handles"]), &["--set", "handles"]);
    says(&serve(&["--listen", free, "--lba", "520"]), &["--lba", "520"]);
    says(&serve(&["--listen", free, "--nqn", "drive"]), &["--nqn"]);
    says(&serve(&["--listen", free, "--buffers", "1MiB"]), &["--buffers", "32MiB"]);
    says(&serve(&["--listen", free, "--hosts", "/nowhere/hosts"]), &["/nowhere/hosts"]);
    says(
        &serve(&["--listen", free, "--serial", "a serial number that is too long"]),
        &["--serial"],
    );
    says(
        &serve(&["--listen", free, "--data", "file:/nowhere/drive.img"]),
        &["/nowhere/drive.img", "No such file"],
    );
    says(&serve(&["--listen", free, "--data", "file:/proc/version"]), &["/proc/version"]);
    says(
        &serve(&["--listen", free, "--record", "/nowhere/run.trace"]),
        &["/nowhere/run.trace", "no folder /nowhere"],
    );
    says(&["--device", "/nowhere.toml", "--listen", free], &["/nowhere.toml"]);
}

#[test]
fn a_file_of_subsystems_is_checked_and_served() {
    let folder = folder(1);
    let device = path(folder.path(), "device.toml");
    let file = path(folder.path(), "subsystems.toml");
    let write = |text: &str| std::fs::write(&file, text.replace("DEVICE", &device)).unwrap();
    let data = path(folder.path(), "drive.img");
    for (text, words) in [
        ("", "subsystems.toml: no subsystems"),
        ("[[subsystem]]\ndevice = \"DEVICE\"\ncolour = 1\n", "subsystems.toml:3: "),
        ("[[subsystem]]\n\ndevice = \"nothing\"\n", "subsystems.toml:3: "),
        ("[[subsystem]]\ndevice = \"DEVICE\"\nset = [\"colour=2\"]\n", "subsystems.toml:3: set: "),
        ("[[subsystem]]\ndevice = \"DEVICE\"\n\nhosts = \"none\"\n", "subsystems.toml:4: hosts: "),
        (
            "[[subsystem]]\ndevice = \"DEVICE\"\nrecord = \"DEVICE\"\n",
            "subsystems.toml:3: record: ",
        ),
    ] {
        write(text);
        says(&["--subsystems", &file, "--listen", "127.0.0.1:0"], &[words]);
    }
    let two = |keys: &str| format!("[[subsystem]]\ndevice = \"DEVICE\"\n{keys}\n").repeat(2);
    write(&two(&format!("data = \"file:{data}\"")));
    says(
        &["--subsystems", &file, "--listen", "127.0.0.1:0"],
        &["subsystems.toml:6: data: ", "drive.img"],
    );
    write(&two("nqn = \"nqn.2026-11.io.wafer:a\""));
    says(&["--subsystems", &file, "--listen", "127.0.0.1:0"], &["subsystems.toml:6: nqn: "]);
    let (code, said) = refused(&["--subsystems", &file, "--device", &device]);
    assert_eq!(code, 2, "{said}");

    write(&format!("{}set = [\"handles=8\"]\nlba = 512\n", two("")));
    let socket = path(folder.path(), "ctl.sock");
    let mut child = Command::new(env!("CARGO_BIN_EXE_wafer"))
        .args([
            "--quiet",
            "serve",
            "--json",
            "--subsystems",
            &file,
            "--listen",
            "127.0.0.1:0",
            "--ctl",
            &socket,
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = || {
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        serde_json::from_str::<Value>(&line).unwrap()
    };
    let ready = line();
    let address: SocketAddr = ready["address"].as_str().unwrap().parse().unwrap();
    let nqns: Vec<&str> =
        ready["subsystems"].as_array().unwrap().iter().map(|nqn| nqn.as_str().unwrap()).collect();
    assert_eq!((nqns.len(), ready["nqn"].as_str().unwrap()), (2, nqns[0]));
    let connect = |nqn: &str| Host::connect(address, HostOptions::new(nqn, "a")).unwrap();
    let mut hosts = [connect(nqns[0]), connect(nqns[1])];
    let formats = hosts.each_mut().map(|host| {
        let id: IdentifyNamespace = host.identify(Cns::NAMESPACE, 1).unwrap();
        id.lbaf[usize::from(id.flbas)].lbads
    });
    assert_eq!(formats, [12, 9]);
    let mut queue = hosts[1].io_queue(1).unwrap();
    queue.execute(Io { nsid: 1 }.write(0, 8, None), &[0; 4096], 0).unwrap();
    drop(queue);
    drop(hosts);
    let ctl = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_wafer"))
            .args(["ctl", &socket])
            .args(arguments)
            .output()
            .unwrap()
    };
    let unnamed = String::from_utf8(ctl(&["status"]).stderr).unwrap();
    assert!(unnamed.contains(nqns[0]) && unnamed.contains(nqns[1]), "{unnamed}");
    assert!(ctl(&["status", "--subsystem", nqns[1]]).status.success());
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let counted = [line(), line()].map(|record| record["summary"]["host_bytes"].as_u64());
    assert_eq!(counted, [Some(0), Some(4096)]);
    assert!(child.wait().unwrap().success());
}

#[test]
fn every_listen_is_a_port() {
    let folder = folder(1);
    let more = ["--listen", "127.0.0.2:0", "--advertise", "192.0.2.7:4421"];
    let server = Server::start(folder.path(), &more);
    let ports: Vec<SocketAddr> = serde_json::from_value(server.ready["ports"].clone()).unwrap();
    assert_eq!((ports.len(), ports[0]), (2, server.address));
    for address in &ports {
        let mut host = Host::connect(*address, HostOptions::new(DISCOVERY_NQN, "finder")).unwrap();
        let log =
            String::from_utf8_lossy(&host.log(Lid::DISCOVERY, 0, 0, 4096).unwrap()).into_owned();
        for found in ["192.0.2.7", "4421", "127.0.0.2", &ports[1].port().to_string()] {
            assert!(log.contains(found), "{found} is not in the discovery log");
        }
        assert!(!log.contains("127.0.0.1"), "the first port advertises another address");
        Host::connect(*address, HostOptions::new(NQN, "user")).unwrap();
    }
    server.stop();
}

#[test]
fn a_second_server_is_refused_and_touches_nothing() {
    let folder = folder(1);
    let (device, image) = (path(folder.path(), "device.toml"), path(folder.path(), "drive.img"));
    let (data, trace) = (format!("file:{image}"), path(folder.path(), "run.trace"));
    let server = Server::start(folder.path(), &["--data", &data, "--record", &trace]);
    let host = Host::connect(server.address, HostOptions::new(NQN, "writer")).unwrap();
    let mut queue = host.io_queue(1).unwrap();
    let done = queue.execute(Io { nsid: 1 }.write(0, 1, None), &[1; 4096], 0).unwrap();
    assert!(done.status.is_success());
    // The port is in use: the capture and the data of another drive are not touched.
    std::fs::write(folder.path().join("other.trace"), "precious").unwrap();
    let other = path(folder.path(), "other.trace");
    let port = server.address.to_string();
    let more = ["--device", &device, "--listen", &port, "--record", &other];
    says(&more, &["--listen", &port, "in use"]);
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "precious");
    // The port of the page is in use too.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let listener = TcpListener::bind(&taken).unwrap();
    let more =
        ["--device", &device, "--listen", "127.0.0.1:0", "--http", &taken, "--record", &other];
    says(&more, &["--http", &taken]);
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "precious");
    drop(listener);
    // A different port, but the same file.
    let more = ["--device", &device, "--listen", "127.0.0.1:0", "--data", &data];
    says(&more, &["drive.img", "another process serves this file"]);
    drop((queue, host));
    assert_eq!(server.stop()["summary"]["host_bytes"], 4096);
    // The file belongs to a device with a different geometry.
    let more = [
        "--device",
        &device,
        "--listen",
        "127.0.0.1:0",
        "--data",
        &data,
        "--set",
        "reclaim_unit.size=2MiB",
    ];
    says(&more, &["drive.img", "reclaim_unit"]);
    // Its settings must be those of the drive.
    for (option, value, reason) in
        [("--seed", "5", "seed 0"), ("--lba", "512", "blocks of 4096 bytes")]
    {
        let more = ["--device", &device, "--listen", "127.0.0.1:0", "--data", &data, option, value];
        says(&more, &["drive.img", reason]);
    }
    // It can be served again, and has kept its state. What was written before was not written since.
    let server = Server::start(folder.path(), &["--data", &data]);
    let live = server.get("/api/v1/record");
    assert_eq!(live["provenance"]["seed"], 0);
    for record in [live, server.stop()] {
        assert_eq!(record["summary"]["host_bytes"], 4096);
        assert_eq!(record["timeline"]["seconds"][0], 0.0);
        let rates = record["metrics"]["host_bytes_per_second"].as_array().unwrap();
        assert!(rates[0].is_null() && rates[1..].iter().all(|rate| *rate == 0), "{rates:?}");
    }
    // Data that is not a drive's is not overwritten.
    let foreign = path(folder.path(), "foreign.img");
    std::fs::write(&foreign, "a diary").unwrap();
    let data = format!("file:{foreign}");
    says(&["--device", &device, "--listen", "127.0.0.1:0", "--data", &data], &["foreign.img"]);
    assert_eq!(std::fs::read_to_string(&foreign).unwrap(), "a diary");
}

/// A minimal random number generator, good enough for the test.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

/// Issues writes of many sizes with placement identifiers of all kinds, deallocates, copies, updates
/// and reads on one namespace of 512-byte blocks.
fn use_namespace(address: SocketAddr, nsid: u32, mib: u64, pids: &[u16], rounds: u64) {
    let host = Host::connect(address, HostOptions::new(NQN, &format!("host{nsid}"))).unwrap();
    let mut queue = host.io_queue(1).unwrap();
    let (io, blocks) = (Io { nsid }, mib * 2048);
    let mut random = Random(u64::from(nsid));
    let data = vec![0x5a; 64 * 512];
    let finish = |queue: &mut Queue, most: usize| {
        while queue.outstanding() > most {
            let done = queue.complete().unwrap();
            assert!(done.status.is_success(), "{:?}", done.status);
        }
    };
    for round in 0..rounds {
        finish(&mut queue, 15);
        // Three quarters are whole pages; four fifths go to one fifth of the addresses.
        let cut = if random.below(4) == 0 { random.below(8) as u32 } else { 0 };
        let count = 8 * (1 + random.below(8) as u32) - cut;
        let space = if random.below(5) > 0 { blocks / 5 } else { blocks };
        let lba = random.below(space - 64) / 8 * 8 + u64::from(cut);
        match round % 64 {
            0 => {
                let range = DsmRange {
                    length: (count * 5).into(),
                    slba: (lba / 2).into(),
                    ..Default::default()
                };
                queue.submit(io.deallocate(1), range.as_bytes(), 0);
            }
            1 => drop(queue.submit(io.write_zeroes(lba, count, true), &[], 0)),
            2 => drop(queue.submit(io.write_zeroes(lba, count, false), &[], 0)),
            3 => drop(queue.submit(io.read(lba, count), &[], count as usize * 512)),
            4 => {
                let pid = U16::new(pids[random.below(pids.len() as u64) as usize]);
                queue.submit(io.handle_update(1), pid.as_bytes(), 0);
            }
            5 => {
                let source = CopyRange {
                    slba: (lba / 3).into(),
                    nlb_z: (count as u16 - 1).into(),
                    ..Default::default()
                };
                queue.submit(io.copy(lba, 1, Some(pids[0])), source.as_bytes(), 0);
            }
            6 => drop(queue.submit(io.flush(), &[], 0)),
            _ => {
                // Occasionally none, or one that the namespace does not have.
                let pid = match random.below(20) {
                    0 => None,
                    1 => Some(77),
                    n => Some(pids[n as usize % pids.len()]),
                };
                queue.submit(io.write(lba, count, pid), &data[..count as usize * 512], 0);
            }
        }
    }
    finish(&mut queue, 0);
}

/// Deletes namespace 3 and recreates it.
fn make_again(address: SocketAddr) {
    let mut host = Host::connect(address, HostOptions::new(NQN, "host3")).unwrap();
    let sqe = |opcode: AdminOpcode, select: u32, nsid: u32| Sqe {
        opcode: opcode.0,
        nsid: nsid.into(),
        cdw10: select.into(),
        ..Default::default()
    };
    host.admin("delete", sqe(AdminOpcode::NAMESPACE_MANAGEMENT, 1, 3), &[], 0).unwrap();
    let mut create = NamespaceCreate::new_zeroed();
    create.nsze = (8 * 2048).into();
    create.ncap = (8 * 2048).into();
    create.nphndls = 2.into();
    (create.phndl[0], create.phndl[1]) = (3.into(), 0.into());
    let create = (sqe(AdminOpcode::NAMESPACE_MANAGEMENT, 0, 0), create);
    let made = host.admin("create", create.0, create.1.as_bytes(), 0).unwrap();
    assert_eq!(made.dw as u32, 3);
    let mut list = ControllerList { count: 1.into(), ..Default::default() };
    list.ids[0] = host.cntlid.into();
    host.admin("attach", sqe(AdminOpcode::NAMESPACE_ATTACHMENT, 0, 3), list.as_bytes(), 0).unwrap();
}

/// Asserts that a state has exactly the keys that docs/reference/live-api.md documents.
fn documented(state: &Value) {
    let page = include_str!("../../../docs/reference/live-api.md");
    let keys = |value: &Value| -> Vec<String> {
        let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    };
    assert_eq!(
        keys(state),
        ["counters", "findings", "handles", "live", "metrics", "seconds", "wear"]
    );
    let live = ["connections", "drive", "event_counts", "events", "free_open_closed", "state"];
    assert_eq!(keys(&state["live"]), live);
    assert_eq!(keys(&state["live"]["events"][0]), ["kind", "number", "seconds", "text"]);
    for key in keys(&state["counters"]).iter().chain(&keys(&state["handles"]["0"])) {
        assert!(page.contains(&format!("`{key}`")) || page.contains(&format!(".{key}`")), "{key}");
    }
    for key in live {
        assert!(page.contains(&format!("`live.{key}")), "{key}");
    }
}

/// Serves a drive to three hosts at a time, then replays its capture.
fn count_twice(groups: u16) {
    let folder = folder(groups);
    let trace = path(folder.path(), "run.trace.zst");
    let more = ["--data", "none", "--lba", "512", "--fdp-events", "--record", &trace];
    let server = Server::start(folder.path(), &more);
    // Placement identifiers have the group in the upper bits.
    let pids = |handles: u16| -> Vec<u16> {
        let group = |g: u16| (0..handles).map(move |h| if groups == 1 { h } else { g << 15 | h });
        (0..groups).flat_map(group).collect()
    };
    let address = server.address;
    use_namespace(address, 3, 8, &pids(2), 500);
    make_again(address);
    let hosts: Vec<_> = [(1, 24, 2), (2, 16, 1), (3, 8, 2)]
        .map(|(nsid, mib, handles)| {
            let pids = pids(handles);
            std::thread::spawn(move || use_namespace(address, nsid, mib, &pids, 4_000))
        })
        .into();
    for host in hosts {
        host.join().unwrap();
    }
    let units = server.get("/api/v1/reclaim-units");
    // The state is sampled twice a second.
    std::thread::sleep(std::time::Duration::from_millis(1200));
    documented(&server.get("/api/v1/state"));
    let served = server.stop();
    let output = Command::new(env!("CARGO_BIN_EXE_wafer"))
        .args(["--quiet", "run", "--device", &path(folder.path(), "device.toml")])
        .args(["--trace", &trace, "--json", "-"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let played: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (ours, theirs) = (&served["summary"], &played["summary"]);
    for key in [
        "host_bytes",
        "media_bytes",
        "erased_bytes",
        "host_pages",
        "relocated_pages",
        "rmw_pages",
        "deallocated_pages",
        "read_bytes",
        "forced_gc",
        "background_gc",
    ] {
        assert!(ours[key].is_u64() && theirs[key].is_u64(), "{key}");
        assert_eq!(ours[key], theirs[key], "{key}");
    }
    assert!(ours["relocated_pages"].as_u64().unwrap() > 1000, "garbage was collected: {ours}");
    assert!(ours["deallocated_pages"].as_u64().unwrap() > 1000, "pages were deallocated: {ours}");
    // For each handle, and for relocated data.
    let last = |record: &Value, handle: &str, key: &str| {
        let values = record["timeline"]["handles"][handle][key].as_array().unwrap();
        values.last().unwrap().as_u64().unwrap()
    };
    for handle in ["0", "1", "2", "3"] {
        for key in ["host_bytes", "media_bytes"] {
            let (ours, theirs) = (last(&served, handle, key), last(&played, handle, key));
            assert_eq!(ours, theirs, "{key} of handle {handle}");
        }
        assert!(last(&served, handle, "host_bytes") > 1 << 20, "handle {handle}");
    }
    assert_eq!(last(&served, "gc", "media_bytes"), last(&played, "gc", "media_bytes"));
    // The page has shown the course of the counters.
    assert!(served["timeline"]["seconds"].as_array().unwrap().len() > 2, "{}", served["timeline"]);
    let logged = |name: &str| {
        let all = served["live"]["event_counts"].as_array().unwrap();
        all.iter().find(|event| event[0] == name).unwrap()[1].clone()
    };
    let events = &theirs["events"];
    assert_eq!(logged("reclaim unit not fully written"), events["ru_not_fully_written"]);
    assert_eq!(logged("invalid placement identifier"), events["invalid_placement_identifier"]);
    assert!(events["ru_not_fully_written"].as_u64().unwrap() > 10, "{events}");
    assert!(events["invalid_placement_identifier"].as_u64().unwrap() > 10, "{events}");
    // For every reclaim unit: the owner of its data, its valid pages, its erase count.
    for key in ["owners", "owner", "valid", "erases", "open"] {
        assert!(units[key].is_array(), "{key}");
        assert_eq!(units[key], played["reclaim_units"][key], "{key}");
    }
}

#[test]
fn a_drive_counts_what_a_run_of_its_capture_counts() {
    count_twice(1);
}

#[test]
fn and_with_two_reclaim_groups() {
    count_twice(2);
}

#[test]
fn a_run_that_fails_does_not_go_on_serving_its_page() {
    let folder = folder(1);
    // A precondition that the workload lacks is detected after the run has begun.
    let job = folder.path().join("job.fio");
    std::fs::write(&job, "[job]\nrw=randwrite\nbs=4k\nsize=4m\n").unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_wafer"))
        .args(["run", "--device", &path(folder.path(), "device.toml"), "--precondition", "load"])
        .args(["--fio", &job.display().to_string(), "--http", "127.0.0.1:0"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let started = std::time::Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed().as_secs() > 120 {
            child.kill().unwrap();
            panic!("it goes on");
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(said.contains("live page") && said.contains("error: precondition"), "{said}");
    assert!(!said.contains("until Ctrl-C"), "{said}");
}
