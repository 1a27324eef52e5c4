//! Application models and tenants in experiment files: their runs, and refused input.

use std::path::Path;

use wafer_config::device_from_text;
use wafer_interface::{Command, NsId, Placement};
use wafer_lab::{Control, Experiment, LabError, Options, run};
use wafer_record::capture::{
    CaptureEvent, CaptureGeometry, CaptureHeader, CaptureRecord, CaptureWriter,
};
use wafer_record::{HandleKey, Record};

const DEVICE: &str = r#"
volume = "2x"
seed = 1

[device]
capacity = "256MiB"
reclaim_unit.size = "1MiB"
overprovisioning = 0.20
handles = 4

[[device.namespaces]]
size = "128MiB"
handles = [0, 2]

[[device.namespaces]]
size = "128MiB"
handles = [1]
"#;

fn experiment(text: &str) -> Result<Experiment, LabError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("e.toml");
    std::fs::write(&path, format!("{DEVICE}{text}")).unwrap();
    Experiment::from_file(&path, &Options::default())?.check().map(|checked| checked.experiment)
}

fn record(text: &str) -> Record {
    run(&experiment(text).unwrap(), Control::unattended()).unwrap()
}

/// Returns the error message without the folder.
fn refused(text: &str) -> String {
    let message = wafer_config::line(&experiment(text).unwrap_err(), ToString::to_string);
    message.split_once("e.toml").map_or(message.clone(), |(_, rest)| rest.to_owned())
}

fn figure(record: &Record, tenant: &str, name: &str) -> f64 {
    let mut figures = record.application.iter();
    figures.find(|f| f.tenant == tenant && f.name == name).unwrap().value
}

/// Returns the host bytes of a reclaim unit handle at the end.
fn bytes_of(record: &Record, handle: u16) -> u64 {
    let series = record.timeline.handles.get(&HandleKey::Handle(handle));
    series.and_then(|s| s.host_bytes.last().copied()).unwrap_or(0)
}

const TWO: &str = r#"
[[tenants]]
name = "store"
namespace = 0
rate = 3
placement = 1
[tenants.workload]
model = "aerospike"
write_block = "16KiB"

[[tenants]]
name = "job"
namespace = 1
rate = 1
[tenants.workload]
fio_text = """
[job]
rw=randwrite
bs=4k
size=100%
time_based=1
runtime=10d
"""
"#;

#[test]
fn tenants_share_a_device_each_on_its_namespace_and_handle() {
    let record = record(TWO);
    assert_eq!(record.provenance.workload.as_ref().unwrap().kind, "tenants");
    let bytes = |handle| bytes_of(&record, handle) as f64;
    // Namespace 0's handle 1 is reclaim unit handle 2; namespace 1 has reclaim unit handle 1.
    assert!((bytes(2) / bytes(1) - 3.0).abs() < 0.01);
    assert_eq!(bytes(0), 0.0);
    // The last batch may not have been written completely.
    assert!((figure(&record, "job", "written") / bytes(1) - 1.0).abs() < 0.05);
    assert!(figure(&record, "store", "application_waf") > 1.3);
}

#[test]
fn ranges_of_addresses_have_handles() {
    let text = r#"
[[tenants]]
ranges = [{ from = "0", to = "32MiB", placement = 1 }]
[tenants.workload]
fio_text = """
[job]
rw=write
bs=64k
size=100%
time_based=1
runtime=10d
"""
"#;
    let record = record(text);
    let bytes = |handle| bytes_of(&record, handle);
    assert_eq!(bytes(2) * 3, bytes(0));
}

#[test]
fn a_load_can_be_left_out_of_the_count() {
    let text = "[workload]\nmodel = \"aerospike\"\nwrite_block = \"16KiB\"\n";
    let counted = record(text);
    let preconditioned = experiment(text)
        .map(|e| Experiment { precondition: "sequential+load".parse().unwrap(), ..e });
    let preconditioned = run(&preconditioned.unwrap(), Control::unattended()).unwrap();
    assert_eq!(preconditioned.summary.host_bytes, counted.summary.host_bytes);
    assert!(preconditioned.summary.waf > counted.summary.waf);

    let fio = "[workload]\nfio_text = \"[j]\\nrw=write\\nsize=100%\"\n";
    let fio = Experiment { precondition: "load".parse().unwrap(), ..experiment(fio).unwrap() };
    let error = run(&fio, Control::unattended()).unwrap_err().to_string();
    assert_eq!(
        error,
        "precondition: `load`: the workload has nothing to load; an application model has"
    );
}

