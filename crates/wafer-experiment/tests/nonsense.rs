//! Sets every key of every configuration to nonsensical values: each is refused in one line that names the key, before
//! anything runs. The keys come from the schema, so a new key is tested, too.

use std::path::Path;

use serde_json::Value;
use wafer_config::load_device;
use wafer_config::{Key, keys};
use wafer_experiment::{Experiment, Options, experiment_schema};

/// Values that are invalid for every number, size, time or choice.
const NONSENSE: [&str; 15] = [
    "nan",
    "inf",
    "-inf",
    "-1",
    "-0.5",
    "1e308",
    "9223372036854775807",
    "\"5xyz\"",
    "\"\"",
    "\"1 1\"",
    "\"5 GiB;\"",
    "\"0x10\"",
    "[\"a\"]",
    "{}",
    "{ a = 1 }",
];
/// Keys for which a huge whole number is valid, and why.
const HUGE: [&str; 3] = [
    "seed",       // any number
    "page_cache", // a cache that never fills
    "checkpoint", // none within the run
];
/// The device of experiments.
const DEVICE: &str = "profile = \"warp\"\ncapacity = \"64MiB\"\nreclaim_unit.size = \"1MiB\"\n\
    reclaim_unit.count = 80\n";

/// Returns the keys of the definition `name`, or of the file itself.
fn keys_of(name: &str) -> Vec<Key> {
    let root = experiment_schema();
    let table = if name.is_empty() { &root } else { &root["$defs"][name] };
    assert!(table.is_object(), "no definition {name}");
    keys(&root, table)
}

/// Reports whether a value is nonsense for a key; text may be anything.
fn is_nonsense(key: &Key, value: &str) -> bool {
    let text = value.starts_with('"');
    let whole = value == "9223372036854775807";
    match key.kind.as_str() {
        "text" | "path" if key.values.is_empty() => !text,
        "whole number" | "number" | "size" if whole => !HUGE.contains(&key.name.as_str()),
        _ => true,
    }
}

/// Tries every nonsensical value for every key; `attempt` sets it and returns the error, if any.
fn refused(what: &str, keys: &[Key], attempt: impl Fn(&Key, &str) -> Option<String>) -> u32 {
    let mut wrong = Vec::new();
    let mut tried = 0;
    for key in keys.iter().filter(|key| key.kind != "table") {
        for value in NONSENSE.iter().filter(|value| is_nonsense(key, value)) {
            tried += 1;
            let leaf = key.name.rsplit(['.', ']']).next().unwrap_or(&key.name).trim_matches('*');
            match attempt(key, value) {
                Some(error) if error.contains(leaf) && !error.contains('\n') => {}
                Some(error) => wrong.push(format!("{}={value}: {error}", key.name)),
                None => wrong.push(format!("{}={value}: accepted", key.name)),
            }
        }
    }
    assert!(wrong.is_empty(), "{what}:\n{}", wrong.join("\n"));
    tried
}

/// Returns the error of an experiment that is checked but not run.
fn of_experiment(text: &str) -> Option<String> {
    let experiment = Experiment::from_text(Path::new("e.toml"), text, &Options::default());
    match experiment.and_then(Experiment::check) {
        Ok(_) => None,
        Err(error) => {
            assert!(error.is_usage(), "{error}\n{text}");
            Some(wafer_config::line(&error, ToString::to_string))
        }
    }
}

#[test]
fn keys_of_devices() {
    let keys: Vec<Key> = keys_of("device")
        .into_iter()
        .filter(|key| !["description", "write_rate"].contains(&key.name.as_str()))
        .collect();
    let tried = refused("device", &keys, |key, value| {
        let base = ["capacity=64MiB", "reclaim_unit.size=1MiB", "reclaim_unit.count=80"];
        let mut set = base.map(str::to_owned).to_vec();
        set.push(match key.name.split_once("[].") {
            Some((list, "size")) => format!("{list}=[{{ size = {value} }}]"),
            Some((list, leaf)) => format!("{list}=[{{ size = \"1MiB\", {leaf} = {value} }}]"),
            None => format!("{}={value}", key.name.replace(".*", ".0")),
        });
        load_device("warp", &set).err().map(|error| wafer_config::line(&error, ToString::to_string))
    });
    assert!(tried > 250, "{tried}");
}

#[test]
fn keys_of_the_device_beside_it() {
    let error = of_experiment(
        "device = \"warp\"\nvolume = \"1x\"\ncapacity = \"1GiB\"\n[workload]\nmodel = \"jesd219a\"\n",
    );
    let expected = "e.toml:3: capacity: a key of the device; write `device = { profile = \"NAME\", capacity = ... }`";
    assert_eq!(error.unwrap(), expected);
}

