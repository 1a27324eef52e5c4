//! The shipped studies: every file can be read, every row can be computed from a small run, and the
//! binary contains the same files as the repository.

use std::path::{Path, PathBuf};

use wafer_lab::{Batch, Checked, LabError};
use wafer_studies::reproduce::{Choice, Outcomes, Plan, Reproduction, Scale, Study};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/experiments")
}

fn studies() -> Vec<Study> {
    Study::all(&folder()).unwrap()
}

fn choice(names: &[&str], scale: u32) -> Choice {
    Choice {
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        scale: Some(Scale::Pages(scale)),
        seeds: 1,
        sensitivity: false,
        data_dir: None,
    }
}

fn table(plan: &Plan) -> Reproduction {
    let checked: Vec<Checked> =
        plan.runs.iter().map(|run| run.experiment.clone().check().unwrap()).collect();
    let cancel = std::sync::atomic::AtomicBool::new(false);
    let batch = Batch {
        threads: None,
        cancel: &cancel,
        progress: &|_, _| {},
        watch: None,
        steady: None,
        finished: &|_, _| {},
    };
    let results = batch.run(&checked).unwrap();
    let outcomes: Outcomes = (plan.runs.iter().zip(results))
        .map(|(run, result)| {
            ((run.name.clone(), run.experiment.seed), result.map_err(|e| e.to_string()))
        })
        .collect();
    Reproduction::new(plan, &outcomes, 1.0)
}

#[test]
fn there_are_eight_studies_of_many_figures() {
    let studies = studies();
    let names: Vec<&str> = studies.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(
        names,
        ["kioxia", "micron", "namespaces", "pm9d3a", "qlc", "ssd-iq", "warp", "zn540"]
    );
    let rows: usize = studies.iter().map(|s| s.rows.len()).sum();
    assert!(rows > 200, "{rows}");
}

#[test]
fn the_binary_carries_the_configurations() {
    let unpacked = tempfile::tempdir().unwrap();
    wafer_config::unpack(unpacked.path()).unwrap();
    let ours = Study::all(&unpacked.path().join("experiments")).unwrap();
    let names: Vec<String> = ours.iter().map(|study| study.name.clone()).collect();
    assert_eq!(names, Study::shipped_names());
    assert_eq!(names.len(), studies().len());
    for study in ours {
        let theirs = folder().join(&study.name).join("study.toml");
        let text = std::fs::read_to_string(study.folder.join("study.toml")).unwrap();
        assert_eq!(text, std::fs::read_to_string(theirs).unwrap());
    }
    // Traces are data and are not embedded.
    assert!(wafer_config::shipped_files().all(|path| !path.ends_with(".trace")));
}

/// Reclaim units of 256 pages are too small for meaningful figures, but every row must have one, and
/// the order of configurations must be right.
#[test]
fn every_study_runs_scaled_down() {
    let scaled = tempfile::tempdir().unwrap();
    let plan = Plan::new(
        &studies(),
        &choice(&["kioxia", "micron", "namespaces", "warp"], 256),
        scaled.path(),
    )
    .unwrap();
    let table = table(&plan);
    for row in &table.rows {
        assert!(
            row.failure.is_none() || row.what.starts_with("crossover"),
            "{}: {:?}",
            row.id,
            row.failure
        );
    }
    let row = |id: &str| table.rows.iter().find(|row| row.id == id).unwrap();
    for id in ["namespaces/fio/fdp", "namespaces/order/fio", "warp/three-stream/order/zoned"] {
        assert!(row(id).within, "{:?}", row(id));
    }
    for effect in [
        "noisy-ruh/zoned",
        "noisy-ruh/not-zipf22",
        "save-sequential/zoned",
        "save-sequential/not-zipf22",
    ] {
        assert!(row(&format!("warp/effects/{effect}")).within, "{effect}");
    }
    let text = table.markdown();
    assert!(text.contains("| fio/conventional | WAF | calibrated | 1.630 |"), "{text}");
    assert_eq!(table.update_document("r.md", "").unwrap().matches("begin -->").count(), 1);
    let html = table.html();
    assert!(html.contains("<th scope=\"row\">fio/conventional</th>"), "{html}");
    assert!(html.contains("<th scope=\"col\">verdict</th>"), "{html}");
    // A single seed has no spread; numbers are aligned right, with a minus sign.
    let numbers: Vec<&str> = html.split("<td class=\"number\">").skip(1).collect();
    assert!(numbers.iter().any(|cell| cell.starts_with("–<")), "{html}");
    assert!(numbers.iter().all(|cell| !cell.starts_with('-')), "{html}");
    let (misses, _) = table.misses();
    assert_eq!(html.matches("<tr class=\"miss\">").count(), misses);
    let json = serde_json::to_value(&table).unwrap();
    assert_eq!(json["schema"], "wafer.reproduce/1");
    assert_eq!(json["rows"][0]["seeds"].as_array().unwrap().len(), 1);
}

