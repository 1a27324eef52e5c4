//! Placement advice: which writes belong on which handle, and the gain.
//!
//! # What it is
//! [`advise`] takes a workload (most often a trace) and a device. It measures the time until pages are overwritten or
//! deallocated, by address and by stream. It groups addresses and streams with similar lifetimes, one group per
//! handle. It simulates these groups, the drive with other firmware, and grouping with known death times. It chooses
//! a scheme on one half of the held-out traffic and reports its WAF on the other.
//!
//! # Architecture
//! - `advice.rs`: advice and its options; `log.rs`: the traffic in memory, with labels for each write;
//!   `scale.rs`: the drive it is simulated on;
//! - `lives.rs`: lifetimes by address; `regions.rs`: neighbouring addresses with similar lifetimes;
//!   `group.rs`: k-means and dynamic programming over them; `model.rs`: groups by calculated relocation;
//!   `streams.rs`: lifetimes by process, volume and size; `stationary.rs`: warnings about traffic that changes;
//! - `oracle.rs`: death times from the future; `placing.rs`: applies placement schemes;
//! - `candidates.rs`: the schemes to simulate; `firmware.rs`: other firmware; `simulate.rs`: simulates a scheme;
//! - `reports.rs`: the contents of groups and streams; `output.rs`: fio, nvme-cli, hints; `fio_scheme.rs`: a map that
//!   fio can read.
//!
//! # Method
//! Lifetimes are learned from the first part of the traffic; the rest is held out. The first half of the rest serves to
//! choose, the last half to report. Like write amplification, lifetimes are counted in host bytes written in the
//! meantime. A region's mean lifetime is its exposure (the ages of all its pages, valid ones included) divided by the
//! number of lives that ended, so long lives that have not ended do not bias the estimate. Groups are formed by mean
//! lifetime and by the spread of lifetimes (almost none for sequential overwriting, that of an exponential distribution
//! for random overwriting).

mod advice;
mod candidates;
mod fio_scheme;
mod firmware;
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
mod stationary;
mod streams;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};

pub use advice::{
    Advice, AdviseOptions, AdvisedMap, GroupReport, HeatMap, Histogram, SCHEMA, SchemeKind,
    SchemeReport, StreamReport,
};
use candidates::{Candidate, Traffic};
use lives::Lives;
use log::Log;
pub use output::{Files, files, stale};
use placing::Scheme;
use rayon::prelude::*;
use simulate::{Outcome, Plan};
use wafer_config::ResolvedDevice;
use wafer_lab::available_memory;
use wafer_lab::source::Workload;
use wafer_lab::{LabError, TraceSource, refuse_if_short};
use wafer_record::text::count;
use wafer_trace::{PlaceMap, Scan};

