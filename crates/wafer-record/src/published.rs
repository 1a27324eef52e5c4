//! Published or measured curves of WAF in a record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A published or measured curve to compare with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Published {
    /// The reference file.
    pub reference: String,
    /// Source of its values, such as a paper and a figure in it.
    pub source: Option<String>,
    /// Host bytes at each point.
    pub host_bytes: Vec<u64>,
    /// Cumulative WAF at each point.
    pub waf: Vec<f64>,
}
