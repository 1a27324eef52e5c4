//! Sizes with a unit, as in configuration files and on the command line.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number of bytes. Text form: `"448GiB"` (binary), `"3.84TB"` (decimal), `"4096"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// Why a text is not a size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a size{bits}; write a number with B, KiB, MiB, GiB, TiB (binary) or kB, MB, GB, TB (decimal)",
    bits = if in_bits(.0) { " in bytes but in bits" } else { "" }
)]
pub struct ParseBytesError(String);

/// Tells whether a text ends with a unit of bits, such as the `Gb` of data sheets. `kb` and `b` count as bytes.
fn in_bits(text: &str) -> bool {
    let unit = text.trim().trim_start_matches(|c: char| !c.is_ascii_alphabetic());
    unit.starts_with(|c: char| c.is_ascii_uppercase())
        && unit.ends_with('b')
        && UNITS.iter().any(|(name, _)| name.eq_ignore_ascii_case(unit))
}

const UNITS: [(&str, u64); 12] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("PiB", 1 << 50),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("KB", 1_000),
    ("PB", 1_000_000_000_000_000),
    ("B", 1),
];

impl FromStr for Bytes {
    type Err = ParseBytesError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let t = text.trim();
        let fail = || ParseBytesError(text.to_owned());
        let digits =
            t.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(t.len());
        let (number, unit) = (t[..digits].replace('_', ""), t[digits..].trim());
        // Case does not matter otherwise.
        if in_bits(unit) {
            return Err(fail());
        }
        let scale = if unit.is_empty() {
            1
        } else {
            UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).ok_or_else(fail)?.1
        };
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(scale).map(Bytes).ok_or_else(fail);
        }
        let value = number.parse::<f64>().map_err(|_| fail())? * scale as f64;
        if !value.is_finite() || value < 0.0 || value >= u64::MAX as f64 {
            return Err(fail());
        }
        Ok(Bytes(value.round() as u64))
    }
}

impl fmt::Display for Bytes {
    /// Writes the shortest exact spelling with a unit, binary if a decimal one is as short; plain bytes if no unit is
    /// exact.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = |names: &[&str]| {
            names.iter().find_map(|name| {
                let scale = UNITS.iter().find(|(unit, _)| unit == name)?.1;
                (self.0 >= scale && self.0.is_multiple_of(scale))
                    .then(|| format!("{}{name}", self.0 / scale))
            })
        };
        let spellings = [exact(&["TiB", "GiB", "MiB", "KiB"]), exact(&["TB", "GB", "MB"])];
        match spellings.into_iter().flatten().min_by_key(String::len) {
            Some(text) => f.write_str(&text),
            None => write!(f, "{}B", self.0),
        }
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Bytes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size such as \"448GiB\" or a number of bytes")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Bytes, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_u64<E: serde::de::Error>(self, bytes: u64) -> Result<Bytes, E> {
                Ok(Bytes(bytes))
            }

            fn visit_i64<E: serde::de::Error>(self, bytes: i64) -> Result<Bytes, E> {
                u64::try_from(bytes).map(Bytes).map_err(|_| E::custom("a size cannot be negative"))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for Bytes {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Bytes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "integer"], "format": "size" })
    }
}

#[cfg(test)]
mod tests;
