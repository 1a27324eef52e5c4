//! Hostile names in every command that shows names: none of them controls the terminal.

use std::fs;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Escape sequences of 7 and 8 bits, a bell, a carriage return, and a change of text direction.
const HOSTILE: &str = "x\u{1b}[31m\u{9b}2J\u{7}\r\u{85}\u{7f}\u{202e}\u{2066}y";

fn acts(c: char) -> bool {
    c != '\n' && c.is_control()
        || ('\u{202a}'..='\u{202e}').contains(&c)
        || ('\u{2066}'..='\u{2069}').contains(&c)
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn file(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).unwrap();
    }

    /// Runs a command; neither of its output streams may control a terminal.
    fn shown(&self, arguments: &[&str]) -> (Output, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wafer"));
        command.args(arguments).current_dir(self.0.path()).stdin(Stdio::null());
        let output = command.output().unwrap();
        let all = [&output.stdout[..], &output.stderr[..]].concat();
        let text = String::from_utf8(all).unwrap();
        assert!(!text.contains(acts), "{arguments:?}: {text:?}");
        (output, text)
    }
}

const DEVICE: &str = "[device]\nprofile = \"warp\"\ncapacity = \"64MiB\"\nreclaim_unit.size = \"1MiB\"\n\
    reclaim_unit.count = 80\n";

#[test]
fn nothing_hostile_reaches_a_terminal() {
    let folder = Folder(tempfile::tempdir().unwrap());
    let escaped = "x\\u{1b}[31m\\u{9b}2J\\u{7}";
    let job = format!("{HOSTILE}.fio");
    folder.file(&job, "[a]\nrw=randwrite\nsize=100%\n");
    folder.file("job.fio", "[a]\nrw=randwrite\nsize=100%\n");
    folder.file("bad.fio", &format!("[a]\nrw=write\n{}=1\n", HOSTILE.replace('\r', "")));
    let trace = |name: &str| {
        let process = HOSTILE.replace(['\r', '\u{85}'], "");
        format!("8,0 0 1 0.000000000 7 D W 8 + 8 [{process}]\n8,0 0 2 9.0 7 D W 16 + 8 [{name}]\n")
    };
    folder.file("t.blkparse", &trace("a"));
    folder.file(&format!("{HOSTILE}.blkparse"), &(trace("b") + "broken line\n"));
    let head = format!("volume = \"1MiB\"\n{DEVICE}");
    folder.file(&format!("{HOSTILE}.toml"), &format!("{head}[workload]\nfio = \"job.fio\"\n"));
    let toml = HOSTILE.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect::<String>();
    folder.file("key.toml", &format!("{head}\"{toml}\" = 1\n[workload]\nfio = \"job.fio\"\n"));
    folder.file(
        "value.toml",
        &format!("{head}gc.policy = \"{toml}\"\n[workload]\nfio = \"job.fio\"\n"),
    );
    folder.file("missing.toml", &format!("{head}[workload]\nfio = \"{toml}\"\n"));
    folder.file("source.csv", &format!("# source: {HOSTILE}\nvolume,waf\n1,2\n"));

    let own = format!("{HOSTILE}.toml");
    let (_, text) = folder.shown(&["run", &own, "--json", "r.json", "--table"]);
    assert!(text.contains(escaped), "{text}");
    let mut record: Value =
        serde_json::from_slice(&fs::read(folder.0.path().join("r.json")).unwrap()).unwrap();
    assert!(record["name"].as_str().unwrap().contains('\u{9b}'), "the record keeps the name");
    let raw = fs::read_to_string(folder.0.path().join("r.json")).unwrap();
    assert!(!raw.contains(acts) && raw.contains("\\u009b"), "as escapes of JSON");
    record["provenance"]["device"] = HOSTILE.into();
    folder.file("hostile.json", &record.to_string());
    folder.file("broken.json", &record.to_string().replace("wafer.result/1", &toml));

    let bad_trace = format!("{HOSTILE}.blkparse");
    for (line, shows) in [
        (vec!["run", &own, &own, "--seeds", "2"], true),
        (vec!["run", &own, "--compare", "source.csv"], true),
        (vec!["run", &own, "--compare", HOSTILE], true),
        (vec!["run", &own, "--json", "-"], false),
        (vec!["run", "key.toml"], true),
        (vec!["run", "value.toml"], true),
        (vec!["run", "missing.toml"], true),
        (vec!["run", "--device", HOSTILE, "--fio", "job.fio"], true),
        (vec!["run", "--device", "warp", "--fio", "bad.fio"], false),
        (vec!["run", "--device", "warp", "--fio", HOSTILE], true),
        (vec!["run", "--device", "warp", "--set", HOSTILE, "--fio", "job.fio"], true),
        (vec!["run", "--device", "warp", "--fio", "job.fio", "--volume", HOSTILE], true),
        (vec![HOSTILE], true),
        (vec!["explain", "hostile.json"], true),
        (vec!["explain", "hostile.json", "--json"], false),
        (vec!["explain", "broken.json"], false),
        (vec!["explain", HOSTILE], true),
        (vec!["report", "hostile.json", "-o", "report.html"], false),
        (vec!["report", "hostile.json", "-o", HOSTILE], true),
        (vec!["trace", "info", "t.blkparse"], false),
        (vec!["trace", "info", "t.blkparse", "--json"], false),
        (vec!["trace", "info", &bad_trace], true),
        (vec!["trace", "info", "t.blkparse", "--trace-set", &format!("volume={HOSTILE}")], true),
        (vec!["trace", "convert", &bad_trace, "out"], true),
        (vec!["advise", "t.blkparse", "--device", HOSTILE], true),
        (vec!["compare", HOSTILE, "--workloads", &own], true),
        (vec!["compare", "greedy", "--seeds", "1", "--workloads", &own], true),
        (vec!["measure", HOSTILE, "--nvme-cli", "/bin/false"], true),
        (vec!["models", HOSTILE], true),
        (vec!["config", "--device", "warp", "--set", &format!("gc.policy={HOSTILE}")], true),
        (vec!["top", &format!("http://127.0.0.1:1/{HOSTILE}"), "--once"], false),
        (vec!["reproduce", HOSTILE, "--list"], true),
        (vec!["validate", HOSTILE], false),
        (vec!["serve", "--device", "warp", "--nqn", HOSTILE], false),
        (vec!["mount", HOSTILE, "--device", "warp"], true),
    ] {
        let (_, text) = folder.shown(&line);
        assert!(!shows || text.contains("\\u{9b}2J"), "{line:?} shows the name: {text}");
    }
}

