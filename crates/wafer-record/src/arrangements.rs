//! The arrangements that the adaptive policy chose, and when.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wafer_device::Device;
use wafer_interface::Observer;

/// Policy, destination and separation that the adaptive policy followed for a part of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArrangementRecord {
    /// Bytes in whole pages that hosts had written when it began to follow them; 0 for the initial ones.
    pub host_bytes: u64,
    /// The policy, `gc.policy`.
    pub policy: String,
    /// Where relocated data went, `gc.destination`; absent if the policy chooses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// The separation rule, `gc.separation`; absent if the policy chooses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub separation: Option<String>,
}

impl ArrangementRecord {
    /// Returns all arrangements since the counters of the device were zero, oldest first; empty unless its policy is
    /// `adaptive`.
    pub fn all<O: Observer>(device: &Device<O>) -> Vec<ArrangementRecord> {
        let page = device.geometry().page_bytes;
        (device.arrangements().into_iter())
            .map(|(pages, gc)| ArrangementRecord {
                host_bytes: pages * page,
                policy: gc.policy,
                destination: gc.destination.map(key),
                separation: gc.separation.map(key),
            })
            .collect()
    }
}

impl std::fmt::Display for ArrangementRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.policy)?;
        if let Some(destination) = &self.destination {
            write!(f, " with gc.destination = \"{destination}\"")?;
        }
        if let Some(separation) = &self.separation {
            write!(f, " with gc.separation = \"{separation}\"")?;
        }
        Ok(())
    }
}

/// Returns a value as a configuration spells it.
fn key(value: impl Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}
