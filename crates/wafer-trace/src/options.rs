//! How a trace is replayed: which part, where on the device, how often.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::format::{FORMATS, Format, format};
use super::rules::PlacementRules;

/// Options of one trace. Every field is a key of an experiment's `[workload]` table.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TraceOptions {
    /// Format name, as listed by `wafer trace formats`. Default: detected from the contents of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Begin at this time after the trace's first request: seconds, or with a unit
    /// (`"90s"`, `"10min"`, `"2h"`, `"1d"`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Duration>,
    /// End at this time after the trace's first request; later than `from`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Duration>,
    /// Only this volume of the trace (disk, device, namespace), by name; the name may be a number.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "super::rules::name")]
    pub volume: Option<String>,
    /// Where the volumes of a trace are placed. `"auto"` (default): those of a capture on the namespaces with the same
    /// numbers, if the device has them all; otherwise as `"join"`, one after another. `"namespaces"`: each on its own
    /// namespace.
    pub volumes: Volumes,
    /// How addresses are mapped onto the device. Default `"auto"`.
    pub map: Map,
    /// What to do at the end of the trace if the volume has not been reached: `"same"` (default) repeats the trace,
    /// `"shift"` repeats it with all addresses shifted, `"once"` stops.
    pub repeat: Repeat,
    /// Time runs this many times faster, 0.000001 to 1000000. Determines how several traces mix. Default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<f64>,
    /// Requests in flight, 1 to 65536. With a clock, each is submitted when an earlier one completes, not at its
    /// timestamp. With several traces, set it for all; the sum is in flight. Among tenants, it is the trace's weight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<u32>,
    /// Refuse a trace with damaged records instead of skipping them.
    pub strict: bool,
    /// The namespace to write to, from 1. Default: the first; with several traces, the next one for each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<u8>,
    /// Placement identifiers. Default `"trace"`, those recorded in the trace.
    #[schemars(with = "String")]
    pub placement: PlacementRules,
}

impl TraceOptions {
    /// Checks the options by themselves, without a trace.
    ///
    /// # Errors
    /// Returns the first key that is wrong, and the reason.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let (from, to) = (self.from.unwrap_or(Duration(0)), self.to.unwrap_or(Duration(u64::MAX)));
        if to.0 <= from.0 {
            return Err(("to", format!("{to} is not later than `from` ({from})")));
        }
        if self.namespace.is_some() && self.volumes == Volumes::Namespaces {
            let reason = "with `volumes = \"namespaces\"` each volume has one of its own";
            return Err(("namespace", reason.to_owned()));
        }
        match self.speed {
            Some(speed) if !(1e-6..=1e6).contains(&speed) => {
                Err(("speed", format!("{speed} is not between 0.000001 and 1000000")))
            }
            _ => self.named_format().map(|_| ()).map_err(|reason| ("format", reason)),
        }
    }

    /// Returns the format that the options name.
    ///
    /// # Errors
    /// If there is no format with this name.
    pub(crate) fn named_format(&self) -> Result<Option<Format>, String> {
        let Some(name) = self.format.as_deref() else { return Ok(None) };
        format(name).map(Some).ok_or_else(|| {
            let names: Vec<&str> = FORMATS.iter().map(|f| f.name).collect();
            format!("no format `{name}`; known: {}", names.join(", "))
        })
    }
}

/// Where the volumes of a trace are placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Volumes {
    /// The namespaces of a capture on the namespaces with the same numbers, if the device has them all; otherwise as
    /// `join`.
    #[default]
    Auto,
    /// One after another, in order of first appearance, each as long as its last address.
    Join,
    /// The first on the first namespace, and so on, starting over if there are more volumes than namespaces.
    Namespaces,
}

/// How addresses are mapped onto the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Map {
    /// Unchanged if they fit; otherwise compact if that fits; otherwise compact and wrapped.
    #[default]
    Auto,
    /// Unchanged; whatever lies beyond the end of the namespace is left out and counted.
    Keep,
    /// Modulo the size of the namespace.
    Wrap,
    /// Scaled so that the trace's last address becomes the namespace's; lengths are unchanged.
    Scale,
    /// Only the 1 MiB granules that the trace writes, in order and without gaps, then wrapped.
    Compact,
    /// As `compact`, with 4 KiB pages instead of granules.
    Pages,
}

/// What to do at the end of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Repeat {
    /// Repeat the trace.
    #[default]
    Same,
    /// Repeat the trace with its addresses shifted by 0.618 of the namespace, modulo its size.
    Shift,
    /// Stop.
    Once,
}

/// A time span.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "Spelling", into = "String")]
pub struct Duration(
    /// Nanoseconds.
    pub u64,
);

#[derive(Deserialize)]
#[serde(untagged)]
enum Spelling {
    Seconds(f64),
    Text(String),
}

impl JsonSchema for Duration {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number"], "format": "time span" })
    }
}

impl FromStr for Duration {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fail = || format!("`{text}` is not a time; write seconds, or 90s, 10min, 2h, 1d");
        let text = text.trim();
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let number: f64 = number.parse().map_err(|_| fail())?;
        let seconds = match unit.trim() {
            "" | "s" => 1.0,
            "ms" => 1e-3,
            "us" => 1e-6,
            "min" | "m" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return Err(fail()),
        };
        Duration::seconds(number * seconds).ok_or_else(fail)
    }
}

impl Duration {
    fn seconds(seconds: f64) -> Option<Self> {
        let fits = seconds.is_finite() && (0.0..=1e10).contains(&seconds);
        fits.then(|| Duration((seconds * 1e9).round() as u64))
    }
}

impl TryFrom<Spelling> for Duration {
    type Error = String;

    fn try_from(spelling: Spelling) -> Result<Self, String> {
        match spelling {
            Spelling::Text(text) => text.parse(),
            Spelling::Seconds(seconds) => {
                Duration::seconds(seconds).ok_or_else(|| format!("{seconds} is not a time"))
            }
        }
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}s", self.0 as f64 / 1e9)
    }
}

impl From<Duration> for String {
    fn from(duration: Duration) -> String {
        duration.to_string()
    }
}
