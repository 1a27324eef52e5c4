//! Service times, which determine the shares of jobs in a closed loop on a device without a clock.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bytes::Bytes;

/// A command of `b` bytes of a job with `q` commands outstanding takes
/// `max(submit, (latency + b / bandwidth) / q)`.
///
/// A model assumption, not a specification: the defaults give the shares 0.58 : 0.21 : 0.21 that WARP's three-stream
/// runs show for 128 KiB at QD 1 next to two 4 KiB streams at QD 32.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServiceConfig {
    /// Host time to submit and complete a command, in microseconds, serial within a job: 0.001 to 1000000.
    pub submit_us: f64,
    /// Time of a command without its data transfer, in microseconds: 0.001 to 1000000.
    pub latency_us: f64,
    /// Data rate of a command's transfer, in bytes per second: 1kB to 1PB.
    pub bandwidth: Bytes,
}

impl ServiceConfig {
    /// Checks the range of every key.
    ///
    /// # Errors
    /// Returns the first key that is out of range, and the reason.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        for (key, time) in [("submit_us", self.submit_us), ("latency_us", self.latency_us)] {
            if !(0.001..=1e6).contains(&time) {
                return Err((key, format!("{time} is not between 0.001 and 1000000 microseconds")));
            }
        }
        match self.bandwidth {
            Bytes(1_000..=1_000_000_000_000_000) => Ok(()),
            other => Err(("bandwidth", format!("{other} is not between 1kB and 1PB a second"))),
        }
    }
}

impl Default for ServiceConfig {
    fn default() -> Self {
        ServiceConfig { submit_us: 10.0, latency_us: 20.0, bandwidth: Bytes(1_365_000_000) }
    }
}
