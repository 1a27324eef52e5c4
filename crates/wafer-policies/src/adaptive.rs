//! Adaptive: starts as `gittins`, and follows the arrangement of policy, destination and separation that does
//! best in miniature simulations of the device (`tuning/`).

use super::gittins;
use super::interface::PolicyInfo;

/// Name of the policy.
pub const NAME: &str = "adaptive";

pub(crate) const INFO: PolicyInfo = PolicyInfo {
    name: NAME,
    summary: "wafer's: gittins, or whatever miniature simulations of the traffic find better",
    ..gittins::INFO
};
