//! Simulates one placement scheme.

use std::sync::atomic::{AtomicBool, Ordering};

use wafer_config::ResolvedDevice;
use wafer_device::{Device, Geometry};
use wafer_interface::Command;
use wafer_lab::LabError;

use super::advice::AdviseOptions;
use super::log::Log;
use super::placing::{Placer, Scheme};
use super::scale;

/// The number of passes over the traffic, and the parts that are counted.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) passes: u32,
    /// Number of commands in the learned part.
    pub(super) learned: usize,
    /// Ends of the quarters of the held-out part, in commands.
    quarters: Vec<usize>,
}

/// Capacities to write before the counted part.
const WARM_UP: f64 = 3.0;
const MOST_PASSES: u32 = 200;

impl Plan {
    pub(super) fn new(log: &Log, geometry: &Geometry, options: &AdviseOptions) -> Self {
        let all = log.commands.len();
        // The held-out part is a share of the pages, not of the commands.
        let target = (log.pages as f64 * (1.0 - options.hold_out)) as u64;
        let cut = |target: u64| {
            let mut pages = 0;
            let reached = log.commands.iter().position(|c| {
                if c.op == wafer_interface::Op::Write {
                    pages += super::log::pages(c, log.page_blocks).count() as u64;
                }
                pages >= target
            });
            reached.map_or(all, |n| n + 1)
        };
        let learned = cut(target).min(all);
        let rest = log.pages - log.pages_of(learned);
        let quarters = (1..=4u64)
            .map(|q| if q == 4 { all } else { cut(log.pages - rest + rest * q / 4) })
            .collect();
        let passes = passes(log.pages_of(learned), log.pages, geometry);
        Plan { passes, learned, quarters }
    }

    /// Returns a plan for the learned part alone, whose second half counts.
    pub(super) fn learning(&self, log: &Log, geometry: &Geometry) -> Plan {
        let half = self.learned / 2;
        let passes = passes(log.pages_of(half), log.pages_of(self.learned), geometry);
        Plan { passes, learned: half, quarters: vec![self.learned] }
    }
}

/// Returns how often to play `all` pages, `before` of which precede the counted part.
fn passes(before: u64, all: u64, geometry: &Geometry) -> u32 {
    let wanted = WARM_UP * geometry.logical_pages as f64;
    let more = ((wanted - before as f64) / all.max(1) as f64).ceil().max(0.0);
    (1 + more as u32).min(MOST_PASSES)
}

/// The result of a simulation.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    /// WAF on the last half of the held-out part, which is reported.
    pub(super) waf: f64,
    /// WAF on its first half, by which schemes are chosen.
    pub(super) waf_chosen: f64,
    pub(super) waf_learned: f64,
    /// WAF on each quarter of the held-out part.
    pub(super) quarters: Vec<f64>,
}

pub(super) fn run(
    device: &ResolvedDevice,
    log: &Log,
    scheme: &Scheme,
    plan: &Plan,
    handles: usize,
    cancel: &AtomicBool,
) -> Result<Outcome, LabError> {
    let device = scale::with_handles(device, handles)?;
    let mut drive = Device::new(&device.config, 1)
        .map_err(|e| LabError::config(format!("{}: {}", device.name, e.key), e.message))?;
    let mut placer = Placer::new(scheme, log, &device.geometry);
    let mut batch: Vec<Command> = Vec::with_capacity(8192);
    let mut counted = vec![drive.counters()];
    for pass in 1..=plan.passes {
        let last = pass == plan.passes;
        let mut stops: Vec<usize> = vec![plan.learned];
        stops.extend(&plan.quarters);
        if last {
            counted = vec![drive.counters()];
        }
        let mut at = 0;
        for stop in stops {
            while at < stop {
                let end = stop.min(at + 4096);
                batch.clear();
                for (number, command) in log.commands[at..end].iter().enumerate() {
                    placer.place(at + number, command, &mut batch);
                }
                drive.apply(&batch);
                if let Err(ended) = drive.check_writable() {
                    return Err(LabError::Run(format!("before all traffic is written, {ended}")));
                }
                at = end;
            }
            if cancel.load(Ordering::Relaxed) {
                return Err(LabError::Cancelled);
            }
            if last {
                counted.push(drive.counters());
            }
        }
    }
    let between = |a: usize, b: usize| {
        let host = counted[b].host_bytes - counted[a].host_bytes;
        let media = counted[b].media_bytes - counted[a].media_bytes;
        (host > 0).then(|| media as f64 / host as f64)
    };
    let end = counted.len() - 1;
    // A half without writes gets the WAF of the held-out part, or else of the learned part.
    let all = between(1, end).or_else(|| between(0, 1)).unwrap_or(1.0);
    let half = 1 + (end - 1) / 2;
    Ok(Outcome {
        waf: between(half, end).unwrap_or(all),
        waf_chosen: between(1, half).unwrap_or(all),
        waf_learned: between(0, 1).unwrap_or(1.0),
        quarters: (1..end).filter_map(|q| between(q, q + 1)).collect(),
    })
}
