//! Endurance of the media.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Endurance of the media.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnduranceConfig {
    /// Program/erase cycles that the blocks are rated for, 1 to 1000000. A device without this table is rated for one
    /// drive write per day over five years.
    pub pe_cycles: u32,
}