#[test]
fn errors_have_file_line_and_key() {
    let workload = |keys: &str| format!("[workload]\n{keys}");
    let line = DEVICE.lines().count();
    let at = |more: usize| format!(":{}", line + more);
    assert_eq!(
        refused(&workload("model = \"aerospik\"")),
        format!("{}: model: no model `aerospik`; did you mean `aerospike`?", at(2))
    );
    assert_eq!(
        refused(&workload("model = \"aerospike\"\nfil = 1")),
        format!("{}: fil: unknown key; did you mean `fill`?", at(3))
    );
    assert_eq!(
        refused(&workload("model = \"aerospike\"\nfill = \"much\"")),
        format!("{}: fill: expected a number, found string \"much\"", at(3))
    );
    assert_eq!(
        refused(&workload("model = \"aerospike\"\nfill = 2")),
        format!("{}: fill: 2 is not between 0.001 and 0.9", at(3))
    );
    assert_eq!(
        refused(&workload("model = \"aerospike\"\nhandle = 2")),
        format!("{}: handle: 2: the namespace has placement handles 0 to 1", at(3))
    );
    assert_eq!(
        refused(&workload("model = \"aerospike\"\nfio = \"x\"")),
        format!("{}: workload.model: give fio or model, not both", at(2))
    );
}

#[test]
fn tenants_that_cannot_work_are_refused() {
    let line = DEVICE.lines().count();
    let at = |more: usize| format!(":{}", line + more);
    let change = |from: &str, to: &str| refused(&TWO.replacen(from, to, 1));
    assert_eq!(
        change("namespace = 1", "namespace = 2"),
        format!("{}: namespace: 2: the device has namespaces 0 to 1", at(13))
    );
    assert_eq!(
        change("rate = 1", ""),
        format!("{}: rate: missing: give every tenant a rate, or none", at(11))
    );
    assert_eq!(
        change("placement = 1", "placement = 4"),
        format!("{}: placement: 4: the namespace has placement handles 0 to 1", at(6))
    );
    assert_eq!(
        change("name = \"job\"", "name = \"store\""),
        format!("{}: name: another tenant is named `store`", at(12))
    );
    assert_eq!(
        change("rate = 3", "rat = 3"),
        format!("{}: rat: unknown key; did you mean `rate`?", at(5))
    );
    assert_eq!(
        change("write_block = \"16KiB\"", "write_block = \"16\""),
        format!("{}: write_block: 16B is not a power of two from 4KiB to 8MiB", at(9))
    );
    assert_eq!(
        change(
            "rate = 3",
            "ranges = [{ from = \"0\", to = \"8KiB\", placement = 0 }, { from = \"4KiB\", to = \"9KiB\", placement = 1 }]\nrate = 3"
        ),
        format!("{}: ranges[1]: empty, or overlaps one before it", at(5))
    );
    assert_eq!(
        change("[[tenants]]", "[workload]\nmodel = \"jesd219a\"\n[[tenants]]"),
        format!("{}: tenants: give [workload] or [[tenants]], not both", at(4))
    );
    let timed = TWO.replace("rate = 3", "pace = \"time\"").replace("rate = 1", "pace = \"time\"");
    assert_eq!(
        refused(&timed),
        format!("{}: pace: a workload of kind model has no times; use a trace", at(5))
    );
}

#[test]
fn a_model_needs_a_volume() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("e.toml");
    let text = format!("{DEVICE}[workload]\nmodel = \"jesd219a\"\n").replace("volume = \"2x\"", "");
    std::fs::write(&path, text).unwrap();
    let experiment = Experiment::from_file(&path, &Options::default()).unwrap();
    let error = experiment.check().unwrap_err().to_string();
    assert!(error.ends_with("model: the model jesd219a never ends: give a volume"), "{error}");
}

