//! `docs/configuration.md` is what the configuration types say.

#[path = "../examples/configuration_reference/render.rs"]
mod render;

use std::path::Path;

use wafer_lab::{Experiment, Options};

#[test]
fn the_committed_page_is_what_the_code_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let generated = render::page();
    let differs = committed.lines().zip(generated.lines()).find(|(a, b)| a != b);
    assert!(committed == generated, "run `make docs` and commit; first difference: {differs:?}");
}

#[test]
fn its_example_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("experiment.toml");
    std::fs::write(&path, render::EXAMPLE).unwrap();
    let experiment = Experiment::from_file(&path, &Options::default()).unwrap();
    assert_eq!(experiment.device.config.gc.policy, "cost-benefit");
    experiment.check().unwrap();
}
