//! JSON Schema of configuration files, made of the types that read them.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};
use wafer_device::DeviceConfig;
use wafer_device::policy::POLICIES;

use super::{About, Key, keys, profiles};
use crate::experiment::ExperimentFile;
use crate::source;

/// Returns the schema of an experiment file: `#/$defs/device` is that of a device file, and each kind
/// of workload and each application model has a definition of its own.
pub fn experiment() -> Value {
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
                    file, or a table of device-overridess. A table with `profile` overrides keys of that \
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
    let object = root.ensure_object();
    for (name, property) in properties {
        properties_of(object).insert(name.to_owned(), property);
    }
    object.insert("title".to_owned(), "wafer experiment".into());
    object.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    object.insert("$defs".to_owned(), Value::Object(generator.take_definitions(true)));
    root.into()
}

/// Returns the schema of a device file.
pub fn device() -> Value {
    let mut generator = generator();
    let mut root = device_table(&mut generator);
    let object = root.ensure_object();
    object.insert("title".to_owned(), "wafer device".into());
    object.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    object.insert("$defs".to_owned(), Value::Object(generator.take_definitions(true)));
    root.into()
}

/// Returns the keys of a device that overrides can set: those of its configuration, without the keys
/// inside lists of tables.
pub fn overridable() -> Vec<Key> {
    let (device, about) = (device(), names::<About>());
    let settable = |key: &Key| !about.contains(&key.name) && !key.name.contains("[]");
    keys(&device, &device).into_iter().filter(settable).collect()
}

/// Returns the names of a type's keys.
pub(crate) fn names<T: JsonSchema>() -> Vec<String> {
    let schema = T::json_schema(&mut generator());
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.map(|keys| keys.keys().cloned().collect()).unwrap_or_default()
}

/// Adds the keys of `other` to the table `base`.
pub(crate) fn merged(mut base: Schema, other: &Schema) -> Schema {
    let object = base.ensure_object();
    if let Some(Value::Object(more)) = other.get("properties") {
        properties_of(object).extend(more.clone());
    }
    if let Some(Value::Array(more)) = other.get("required") {
        let required = object.entry("required").or_insert_with(|| json!([]));
        if let Value::Array(all) = required {
            all.extend(more.iter().cloned());
        }
    }
    base
}

/// Returns a table with one key that must be there.
pub(crate) fn table_with(key: &str, value: Value) -> Schema {
    json_schema!({
        "type": "object",
        "properties": { key: value },
        "required": [key],
        "additionalProperties": false,
    })
}

/// Adds a definition and returns a reference to it.
pub(crate) fn define(generator: &mut SchemaGenerator, name: &str, schema: Schema) -> Schema {
    generator.definitions_mut().insert(name.to_owned(), schema.into());
    json_schema!({ "$ref": format!("#/$defs/{name}") })
}

fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().into_generator()
}

fn properties_of(object: &mut Map<String, Value>) -> &mut Map<String, Value> {
    let properties = object.entry("properties").or_insert_with(|| json!({}));
    if !properties.is_object() {
        *properties = json!({});
    }
    match properties {
        Value::Object(properties) => properties,
        _ => unreachable!("set to an object above"),
    }
}

/// The keys of a device file.
fn device_table(generator: &mut SchemaGenerator) -> Schema {
    let about = About::json_schema(generator);
    let config = DeviceConfig::json_schema(generator);
    let mut table = merged(about, &config);
    table.insert("description".to_owned(), "A device file.".into());
    // The policies are a table of the device, not a type.
    if let Some(policy) = generator
        .definitions_mut()
        .get_mut("GcConfig")
        .and_then(|gc| gc.pointer_mut("/properties/policy"))
        .and_then(Value::as_object_mut)
    {
        let values = POLICIES.iter().map(|policy| {
            json!({ "type": "string", "const": policy.name, "description": policy.summary })
        });
        policy.remove("type");
        policy.insert("oneOf".to_owned(), values.collect());
    }
    table
}

/// A table of device-overridess over a profile: none is required.
fn overridden(device: &Schema) -> Schema {
    let mut table = device.clone();
    table.remove("required");
    let profile = json!({
        "description": "Name of a shipped profile, or path of a device file relative to the \
            experiment file.",
        "type": "string",
    });
    properties_of(table.ensure_object()).insert("profile".to_owned(), profile);
    table
}