/// Two traces of writes, one with twice as many: by time, they end together, and nothing is lost.
#[test]
fn traces_share_a_device_by_their_times() {
    let folder = tempfile::tempdir().unwrap();
    for (name, count, step) in [("a.csv", 2000, 10), ("b.csv", 1000, 20)] {
        let line = |i: u64| format!("0,W,{},4096,{}\n", i * 4096, 1_577_808_000_000_000 + i * step);
        let text: String = (0..count).map(line).collect();
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let tenant = |name: &str, namespace: u8| {
        format!(
            "[[tenants]]\nname = \"{name}\"\nnamespace = {namespace}\npace = \"time\"\n\
             [tenants.workload]\ntrace = \"{name}.csv\"\nformat = \"alibaba\"\n"
        )
    };
    let text =
        format!("{DEVICE}{}{}", tenant("a", 0), tenant("b", 1)).replace("volume = \"2x\"", "");
    let path = folder.path().join("e.toml");
    std::fs::write(&path, text).unwrap();
    let experiment = Experiment::from_file(&path, &Options::default()).unwrap();
    let record = run(&experiment, Control::unattended()).unwrap();
    assert_eq!(bytes_of(&record, 0), 2000 * 4096);
    assert_eq!(bytes_of(&record, 1), 1000 * 4096);
    // Halfway, each has written half of its writes.
    let at = record.timeline.host_bytes.iter().position(|b| *b >= 1500 * 4096).unwrap();
    let half = record.timeline.handles[&HandleKey::Handle(0)].host_bytes[at];
    assert!(half.abs_diff(1000 * 4096) <= 20 * 4096, "{half}");
}

/// A trace follows its timestamps next to a model that fills its queue.
#[test]
fn a_trace_arrives_by_its_times_next_to_a_model() {
    let folder = tempfile::tempdir().unwrap();
    let line = |i: u64| format!("0,W,{},4096,{}\n", i * 4096, 1_577_808_000_000_000 + i * 50);
    let text: String = (0..20_000).map(line).collect();
    std::fs::write(folder.path().join("t.csv"), text).unwrap();
    let path = folder.path().join("e.toml");
    let experiment = |time: bool, pace: &str, model_first: bool| {
        let trace = format!(
            "[[tenants]]\nname = \"trace\"\nsize = \"512MiB\"\n{pace}\
             workload = {{ trace = \"t.csv\", format = \"alibaba\" }}\n"
        );
        let model = "[[tenants]]\nname = \"model\"\noffset = \"512MiB\"\n\
                     workload = { model = \"jesd219a\", queue_depth = 4 }\n";
        let tenants = if model_first { [model, &trace] } else { [&trace, model] }.concat();
        let text = format!(
            "volume = \"0.3x\"\ntime = {time}\n[device]\nprofile = \"pm9a3\"\ncapacity = \"1GiB\"\n\
             reclaim_unit.size = \"4MiB\"\n{tenants}"
        );
        std::fs::write(&path, text).unwrap();
        Experiment::from_file(&path, &Options::default()).unwrap().check().unwrap()
    };
    let [mut seconds, mut model] = [Vec::new(), Vec::new()];
    for (pace, model_first) in
        [("pace = \"time\"\n", false), ("pace = \"time\"\n", true), ("", false)]
    {
        let checked = experiment(true, pace, model_first);
        assert!(checked.notices.iter().all(|note| !note.contains("pace")), "{:?}", checked.notices);
        let time = run(&checked.experiment, Control::unattended()).unwrap().time.unwrap();
        let requests = |job: &str| time.jobs[job].write.as_ref().unwrap().count as f64;
        seconds.push(requests("trace") / time.seconds);
        model.push(requests("model") / time.seconds);
    }
    // By its times 20,000 a second, however the tenants are listed; one after the other, as many as the drive completes.
    assert!(seconds[..2].iter().all(|rate| (rate / 20_000.0 - 1.0).abs() < 0.01), "{seconds:?}");
    assert!(seconds[2] > 40_000.0, "{seconds:?}");
    assert!((model[0] / model[1] - 1.0).abs() < 0.02, "{model:?}");
    let told = "tenant trace: without a clock, pace = \"time\" has an effect only for all tenants";
    let untimed = experiment(false, "pace = \"time\"\n", false).notices;
    assert!(untimed.iter().any(|note| note == told), "{untimed:?}");
}

/// However many requests come at once, their latency counts from when they come: alone, and next to a tenant that does
/// nearly nothing.
#[test]
fn a_burst_waits_as_long_next_to_an_idle_tenant() {
    let folder = tempfile::tempdir().unwrap();
    let text: String =
        (0..20_000).map(|i| format!("0,{},4096,W,0.{}\n", i * 8, i / 10_000)).collect();
    std::fs::write(folder.path().join("t.csv"), text).unwrap();
    std::fs::write(folder.path().join("j.fio"), "[j]\nrw=randwrite\nbs=4k\nrate_iops=1\n").unwrap();
    let latencies = |others: &str| {
        let text = format!(
            "volume = \"1x\"\ntime = true\n[device]\nprofile = \"pm9a3\"\ncapacity = \"1GiB\"\n\
             reclaim_unit.size = \"4MiB\"\n[[tenants]]\nname = \"t\"\nsize = \"512MiB\"\npace = \"time\"\n\
             workload = {{ trace = \"t.csv\", format = \"spc\", repeat = \"once\" }}\n{others}"
        );
        let path = folder.path().join("e.toml");
        std::fs::write(&path, text).unwrap();
        let experiment = Experiment::from_file(&path, &Options::default()).unwrap();
        let record = run(&experiment.check().unwrap().experiment, Control::unattended()).unwrap();
        let writes = record.time.unwrap().jobs["t"].write.clone().unwrap();
        assert_eq!(writes.count, 20_000);
        (writes.mean_us, writes.max_us)
    };
    let alone = latencies("");
    let idle =
        "[[tenants]]\nname = \"idle\"\noffset = \"512MiB\"\nworkload = { fio = \"j.fio\" }\n";
    let beside = latencies(idle);
    for (one, other) in [(alone.0, beside.0), (alone.1, beside.1)] {
        assert!((one / other - 1.0).abs() < 0.004, "{alone:?} {beside:?}");
    }
    // 10,000 at once: the last waits for all others.
    assert!(alone.1 > 1.9 * alone.0, "{alone:?}");
}

/// Each fits on its own, but together they fit into no machine. They are refused before the first is built.
#[test]
fn tenants_that_do_not_fit_together_are_refused_before_they_are_built() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.toml");
    let tenants = "[[tenants]]\n[tenants.workload]\nmodel = \"aerospike\"\n".repeat(500);
    let device =
        "[device]\nprofile = \"warp\"\ncapacity = \"1TiB\"\nreclaim_unit.size = \"512MiB\"\n";
    std::fs::write(&path, format!("volume = \"1x\"\n{device}{tenants}")).unwrap();
    let experiment = Experiment::from_file(&path, &Options::default()).unwrap();
    let error = experiment.check().unwrap_err();
    assert!(matches!(error, LabError::Memory { needed, .. } if needed > 1 << 40), "{error}");
    assert!(error.to_string().contains("large on device warp needs"), "{error}");
}