#[test]
fn a_signal_gives_the_terminal_back() {
    let folder = crate::serve::folder(1);
    let mut server = crate::serve::Server::start(folder.path(), &[]);
    let port = server.page.rsplit(':').next().unwrap();
    let wafer = env!("CARGO_BIN_EXE_wafer");
    let command = format!("timeout --foreground -s TERM 1 {wafer} top {port}");
    let output = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    server.child.kill().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let entered = text.find("\x1b[?1049h").unwrap_or_else(|| panic!("{text:?}"));
    assert!(text[entered..].contains("\x1b[?1049l"), "{text:?}");
}

#[test]
fn what_a_server_sends_does_not_act_either() {
    use std::io::{Read as _, Write as _};
    let body = serde_json::json!({
        "seconds": 1.0,
        "counters": {},
        "handles": {},
        "live": { "state": HOSTILE, "free_open_closed": [1, 2, 3], "events": [], "connections": [] },
    });
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", server.local_addr().unwrap());
    let answer = body.to_string();
    let serving = std::thread::spawn(move || {
        for stream in server.incoming().take(2) {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).unwrap();
            let length = answer.len();
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
            );
            stream.write_all((head + &answer).as_bytes()).unwrap();
        }
    });
    let folder = Folder(tempfile::tempdir().unwrap());
    let (_, text) = folder.shown(&["top", &address, "--json"]);
    assert!(text.contains("\\u009b2J"), "{text}");
    let (_, text) = folder.shown(&["top", &address, "--once"]);
    assert!(text.contains("x\\u{1b}[31m\\u{9b}2J") || text.starts_with("error: "), "{text}");
    serving.join().unwrap();
}