/// Advises on the placement of a workload. `progress` is called with a description of each step.
///
/// # Errors
/// If the workload cannot be read, the device is invalid or does not fit into memory, nothing is written, or the caller
/// cancels.
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
            "{} has {}; the advice is for a drive with {}",
            device.name,
            count(device.config.handles.into(), "placement handle"),
            options.handles
        ));
    }
    if options.hold_out <= 0.0 {
        notices.push(
            "nothing is held out: WAF is measured on the traffic used for learning lifetimes"
                .to_owned(),
        );
    }
    // Schemes are simulated concurrently.
    let threads = rayon::current_num_threads() as u64;
    let what = format!("advice on device {}", device.name);
    refuse_if_short(what, threads * simulated.memory_bytes(), available_memory())?;
    let geometry = simulated.geometry.clone();
    // On a drive scaled to the trace, the gaps between its pages are left out.
    let scaled = traces
        .filter(|_| simulated.logical_bytes() != device.logical_bytes())
        .and_then(scale::traces);
    let played = scaled.clone().map(Workload::new);
    let (workload, traces) = (played.as_ref().unwrap_or(workload), scaled.as_ref().or(traces));
    let divided = match traces {
        Some(_) => None,
        None => Some(scale::divided(&simulated, device)?),
    };
    let log =
        Log::record(divided.as_ref().unwrap_or(&simulated), workload, traces, options, cancel)?;
    notices.extend(log.notices.iter().cloned());
    if log.pages == 0 {
        return Err(LabError::Workload(format!("{}: writes nothing", workload.path())));
    }
    let plan = Plan::new(&log, &geometry, options);
    if plan.passes > 1 {
        notices.push(format!(
            "the traffic is {:.2} times the capacity; it is replayed {} times, and the last pass counts",
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
                candidate.firmware.as_ref().unwrap_or(&simulated),
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
    let best = chosen(&candidates, &outcomes);
    let chosen = &candidates[best];
    notices.extend(stationary::notices(&log, &geometry, &plan, &chosen.name, &outcomes[best]));
    let map = match &chosen.scheme {
        Scheme::Regions(map) => {
            let granule = lives.granule * geometry.blocks_per_page();
            let fio = fio_scheme::readable(map, &lives.of, granule);
            let mut fio_waf = outcomes[best].waf;
            if fio.len() < map.len() {
                let scheme = Scheme::Regions(Box::new(fio.clone()));
                fio_waf =
                    simulate::run(&simulated, &log, &scheme, &plan, chosen.handles, cancel)?.waf;
                notices.push(format!(
                    "fio reads {} ranges of a map, and this one has {}: joined to {}, they have WAF {fio_waf:.3} instead \
                     of {:.3}",
                    fio_scheme::MOST,
                    map.len(),
                    fio.len(),
                    outcomes[best].waf
                ));
            }
            let wide = |map: &PlaceMap| {
                Ok::<_, LabError>(match &scaled {
                    Some(traces) => with_gaps(map, &traces.scans()?[0]),
                    None => map.clone(),
                })
            };
            Some(AdvisedMap { whole: wide(map)?, fio: wide(&fio)?, fio_waf })
        }
        _ => None,
    };
    if traces.is_none() && map.is_some() {
        progress("trying another seed");
        let options = AdviseOptions { seed: options.seed.wrapping_add(1), ..options.clone() };
        let played = divided.as_ref().unwrap_or(&simulated);
        let other = Log::record(played, workload, None, &options, cancel)?;
        // Recorded commands have no seed.
        if other.commands != log.commands {
            let plan = Plan::new(&other, &geometry, &options);
            let run = |candidate: &Candidate| {
                let (scheme, handles) = (&candidate.scheme, candidate.handles);
                simulate::run(&simulated, &other, scheme, &plan, handles, cancel)
            };
            let (none, other) = rayon::join(|| run(&candidates[0]), || run(chosen));
            notices.extend(by_chance([base, &outcomes[best]], [&none?, &other?], &chosen.name));
        }
    }
    let firmware = better_firmware(&candidates, &outcomes, &outcomes[best]);
    if let Some(name) = &firmware {
        notices.push(format!(
            "nothing to do on the host: a drive whose firmware has {name} does better without placement; ask the vendor for it"
        ));
    }
    if lives.ended() < 1000.0 {
        notices.push(format!(
            "only {:.0} pages were overwritten in the learned part: the advice is based on few lifetimes",
            lives.ended()
        ));
    }
    Ok(Advice {
        schema: SCHEMA,
        workload: workload.path(),
        device: device.name.clone(),
        simulated: simulated.config.clone(),
        write_bytes: log.pages * geometry.page_bytes,
        touched_bytes: log.touched_pages(&geometry) * geometry.page_bytes,
        passes: plan.passes,
        hold_out: options.hold_out,
        handles: options.handles,
        best: chosen.name.clone(),
        firmware,
        groups: reports::groups(
            &chosen.scheme,
            &log,
            &lives,
            &geometry,
            plan.learned,
            chosen.handles,
        ),
        streams: reports::streams(&chosen.scheme, &log, &geometry, plan.learned),
        histogram: lives.histogram(geometry.page_bytes),
        heat_map: lives.heat_map(&geometry),
        map,
        schemes,
        notices,
    })
}

/// Converts a map for a trace without gaps to the trace's own addresses. Nothing is written to gaps, so a range
/// that spans one keeps its handle.
fn with_gaps(map: &PlaceMap, scan: &Scan) -> PlaceMap {
    let mut wide = PlaceMap::default();
    for (namespace, first, end, handle) in map.ranges() {
        let place = wafer_trace::with_gaps(scan, first..end);
        if !place.is_empty() {
            wide.add(namespace, place.start, place.end, handle);
        }
    }
    wide
}

/// Percentage points of life gained that may be lost with another seed.
const MOST_OF_SEED: f64 = 2.0;

/// Returns a note if much of a gain is lost with another seed. Of each pair, the first has no placement.
fn by_chance(learned: [&Outcome; 2], other: [&Outcome; 2], name: &str) -> Option<String> {
    let [before, after] =
        [learned, other].map(|[none, placed]| 100.0 * (none.waf / placed.waf - 1.0));
    (before - after > MOST_OF_SEED).then(|| {
        let ([_, learned], [_, other]) = (learned, other);
        format!(
            "part of the gain is chance: with another seed, {name} has WAF {:.3} instead of {:.3}, and life gained is \
             {after:+.1} % instead of {before:+.1} %",
            other.waf, learned.waf
        )
    })
}

/// WAF of other firmware, relative to placement by the host, below which it is recommended.
const FIRMWARE_GAIN: f64 = 0.98;

/// Returns the scheme to recommend, judged by the traffic reserved for choosing: among those that a host can use
/// and within half a percent of the best, the one with the fewest handles.
fn chosen(candidates: &[Candidate], outcomes: &[Outcome]) -> usize {
    let waf = |at: &usize| outcomes[*at].waf_chosen;
    let possible = || {
        let is =
            |at: &usize| !matches!(candidates[*at].kind, SchemeKind::Oracle | SchemeKind::Firmware);
        (0..candidates.len()).filter(is)
    };
    let least = possible().map(|at| waf(&at)).fold(f64::INFINITY, f64::min);
    let good = possible().filter(|at| waf(at) <= least * 1.005);
    let handles = |at: &usize| candidates[*at].handles;
    good.min_by(|a, b| handles(a).cmp(&handles(b)).then(waf(a).total_cmp(&waf(b)))).unwrap_or(0)
}

/// Returns the settings of the best other firmware, if clearly better than placement by the host.
fn better_firmware(
    candidates: &[Candidate],
    outcomes: &[Outcome],
    best: &Outcome,
) -> Option<String> {
    let all = candidates.iter().zip(outcomes).filter(|(c, _)| c.kind == SchemeKind::Firmware);
    let (candidate, outcome) = all.min_by(|a, b| a.1.waf_chosen.total_cmp(&b.1.waf_chosen))?;
    let name = candidate.name.trim_start_matches("no placement, ");
    (outcome.waf_chosen < best.waf_chosen * FIRMWARE_GAIN).then(|| name.to_owned())
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
        waf_chosen: outcome.waf_chosen,
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
