//! Advice on placement: which writes belong on which handle, and what that gains.
//!
//! # What it is
//! [`advise`] takes a workload (most often a trace) and a device. It measures how long pages live before
//! they are overwritten or deallocated, by address and by stream. It groups addresses and streams with
//! similar lifetimes, one group a handle. It simulates these groups and a bound with perfect knowledge of
//! death times. It ranks them by write amplification on a held-out part of the traffic.
//!
//! # Architecture
//! - `advice.rs`: advice and its options; `log.rs`: the traffic in memory, with labels for each write;
//!   `scale.rs`: the drive it is simulated on;
//! - `lives.rs`: lifetimes by address; `regions.rs`: neighbouring addresses with similar lifetimes;
//!   `group.rs`: k-means and dynamic programming over them; `model.rs`: groups by calculated relocation;
//!   `streams.rs`: lifetimes by process, volume and size;
//! - `oracle.rs`: death times from the future; `placing.rs`: placement schemes at work;
//! - `candidates.rs`: the schemes to simulate; `simulate.rs`: one of them on the drive;
//! - `reports.rs`: the contents of groups and streams; `output.rs`: fio, nvme-cli, hints.
//!
//! # Method
//! Lifetimes are learned from the first part of the traffic; the rest is held out. They are counted in
//! host bytes written meanwhile, like write amplification. A region's mean life is its exposure (the ages
//! of all its pages, valid ones included) over the number of lives that ended: long lives that have not
//! ended yet do not bias this estimate. Groups are formed by mean life and by the spread of lives
//! (sequential overwriting has almost none, random overwriting that of an exponential distribution).

mod advice;
mod candidates;
mod group;
mod lives;
mod log;
mod model;
mod oracle;
mod output;
mod placing;
mod regions;
mod reports;
mod scale;
mod search;
mod simulate;
mod streams;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};

pub use advice::{
    Advice, AdviseOptions, GroupReport, HeatMap, Histogram, SCHEMA, SchemeKind, SchemeReport,
    StreamReport,
};
use candidates::{Candidate, Traffic};
use lives::Lives;
use log::Log;
pub use output::{Files, files};
use placing::Scheme;
use rayon::prelude::*;
use simulate::{Outcome, Plan};
use wafer_lab::config::ResolvedDevice;
use wafer_lab::source::Workload;
use wafer_lab::{LabError, TraceSource};

/// Advises on the placement of a workload. `progress` is called with a description of each step.
///
/// # Errors
/// The workload cannot be read, the device cannot be made, nothing is written, or the caller cancels.
pub fn advise(
    device: &ResolvedDevice,
    workload: &Workload,
    traces: Option<&TraceSource>,
    options: &AdviseOptions,
    cancel: &AtomicBool,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<Advice, LabError> {
    let mut notices = Vec::new();
    progress("reading the workload");
    let simulated = scale::device(device, traces, options, &mut notices)?;
    if options.handles > device.config.handles {
        notices.push(format!(
            "{} has {} placement handles; the advice is for a drive with {}",
            device.name, device.config.handles, options.handles
        ));
    }
    if options.hold_out <= 0.0 {
        notices.push(
            "nothing is held out: WAF is measured on the traffic that lifetimes were learned from"
                .to_owned(),
        );
    }
    let geometry = simulated.geometry.clone();
    let log = Log::record(&simulated, workload, traces, options, cancel)?;
    notices.extend(log.notices.iter().cloned());
    if log.pages == 0 {
        return Err(LabError::Workload(format!("{}: writes nothing", workload.path())));
    }
    let plan = Plan::new(&log, &geometry, options);
    if plan.passes > 1 {
        notices.push(format!(
            "the traffic is {:.2} times the capacity; it is played {} times, and the last pass counts",
            log.pages as f64 / geometry.logical_pages as f64,
            plan.passes
        ));
    }

    progress("learning lifetimes");
    let lives = Lives::learn(&log, &geometry, plan.learned);
    let leaves = regions::leaves(&lives);
    let traffic =
        Traffic { device: &simulated, log: &log, lives: &lives, leaves: &leaves, plan: &plan };
    progress("searching for groups");
    let candidates = candidates::all(&traffic, options, cancel)?;

    let done = std::sync::atomic::AtomicUsize::new(0);
    let outcomes: Vec<Outcome> = candidates
        .par_iter()
        .map(|candidate| {
            if cancel.load(Ordering::Relaxed) {
                return Err(LabError::Cancelled);
            }
            let outcome = simulate::run(
                &simulated,
                &log,
                &candidate.scheme,
                &plan,
                candidate.handles,
                cancel,
            )?;
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            progress(&format!("simulated {done} of {}: {}", candidates.len(), candidate.name));
            Ok(outcome)
        })
        .collect::<Result<_, LabError>>()?;

    let base = &outcomes[0];
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by(|a, b| outcomes[*a].waf.total_cmp(&outcomes[*b].waf));
    let schemes: Vec<SchemeReport> =
        order.iter().map(|i| report(&candidates[*i], &outcomes[*i], base)).collect();
    // Among schemes that a host can use, the fewest handles within half a percent of the best.
    let possible = || order.iter().filter(|i| candidates[**i].kind != SchemeKind::Oracle);
    let least = possible().map(|i| outcomes[*i].waf).fold(f64::INFINITY, f64::min);
    let best = possible()
        .filter(|i| outcomes[**i].waf <= least * 1.005)
        .min_by_key(|i| candidates[**i].handles)
        .copied()
        .unwrap_or(0);
    let chosen = &candidates[best];
    if lives.ended() < 1000.0 {
        notices.push(format!(
            "only {:.0} pages were overwritten in the learned part: the advice rests on few lifetimes",
            lives.ended()
        ));
    }
    Ok(Advice {
        schema: SCHEMA,
        workload: workload.path(),
        device: device.name.clone(),
        simulated: simulated.config.clone(),
        write_bytes: log.pages * geometry.page_bytes,
        touched_bytes: lives.touched_pages() * geometry.page_bytes,
        passes: plan.passes,
        hold_out: options.hold_out,
        handles: options.handles,
        best: chosen.name.clone(),
        groups: reports::groups(&chosen.scheme, &log, &lives, &geometry, chosen.handles),
        streams: reports::streams(&chosen.scheme, &log, &geometry, plan.learned),
        histogram: lives.histogram(geometry.page_bytes),
        heat_map: lives.heat_map(&geometry),
        map: match &chosen.scheme {
            Scheme::Regions(map) => Some(map.as_ref().clone()),
            _ => None,
        },
        schemes,
        notices,
    })
}

fn report(candidate: &Candidate, outcome: &Outcome, base: &Outcome) -> SchemeReport {
    let wins =
        outcome.quarters.iter().zip(&base.quarters).filter(|(ours, none)| ours < none).count();
    let quarters = outcome.quarters.len().max(1);
    let mean = outcome.quarters.iter().sum::<f64>() / quarters as f64;
    let variance =
        outcome.quarters.iter().map(|w| (w - mean).powi(2)).sum::<f64>() / quarters as f64;
    SchemeReport {
        name: candidate.name.clone(),
        kind: candidate.kind,
        handles: candidate.handles,
        waf: outcome.waf,
        spread: variance.sqrt().abs(),
        waf_learned: outcome.waf_learned,
        life_gained: base.waf / outcome.waf - 1.0,
        confidence: if candidate.kind == SchemeKind::None {
            0.0
        } else {
            wins as f64 / quarters as f64
        },
    }
}
