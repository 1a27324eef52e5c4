//! Tools for the JSON Schema of configuration files, which is generated from the types that read them.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

/// Returns the names of a type's keys.
pub fn names<T: JsonSchema>() -> Vec<String> {
    names_in(&T::json_schema(&mut generator()))
}

/// Returns the names of a table's keys.
pub fn names_in(schema: &Schema) -> Vec<String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.map(|keys| keys.keys().cloned().collect()).unwrap_or_default()
}

/// Adds the keys of `other` to the table `base`.
pub fn merged(mut base: Schema, other: &Schema) -> Schema {
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

/// Returns the schema of a table with one required key.
pub fn table_with(key: &str, value: Value) -> Schema {
    json_schema!({
        "type": "object",
        "properties": { key: value },
        "required": [key],
        "additionalProperties": false,
    })
}

/// Completes the schema of a whole file: its title, and all definitions.
pub fn document(mut generator: SchemaGenerator, mut root: Schema, title: &str) -> Value {
    root.insert("title".to_owned(), title.into());
    root.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    root.insert("$defs".to_owned(), Value::Object(generator.take_definitions(true)));
    root.into()
}

/// Adds a definition and returns a reference to it.
pub fn define(generator: &mut SchemaGenerator, name: &str, schema: Schema) -> Schema {
    generator.definitions_mut().insert(name.to_owned(), schema.into());
    json_schema!({ "$ref": format!("#/$defs/{name}") })
}

/// Returns an empty generator of JSON Schema, draft 2020-12.
pub fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().into_generator()
}

/// Returns the keys of a table.
pub fn properties_of(object: &mut Map<String, Value>) -> &mut Map<String, Value> {
    let properties = object.entry("properties").or_insert_with(|| json!({}));
    if !properties.is_object() {
        *properties = json!({});
    }
    match properties {
        Value::Object(properties) => properties,
        _ => unreachable!("set to an object above"),
    }
}
