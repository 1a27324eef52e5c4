//! Runs keep drives in steady state: the next run begins at once, with the same result.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const DEVICE: &str = "config --device pm9a3 --set capacity=1GiB --set reclaim_unit.size=16MiB \
    --set overprovisioning=0.25";
const JOB: &str = "[w]\nrw=randwrite\nbs=16k\nsize=100%\ntime_based=1\nruntime=1s\niodepth=4\n";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Folder(tempfile::tempdir().unwrap());
        let device = folder.wafer(DEVICE, &[]);
        std::fs::write(folder.0.path().join("device.toml"), device.stdout).unwrap();
        std::fs::write(folder.0.path().join("job.fio"), JOB).unwrap();
        folder
    }

    fn wafer(&self, arguments: &str, environment: &[(&str, &str)]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_wafer"))
            .args(arguments.split(' '))
            .current_dir(self.0.path())
            .env("WAFER_CACHE", self.cache())
            .envs(environment.iter().copied())
            .output()
            .unwrap()
    }

    fn cache(&self) -> std::path::PathBuf {
        self.0.path().join("cache")
    }

    /// Runs, and returns the record.
    fn run(&self, more: &str, environment: &[(&str, &str)]) -> Value {
        let run = "run --device device.toml --json -";
        let output = self.wafer(&format!("{run} {more}"), environment);
        assert!(output.status.success(), "{output:?}");
        crate::schema::valid(&output.stdout)
    }

    fn files(&self) -> Vec<std::path::PathBuf> {
        let Ok(folder) = std::fs::read_dir(self.cache()) else { return Vec::new() };
        folder.map(|file| file.unwrap().path()).collect()
    }
}

/// Returns the results of a record, without its speed and date.
fn results(record: &Value) -> Value {
    let mut record = record.clone();
    for key in ["performance", "provenance"] {
        record[key] = Value::Null;
    }
    record["steady"]["kept"] = Value::Null;
    record
}

const TIMED: &str = "--fio job.fio --time --precondition sequential+steady";

#[test]
fn a_kept_drive_gives_the_same_result() {
    let folder = Folder::new();
    let first = folder.run(TIMED, &[]);
    assert_eq!(first["steady"]["kept"], Value::Null);
    assert!(first["steady"]["capacities"].as_u64().unwrap() > 1 && folder.files().len() == 1);
    let second = folder.run(TIMED, &[]);
    assert_eq!(second["steady"]["kept"], true);
    assert_eq!(results(&first), results(&second));
    // Times change no byte: the same drive is used.
    let slower = folder.run(&format!("{TIMED} --set timing.read_us=90"), &[]);
    assert_eq!(slower["steady"]["kept"], true);

    for other in ["--seed 1", "--set gc.policy=fifo", "--set overprovisioning=0.3"] {
        let other = folder.run(&format!("{TIMED} {other}"), &[]);
        assert_eq!(other["steady"]["kept"], Value::Null);
    }
    assert_eq!(folder.files().len(), 4);
    std::fs::write(folder.0.path().join("job.fio"), JOB.replace("16k", "32k")).unwrap();
    assert_eq!(folder.run(TIMED, &[])["steady"]["kept"], Value::Null, "the job changed");
}

/// Runs with a different variable, file of ranges or map of a trace need different drives.
#[test]
fn what_a_workload_finds_elsewhere_tells_it_from_others() {
    let folder = Folder::new();
    let write = |name: &str, text: &str| std::fs::write(folder.0.path().join(name), text).unwrap();
    let steady = "--precondition steady --volume 0.1x";
    let job = format!("{JOB}random_distribution=zipf:${{Z}}\n");
    write("z.fio", &job);
    let run = |z: &str| folder.run(&format!("--fio z.fio {steady}"), &[("Z", z)]);
    let kept = |record: &Value| record["steady"]["kept"] == true;
    let first = run("0.5");
    assert!(!kept(&first) && kept(&run("0.5")));
    assert!(!kept(&run("1.2")), "the environment changed");
    let text = &first["provenance"]["workload"]["text"];
    assert_eq!(text, &job.replace("${Z}", "0.5"), "a record has the jobs as they ran");

    write("s.fio", &format!("{JOB}fdp=1\nplid_select=scheme\ndp_scheme=s.txt\n"));
    let run = || folder.run(&format!("--fio s.fio {steady} --set fdp=true --set handles=2"), &[]);
    write("s.txt", "0, 104857600, 1\n");
    assert!(!kept(&run()) && kept(&run()));
    write("s.txt", "0, 524288000, 1\n");
    assert!(!kept(&run()), "the ranges changed");

    let trace = "--trace t.csv --trace-set format=msr";
    let line = |at: u64| format!("{at},h,0,Write,{},65536,0\n", at % 16_000 * 65_536);
    write("t.csv", &(1..16_000).map(line).collect::<String>());
    let run = || {
        let more = "--set fdp=true --set handles=2 --place map:map.csv";
        folder.run(&format!("{trace} {steady} {more}"), &[])
    };
    let map = |bytes| format!("namespace,first_byte,bytes,handle\n1,0,{bytes},1\n");
    write("map.csv", &map(104_857_600));
    assert!(!kept(&run()) && kept(&run()));
    write("map.csv", &map(524_288_000));
    assert!(!kept(&run()), "the map changed");
}

