//! Endurance of the media.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How long the media last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnduranceConfig {
    /// Program/erase cycles that the blocks are rated for, 1 to 1000000. Default: what one drive write a day for five years
    /// takes.
    pub pe_cycles: u32,
}
