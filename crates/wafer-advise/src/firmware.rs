//! The drive with other firmware: garbage collection that copes without placement from the host.

use wafer_config::ResolvedDevice;
use wafer_device::Separation;

use crate::scale;

/// Policies and separations that do well without hints (`docs/studies/policies.md`).
const FIRMWARE: &[(&str, Option<Separation>)] = &[
    ("adaptive", None),
    ("gittins", None),
    ("cost-benefit", Some(Separation::Fadac)),
    ("cost-benefit", Some(Separation::AutoStream)),
    ("cost-benefit", Some(Separation::MultiLog)),
];

/// Returns the drive with each other firmware for which it has enough reclaim units, with its name.
pub(super) fn all(device: &ResolvedDevice) -> Vec<(String, ResolvedDevice)> {
    let with = |(policy, separation): &(&str, Option<Separation>)| {
        let mut other = device.clone();
        let gc = &mut other.config.gc;
        if gc.policy == *policy && gc.separation == *separation {
            return None;
        }
        (gc.policy, gc.separation) = ((*policy).to_owned(), *separation);
        (gc.destination, gc.separate) = (None, true);
        // Writes without placement all go to one handle.
        other.config.handles = 1;
        other.config.handle_isolation.clear();
        scale::resolved(&mut other)?;
        let name = match separation {
            None => format!("gc.policy = {policy}"),
            Some(rule) => {
                let rule = serde_json::to_value(rule).ok()?;
                format!("gc.policy = {policy}, gc.separation = {}", rule.as_str()?)
            }
        };
        Some((name, other))
    };
    FIRMWARE.iter().filter_map(with).collect()
}
