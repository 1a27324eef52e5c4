//! The configuration reference: keys, types and meaning are the fields and their documentation in
//! the source, defaults are what the types resolve to.

use wafer_core::{DeviceConfig, policy::POLICIES};
use wafer_lab::config::PROFILES;

const CORE: &str = include_str!("../../../wafer-core/src/config.rs");
const DEVICE_FILE: &str = include_str!("../../src/config/mod.rs");
const EXPERIMENT: &str = include_str!("../../src/experiment.rs");
const FIO: &str = include_str!("../../src/source/fio.rs");
const TENANTS: &str = include_str!("../../src/source/tenants.rs");

/// Where the keys of each model stand: its name, the file, the type.
const MODELS: &[(&str, &str, &str)] = &[
    ("jesd219a", include_str!("../../../wafer-workload/src/model/jesd219a.rs"), "Jesd219aConfig"),
    (
        "aerospike",
        include_str!("../../../wafer-workload/src/model/aerospike/mod.rs"),
        "AerospikeConfig",
    ),
    (
        "cachelib",
        include_str!("../../../wafer-workload/src/model/cachelib/mod.rs"),
        "CachelibConfig",
    ),
    ("f2fs", include_str!("../../../wafer-workload/src/model/f2fs/mod.rs"), "F2fsConfig"),
    (
        "kernel-build",
        include_str!("../../../wafer-workload/src/model/kernel_build/mod.rs"),
        "KernelBuildConfig",
    ),
    ("lsm", include_str!("../../../wafer-workload/src/model/lsm/mod.rs"), "LsmConfig"),
];

/// An experiment file in which every table appears; a test reads it.
pub(crate) const EXAMPLE: &str = r#"description = "warp with more over-provisioning, beside its published curve"
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

/// Tables of a device, with the prefix of their keys.
const DEVICE_TABLES: [(&str, &str); 5] = [
    ("DeviceConfig", ""),
    ("ReclaimUnitConfig", "reclaim_unit."),
    ("GcConfig", "gc."),
    ("NamespaceConfig", "namespaces[]."),
    ("ServiceConfig", "service."),
];

struct Field {
    name: String,
    kind: String,
    text: String,
}

/// The whole page.
pub(crate) fn page() -> String {
    let mut page = String::from(HEAD);
    page += &format!("```toml\n{EXAMPLE}```\n\n## Experiment\n\n");
    page += "| key | value | meaning |\n|---|---|---|\n";
    for (file, table, prefix) in
        [(EXPERIMENT, "ExperimentFile", ""), (FIO, "WorkloadFile", "workload.")]
    {
        for field in fields(file, table) {
            if field.kind != "WorkloadFile" {
                page += &row(&[&code(prefix, &field.name), words(&field.kind), &field.text]);
            }
        }
    }
    page += &row(&["`workload.model`", "text", MODEL_KEY]);
    page += &row(&["`device`", "name, path or table", DEVICE_KEY]);
    page += TENANTS_HEAD;
    for (table, prefix) in [("TenantFile", ""), ("RangeFile", "ranges[].")] {
        for field in fields(TENANTS, table) {
            let key = code(&format!("tenants[].{prefix}"), &field.name);
            page += &row(&[&key, words(&field.kind), &field.text]);
        }
    }
    page += &row(&["`tenants[].workload`", "table", "As `workload`: of any kind."]);
    page += "\n## Application models\n\n";
    page += "[models.md](models.md) says what each follows, what it leaves out, and its sources.\n";
    for model in wafer_lab::models() {
        page += &model_table(model);
    }
    page += "\n## Device\n\n| key | value | default | meaning |\n|---|---|---|---|\n";
    for field in fields(DEVICE_FILE, "ResolvedDevice") {
        if ["description", "write_rate"].contains(&field.name.as_str()) {
            page += &row(&[&code("", &field.name), words(&field.kind), "none", &field.text]);
        }
    }
    let defaults = defaults();
    for (table, prefix) in DEVICE_TABLES {
        for field in fields(CORE, table) {
            if field.kind.ends_with("Config") {
                continue;
            }
            let default = default_of(&defaults, &format!("{prefix}{}", field.name), &field.kind);
            page += &row(&[&code(prefix, &field.name), words(&field.kind), &default, &field.text]);
        }
    }
    for (key, kind) in [
        ("isolation", "Isolation"),
        ("gc.order", "RelocationOrder"),
        ("gc.destination", "Destination"),
        ("gc.separation", "Separation"),
    ] {
        page += &format!("\n### Values of `{key}`\n\n| value | meaning |\n|---|---|\n");
        for variant in fields(CORE, kind) {
            page += &row(&[&format!("`\"{}\"`", variant.name.to_lowercase()), &variant.text]);
        }
    }
    page += "\n### Values of `gc.policy`\n\n| value | victim |\n|---|---|\n";
    for policy in POLICIES {
        page += &row(&[&format!("`\"{}\"`", policy.name), policy.summary]);
    }
    page += "\n### Service times\n\n";
    page += &format!("{}\n\n## Shipped profiles\n\n", documentation_of(CORE, "ServiceConfig"));
    page += "| name | file | |\n|---|---|---|\n";
    for profile in PROFILES {
        let device = wafer_lab::load_device(profile.name, &[]).expect("a shipped profile");
        let file = format!("[{0}](../{0})", profile.path);
        page += &row(&[&code("", profile.name), &file, &device.description.unwrap_or_default()]);
    }
    page
}

