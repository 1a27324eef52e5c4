//! Outputs that are also an input, a device or another output: every command refuses them in one line,
//! with exit status 2, before anything is written.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

const EXPERIMENT: &str = "volume = \"1MiB\"\n[device]\nprofile = \"warp\"\ncapacity = \"64MiB\"\n\
    reclaim_unit.size = \"1MiB\"\nreclaim_unit.count = 80\n[workload]\nfio = \"job.fio\"\n";
const SMALL: [&str; 6] = [
    "--set",
    "capacity=64MiB",
    "--set",
    "reclaim_unit.size=1MiB",
    "--set",
    "reclaim_unit.count=80",
];

struct Folder(tempfile::TempDir);

impl Folder {
    /// Creates a folder with a job, an experiment, a trace, a record, a device, and a link to each.
    fn new() -> Self {
        let folder = Folder(tempfile::tempdir().unwrap());
        folder.file("job.fio", "[a]\nrw=randwrite\ninclude more.inc\n");
        folder.file("more.inc", "size=100%\n");
        folder.file("e.toml", EXPERIMENT);
        folder.file(
            "t.blkparse",
            "8,0 0 1 0.000000000 7 D W 8 + 8 [a]\n8,0 0 2 9.0 7 D W 16 + 8 [a]\n",
        );
        folder.file("d.toml", "capacity = \"64MiB\"\novercommit = 1\n");
        let device = folder.wafer(&[&["config", "--device", "warp"], &SMALL[..]].concat());
        folder.file("d.toml", &String::from_utf8(device.stdout).unwrap());
        let run = folder.wafer(&["run", "e.toml", "--json", "r.json"]);
        assert!(run.status.success(), "{run:?}");
        for name in ["job.fio", "more.inc", "e.toml", "t.blkparse", "r.json", "d.toml"] {
            symlink(name, folder.path(&format!("to-{name}"))).unwrap();
        }
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn wafer(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wafer"));
        command.args(arguments).current_dir(self.0.path()).stdin(Stdio::null()).output().unwrap()
    }

    /// Returns the files and their contents.
    fn contents(&self) -> Vec<(String, Vec<u8>)> {
        let entries = fs::read_dir(self.0.path()).unwrap().map(Result::unwrap);
        let mut all: Vec<(String, Vec<u8>)> = entries
            .map(|e| (e.file_name().into_string().unwrap(), fs::read(e.path()).unwrap_or_default()))
            .collect();
        all.sort();
        all
    }
}

/// Returns command lines with `OUT` for the output, and the inputs it must not be.
fn commands() -> Vec<(Vec<&'static str>, Vec<&'static str>)> {
    let mut all = vec![
        ("run e.toml --json OUT", vec!["e.toml", "job.fio", "more.inc"]),
        ("run --device d.toml --fio job.fio --volume 1MiB --json OUT", vec!["job.fio", "d.toml"]),
        ("run --device d.toml --trace t.blkparse --json OUT", vec!["t.blkparse"]),
        ("report r.json -o OUT", vec!["r.json"]),
        ("trace convert t.blkparse OUT", vec!["t.blkparse"]),
        ("advise t.blkparse --device d.toml --json OUT", vec!["t.blkparse", "d.toml"]),
        ("advise --experiment e.toml --json OUT", vec!["e.toml", "job.fio"]),
        ("compare greedy fifo --workloads e.toml --json OUT", vec!["e.toml", "job.fio"]),
        ("compare greedy fifo --workloads e.toml --markdown OUT", vec!["e.toml", "job.fio"]),
        ("serve --device d.toml --data none --listen 127.0.0.1:0 --record OUT", vec!["d.toml"]),
        ("mount mnt --device d.toml --data none --record OUT", vec!["d.toml"]),
        ("mount mnt --device d.toml --data none --json OUT", vec!["d.toml"]),
    ];
    all.iter_mut().map(|(line, inputs)| (line.split(' ').collect(), inputs.clone())).collect()
}

fn refused(folder: &Folder, line: &[&str], out: &str, words: &str) {
    let line: Vec<&str> =
        line.iter().map(|word| if *word == "OUT" { out } else { *word }).collect();
    let before = folder.contents();
    let output = folder.wafer(&line);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{line:?}: {errors}");
    assert!(errors.starts_with("error: ") && errors.lines().count() == 1, "{line:?}: {errors}");
    assert!(errors.contains(words), "{line:?}: {errors}");
    assert!(folder.contents() == before, "{line:?}: files changed");
}

#[test]
fn an_output_that_is_an_input_or_a_device_is_refused() {
    let folder = Folder::new();
    fs::create_dir(folder.path("mnt")).unwrap();
    for (line, inputs) in commands() {
        for input in inputs {
            let link = format!("to-{input}");
            let other = format!("./mnt/../{input}");
            for out in [input, &link, &other] {
                refused(&folder, &line, out, "input");
            }
        }
        refused(&folder, &line, "/dev/zero", "is a device or a socket, not a file");
        refused(&folder, &line, "missing/x", "no folder");
    }
    // The data of a drive, and the files next to it.
    for end in ["", ".state", ".journal"] {
        let data = format!("r.json{end}");
        for command in ["serve --listen 127.0.0.1:0", "mount mnt"] {
            let line = format!("{command} --device d.toml --data file:r.json --record {data}");
            refused(&folder, &line.split(' ').collect::<Vec<_>>(), "", "another output");
        }
    }
    refused(&folder, &["serve", "--device", "d.toml", "--data", "file:to-d.toml"], "", "input");
    let both = "compare greedy fifo --workloads e.toml --json same --markdown ./same";
    refused(&folder, &both.split(' ').collect::<Vec<_>>(), "", "another output");
}

#[test]
fn streams_are_written_to_and_never_replaced() {
    let folder = Folder::new();
    for out in ["/dev/stdout", "-"] {
        let output = folder.wafer(&["run", "e.toml", "--json", out]);
        assert!(output.status.success(), "{output:?}");
        let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(record["schema"], "wafer.result/1");
    }
    for line in ["run e.toml --json /dev/null", "report r.json -o /dev/null"] {
        let output = folder.wafer(&line.split(' ').collect::<Vec<_>>());
        assert!(output.status.success(), "{line}: {output:?}");
    }
    let null = fs::metadata("/dev/null").unwrap();
    assert!(std::os::unix::fs::FileTypeExt::is_char_device(&null.file_type()));
    // When the shell opened the file, it stays the same file.
    let shell = format!("{} run e.toml --json /dev/stdout >> log", env!("CARGO_BIN_EXE_wafer"));
    folder.file("log", "before\n");
    let done = Command::new("sh").args(["-c", &shell]).current_dir(folder.0.path()).status();
    assert!(done.unwrap().success());
    assert!(fs::read_to_string(folder.path("log")).unwrap().starts_with("before\n{"));
}

#[test]
fn a_document_without_an_end_is_not_read_to_it() {
    let folder = Folder::new();
    let output = folder.wafer(&["reproduce", "warp/one-stream", "--markdown", "/dev/full"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("/dev/full") && text.lines().count() == 1, "{text}");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_capture_to_stdout_is_that_of_a_file() {
    let folder = Folder::new();
    assert!(folder.wafer(&["trace", "convert", "t.blkparse", "t.wcap"]).status.success());
    let before = folder.contents();
    let printed = folder.wafer(&["trace", "convert", "t.blkparse", "-"]).stdout;
    assert!(!printed.is_empty() && printed == fs::read(folder.path("t.wcap")).unwrap());
    assert!(folder.contents() == before, "files changed");
}

#[test]
fn names_that_a_capture_loses_are_told() {
    let folder = Folder::new();
    folder.file("two.blkparse", "8,0 0 1 0.1 7 D W 0 + 8 [a]\n8,16 0 1 0.2 7 D W 0 + 8 [b]\n");
    let convert = folder.wafer(&["trace", "convert", "two.blkparse", "two.wcap"]);
    let text = String::from_utf8(convert.stderr).unwrap();
    assert!(text.contains("two.blkparse: the names of processes are lost"), "{text}");
    assert!(text.contains("numbers in the capture: 1 (8,0), 2 (8,16)\n"), "{text}");
    // A capture of a capture loses nothing more, even if only namespace 2 is left.
    for arguments in
        [&["two.wcap", "one.wcap", "--trace-set", "volume=2"][..], &["one.wcap", "again.wcap"]]
    {
        let again = folder.wafer(&[&["trace", "convert"], arguments].concat());
        assert!(again.status.success() && again.stderr.is_empty(), "{:?}", again.stderr);
    }
}

#[test]
fn a_killed_conversion_leaves_no_temporary_file() {
    let folder = Folder::new();
    let lines = (0..400_000).map(|at| format!("8,0 0 1 {at}.5 7 D W {} + 8 [a]\n", at * 8));
    folder.file("long.blkparse", &lines.collect::<String>());
    let before: Vec<String> = folder.contents().into_iter().map(|(name, _)| name).collect();
    for signal in ["TERM", "INT", "KILL"] {
        // Background processes of a shell ignore SIGINT, and this one would too.
        let mut child = Command::new("env")
            .args(["--default-signal=INT", env!("CARGO_BIN_EXE_wafer")])
            .args(["trace", "convert", "long.blkparse", "out", "--level", "22"])
            .current_dir(folder.0.path())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // While it writes: its file is open, with or without a name.
        let open = || {
            let fds = fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap();
            fds.flatten().any(|fd| {
                let to = fs::read_link(fd.path()).unwrap_or_default();
                to.starts_with(folder.0.path()) && !to.ends_with("long.blkparse")
            })
        };
        let start = std::time::Instant::now();
        while !open() {
            assert!(start.elapsed().as_secs() < 30, "the conversion does not begin");
        }
        let arguments = [format!("-{signal}"), child.id().to_string()];
        assert!(Command::new("kill").args(arguments).status().unwrap().success());
        child.wait().unwrap();
        let after: Vec<String> = folder.contents().into_iter().map(|(name, _)| name).collect();
        assert_eq!(after, before, "{signal}");
    }
}
