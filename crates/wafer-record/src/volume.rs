//! The volume of a run.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wafer_interface::{Bytes, LBA_BYTES};

/// Host bytes of a run, counted from its first write. Text form: `5x` (multiples of the logical capacity) or a size
/// such as `2TiB`. A number without a unit is refused as ambiguous.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "Spelling", into = "String")]
#[schemars(with = "String")]
pub enum Volume {
    /// Multiples of the logical capacity.
    Multiple(f64),
    /// Bytes.
    Bytes(Bytes),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Spelling {
    Text(String),
    Number(f64),
}

impl Volume {
    /// Returns the volume in bytes for a device of `logical_bytes`, in whole logical blocks, at least one.
    pub fn bytes(self, logical_bytes: u64) -> u64 {
        let bytes = match self {
            Volume::Multiple(times) => (logical_bytes as f64 * times).round() as u64,
            Volume::Bytes(bytes) => bytes.0,
        };
        (bytes / LBA_BYTES * LBA_BYTES).max(LBA_BYTES)
    }
}

impl FromStr for Volume {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fail =
            || format!("`{text}` is not a volume; write 5x (capacities) or a size such as 2TiB");
        if text.trim().parse::<f64>().is_ok_and(|number| number > 0.0 && number.is_finite()) {
            let (number, unit) = (text.trim(), if text.trim().len() > 6 { "B" } else { "GiB" });
            return Err(format!(
                "`{number}` has no unit; write {number}x (capacities) or {number}{unit} (bytes)"
            ));
        }
        let volume = match text.trim().strip_suffix(['x', 'X']) {
            Some(times) => Volume::Multiple(times.trim().parse().map_err(|_| fail())?),
            None => Volume::Bytes(text.parse().map_err(|_| fail())?),
        };
        match volume {
            Volume::Multiple(times) if !(times > 0.0 && times <= 1e6) => Err(fail()),
            Volume::Bytes(Bytes(0)) => Err(fail()),
            volume => Ok(volume),
        }
    }
}

impl fmt::Display for Volume {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Volume::Multiple(times) => write!(f, "{times}x"),
            Volume::Bytes(bytes) => bytes.fmt(f),
        }
    }
}

impl From<Volume> for String {
    fn from(volume: Volume) -> String {
        volume.to_string()
    }
}

impl TryFrom<Spelling> for Volume {
    type Error = String;

    fn try_from(spelling: Spelling) -> Result<Self, String> {
        match spelling {
            Spelling::Text(text) => text.parse(),
            Spelling::Number(number) => number.to_string().parse(),
        }
    }
}

#[cfg(test)]
mod tests;