/// Writes a capture of commands one microsecond apart, recorded by a `device` that had already written
/// `earlier_media_bytes`.
fn capture(path: &Path, device: &str, earlier_media_bytes: u64, commands: &[Command]) {
    let resolved = device_from_text("recorded", device, &[]).unwrap();
    let header = CaptureHeader {
        format: "wafer.capture/1".to_owned(),
        software: "test".to_owned(),
        started_unix_ms: 0,
        drive: None,
        earlier_media_bytes,
        geometry: CaptureGeometry::from(&resolved.geometry),
        device: resolved.config,
        namespaces: Vec::new(),
    };
    let file = std::fs::File::create(path).unwrap();
    let mut writer = CaptureWriter::new(file, &header).unwrap();
    for (i, command) in (0..).zip(commands) {
        let event = CaptureEvent::Command(*command);
        writer.record(&CaptureRecord { time_ns: i * 1000, host: 0, event }).unwrap();
    }
    writer.finish().unwrap();
}

/// Runs captures as tenants of one device, each on its own namespace, with pacing `pace`.
fn captured(device: &str, pace: &str, captures: &[&[Command]]) -> Record {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "seed = 1\n[device]\n".to_owned() + device;
    for (n, commands) in captures.iter().enumerate() {
        capture(&folder.path().join(format!("{n}.wcap")), device, 0, commands);
        text += &format!(
            "[[device.namespaces]]\nsize = \"32MiB\"\nhandles = [{}, {}]\n",
            2 * n,
            2 * n + 1
        );
    }
    for n in 0..captures.len() {
        text += &format!(
            "[[tenants]]\nnamespace = {n}\n{pace}\n[tenants.workload]\ntrace = \"{n}.wcap\"\n"
        );
    }
    let path = folder.path().join("e.toml");
    std::fs::write(&path, text).unwrap();
    let experiment = Experiment::from_file(&path, &Options::default()).unwrap();
    run(&experiment, Control::unattended()).unwrap()
}

