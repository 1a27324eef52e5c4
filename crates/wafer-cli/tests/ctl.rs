//! `wafer serve --ctl` and `wafer ctl`: the socket as a file, and a fault from the command line to a host.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use wafer_host::{Host, HostOptions, Io};
use wafer_nvme::Status;

use crate::serve::{NQN, Server, folder};

fn ctl(socket: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wafer"))
        .arg("ctl")
        .arg(socket)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Runs `wafer ctl`, which must succeed, and returns its output.
fn done(socket: &Path, arguments: &[&str]) -> String {
    let output = ctl(socket, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs `wafer ctl`, which must fail with a one-line error, and returns that.
fn refused(socket: &Path, arguments: &[&str]) -> String {
    let output = ctl(socket, arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(output.stdout.is_empty());
    assert!(said.starts_with("error: ") && said.trim_end().lines().count() == 1, "{said}");
    said
}

fn terminate(mut server: Server) {
    let pid = server.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert!(server.child.wait().unwrap().success());
}

#[test]
fn a_fault_goes_from_the_command_line_to_a_host() {
    let folder = folder(1);
    let socket = folder.path().join("ctl.sock");
    let server = Server::start(folder.path(), &["--ctl", socket.to_str().unwrap()]);
    let mode = std::fs::metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let host = Host::connect(server.address, HostOptions::new(NQN, "a")).unwrap();
    let mut queue = host.io_queue(1).unwrap();
    let io = Io { nsid: 1 };
    done(&socket, &["media-error", "--namespace", "1", "--lba", "4", "--blocks", "2"]);
    done(&socket, &["read-delay", "--namespace", "1", "--lba", "9", "--time", "1ms"]);
    done(&socket, &["health", "--temperature", "350", "--critical-warning", "backup,read-only"]);
    let fail = ["fail", "write", "--status", "write-fault", "--count", "2", "--dnr"];
    done(&socket, &fail);
    let read = queue.execute(io.read(4, 1), &[], 4096).unwrap();
    assert_eq!(read.status, Status::UNRECOVERED_READ_ERROR);
    let write = queue.execute(io.write(0, 1, None), &[0; 4096], 0).unwrap();
    assert_eq!(write.status, Status::WRITE_FAULT);
    done(&socket, &["ana", "non-optimized"]);
    let port = refused(&socket, &["ana", "change", "--port", "2"]);
    assert!(port.contains("there is no port 2"), "{port}");
    let listed = done(&socket, &["status"]);
    for words in [
        "nqn.2026-11.io.wafer:a  io    0,1",
        "media-error  namespace 1, block 4, 2 blocks",
        "read-delay   namespace 1, block 9, 1 blocks",
        "temperature",
        "350 K",
        "critical-warning",
        "0x18",
        "write, namespace all, host all",
        "next 1: write-fault, do not retry",
        "ana",
        "port 1, 127.0.0.1:",
        "non-optimized",
    ] {
        assert!(listed.contains(words), "`{words}` is not in\n{listed}");
    }
    let listed: Value = serde_json::from_str(&done(&socket, &["status", "--json"])).unwrap();
    assert_eq!(listed["media_errors"], json!([{ "namespace": 1, "lba": 4, "blocks": 2 }]));
    done(&socket, &["clear"]);
    let event = json!({ "controllers": [host.cntlid] });
    let sent = done(&socket, &["--json", "event", "persistent-internal-error"]);
    assert_eq!(serde_json::from_str::<Value>(&sent).unwrap(), event);
    let said = refused(&socket, &["media-error", "--namespace", "9", "--lba", "0"]);
    assert!(said.contains("ctl.sock: there is no namespace 9"), "{said}");
    assert!(refused(&socket, &["event", "spare"]).contains("has enabled the event"));
    let said = refused(&socket, &["fail", "re\u{1b}[31mad", "--status", "2/0x81"]);
    assert!(said.contains("unknown opcode") && !said.contains('\u{1b}'), "{said}");
    assert!(refused(&socket, &["fail", "read", "--status", "success"]).contains("an error"));
    let nobody = ["fail", "read", "--status", "write-fault", "--host", "nonsense"];
    assert!(refused(&socket, &nobody).contains("host `nonsense`: an NVMe Qualified Name begins"));
    done(&socket, &["drop", "--host", "nqn.2026-11.io.wafer:a"]);
    assert!(queue.execute(io.read(0, 1), &[], 4096).is_err());
    // A client that sends nothing does not prevent the server from ending.
    let _silent = UnixStream::connect(&socket).unwrap();
    terminate(server);
    assert!(!socket.exists());
    assert!(refused(&socket, &["status"]).contains("No such file"));
}

#[test]
fn only_the_socket_of_a_dead_server_is_replaced() {
    let folder = folder(1);
    let socket = folder.path().join("ctl.sock");
    let path = socket.to_str().unwrap();
    let serve = |ctl: &str, words: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_wafer"))
            .args(["serve", "--listen", "127.0.0.1:0", "--ctl", ctl, "--device"])
            .arg(folder.path().join("device.toml"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("--ctl: ") && said.contains(words), "{said}");
        assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    };
    std::fs::write(&socket, "notes").unwrap();
    serve(path, "not a socket");
    assert_eq!(std::fs::read(&socket).unwrap(), b"notes");
    std::fs::remove_file(&socket).unwrap();
    let alive = UnixListener::bind(&socket).unwrap();
    serve(path, "another server");
    serve(&folder.path().join("none/ctl.sock").display().to_string(), "No such file");
    serve(&folder.path().join("x".repeat(200)).display().to_string(), "");
    // When a server is killed, its file remains.
    drop(alive);
    assert!(socket.exists());
    let server = Server::start(folder.path(), &["--ctl", path]);
    done(&socket, &["status"]);
    // The server must not remove a file that replaced its own.
    std::fs::remove_file(&socket).unwrap();
    std::fs::write(&socket, "notes").unwrap();
    terminate(server);
    assert_eq!(std::fs::read(&socket).unwrap(), b"notes");
}

#[test]
fn operators_can_use_http_with_their_token() {
    let folder = folder(1);
    let token = folder.path().join("token");
    std::fs::write(&token, "operator-1234\n").unwrap();
    let server = Server::start(folder.path(), &["--http-ctl-token", token.to_str().unwrap()]);
    let post = |token: &str, request: Value| {
        let mut answer = ureq::post(format!("{}/ctl", server.page))
            .config()
            .http_status_as_error(false)
            .build()
            .header("Authorization", format!("Bearer {token}"))
            .header("Content-Type", "application/json")
            .send(request.to_string())
            .unwrap();
        (answer.status().as_u16(), answer.body_mut().read_to_string().unwrap())
    };
    let health = json!({ "command": "health", "temperature": 350 });
    assert_eq!(post("operator-1235", health.clone()).0, 401);
    assert_eq!(post("operator-1234", health), (200, json!({ "done": {} }).to_string()));
    let (code, status) = post("operator-1234", json!({ "command": "status" }));
    assert_eq!(code, 200);
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["done"]["health"]["temperature"], 350);
    let (code, wrong) = post("operator-1234", json!({ "command": "melt" }));
    assert!(code == 400 && wrong.contains("refused"), "{wrong}");
    // Otherwise, a request that names one namespace would clear everything.
    let (code, wrong) = post("operator-1234", json!({ "command": "clear", "namespace": 1 }));
    assert!(code == 400 && wrong.contains("namespace"), "{wrong}");
    terminate(server);
}
