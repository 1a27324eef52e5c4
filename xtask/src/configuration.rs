//! Generates the configuration reference from the JSON Schema of configuration files.

use serde_json::Value;
use wafer_config::{Key, keys, profiles};
use wafer_lab::experiment_schema;

/// An experiment file with every table; a test reads it.
const EXAMPLE: &str = r#"description = "warp with more over-provisioning"
volume = "5x"
seed = 1

[device]
profile = "warp"
overprovisioning = 0.28
gc.policy = "cost-benefit"

[workload]
fio_text = """
[one-stream]
rw=randwrite
bs=128k
iodepth=128
size=100%
time_based=1
runtime=10d
"""
"#;

const HEAD: &str = "# Configuration reference

<!-- Written by `cargo xtask docs` from the types that read configurations. Do not edit. -->

Look up every key of an experiment file and of a device file. Both are TOML:

";

const RULES: &str = "An unknown key is an error that names the file, the line and the nearest known key.
`--set KEY=VALUE` overrides one key of the device; shells complete keys and values.
`wafer config --device NAME` prints a device with every key resolved. `wafer schema config` prints the JSON
Schema from which this page is made.

*Sizes* are text with a unit: `KiB`, `MiB`, `GiB` and `TiB` are powers of 1024; `kB`, `MB`, `GB` and `TB` are
powers of 1000; a number without a unit is bytes. *Shares* are numbers from 0 to 1. *Paths* are relative to
the file that names them; traces are also looked for in the data folders.

";

/// Returns the whole page.
pub(crate) fn page() -> String {
    let root = experiment_schema();
    let table = |name: &str| keys(&root, &root["$defs"][name]);
    let of_tenants = |key: &Key| key.name.starts_with("tenants");
    let experiment: Vec<Key> = keys(&root, &root)
        .into_iter()
        .filter(|key| !of_tenants(key) && !["device", "workload"].contains(&key.name.as_str()))
        .collect();

    let mut page = format!("{HEAD}```toml\n{EXAMPLE}```\n\n{RULES}## Experiment\n\n");
    page += &rows("", &experiment);
    for name in ["device", "workload", "tenants"] {
        let key = &root["properties"][name];
        page += &row(&[&code(name), "table", "", key["description"].as_str().unwrap_or_default()]);
    }
    page += "\n## Workload\n\nThe `workload` table is one of these.\n";
    for (title, name) in
        [("A fio job file", "fio"), ("A trace", "trace"), ("Several traces", "traces")]
    {
        page += &format!("\n### {title}\n\n{}", rows("", &table(&format!("workload-{name}"))));
    }
    page += "\n## Application models\n\n[Application models](models.md) describes what each follows, what \
             it leaves out, and its sources.\n";
    for model in wafer_lab::models() {
        let keys = table(&format!("workload-{}", model.name));
        let keys: Vec<Key> = keys.into_iter().filter(|key| key.name != "model").collect();
        page += &format!("\n### `model = \"{}\"`\n\n{}.\n\n", model.name, model.summary);
        page += &rows("", &keys);
    }
    page += "\n## Tenants\n\nSeveral applications on one drive, instead of `workload`.\n\n";
    page += &rows("tenants[].", &table("tenant"));
    page += "\n## Device\n\n";
    let device = table("device");
    page += &rows("", &device);
    for key in device.iter().filter(|key| !key.values.is_empty()) {
        page += &values(&key.name, key);
    }
    page += &service(&root);
    page += "\n## Shipped profiles\n\n| name | file | |\n|---|---|---|\n";
    for profile in profiles() {
        let device = wafer_config::load_device(&profile.name, &[]).expect("a shipped profile");
        let cells = [code(&profile.name), code(&profile.path)];
        let description = device.description.unwrap_or_default();
        page += &format!("| {} | {} | {description} |\n", cells[0], cells[1]);
    }
    page
}

fn rows(prefix: &str, keys: &[Key]) -> String {
    let mut text = "| key | value | default | meaning |\n|---|---|---|---|\n".to_owned();
    for key in keys {
        let default = match &key.default {
            Some(Value::String(text)) => code(&format!("\"{text}\"")),
            Some(value) => code(&value.to_string()),
            None if key.required => "required".to_owned(),
            None => String::new(),
        };
        text += &row(&[&code(&format!("{prefix}{}", key.name)), &key.kind, &default, &key.meaning]);
    }
    text
}

fn values(name: &str, key: &Key) -> String {
    let mut text = format!("\n### Values of `{name}`\n\n| value | meaning |\n|---|---|\n");
    for (value, meaning) in &key.values {
        text += &row(&[&code(&format!("\"{value}\"")), meaning]);
    }
    text
}

/// Returns the section on service times: the description of their table.
fn service(root: &Value) -> String {
    let text = root["$defs"]["ServiceConfig"]["description"].as_str().unwrap_or_default();
    format!("\n### Service times\n\n{text}\n")
}

fn row(cells: &[&str]) -> String {
    let cells: Vec<String> = cells.iter().map(|c| c.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

#[cfg(test)]
mod tests {
    use wafer_lab::{Experiment, Options};

    use super::*;

    #[test]
    fn the_example_can_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("experiment.toml");
        std::fs::write(&path, EXAMPLE).unwrap();
        let experiment = Experiment::from_file(&path, &Options::default()).unwrap();
        assert_eq!(experiment.device.config.gc.policy, "cost-benefit");
        experiment.check().unwrap();
    }

    #[test]
    fn every_model_and_kind_of_workload_has_keys() {
        let page = page();
        for model in wafer_lab::models() {
            assert!(page.contains(&format!("### `model = \"{}\"`", model.name)), "{}", model.name);
            for key in (model.defaults)().keys() {
                assert!(page.contains(&format!("| `{key}` |")), "{}: {key}", model.name);
            }
        }
        for key in ["fio_text", "trace", "traces[].file", "tenants[].ranges[].to", "gc.policy"] {
            assert!(page.contains(&format!("| `{key}` |")), "{key}");
        }
    }
}