const SMALL: &str = "capacity = \"64MiB\"\nreclaim_unit.size = \"1MiB\"\n\
                     overprovisioning = 0.5\nhandles = 4\n";

#[test]
fn a_capture_of_a_drive_that_was_used_before_says_so() {
    let folder = tempfile::tempdir().unwrap();
    for (earlier, expected) in [(0, None), (3_000_000, Some("had written 3.00 MB before"))] {
        let path = folder.path().join("c.wcap");
        capture(&path, SMALL, earlier, &[Command::write(0, 8, Placement(0))]);
        let text = format!("[device]\n{SMALL}[workload]\ntrace = \"c.wcap\"\n");
        std::fs::write(folder.path().join("e.toml"), text).unwrap();
        let experiment =
            Experiment::from_file(&folder.path().join("e.toml"), &Options::default()).unwrap();
        let notices = experiment.check().unwrap().notices;
        let said = notices.iter().find(|line| line.contains("before; a replay"));
        assert_eq!(said.is_some(), expected.is_some(), "{notices:?}");
        assert!(expected.is_none_or(|text| said.unwrap().contains(text)), "{notices:?}");
    }
}

/// An update after every tenth write leaves a reclaim unit that is not fully written.
#[test]
fn reclaim_unit_updates_in_the_trace_of_a_tenant_are_performed() {
    let commands = |placement: u16| -> Vec<Command> {
        let write = |i: u64| Command::write(i * 8, 8, Placement(placement));
        let ten = |i: u64| {
            let update = Command::update(NsId(0), Placement(placement));
            (0..10).map(move |n| write(i * 10 + n)).chain([Command::flush(NsId(0)), update])
        };
        (0..20).flat_map(ten).collect()
    };
    for pace in ["", "rate = 1", "pace = \"time\""] {
        let record = captured(SMALL, pace, &[&commands(0), &commands(1)]);
        assert_eq!(record.summary.host_bytes, 2 * 200 * 4096, "{pace}");
        assert_eq!(record.summary.events.unwrap().ru_not_fully_written, 40, "{pace}");
        assert_eq!((bytes_of(&record, 0), bytes_of(&record, 3)), (200 * 4096, 200 * 4096));
    }
}

/// Recorded identifiers name reclaim group and handle; alongside them, the indices of a job are translated.
#[test]
fn recorded_placement_identifiers_of_a_tenant_keep_their_reclaim_group() {
    let device = format!("{SMALL}groups = 2\n");
    // Handle 1 of group 1: the upper bit is the group.
    let write = |i: u64| Command::write(i * 8, 8, Placement(1 << 15 | 1));
    let commands: Vec<Command> = (0..100).map(write).collect();
    let record = captured(&device, "", &[&commands, &commands]);
    assert_eq!(record.summary.events.unwrap().invalid_placement_identifier, 0);
    assert_eq!((bytes_of(&record, 1), bytes_of(&record, 3)), (100 * 4096, 100 * 4096));
}

#[test]
fn keys_of_every_model_are_known_beside_its_own() {
    let with = |key: &str| refused(&format!("[workload]\nmodel = \"aerospike\"\n{key}\n"));
    for (key, words) in [
        ("think_time = 5", "think_time: unknown key; did you mean `think_time_us`?"),
        ("write_blocks = \"128KiB\"", "write_blocks: unknown key; did you mean `write_block`?"),
        ("queue_depth = 0", "queue_depth: expected a number from 1 to 65536"),
        ("think_time_us = nan", "think_time_us: expected a number from 0 to 1e9"),
        ("think_time_us = -1", "think_time_us: expected a number from 0 to 1e9"),
    ] {
        let message = with(key);
        assert!(message.contains(words), "{key}: {message}");
    }
}

#[test]
fn a_depth_beside_a_job_with_a_clock_is_told() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("j.fio"), "[j]\nrw=randwrite\niodepth=4\n").unwrap();
    let notices = |time: &str| {
        let text = format!(
            "volume = \"1x\"\n{time}device = {{ profile = \"pm9a3\" }}\n\
             [[tenants]]\nname = \"a\"\nworkload = {{ fio = \"j.fio\" }}\nqueue_depth = 2\n"
        );
        let path = folder.path().join("e.toml");
        std::fs::write(&path, text).unwrap();
        let experiment = Experiment::from_file(&path, &Options::default()).unwrap();
        experiment.check().unwrap().notices
    };
    let told = "tenant a: queue_depth has no effect with a clock; jobs have their `iodepth`";
    assert!(notices("time = true\n").iter().any(|line| line == told));
    assert!(notices("").iter().all(|line| line != told));
}