/// The keys of a model.
fn model_table(model: &wafer_lab::ModelInfo) -> String {
    let found = MODELS.iter().find(|(name, ..)| *name == model.name);
    let (_, file, kind) =
        found.unwrap_or_else(|| panic!("say where the keys of {} are", model.name));
    let mut text = format!("\n### `model = \"{}\"`\n\n{}.\n\n", model.name, model.summary);
    text += "| key | value | default | meaning |\n|---|---|---|---|\n";
    let defaults = (model.defaults)();
    for field in fields(file, kind) {
        let default = defaults.get(&field.name).map_or("none".to_owned(), |v| format!("`{v}`"));
        text += &row(&[&code("", &field.name), words(&field.kind), &default, &field.text]);
    }
    text
}

const MODEL_KEY: &str = "An application model; its keys stand in the same table: see below.";

const TENANTS_HEAD: &str = "\n## Tenants\n\nSeveral applications on one drive, instead of `workload`.\n\n\
    | key | value | meaning |\n|---|---|---|\n";

const HEAD: &str = "# Configuration reference

Generated from the configuration types by `make docs`; a test compares. Do not edit.

An experiment file says what to run; a device file describes a drive. Both are TOML. An unknown
key is an error that names the file, the line and the nearest known key. `--set KEY=VALUE`
overrides one key of the device, dotted as below; `wafer config --device NAME` prints every key
of a device as it was resolved.

*Sizes* are texts with a unit: `KiB`, `MiB`, `GiB`, `TiB` are powers of 1024, `kB`, `MB`, `GB`,
`TB` powers of 1000; a number without a unit is bytes. *Shares* are numbers from 0 to 1.

";

const DEVICE_KEY: &str = "A shipped profile's name, the path of a device file (relative to the \
    experiment file), or a table of device keys. With `device.profile` the table overrides keys of \
    that profile or file; without it the table is the whole device.";

