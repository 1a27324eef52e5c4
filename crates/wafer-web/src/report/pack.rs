//! Packs records for a page: counters as differences, then gzip, then base64.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compression, GzBuilder};
use serde_json::{Map, Value, json};

/// Shorter columns are left unchanged.
const SHORT: usize = 16;

/// Packs data as text for `web/js/data.js`.
pub(crate) fn pack(data: Value) -> std::io::Result<String> {
    let data = differences(data);
    // No time stamp in the header: the same records yield the same page.
    let mut gzip = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    gzip.write_all(&serde_json::to_vec(&data)?)?;
    Ok(STANDARD.encode(gzip.finish()?))
}

/// Replaces long columns of integers with `{"first": n, "steps": [...]}`: counters that grow evenly become runs of the
/// same number.
fn differences(value: Value) -> Value {
    match value {
        Value::Array(items) if items.len() >= SHORT => match integers(&items) {
            Some(numbers) => {
                let steps: Vec<i64> = numbers.windows(2).map(|w| w[1] - w[0]).collect();
                json!({ "first": numbers[0], "steps": steps })
            }
            None => Value::Array(items.into_iter().map(differences).collect()),
        },
        Value::Array(items) => Value::Array(items.into_iter().map(differences).collect()),
        Value::Object(fields) => Value::Object(
            fields.into_iter().map(|(k, v)| (k, differences(v))).collect::<Map<_, _>>(),
        ),
        other => other,
    }
}

/// Returns all items as integers that JavaScript adds exactly: up to 2^53.
fn integers(items: &[Value]) -> Option<Vec<i64>> {
    const EXACT: i64 = 1 << 53;
    items.iter().map(|item| item.as_i64().filter(|n| (-EXACT..=EXACT).contains(n))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_columns_become_differences() {
        let column: Vec<u64> = (0..20).map(|i| 100 + 5 * i).collect();
        let packed = differences(json!({ "a": { "b": column }, "c": [1, 2], "d": "x" }));
        assert_eq!(packed["a"]["b"]["first"], 100);
        assert_eq!(packed["a"]["b"]["steps"], json!(vec![5; 19]));
        assert_eq!((&packed["c"], &packed["d"]), (&json!([1, 2]), &json!("x")));
    }

    #[test]
    fn numbers_that_would_be_rounded_stay() {
        let column = vec![json!(u64::MAX); 20];
        assert_eq!(differences(Value::Array(column.clone())), Value::Array(column));
        let fractions = vec![json!(0.5); 20];
        assert_eq!(differences(Value::Array(fractions.clone())), Value::Array(fractions));
    }

    #[test]
    fn a_million_even_samples_are_small() {
        let column: Vec<u64> = (0..1_000_000).map(|i| i * 12_345_678).collect();
        let text = pack(json!({ "host_bytes": column })).unwrap();
        // Down from 8 MB; compressors differ.
        assert!(text.len() < 40_000, "{}", text.len());
    }
}