/// Returns the results of two tenants with `rate` on a drive with a clock: a model, and a job file.
fn shared_by_rate(model: &str, jobs: &str, rates: [u32; 2]) -> Record {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("j.fio"), jobs).unwrap();
    let [first, second] = rates;
    let text = format!(
        "volume = \"0.05x\"\ntime = true\n[device]\nprofile = \"pm9a3\"\ncapacity = \"1GiB\"\n\
         reclaim_unit.size = \"4MiB\"\n\
         [[tenants]]\nname = \"a\"\nsize = \"512MiB\"\nrate = {first}\nworkload = {{ {model} }}\n\
         [[tenants]]\nname = \"b\"\noffset = \"512MiB\"\nrate = {second}\nworkload = {{ fio = \"j.fio\" }}\n"
    );
    let path = folder.path().join("e.toml");
    std::fs::write(&path, text).unwrap();
    let experiment = Experiment::from_file(&path, &Options::default()).unwrap();
    run(&experiment.check().unwrap().experiment, Control::unattended()).unwrap()
}

/// A model is endless, so its commands must not be taken ahead of the drive.
#[test]
fn a_model_continues_by_rate_when_a_job_has_ended() {
    let jobs = "[j]\nrw=randwrite\nbs=8k\nio_size=1m\n";
    let record = shared_by_rate("model = \"jesd219a\"", jobs, [1, 1]);
    assert_eq!(record.summary.host_bytes, (1 << 30) / 20 / 512 * 512);
    assert_eq!(figure(&record, "b", "written"), 1_048_576.0);
}

#[test]
fn shares_and_waits_hold_together_with_a_clock() {
    let rate = |record: &Record, job: &str| {
        record.time.as_ref().unwrap().jobs[job].write.as_ref().unwrap().bytes_per_second
    };
    let close = |ours: f64, expected: f64| assert!((ours / expected - 1.0).abs() < 0.03, "{ours}");
    // The slower tenant sets the pace of both.
    let jobs = "[j]\nrw=randwrite\nbs=4k\niodepth=4\nrate_iops=1000\ntime_based\nruntime=1d\n";
    let record = shared_by_rate("model = \"jesd219a\"", jobs, [3, 1]);
    close(rate(&record, "b/j"), 4_096_000.0);
    close(rate(&record, "a"), 3.0 * 4_096_000.0);
    let jobs = jobs.replace("rate_iops=1000", "thinkcycles=1000");
    let model = "model = \"aerospike\", queue_depth = 1, think_time_us = 10_000";
    let record = shared_by_rate(model, &jobs, [1, 1]);
    let time = record.time.as_ref().unwrap();
    let one = &time.jobs["a"];
    let requests =
        |all: &Option<_>| all.as_ref().map_or(0, |r: &wafer_record::time::Requests| r.count);
    let count = requests(&one.read) + requests(&one.write) + requests(&one.trim);
    assert!(count as f64 <= time.seconds * 100.0 + 1.0, "{count} in {} s", time.seconds);
    close(rate(&record, "b/j"), rate(&record, "a"));
}

/// In a table with `model`, `trace` is a key of the model, not another kind of workload.
#[test]
fn a_model_reads_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let requests: String = (0..60_000).map(|i| format!("k{i},SET,2000,1,8\n")).collect();
    let trace = folder.path().join("kv.csv");
    std::fs::write(&trace, format!("key,op,size,op_count,key_size\n{requests}")).unwrap();
    let model = format!("[workload]\nmodel = \"cachelib\"\ntrace = \"{}\"\n", trace.display());
    let run_ = experiment(&model).unwrap();
    assert!(run_.workload.files().contains(&trace), "{:?}", run_.workload.files());
    let record = run(&run_, Control::unattended()).unwrap();
    assert!(record.summary.host_bytes > 0);
    let other = refused("[workload]\nmodel = \"lsm\"\ntrace = \"kv.csv\"\n");
    assert!(other.contains("trace: unknown key"), "{other}");
}
