//! Settings and sessions as the page uses them.

use std::path::Path;

use serde_json::{Value, json};
use wafer_explore::{Session, Settings, WorkloadSettings, presets};
use wafer_lab::{Control, Experiment, Options};

fn ask(session: &mut Session, request: &Value) -> Value {
    let answer = session.answer(&serde_json::to_vec(request).unwrap());
    serde_json::from_slice(&answer).unwrap()
}

fn settings(set: Value, more: Value) -> Value {
    let stream = json!({
        "name": "one", "pattern": "hot", "skew": 80, "size": 100, "bs": "4k", "handle": 0,
    });
    let mut settings = json!({
        "device": "warp", "set": { "capacity": "128MiB", "reclaim_unit.size": "1MiB", "overprovisioning": 0.25 },
        "workload": { "streams": [stream] }, "volume": "4x", "seed": 5,
    });
    for (into, from) in [("/set", set), ("", more)] {
        let into = settings.pointer_mut(into).unwrap().as_object_mut().unwrap();
        into.extend(from.as_object().unwrap().clone());
    }
    settings
}

#[test]
fn pieces_give_the_record_of_a_whole_run() {
    for (set, more) in [
        (json!({}), json!({})),
        (json!({ "gc.policy": "d-choices" }), json!({ "precondition": "sequential+random:0.5" })),
        (json!({ "isolation": "persistently" }), json!({ "attribution": true, "samples": 77 })),
        (json!({}), json!({ "precondition": "steady" })),
    ] {
        let settings = settings(set, more);
        let mut session = Session::default();
        let checked = ask(&mut session, &json!({ "do": "check", "settings": settings }));
        let started = ask(&mut session, &json!({ "do": "start", "settings": settings }));
        assert_eq!(started, json!({ "ok": null }));
        let mut pieces = 0;
        // With no time at all, a piece is one batch of commands.
        while ask(&mut session, &json!({ "do": "advance", "milliseconds": 0 }))["ok"]["left"]
            == true
        {
            pieces += 1;
            // Reading the record of a run does not change it.
            ask(&mut session, &json!({ "do": "record" }));
        }
        assert!(pieces > 20, "{pieces}");
        let record = ask(&mut session, &json!({ "do": "record" }))["ok"].take();
        let text = checked["ok"]["experiment"].as_str().unwrap();
        let path = Path::new("explore.toml");
        let experiment = Experiment::from_text(path, text, &Options::default()).unwrap();
        let whole = wafer_lab::run(&experiment, Control::unattended()).unwrap();
        let whole = serde_json::to_value(whole).unwrap();
        for key in [
            "digest",
            "timeline",
            "summary",
            "metrics",
            "findings",
            "reclaim_units",
            "attribution",
            "steady",
        ] {
            assert_eq!(record[key], whole[key], "{key} of {settings}");
        }
        assert!(record["summary"]["waf"].as_f64().unwrap() > 1.01);
    }
}

#[test]
fn shipped_experiments_are_the_same_after_a_page() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let (mut same, mut refused) = (0, Vec::new());
    for name in wafer_config::shipped_files() {
        if !name.starts_with("experiments/") || name.ends_with("study.toml") {
            continue;
        }
        let path = root.join("configs").join(&name);
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        // Some name traces that are missing.
        let Ok(before) = Experiment::from_text(&path, &text, &Options::default()) else { continue };
        let settings = match Settings::read(&path, &text) {
            Ok(settings) => settings,
            Err(error) => {
                refused.push(error.to_string());
                continue;
            }
        };
        let text = settings.experiment();
        let after = Experiment::from_text(Path::new("explore.toml"), &text, &Options::default());
        let after = after.unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
        assert_eq!(after.device.config.gc, before.device.config.gc, "{name}");
        assert_eq!(after.device.geometry, before.device.geometry, "{name}");
        assert_eq!(after.device.config.service, before.device.config.service, "{name}");
        assert_eq!((after.volume, after.seed), (before.volume, before.seed), "{name}");
        assert_eq!(
            (after.samples, after.attribution),
            (before.samples, before.attribution),
            "{name}"
        );
        assert_eq!(after.precondition, before.precondition, "{name}");
        let again = Settings::read(Path::new("explore.toml"), &text);
        assert_eq!(again.unwrap(), settings, "{name}");
        same += 1;
    }
    assert!(same >= 20, "{same}");
    for error in &refused {
        assert!(error.contains("a page "), "{error}");
    }
    assert!(!refused.is_empty());
}

