//! The state of a device before the counters start.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum logical capacities of random writes.
const MAX_RANDOM: f64 = 1000.0;

/// State of the device when the run starts. Text form: `fresh`, or one or more of `sequential`,
/// `random:N`, `load` and `steady` in this order, joined by `+`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Precondition {
    /// One sequential fill of every namespace, in order, by its first placement handle.
    pub sequential: bool,
    /// Then single-page writes of this many logical capacities, at independent uniform addresses over all namespaces.
    pub random: f64,
    /// Then the load phase of the application, as at the start of a run.
    pub load: bool,
    /// Then the run's own workload, without a clock, until the WAF over one logical capacity of host writes changes by
    /// less than 1 %, at most 30 capacities.
    pub steady: bool,
}

impl FromStr for Precondition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fail = || {
            format!(
                "`{text}` is not a precondition; known: fresh, sequential, random:N, load, \
                 steady, and several of them joined by +, such as sequential+random:N"
            )
        };
        let mut state = Precondition::default();
        if text.trim() == "fresh" {
            return Ok(state);
        }
        // Each part at most once, in order of execution.
        let mut before = 0;
        for part in text.trim().split('+') {
            let place = match part {
                "sequential" => {
                    state.sequential = true;
                    1
                }
                "load" => {
                    state.load = true;
                    3
                }
                "steady" => {
                    state.steady = true;
                    4
                }
                random => {
                    let times = random.strip_prefix("random:").and_then(|n| n.parse().ok());
                    state.random = times.ok_or_else(fail)?;
                    if !(state.random > 0.0 && state.random <= MAX_RANDOM) {
                        let limits = format!("above 0 and at most {MAX_RANDOM} capacities");
                        return Err(format!("`{random}` is not {limits}"));
                    }
                    2
                }
            };
            if place <= before {
                return Err(fail());
            }
            before = place;
        }
        Ok(state)
    }
}

impl fmt::Display for Precondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if self.sequential {
            parts.push("sequential".to_owned());
        }
        if self.random > 0.0 {
            parts.push(format!("random:{}", self.random));
        }
        if self.load {
            parts.push("load".to_owned());
        }
        if self.steady {
            parts.push("steady".to_owned());
        }
        f.write_str(if parts.is_empty() { "fresh" } else { "" })?;
        f.write_str(&parts.join("+"))
    }
}

impl From<Precondition> for String {
    fn from(precondition: Precondition) -> String {
        precondition.to_string()
    }
}

impl TryFrom<String> for Precondition {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}
