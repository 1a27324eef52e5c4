use serde_json::Value;

use super::*;

#[test]
fn every_field_is_described() {
    fn undescribed(value: &Value, path: &str, found: &mut Vec<String>) {
        if let Some(fields) = value.get("properties").and_then(Value::as_object) {
            for (name, field) in fields {
                let described = ["description", "const"].iter().any(|k| field.get(k).is_some());
                if !described && field.get("$ref").is_none() {
                    found.push(format!("{path}.{name}"));
                }
            }
        }
        match value {
            Value::Object(fields) => fields
                .iter()
                .for_each(|(key, value)| undescribed(value, &format!("{path}/{key}"), found)),
            Value::Array(items) => items.iter().for_each(|value| undescribed(value, path, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    undescribed(&serde_json::to_value(schema()).unwrap(), "", &mut found);
    assert_eq!(found, [""; 0]);
}
