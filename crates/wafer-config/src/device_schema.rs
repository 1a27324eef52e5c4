//! The JSON Schema of device files.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Value, json};
use wafer_device::DeviceConfig;
use wafer_device::policy::POLICIES;

use crate::device::About;
use crate::keys::{Key, keys};
use crate::schema::{document, generator, merged, names, properties_of};

/// Returns the schema of a device file.
pub fn device_schema() -> Value {
    let mut generator = generator();
    let root = table(&mut generator);
    document(generator, root, "wafer device")
}

/// Returns the keys of a device that overrides can set: those of its configuration, except keys inside lists of tables.
pub fn overridable_keys() -> Vec<Key> {
    let (device, about) = (device_schema(), names::<About>());
    let settable = |key: &Key| !about.contains(&key.name) && !key.name.contains("[]");
    keys(&device, &device).into_iter().filter(settable).collect()
}

/// Returns the schema of a device file's top-level table.
pub fn table(generator: &mut SchemaGenerator) -> Schema {
    let about = About::json_schema(generator);
    let config = DeviceConfig::json_schema(generator);
    let mut table = merged(about, &config);
    table.insert("description".to_owned(), "A device file.".into());
    // The policies are a list in the device crate, not a type.
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

/// Returns the schema of a table that overrides a profile: the keys of `device`, none of them required.
pub fn overridden(device: &Schema) -> Schema {
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
