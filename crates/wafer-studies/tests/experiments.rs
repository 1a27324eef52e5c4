//! The shipped experiments: every file can be read and checked, its references exist and reach the
//! validated volumes, and one of them runs scaled down.

use std::path::{Path, PathBuf};

use wafer_config::load_device;
use wafer_lab::{Control, Experiment, LabError, Options, Reference, run};
use wafer_record::Volume;
use wafer_studies::reproduce::{Outcomes, Reproduction};
use wafer_studies::validate::{Validation, experiments, markdown, plan};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/experiments")
}

fn shipped() -> Vec<(PathBuf, Experiment)> {
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    entries
        .filter(|path| path.is_file())
        .map(|path| (path.clone(), Experiment::from_file(&path, &Options::default()).unwrap()))
        .collect()
}

#[test]
fn every_shipped_experiment_can_run() {
    let all = shipped();
    assert!(all.len() > 4);
    for (path, experiment) in all {
        let name = path.display();
        assert!(experiment.volume.is_some(), "{name}");
        let reference = experiment.compare.as_deref().map(Reference::read).transpose().unwrap();
        assert_eq!(experiment.checks.is_some(), reference.is_some(), "{name}");
        if let (Some(reference), Some(checks)) = (reference, &experiment.checks) {
            assert!(reference.source.is_some(), "{name}: the reference has no source");
            for volume in &checks.volumes {
                let waf = reference.waf_at(*volume, experiment.device.logical_bytes());
                assert!(waf.is_some_and(|waf| waf >= 1.0), "{name}: nothing at x{volume}");
            }
        }
        match experiment.check() {
            // Drive A needs 8 GB, which this machine may not have.
            Ok(_) | Err(LabError::Memory { .. }) => {}
            Err(error) => panic!("{name}: {error}"),
        }
    }
}

/// The folders of studies: applications, whose figures depend on what the studies do not state.
#[test]
fn every_experiment_of_a_study_can_run() {
    let folders = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut count = 0;
    for folder in folders.filter(|path| path.is_dir()) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            // The file of the study itself is read by its own tests.
            if path.file_name().is_some_and(|name| name == "study.toml") {
                continue;
            }
            let name = path.display();
            let experiment = Experiment::from_file(&path, &Options::default());
            let experiment = experiment.unwrap_or_else(|e| panic!("{e}"));
            assert!(experiment.volume.is_some() || experiment.timed, "{name}");
            let reference = experiment.compare.as_deref().map(Reference::read).transpose().unwrap();
            assert!(reference.is_none_or(|r| r.source.is_some()), "{name}");
            match experiment.check() {
                Ok(_) | Err(LabError::Memory { .. }) => {}
                Err(error) => panic!("{name}: {error}"),
            }
            count += 1;
        }
    }
    assert!(count >= 24, "{count}");
}

#[test]
fn every_reference_is_a_small_table_with_its_source() {
    let reference = folder().join("../reference");
    for entry in std::fs::read_dir(reference.join("timing")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("# source = "), "{}", path.display());
        assert!(text.lines().count() <= 16, "{}", path.display());
    }
    for entry in std::fs::read_dir(reference).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let reference = Reference::read(&path).unwrap();
        assert!(reference.source.is_some(), "{}", path.display());
        let rows = text.lines().filter(|line| !line.starts_with('#')).count() - 1;
        assert!(rows <= 16, "{}: {rows} rows", path.display());
    }
}

#[test]
fn experiments_to_validate_are_found_by_name() {
    let all = experiments(&folder(), &[], &Options::default()).unwrap();
    assert!(all.iter().all(|e| e.checks.is_some() && e.compare.is_some()));
    let two = ["warp-one-stream".to_owned(), "drive-a-one-stream".to_owned()];
    let names: Vec<String> = experiments(&folder(), &two, &Options::default())
        .unwrap()
        .into_iter()
        .map(|e| e.name)
        .collect();
    assert_eq!(names, two);
    let error = experiments(&folder(), &["warp-one-steam".to_owned()], &Options::default())
        .unwrap_err()
        .to_string();
    assert_eq!(error, "warp-one-steam: no experiment to validate; did you mean `warp-one-stream`?");
    let error =
        experiments(Path::new("/nonexistent"), &[], &Options::default()).unwrap_err().to_string();
    assert!(error.starts_with("/nonexistent: "), "{error}");
}

/// 1/28 of the device, with the same over-provisioning. Reclaim units of few commands would give a
/// lower WAF: 5 % with 64 commands of 128 KiB.
#[test]
fn a_shipped_experiment_runs_scaled_down() {
    let mut experiment =
        experiments(&folder(), &["warp-one-stream".to_owned()], &Options::default())
            .unwrap()
            .remove(0);
    let set = ["capacity=16GiB", "reclaim_unit.size=16MiB", "reclaim_unit.count=1167"];
    experiment.device = load_device("warp", &set.map(str::to_owned)).unwrap();
    let plan = plan(std::slice::from_ref(&experiment), 1).unwrap();
    let compared = |experiment: &Experiment| {
        let record = run(experiment, Control::unattended()).unwrap();
        let key = (plan.runs[0].name.clone(), record.seed());
        let outcomes = Outcomes::from([(key, Ok(record))]);
        let table = Reproduction::new(&plan, &outcomes, 0.0);
        let validation = Validation::new(std::slice::from_ref(experiment), &table, &outcomes);
        (table, validation)
    };
    let (table, validation) = compared(&experiment);
    assert_eq!(validation.curves[0].rows.len(), 7);
    for row in &validation.curves[0].rows {
        assert!(row.difference_percent.unwrap().abs() < 2.0, "{row:?}");
    }
    assert!(markdown(&table).contains("| warp-one-stream/x2 | WAF at x2 | identified |"));

    experiment.volume = Some(Volume::Multiple(2.0));
    let (table, validation) = compared(&experiment);
    assert_eq!(table.rows[1].failure.as_deref(), Some("does not reach x4"));
    assert!(!validation.curves[0].rows[1].ok);
}