fn row(cells: &[&str]) -> String {
    let cells: Vec<String> = cells.iter().map(|c| c.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

fn code(prefix: &str, name: &str) -> String {
    format!("`{prefix}{name}`")
}

/// A type as a user sees it.
fn words(kind: &str) -> &'static str {
    let inner = kind.strip_prefix("Option<").and_then(|k| k.strip_suffix('>')).unwrap_or(kind);
    match inner {
        "Bytes" => "size",
        "f64" => "number",
        "u8" | "u16" | "u32" | "u64" | "usize" => "whole number",
        "bool" => "`true` or `false`",
        "String" => "text",
        "PathBuf" => "path",
        "Destination" | "Isolation" | "RelocationOrder" | "Separation" | "Standing" => "text",
        "Ycsb" | "KeyOrder" | "PaceFile" | "Discard" | "Temperature" => "text",
        "Vec<RangeFile>" => "list of tables",
        "Checks" => "table",
        "Vec<f64>" => "list of numbers",
        "BTreeMap<String, Isolation>" => "table of texts",
        "Vec<NamespaceConfig>" => "list of tables",
        "Vec<u16>" => "list of whole numbers",
        "Volume" => "text or size",
        "Precondition" => "text",
        other => panic!("say what a user calls a {other}"),
    }
}

/// What a device file that gives only what has no default resolves to.
fn defaults() -> toml::Table {
    let least = "capacity = 0\nreclaim_unit.size = 0\n[[namespaces]]\nsize = 0\n";
    let config: DeviceConfig = toml::from_str(least).expect("the keys without default");
    toml::Table::try_from(&config).expect("a configuration")
}

fn default_of(defaults: &toml::Table, key: &str, kind: &str) -> String {
    let required = ["capacity", "reclaim_unit.size", "namespaces[].size"];
    if required.contains(&key) {
        return "required".to_owned();
    }
    let mut value = None;
    let mut table = Some(defaults);
    for part in key.split('.') {
        let name = part.trim_end_matches("[]");
        value = table.and_then(|t| t.get(name));
        table = match value {
            Some(toml::Value::Array(list)) => list.first().and_then(toml::Value::as_table),
            Some(other) => other.as_table(),
            None => None,
        };
    }
    match value {
        _ if key == "namespaces" => "none".to_owned(),
        Some(value) => format!("`{value}`"),
        None if kind.starts_with("Option") || kind.starts_with("BTreeMap") => "none".to_owned(),
        None => panic!("no default of {key}"),
    }
}

/// The fields of a struct, or the variants of an enum, with their documentation.
fn fields(source: &str, name: &str) -> Vec<Field> {
    let (_, body) = split_at_item(source, name);
    let mut fields = Vec::new();
    let mut text = Vec::new();
    for line in body.lines().skip(1).map(str::trim).take_while(|line| *line != "}") {
        if let Some(doc) = line.strip_prefix("///") {
            text.push(doc.trim());
        } else if !line.starts_with("#[") {
            let item = line.trim_end_matches(',');
            let item = item.rsplit_once(") ").map_or(item, |(_, item)| item);
            let item = item.strip_prefix("pub ").unwrap_or(item);
            let (name, kind) = item.split_once(": ").unwrap_or((item, ""));
            assert!(!text.is_empty(), "{name} is not documented");
            let text = plain(&std::mem::take(&mut text));
            fields.push(Field { name: name.to_owned(), kind: kind.to_owned(), text });
        }
    }
    fields
}

/// The documentation of a type.
fn documentation_of(source: &str, name: &str) -> String {
    let (before, _) = split_at_item(source, name);
    let lines: Vec<&str> = before.lines().rev().take_while(|line| !line.is_empty()).collect();
    let docs = lines.iter().rev().filter_map(|line| line.strip_prefix("///"));
    let paragraphs: Vec<&str> = docs.map(str::trim).collect();
    let of = |part: &[&str]| plain(part);
    paragraphs.split(|line| line.is_empty()).map(of).collect::<Vec<_>>().join("\n\n")
}

fn split_at_item<'a>(source: &'a str, name: &str) -> (&'a str, &'a str) {
    let found = ["struct", "enum"]
        .iter()
        .find_map(|kind| source.find(&format!("{kind} {name} {{")))
        .unwrap_or_else(|| panic!("no type {name}"));
    let line = source[..found].rfind('\n').map_or(0, |at| at + 1);
    (&source[..line], &source[line..])
}

/// Lines as one paragraph, links of rustdoc without their brackets.
fn plain(lines: &[&str]) -> String {
    lines.join(" ").replace("[`", "`").replace("`]", "`")
}