/// Studies of runs with a clock: each row has a figure, and those that hardly depend on the size of a reclaim unit are
/// within their tolerance.
#[test]
fn studies_in_time_run_scaled_down() {
    let scaled = tempfile::tempdir().unwrap();
    let rows =
        ["zn540", "pm9d3a", "ssd-iq/pe8110/10000", "ssd-iq/pe8110/knee", "ssd-iq/7450-max/fill/0"];
    let plan = Plan::new(&studies(), &choice(&rows, 2048), scaled.path()).unwrap();
    let table = table(&plan);
    for row in &table.rows {
        assert!(row.failure.is_none() && row.ours.is_some(), "{}: {:?}", row.id, row.failure);
        assert_eq!(row.unit.is_none(), row.id.ends_with("/waf"), "{}", row.id);
    }
    let row = |id: &str| table.rows.iter().find(|row| row.id == id).unwrap();
    for id in [
        "zn540/reads/16/mean_us",
        "zn540/beside-appends/122.4/read_mean_us",
        "zn540/writes/4/mb_s",
        "pm9d3a/over-time/0.12/host_mb_s",
        "pm9d3a/over-time/1.56/media_mb_s",
        "pm9d3a/two-streams/off/iops",
        "pm9d3a/two-streams/fdp/iops",
        "pm9d3a/two-streams/fdp/mean_us",
        "ssd-iq/pe8110/10000/read_mean_us",
        "ssd-iq/pe8110/knee",
        "ssd-iq/7450-max/fill/0/waf",
    ] {
        assert!(row(id).within, "{:?}", row(id));
    }
    assert_eq!(row("zn540/reads/16/mean_us").what, "mean read latency, µs");
}

#[test]
fn a_choice_takes_rows_and_experiments_below_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let plan = Plan::new(&studies(), &choice(&["namespaces/fio"], 256), folder.path()).unwrap();
    let names: Vec<&str> = plan.runs.iter().map(|run| run.name.as_str()).collect();
    assert_eq!(names, ["namespaces/fio/conventional", "namespaces/fio/fdp"]);
    let rows: Vec<&str> = plan.studies[0].rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(rows, ["fio/conventional", "fio/fdp", "fio/change"]);

    let wrong = Plan::new(&studies(), &choice(&["namespace/fio"], 256), folder.path());
    let Err(LabError::Config(..)) = &wrong else { panic!("{:?}", wrong.err()) };
    assert!(wrong.unwrap_err().to_string().contains("did you mean"));
}

#[test]
fn missing_data_fails_its_rows_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let configs = folder.path().join("configs");
    wafer_config::unpack(&configs).unwrap();
    // A trace that is in no data folder.
    let file = configs.join("experiments/warp/f2fs-captured-fdp.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("traces/f2fs/f2fs.trace"));
    std::fs::write(&file, text.replace("f2fs.trace", "absent.trace")).unwrap();
    let studies = Study::all(&configs.join("experiments")).unwrap();
    let plan = Plan::new(&studies, &choice(&["warp"], 256), folder.path()).unwrap();
    assert!(plan.runs.iter().any(|run| run.name == "warp/one-stream/warp"));
    assert_eq!(plan.missing.len(), 1, "{:?}", plan.missing);
    let (name, reason) = &plan.missing[0];
    assert!(reason.contains("f2fs-captured-fdp.toml:15: trace: no such file: "), "{reason}");
    let table = Reproduction::new(&plan, &Outcomes::new(), 0.0);
    // A scale below the study's own explains a miss without another reason.
    let unexplained = |table: &Reproduction| table.rows.iter().any(|row| row.reason.is_none());
    assert!(!unexplained(&table));
    let whole = Plan::new(&studies, &choice(&["warp"], 8192), folder.path()).unwrap();
    assert!(unexplained(&Reproduction::new(&whole, &Outcomes::new(), 0.0)));
    let short = name.strip_prefix("warp/").unwrap();
    let failed = table.rows.iter().filter(|row| row.failure.as_deref() == Some(reason)).count();
    let needing = plan.studies[0].rows.iter();
    let needing = needing.filter(|row| row.metric.experiments().contains(&short)).count();
    assert!(failed > 0 && failed == needing && failed < table.rows.len(), "{failed}");
}