#[test]
fn tenants_may_have_their_jobs_inline_and_not_in_files() {
    let of = |workload: &str| {
        let text = format!(
            "volume = \"1x\"\n[device]\nprofile = \"warp\"\n[[tenants]]\nname = \"a\"\n[tenants.workload]\n{workload}"
        );
        Settings::read(Path::new("ten.toml"), &text)
    };
    let inline = of("fio_text = \"[a]\\nrw=write\\nbs=64k\\nsize=100%\\n\"\n").unwrap();
    let again = Settings::read(Path::new("again.toml"), &inline.experiment()).unwrap();
    assert_eq!(again, inline);
    let jobs = concat!(env!("CARGO_MANIFEST_DIR"), "/../wafer-cli/tests/bad/good.fio");
    let error = of(&format!("fio = {jobs:?}\n")).unwrap_err().to_string();
    assert!(error.contains("tenants: a page reads no files"), "{error}");
}

#[test]
fn examples_are_streams_where_their_jobs_are() {
    let presets = presets().unwrap();
    let streams = |settings: &Settings| matches!(settings.workload, WorkloadSettings::Streams(_));
    let kinds: Vec<bool> = presets.iter().map(|preset| streams(&preset.settings)).collect();
    assert_eq!(kinds, [true, true, true, true, false]);
    for preset in presets {
        assert!(preset.text.len() > 40, "{}", preset.title);
        assert!(preset.settings.volume.is_some(), "{}", preset.title);
    }
}

#[test]
fn refusals_name_the_key() {
    let mut session = Session::default();
    let mut refused = |set: Value, more: Value| {
        let answer = ask(&mut session, &json!({ "do": "check", "settings": settings(set, more) }));
        let error = &answer["error"];
        (
            error["key"].as_str().unwrap_or("none").to_owned(),
            error["text"].as_str().unwrap().to_owned(),
        )
    };
    let (key, text) = refused(json!({ "gc.policy": "greed" }), json!({}));
    assert_eq!(key, "gc.policy");
    assert!(text.starts_with("explore.toml:") && text.contains("did you mean `greedy`"), "{text}");
    assert_eq!(refused(json!({ "handles": 0 }), json!({})).0, "handles");
    assert_eq!(refused(json!({}), json!({ "volume": "much" })).0, "volume");
    assert_eq!(refused(json!({}), json!({ "volume": null })).0, "volume");
    assert_eq!(
        refused(json!({}), json!({ "workload": { "fio": "[a]\nrw=sideways\n" } })).0,
        "workload"
    );
    let (key, text) = refused(json!({}), json!({ "seed": "x" }));
    assert_eq!((key.as_str(), text.split(':').next().unwrap()), ("seed", "seed"), "{text}");
    let answer = ask(&mut session, &json!({ "do": "advance", "milliseconds": 1 }));
    assert_eq!(answer["error"]["text"], "nothing runs");
}

#[test]
fn a_command_feeds_a_shell_the_job_file_or_the_experiment() {
    let command = |settings: Value| serde_json::from_value::<Settings>(settings).unwrap().command();
    let plain = command(settings(json!({ "gc.policy": "it's" }), json!({})));
    assert!(plain.starts_with("wafer run --device warp --set capacity=128MiB "), "{plain}");
    assert!(plain.contains(" --set 'gc.policy=it'\\''s' "), "{plain}");
    assert!(
        plain.contains(" --fio /dev/stdin --volume 4x --seed 5 <<'END'\n[global]\n"),
        "{plain}"
    );
    assert!(plain.ends_with("\nEND\n"), "{plain}");
    let text = json!({ "workload": { "fio": "[a]\nEND\nEND1" } });
    assert!(command(settings(json!({}), text)).ends_with("<<'END2'\n[a]\nEND\nEND1\nEND2\n"));
    let model = json!({ "workload": { "toml": "[workload]\nmodel = \"f2fs\"\n" } });
    let model = command(settings(json!({}), model));
    assert!(model.starts_with("wafer run /dev/stdin <<'END'\n# Made with"), "{model}");
    assert!(model.contains("\n[device]\nprofile = \"warp\"\n"), "{model}");
}
