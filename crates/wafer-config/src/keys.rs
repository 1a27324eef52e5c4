//! The keys of a configuration as a list, from its JSON Schema.

use serde_json::{Map, Value};

/// A key of a configuration file.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// Dotted name; `[]` follows a list of tables, `*` stands for any name.
    pub name: String,
    /// Kind of its value, such as "size" or "list of whole numbers".
    pub kind: String,
    /// The default, if there is one.
    pub default: Option<Value>,
    /// Whether it must be given.
    pub required: bool,
    /// Its meaning.
    pub meaning: String,
    /// Permitted values with their meaning; empty if they are not a fixed set.
    pub values: Vec<(String, String)>,
}

/// Returns the keys of the object schema `table`, including those of nested tables, in order of declaration. `$ref`s
/// are resolved in `root`.
pub fn keys(root: &Value, table: &Value) -> Vec<Key> {
    let mut found = Vec::new();
    Walk { root, found: &mut found }.table("", table);
    found
}

struct Walk<'a> {
    root: &'a Value,
    found: &'a mut Vec<Key>,
}

impl<'a> Walk<'a> {
    fn table(&mut self, prefix: &str, table: &'a Value) {
        let table = self.resolved(table);
        let required = |name: &str| {
            let list = table.get("required").and_then(Value::as_array);
            list.is_some_and(|list| list.iter().any(|key| key == name))
        };
        for (name, schema) in object(table, "properties") {
            let full = format!("{prefix}{name}");
            let value = self.resolved(schema);
            if !object(value, "properties").is_empty() {
                self.table(&format!("{full}."), value);
                continue;
            }
            self.key(full.clone(), required(name), schema, value);
            if let Some(items) = value.get("items").map(|items| self.resolved(items))
                && !object(items, "properties").is_empty()
            {
                self.table(&format!("{full}[]."), items);
            }
        }
    }

    fn key(&mut self, name: String, required: bool, schema: &'a Value, value: &'a Value) {
        let text = |of: &Value| {
            of.get("description").and_then(Value::as_str).map(|text| text.replace('\n', " "))
        };
        let several = value.get("additionalProperties").filter(|below| below.is_object());
        let values = self.values(several.map_or(value, |below| self.resolved(below)));
        let plain = |text: String| text.replace("[`", "`").replace("`]", "`");
        self.found.push(Key {
            name: if several.is_some() { format!("{name}.*") } else { name },
            kind: self.kind(several.unwrap_or(schema)),
            default: schema.get("default").filter(|default| !default.is_null()).cloned(),
            required,
            meaning: plain(text(schema).or_else(|| text(value)).unwrap_or_default()),
            values: values.into_iter().map(|(value, text)| (value, plain(text))).collect(),
        });
    }

    /// Returns the permitted values of an enumeration.
    fn values(&self, schema: &Value) -> Vec<(String, String)> {
        let text = |of: &Value| of.as_str().map(str::to_owned);
        let mut values = Vec::new();
        for one in schema.get("oneOf").and_then(Value::as_array).into_iter().flatten() {
            if let Some(value) = one.get("const").and_then(text) {
                let meaning = one.get("description").and_then(text).unwrap_or_default();
                values.push((value, meaning.replace('\n', " ")));
            }
            values.extend(self.values(one));
        }
        let plain = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
        values.extend(plain.filter_map(text).map(|value| (value, String::new())));
        values
    }

    /// Returns a user's name for the type of a value.
    fn kind(&self, schema: &Value) -> String {
        let schema = self.resolved(schema);
        if let Some(format @ ("size" | "path" | "time span")) =
            schema.get("format").and_then(Value::as_str)
        {
            return format.to_owned();
        }
        let kind = match schema.get("type") {
            Some(Value::String(kind)) => kind.as_str(),
            // The type of an optional value, together with null.
            Some(Value::Array(kinds)) => kinds.first().and_then(Value::as_str).unwrap_or("text"),
            _ => "string",
        };
        match kind {
            "integer" => "whole number",
            "number" => "number",
            "boolean" => "`true` or `false`",
            "object" => "table",
            "array" => {
                let items = schema.get("items").map(|items| self.kind(items));
                return match items.as_deref() {
                    Some("`true` or `false`") | None => "list".to_owned(),
                    Some("text") => "list of text".to_owned(),
                    Some(kind) => format!("list of {kind}s"),
                };
            }
            _ => "text",
        }
        .to_owned()
    }

    /// Follows `$ref`s, and the value branch of an optional value.
    fn resolved(&self, schema: &'a Value) -> &'a Value {
        if let Some(path) = schema.get("$ref").and_then(Value::as_str) {
            let found = self.root.pointer(path.trim_start_matches('#'));
            return found.map_or(schema, |found| self.resolved(found));
        }
        let null = |one: &&Value| one.get("type").is_some_and(|kind| kind == "null");
        match schema.get("anyOf").and_then(Value::as_array).map(Vec::as_slice) {
            Some([one, other]) if null(&other) => self.resolved(one),
            _ => schema,
        }
    }
}

fn object<'a>(schema: &'a Value, key: &str) -> &'a Map<String, Value> {
    static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    schema.get(key).and_then(Value::as_object).unwrap_or(&NONE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device_schema;

    fn device_key(name: &str) -> Key {
        let device = device_schema();
        keys(&device, &device).into_iter().find(|key| key.name == name).unwrap()
    }

    #[test]
    fn keys_have_their_kind_default_and_values() {
        let page = device_key("page");
        assert_eq!((page.kind.as_str(), page.default), ("size", Some("4KiB".into())));
        assert!(device_key("capacity").required && device_key("reclaim_unit.size").required);
        assert_eq!(device_key("handles").kind, "whole number");
        assert_eq!(device_key("namespaces[].handles").kind, "list of whole numbers");
        let isolation = device_key("handle_isolation.*");
        let values: Vec<&str> = isolation.values.iter().map(|(v, _)| v.as_str()).collect();
        assert_eq!(values, ["initially", "persistently"]);
        let destination = device_key("gc.destination");
        assert!(destination.values.iter().any(|(v, _)| v == "generation"), "{destination:?}");
        let policy = device_key("gc.policy");
        assert!(policy.values.iter().any(|(value, _)| value == "cost-benefit"));
        assert_eq!(policy.default, Some("greedy".into()));
    }
}
