//! Isolation of the data of reclaim unit handles.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How garbage collection isolates the data of a handle (NVMe Base 2.1, 8.1.10.1: RUHT).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// II: relocated data of all initially isolated handles shares one open reclaim unit.
    #[default]
    Initially,
    /// PI: relocated data remains with the data of its handle.
    Persistently,
}
