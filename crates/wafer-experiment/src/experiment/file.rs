//! The keys of an experiment file and their JSON Schema.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use wafer_record::{Precondition, Volume};

use crate::checks::Checks;
use crate::source;
use wafer_config::schema::{define, document, generator, properties_of};
use wafer_config::{device_table, overridden, profiles};

/// Default number of timeline samples.
pub const DEFAULT_SAMPLES: usize = 1000;

/// Permitted maximum numbers of timeline samples.
pub const SAMPLES: std::ops::RangeInclusive<usize> = 2..=1_000_000;

/// An experiment file, except its device and its workload.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExperimentFile {
    /// One-line description of the experiment, for readers of the file.
    #[serde(default)]
    #[expect(dead_code, reason = "for readers of the file")]
    description: Option<String>,
    /// Host bytes to write, counted from the run's first write: multiples of the logical capacity
    /// (`"25x"`) or a size (`"2TiB"`). Default: until the workload ends.
    #[schemars(with = "Option<String>")]
    pub(super) volume: Option<Volume>,
    /// Shares of the written bytes for concurrent jobs, `"JOB=SHARE,..."`. Default: a closed loop based on queue
    /// depths, block sizes and the device's service times.
    pub(super) pace: Option<String>,
    /// CSV file whose columns `pace` may name, relative to the experiment file.
    #[schemars(extend("format" = "path"))]
    pub(super) pace_from: Option<PathBuf>,
    /// Random seed.
    #[schemars(extend("default" = 0))]
    pub(super) seed: Option<u64>,
    /// Maximum number of timeline samples, 2 to 1000000.
    #[schemars(extend("default" = DEFAULT_SAMPLES))]
    pub(super) samples: Option<usize>,
    /// State of the device before the counters start: `"fresh"`, `"sequential"` (one sequential fill),
    /// `"random:N"` (N logical capacities of single-page writes at independent uniform addresses),
    /// `"load"` (applications load their data), or several of them in this order, joined by `+`; or `"steady"` (the
    /// workload itself, without a clock, until its WAF changes by less than 1 %).
    #[schemars(with = "Option<String>", extend("default" = "fresh"))]
    pub(super) precondition: Option<Precondition>,
    /// Whether to record which handle's invalidations cause relocations of which handle's data, for `wafer explain`. It
    /// slows the run by about 15 %.
    #[schemars(extend("default" = false))]
    pub(super) attribution: Option<bool>,
    /// Whether the run has a clock: hosts wait for the drive, and bandwidth and latency are measured. The device
    /// needs `timing`.
    #[schemars(extend("default" = false))]
    pub(super) time: Option<bool>,
    /// CSV file of published WAF to print next to ours, relative to the experiment file: columns `volume` (multiples of
    /// the logical capacity) and `waf`, or `host_bytes` and `media_bytes`.
    #[schemars(extend("format" = "path"))]
    pub(super) compare: Option<PathBuf>,
    /// Volumes and tolerances for `wafer validate`.
    pub(super) validate: Option<Checks>,
}

/// Returns the schema of an experiment file: `#/$defs/device` is that of a device file, and each kind of workload and
/// each application model has its own definition.
pub fn schema() -> Value {
    let mut generator = generator();
    let device = device_table(&mut generator);
    let names: Vec<String> = profiles().into_iter().map(|profile| profile.name).collect();
    define(&mut generator, "device", device.clone());
    define(&mut generator, "device-overrides", overridden(&device));
    let workload = source::schema(&mut generator);
    define(&mut generator, "workload", workload);
    let tenant = source::tenant_schema(&mut generator);
    define(&mut generator, "tenant", tenant);
    let mut root = ExperimentFile::json_schema(&mut generator);
    let properties = [
        (
            "device",
            json!({
                "description": "The drive: the name of a shipped profile, the path of a device \
                    file, or a table of overrides. A table with `profile` overrides keys of that \
                    profile or file; a table without it is the whole device.",
                "anyOf": [
                    { "type": "string", "examples": names },
                    { "$ref": "#/$defs/device-overrides" },
                ],
            }),
        ),
        ("workload", json!({ "description": "What is written.", "$ref": "#/$defs/workload" })),
        (
            "tenants",
            json!({ "description": "Several applications on one drive, instead of \
            `workload`.", "type": "array", "items": { "$ref": "#/$defs/tenant" } }),
        ),
    ];
    for (name, property) in properties {
        properties_of(root.ensure_object()).insert(name.to_owned(), property);
    }
    document(generator, root, "wafer experiment")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_documented() {
        let root = schema();
        let tables = root["$defs"].as_object().unwrap().values().chain([&root]);
        for key in tables.flat_map(|table| wafer_config::keys(&root, table)) {
            assert!(!key.meaning.is_empty(), "{}", key.name);
        }
    }
}