#[test]
fn keys_of_experiments() {
    let keys: Vec<Key> = keys_of("")
        .into_iter()
        .filter(|key| !key.name.starts_with("device") && !key.name.starts_with("workload"))
        .filter(|key| !key.name.starts_with("tenants"))
        .collect();
    let tried = refused("experiment", &keys, |key, value| {
        let volume = if key.name == "volume" { "" } else { "volume = \"1MiB\"\n" };
        let key = &key.name;
        of_experiment(&format!(
            "{volume}{key} = {value}\n[device]\n{DEVICE}[workload]\nmodel = \"jesd219a\"\n"
        ))
    });
    assert!(tried > 60, "{tried}");
}

#[test]
fn keys_of_models() {
    let root = experiment_schema();
    let models = root["$defs"].as_object().unwrap().keys().filter(|name| {
        root["$defs"][name.as_str()].pointer("/properties/model").is_some_and(Value::is_object)
    });
    let mut tried = 0;
    for name in models {
        let keys: Vec<Key> = keys_of(name).into_iter().filter(|key| key.name != "model").collect();
        let model = name.strip_prefix("workload-").unwrap();
        tried += refused(model, &keys, |key, value| {
            let key = &key.name;
            of_experiment(&format!(
                "volume = \"1MiB\"\n[device]\nprofile = \"warp\"\ncapacity = \"1GiB\"\n\
                 reclaim_unit.size = \"4MiB\"\nreclaim_unit.count = 300\n\
                 [workload]\nmodel = \"{model}\"\n{key} = {value}\n"
            ))
        });
    }
    assert!(tried > 600, "{tried}");
}

#[test]
fn keys_of_traces() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("t.blkparse");
    std::fs::write(&trace, "8,0 0 1 0.000000000 7 D W 8 + 8 [a]\n8,0 0 2 9.0 7 D W 16 + 8 [a]\n")
        .unwrap();
    let trace = trace.display();
    let head = format!("volume = \"1MiB\"\n[device]\n{DEVICE}");
    let options: Vec<Key> = keys_of("workload-trace")
        .into_iter()
        // Names and rules are arbitrary text; rules have their own tests.
        .filter(|key| !["trace", "volume", "placement"].contains(&key.name.as_str()))
        .collect();
    for list in [false, true] {
        let tried = refused("trace", &options, |key, value| {
            let key = &key.name;
            of_experiment(&match list {
                true => format!("{head}[[workload.traces]]\nfile = \"{trace}\"\n{key} = {value}\n"),
                false => format!("{head}[workload]\ntrace = \"{trace}\"\n{key} = {value}\n"),
            })
        });
        assert!(tried > 80, "{tried}");
    }
    // Values that are invalid only together, or that select nothing.
    for (options, key) in [
        ("from = 5\nto = 5", "to"),
        ("from = \"10min\"\nto = \"1s\"", "to"),
        ("to = 0", "to"),
        ("speed = 0", "speed"),
        ("speed = 1e-300", "speed"),
    ] {
        let error = of_experiment(&format!("{head}[workload]\ntrace = \"{trace}\"\n{options}\n"));
        assert!(
            error.as_ref().is_some_and(|e| e.contains(&format!("{key}: "))),
            "{options}: {error:?}"
        );
    }
}

#[test]
fn keys_of_tenants() {
    let keys: Vec<Key> =
        keys_of("tenant").into_iter().filter(|key| !key.name.starts_with("workload")).collect();
    let tried = refused("tenant", &keys, |key, value| {
        let line = match key.name.as_str() {
            "ranges[].from" => format!("ranges = [{{ from = {value}, to = 8192, placement = 1 }}]"),
            "ranges[].to" => format!("ranges = [{{ from = 0, to = {value}, placement = 1 }}]"),
            "ranges[].placement" => {
                format!("ranges = [{{ from = 0, to = 4096, placement = {value} }}]")
            }
            name => format!("{name} = {value}"),
        };
        of_experiment(&format!(
            "volume = \"1MiB\"\n[device]\n{DEVICE}[[tenants]]\n{line}\nworkload = {{ model = \"jesd219a\" }}\n"
        ))
    });
    assert!(tried > 80, "{tried}");
}

#[test]
fn options_are_refused_by_their_names() {
    let options = |change: fn(&mut Options)| {
        let mut options = Options {
            device: Some("warp".to_owned()),
            set: vec!["capacity=64MiB".to_owned(), "reclaim_unit.size=1MiB".to_owned()],
            fio: Some("job.fio".into()),
            ..Options::default()
        };
        options.set.push("reclaim_unit.count=80".to_owned());
        change(&mut options);
        let job = tempfile::tempdir().unwrap();
        let path = job.path().join("job.fio");
        std::fs::write(&path, "[a]\nrw=write\nsize=1m\n").unwrap();
        options.fio = options.fio.map(|_| path);
        Experiment::from_options(&options).and_then(Experiment::check).unwrap_err().to_string()
    };
    let error = options(|o| o.trace_set = vec!["from=5".to_owned()]);
    assert!(error.starts_with("trace_set: "), "beside a job file: {error}");
    assert!(options(|o| o.pace = Some(" ".to_owned())).starts_with("pace: "));
    assert!(
        options(|o| o.volume = "9EiB".parse().ok().or("9000000TiB".parse().ok()))
            .starts_with("volume: ")
    );
}