#[test]
fn a_load_is_written_once() {
    let folder = Folder::new();
    let model = "[workload]\nmodel = \"aerospike\"\n";
    let text = format!(
        "volume = \"1x\"\nprecondition = \"load+steady\"\ndevice = \"device.toml\"\n{model}"
    );
    std::fs::write(folder.0.path().join("e.toml"), text).unwrap();
    let run = || {
        let output = folder.wafer("run e.toml --json -", &[]);
        assert!(output.status.success(), "{output:?}");
        crate::schema::valid(&output.stdout)
    };
    let (first, second) = (run(), run());
    assert_eq!(second["steady"]["kept"], true, "{second}");
    assert_eq!(results(&first), results(&second));
}

#[test]
fn a_damaged_file_is_made_again() {
    let folder = Folder::new();
    let first = folder.run(TIMED, &[]);
    let file = folder.files().remove(0);
    let whole = std::fs::read(&file).unwrap();
    let damage = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        bytes
    };
    let after_head = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let damaged = [
        damage(3),
        damage(after_head + 100),
        damage(whole.len() / 2),
        damage(whole.len() - 2),
        whole[..whole.len() - 1].to_vec(),
        whole[..after_head].to_vec(),
        Vec::new(),
    ];
    for bytes in damaged {
        std::fs::write(&file, bytes).unwrap();
        let again = folder.run(TIMED, &[]);
        assert_eq!(again["steady"]["kept"], Value::Null);
        assert_eq!(results(&first), results(&again));
        assert_eq!(folder.run(TIMED, &[])["steady"]["kept"], true, "it is mended");
    }
}

#[test]
fn the_folder_is_limited_listed_and_cleared() {
    let folder = Folder::new();
    folder.run(TIMED, &[("WAFER_CACHE", "off")]);
    assert!(folder.files().is_empty());
    let size = |path: &Path| std::fs::metadata(path).unwrap().len();

    folder.run(TIMED, &[]);
    let one = size(&folder.files()[0]);
    let limit = (one + one / 2).to_string();
    // The drive that was used last is kept.
    folder.run(&format!("{TIMED} --seed 1"), &[("WAFER_CACHE_LIMIT", &limit)]);
    assert_eq!(folder.files().len(), 1);
    let list = || -> Value {
        serde_json::from_slice(&folder.wafer("cache list --json", &[]).stdout).unwrap()
    };
    let listed = list();
    assert_eq!(
        (&listed["drives"][0]["seed"], &listed["drives"][0]["device"]),
        (&1.into(), &"device.toml".into())
    );
    let table = String::from_utf8(folder.wafer("cache list", &[]).stdout).unwrap();
    assert!(table.contains("job.fio") && table.contains("sequential+steady"), "{table}");

    // A drive larger than the limit is not kept, and a note says so; the run continues.
    let run = format!("run --device device.toml {TIMED} --seed 2 --json r.json");
    let output = folder.wafer(&run, &[("WAFER_CACHE_LIMIT", "64KiB")]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.success()
            && said.contains("not kept: ")
            && said.contains("it is larger than "),
        "{said}"
    );
    let wrong = folder.wafer(&run, &[("WAFER_CACHE_LIMIT", "much")]);
    let said = String::from_utf8(wrong.stderr).unwrap();
    assert!(wrong.status.code() == Some(2) && said.contains("WAFER_CACHE_LIMIT"), "{said}");

    // An unreadable drive is listed and cleared; a file that is no drive is kept.
    let drive = folder.files()[0].clone();
    std::fs::write(&drive, "damaged").unwrap();
    let notes = drive.with_file_name("notes.steady");
    std::fs::write(&notes, "mine").unwrap();
    assert_eq!(list()["drives"][0]["device"], "(unreadable)");
    assert!(folder.wafer("cache clear", &[]).status.success());
    std::fs::remove_file(&notes).unwrap();
    assert_eq!((folder.files().len(), list()["drives"].as_array().unwrap().len()), (0, 0));
}
