//! Endurance of the media.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How long the media last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnduranceConfig {
    /// Program/erase cycles that the blocks are rated for, 1 to 1000000. A device without this table is rated for one drive
    /// write a day over five years.
    pub pe_cycles: u32,
}
