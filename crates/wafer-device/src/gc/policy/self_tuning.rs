//! Self-tuning: starts as `adaptive`, and follows the arrangement of policy, destination and separation that does
//! best in miniature simulations of the device (`tuning/`).

use super::adaptive;
use super::interface::PolicyInfo;

pub(crate) const NAME: &str = "self-tuning";

pub(super) const INFO: PolicyInfo = PolicyInfo {
    name: NAME,
    summary: "wafer's: adaptive, or what miniature simulations of the traffic find better",
    ..adaptive::INFO
};