#[test]
fn every_sweep_can_be_planned() {
    let folder = tempfile::tempdir().unwrap();
    let choice = Choice { sensitivity: true, ..choice(&[], 256) };
    let plan = Plan::new(&studies(), &choice, folder.path()).unwrap();
    let swept = plan.runs.iter().filter(|run| run.name.contains("/sweep/")).count();
    assert!(swept > 40, "{swept}");
    for run in &plan.runs {
        match run.experiment.clone().check() {
            Ok(_) | Err(LabError::Memory { .. }) => {}
            Err(error) => panic!("{}: {error}", run.name),
        }
    }
}

#[test]
fn broken_studies_name_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.toml");
    let head = "title = \"t\"\nsource = \"s\"\nru_pages = 2048\n[[experiment]]\nname = \"a\"\n\
                file = \"a.toml\"\n";
    let row = |rest: &str| {
        let text =
            format!("{head}[[row]]\nid = \"a/x\"\nclass = \"sketch\"\ntolerance = 0.1\n{rest}");
        std::fs::write(&path, text).unwrap();
        let error = Study::read(&path).unwrap_err();
        assert!(error.is_usage());
        error.to_string().split_once("study.toml").unwrap().1.to_owned()
    };
    assert!(row("metric = \"waff\"\npublished = 1\n").contains("no metric `waff`"));
    assert!(row("metric = \"waf\"\n").contains("give a published figure"));
    assert!(row("metric = \"handle_waf\"\npublished = 1\n").contains("handle: missing"));
    assert!(
        row("metric = \"waf\"\npublished = 1\nexperiment = \"b\"\n").contains("no experiment `b`")
    );
    assert!(row("metric = \"waf\"\npublished = 1\nbogus = 1\n").contains("bogus"));
    assert!(row("metric = \"time\"\npublished = 1\n").contains("measure: missing"));
    assert!(
        row("metric = \"time\"\nmeasure = \"read_p_us\"\npublished = 1\n")
            .contains("no measure `read_p_us`")
    );

    std::fs::write(
        folder.path().join("t.csv"),
        "# source = s\nrate,read_p99_us\n10,5\n20,\n30,x\n",
    )
    .unwrap();
    let table = |rest: &str| {
        let text = format!(
            "{head}[[table]]\nname = \"t\"\nreference = \"t.csv\"\nexperiment = \"a\"\n{rest}\n"
        );
        std::fs::write(&path, text).unwrap();
        Study::read(&path).map_err(|error| {
            assert!(error.is_usage());
            error.to_string().split_once("study.toml").unwrap().1.to_owned()
        })
    };
    let column = "columns = [{ column = \"read_p99_us\", tolerance = 0.1 }]";
    // An empty cell was not measured.
    let good = table(&format!("key = \"rate\"\nlines = [\"10\", \"20\"]\n{column}")).unwrap();
    let ids: Vec<(&str, f64)> =
        good.rows.iter().map(|row| (row.id.as_str(), row.published)).collect();
    assert_eq!(ids, [("t/10/read_p99_us", 5.0)]);
    for (rest, fault) in [
        ("key = \"iops\"", "key: the reference has no column `iops`"),
        ("key = \"rate\"", "reference: `x` is not a number"),
        ("key = \"rate\"\nlines = [\"11\"]", "lines: the reference has no line `11`"),
        (
            "key = \"rate\"\nwindow = [\"rate\", \"rate\"]",
            "columns: no p99 read latency of a part of a run",
        ),
    ] {
        let error = table(&format!("{rest}\n{column}")).unwrap_err();
        assert!(error.contains(fault), "{error}");
    }
    let unknown =
        table("key = \"rate\"\ncolumns = [{ column = \"rate\", tolerance = 0.1 }]").unwrap_err();
    assert!(unknown.contains("columns: no measure `rate`"), "{unknown}");
}
