//! Checks that the traffic is stationary: else a prediction from one part does not hold for the next.

use wafer_device::Geometry;
use wafer_interface::Op;

use crate::log::Log;
use crate::simulate::{Outcome, Plan};

/// Maximum change of the WAF between parts of stationary traffic.
const MOST_CHANGE: f64 = 0.1;
/// Maximum share of pages never written before, of the held-out page writes and of all written pages.
const MOST_FRESH: f64 = 0.05;

/// Returns warnings about changing traffic, by the recommended scheme's WAF and the written addresses.
pub(super) fn notices(
    log: &Log,
    geometry: &Geometry,
    plan: &Plan,
    name: &str,
    outcome: &Outcome,
) -> Vec<String> {
    let mut notices = Vec::new();
    let change = (outcome.waf / outcome.waf_chosen - 1.0).abs();
    if change > MOST_CHANGE {
        notices.push(format!(
            "the traffic is not stationary: {name} has WAF {:.2} on the part it was chosen by and {:.2} on the \
             last part; neither predicts later traffic",
            outcome.waf_chosen, outcome.waf
        ));
    }
    let (of_writes, of_pages) = fresh(log, geometry, plan);
    if of_writes > MOST_FRESH {
        notices.push(format!(
            "the traffic is not stationary: {:.0} % of the held-out writes go to addresses that were never written \
             before; later traffic will relocate more",
            100.0 * of_writes
        ));
    } else if of_pages > MOST_FRESH {
        notices.push(format!(
            "{:.0} % of the addresses were first written in the held-out part: the drive has spare space that later \
             traffic will take, and will relocate more",
            100.0 * of_pages
        ));
    }
    notices
}

/// Returns the number of held-out writes of pages not written before, as a share of the held-out page writes and of all
/// written pages.
fn fresh(log: &Log, geometry: &Geometry, plan: &Plan) -> (f64, f64) {
    let mut seen = vec![0u64; geometry.logical_pages.div_ceil(64) as usize];
    let (mut fresh, mut written, mut touched) = (0u64, 0u64, 0u64);
    for (number, command) in log.commands.iter().enumerate() {
        if command.op != Op::Write {
            continue;
        }
        for page in log.device_pages(command, geometry) {
            let Some(word) = seen.get_mut((page / 64) as usize) else { break };
            let bit = 1 << (page % 64);
            let is_fresh = u64::from(*word & bit == 0);
            touched += is_fresh;
            if number >= plan.learned {
                written += 1;
                fresh += is_fresh;
            }
            *word |= bit;
        }
    }
    (fresh as f64 / written.max(1) as f64, fresh as f64 / touched.max(1) as f64)
}
