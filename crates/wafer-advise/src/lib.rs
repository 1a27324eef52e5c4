//! Advice on placement: which writes belong on which handle, and what that gains.
//!
//! # What it is
//! [`advise`] takes a workload (most often a trace) and a device. It learns how long pages live before
//! they are overwritten or deallocated, by address and by stream; groups what lives alike into at
//! most as many groups as there are handles; simulates that grouping, others, and a bound with perfect
//! knowledge of death times; and ranks them by the write amplification on a part of the traffic that
//! nothing was learned from.
//!
//! # Architecture
//! - `log.rs`: the traffic in memory, with what is known of each write; `scale.rs`: the drive it is
//!   simulated on;
//! - `lives.rs`: lifetimes by address; `regions.rs`: addresses that live alike, joined; `group.rs`:
//!   k-means and dynamic programming over them; `model.rs`: groups by calculated relocation; `streams.rs`: the same for processes, volumes, sizes;
//! - `oracle.rs`: death times from the future; `placing.rs`: every way to place as one trait;
//! - `simulate.rs`: one way on the drive; `reports.rs`: what groups and streams hold; `output.rs`: fio,
//!   nvme-cli, hints.
//!
//! # Method
//! The learned part is the first of the traffic, the rest is held out. Lifetimes are counted in bytes
//! that the host writes meanwhile, as write amplification is. A region's mean life is its exposure (age
//! of its pages, the living ones included) over its deaths: the estimate that does not mind
//! that long lives have not ended yet. Groups are made of mean life and of the spread of lives
//! (sequential overwriting has next to none, random has that of an exponential).

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

use group::Point;
pub use lives::{HeatMap, Histogram};
use lives::{Life, Lives};
use log::Log;
pub use output::{Files, files};
use placing::Way;
use rayon::prelude::*;
use serde::Serialize;
use simulate::{Outcome, Plan};
use wafer_device::DeviceConfig;
use wafer_lab::config::ResolvedDevice;
use wafer_lab::source::Workload;
use wafer_lab::{LabError, TraceSource};
use wafer_trace::PlaceMap;

/// What to advise on.
#[derive(Clone, Debug)]
pub struct AdviseOptions {
    /// Handles to use at most.
    pub handles: u16,
    /// Share of the traffic, its end, that nothing is learned from.
    pub hold_out: f64,
    /// Share of the simulated drive's capacity that the traffic touches; none: the device is simulated
    /// as it is.
    pub fill: Option<f64>,
    /// Bytes of a workload that does not end by itself.
    pub volume: Option<u64>,
    /// Seed.
    pub seed: u64,
}

impl Default for AdviseOptions {
    fn default() -> Self {
        AdviseOptions { handles: 8, hold_out: 0.3, fill: Some(0.9), volume: None, seed: 0 }
    }
}

/// The `schema` of advice.
pub const SCHEMA: &str = "wafer.advice/1";

/// Advice on a workload.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The workload.
    pub workload: String,
    /// The device asked for.
    pub device: String,
    /// The device simulated.
    pub simulated: DeviceConfig,
    /// Bytes written in one pass of the traffic.
    pub write_bytes: u64,
    /// Bytes of the addresses that are written.
    pub touched_bytes: u64,
    /// Times the traffic was played; only the last pass counts.
    pub passes: u32,
    /// Share of the traffic that was held out.
    pub hold_out: f64,
    /// Handles allowed.
    pub handles: u16,
    /// All ways that were simulated, the lowest write amplification on the held-out part first, bounds
    /// left in their place.
    pub ways: Vec<WayReport>,
    /// Name of the way advised.
    pub best: String,
    /// The groups of the way advised.
    pub groups: Vec<GroupReport>,
    /// Lives of pages in the learned part.
    pub histogram: Histogram,
    /// Lives by address.
    pub heat_map: HeatMap,
    /// The way advised as a map of addresses, where it is one.
    #[serde(skip)]
    pub map: Option<PlaceMap>,
    /// Names and handles of streams, where the way advised is one of streams.
    pub streams: Vec<StreamReport>,
    /// What is worth knowing, a line each.
    pub notices: Vec<String>,
}

/// One way to place.
#[derive(Clone, Debug, Serialize)]
pub struct WayReport {
    /// Name, such as "regions, 4 groups".
    pub name: String,
    /// What it needs to know.
    pub kind: WayKind,
    /// Handles used.
    pub handles: usize,
    /// Write amplification on the held-out part, in the last pass.
    pub waf: f64,
    /// Standard deviation of it between quarters of that part.
    pub spread: f64,
    /// Write amplification on the part that was learned from, in the last pass.
    pub waf_learned: f64,
    /// Media writes per host write without placement over those with it, less 1: how much longer the
    /// flash lasts.
    pub life_gained: f64,
    /// Share of the quarters in which it beats no placement: 1 is certain as far as the traffic tells.
    pub confidence: f64,
}

/// What a way to place needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WayKind {
    /// Nothing.
    None,
    /// What the workload says itself.
    Recorded,
    /// Addresses.
    Regions,
    /// The stream that a write belongs to.
    Streams,
    /// How long the page written over has lived.
    History,
    /// The future: a bound that no host reaches.
    Oracle,
}

/// A group of the way advised: a placement handle.
#[derive(Clone, Debug, Serialize)]
pub struct GroupReport {
    /// The placement handle.
    pub handle: u16,
    /// Share of the bytes written.
    pub write_share: f64,
    /// Share of the addresses touched.
    pub space_share: f64,
    /// Mean life of its pages in bytes that the host writes meanwhile.
    pub mean_life_bytes: f64,
    /// Spread of its lives: standard deviation of their natural logarithm. 0 is sequential, 1.28
    /// random.
    pub spread: f64,
}

/// A stream and its handle.
#[derive(Clone, Debug, Serialize)]
pub struct StreamReport {
    /// Its name: process, volume, size class.
    pub name: String,
    /// The placement handle.
    pub handle: u16,
    /// Share of the bytes written.
    pub write_share: f64,
    /// Mean life in bytes that the host writes meanwhile.
    pub mean_life_bytes: f64,
}

/// One way that is to be simulated.
struct Candidate {
    name: String,
    kind: WayKind,
    handles: usize,
    way: Way,
    streams: Option<(usize, Vec<u16>)>,
}

/// Advises on the placement of a workload. `told` hears what is being done.
///
/// # Errors
/// When the workload cannot be read, the device cannot be made, there is too little traffic, or the
/// caller cancels.
pub fn advise(
    device: &ResolvedDevice,
    workload: &Workload,
    traces: Option<&TraceSource>,
    options: &AdviseOptions,
    cancel: &AtomicBool,
    told: &(dyn Fn(&str) + Sync),
) -> Result<Advice, LabError> {
    let mut notices = Vec::new();
    told("reading the workload");
    let simulated = scale::device(device, traces, options, &mut notices)?;
    if options.handles > device.config.handles {
        notices.push(format!(
            "{} has {} placement handles; with {} it is another drive",
            device.name, device.config.handles, options.handles
        ));
    }
    if options.hold_out <= 0.0 {
        notices.push("nothing is held out: WAF is that of the traffic learned from".to_owned());
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

    told("learning lifetimes");
    let lives = Lives::learn(&log, &geometry, plan.learned);
    let leaves = regions::leaves(&lives);
    let traffic =
        Traffic { device: &simulated, log: &log, lives: &lives, leaves: &leaves, plan: &plan };
    told("searching groups");
    let candidates = candidates(&traffic, options, cancel)?;

    let done = std::sync::atomic::AtomicUsize::new(0);
    let outcomes: Vec<Outcome> = candidates
        .par_iter()
        .map(|candidate| {
            if cancel.load(Ordering::Relaxed) {
                return Err(LabError::Cancelled);
            }
            let outcome =
                simulate::run(&simulated, &log, &candidate.way, &plan, candidate.handles, cancel)?;
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            told(&format!("simulated {done} of {}: {}", candidates.len(), candidate.name));
            Ok(outcome)
        })
        .collect::<Result<_, LabError>>()?;

    let base = &outcomes[0];
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by(|a, b| outcomes[*a].waf.total_cmp(&outcomes[*b].waf));
    let ways: Vec<WayReport> =
        order.iter().map(|i| report(&candidates[*i], &outcomes[*i], base)).collect();
    // Among ways that a host can go, the fewest handles within half a percent of the best.
    let possible = || order.iter().filter(|i| candidates[**i].kind != WayKind::Oracle);
    let least = possible().map(|i| outcomes[*i].waf).fold(f64::INFINITY, f64::min);
    let best = possible()
        .filter(|i| outcomes[**i].waf <= least * 1.005)
        .min_by_key(|i| candidates[**i].handles)
        .copied()
        .unwrap_or(0);
    let chosen = &candidates[best];
    if lives.deaths() < 1000.0 {
        notices.push(format!(
            "only {:.0} pages were written twice in the part learned from: the advice rests on little",
            lives.deaths()
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
        groups: reports::groups(&chosen.way, &log, &lives, &geometry, chosen.handles),
        streams: reports::streams(chosen.streams.as_ref(), &log, &geometry, plan.learned),
        histogram: lives.histogram(geometry.page_bytes),
        heat_map: lives.heat_map(&geometry),
        map: match &chosen.way {
            Way::Regions(map) => Some(map.as_ref().clone()),
            _ => None,
        },
        ways,
        notices,
    })
}

fn report(candidate: &Candidate, outcome: &Outcome, base: &Outcome) -> WayReport {
    let wins =
        outcome.quarters.iter().zip(&base.quarters).filter(|(ours, none)| ours < none).count();
    let quarters = outcome.quarters.len().max(1);
    let mean = outcome.quarters.iter().sum::<f64>() / quarters as f64;
    let variance =
        outcome.quarters.iter().map(|w| (w - mean).powi(2)).sum::<f64>() / quarters as f64;
    WayReport {
        name: candidate.name.clone(),
        kind: candidate.kind,
        handles: candidate.handles,
        waf: outcome.waf,
        spread: variance.sqrt().abs(),
        waf_learned: outcome.waf_learned,
        life_gained: base.waf / outcome.waf - 1.0,
        confidence: if candidate.kind == WayKind::None {
            0.0
        } else {
            wins as f64 / quarters as f64
        },
    }
}

/// Traffic, what was learned of it, and the drive.
struct Traffic<'a> {
    device: &'a ResolvedDevice,
    log: &'a Log,
    lives: &'a Lives,
    leaves: &'a [regions::Leaf],
    plan: &'a Plan,
}

/// All ways worth simulating; the first is without placement.
fn candidates(
    traffic: &Traffic<'_>,
    options: &AdviseOptions,
    cancel: &AtomicBool,
) -> Result<Vec<Candidate>, LabError> {
    let Traffic { device, log, lives, leaves, plan } = *traffic;
    let geometry = &device.geometry;
    let most = usize::from(options.handles.max(1));
    let mut all = vec![Candidate {
        name: "no placement".to_owned(),
        kind: WayKind::None,
        handles: 1,
        way: Way::One,
        streams: None,
    }];
    for (number, labels) in log.labels.iter().enumerate() {
        let points = streams::points(log, labels, geometry, plan.learned);
        if points.iter().filter(|p| p.weight > 0.0).count() < 2 {
            continue;
        }
        if labels.recorded && labels.names.len() <= most {
            all.push(Candidate {
                name: "as recorded".to_owned(),
                kind: WayKind::Recorded,
                handles: labels.names.len(),
                way: Way::Labels(number, (0..labels.names.len() as u16).collect()),
                streams: Some((number, (0..labels.names.len() as u16).collect())),
            });
            continue;
        }
        for k in counts(most.min(points.len())) {
            let groups = group::k_means(&points, k, options.seed);
            let used = group::used(&groups);
            if used < 2 {
                continue;
            }
            all.push(Candidate {
                name: format!("{}, {used} groups", labels.what),
                kind: WayKind::Streams,
                handles: used,
                way: Way::Labels(number, groups.clone()),
                streams: Some((number, groups)),
            });
        }
    }
    let points: Vec<Point> = leaves.iter().map(regions::Leaf::point).collect();
    let of_leaves: Vec<Life> = leaves.iter().map(|leaf| leaf.life).collect();
    let clock = log.pages_of(plan.learned) as f64;
    let counts: Vec<usize> = counts(most).collect();
    let mut seen: Vec<Vec<u16>> = Vec::new();
    let by_address =
        |groups: &[u16]| Way::Regions(Box::new(regions::map(leaves, groups, lives, geometry)));
    let learning = plan.learning(log, geometry);
    let cost = |groups: &[u16]| {
        let way = by_address(groups);
        let outcome = simulate::run(device, log, &way, &learning, group::used(groups), cancel)?;
        Ok(outcome.waf)
    };
    let pages = clock * f64::from(learning.passes);
    // A small drive has no room for as many open reclaim units as the search begins with.
    let room = |groups: &usize| scale::with_handles(device, *groups).is_ok();
    let groups = (2..=search::MOST).rev().find(room).unwrap_or(0);
    let searched = search::groups(&points, &counts, groups, pages, options.seed, &cost)?;
    let mut groupings: Vec<_> = searched.into_iter().map(|g| ("by simulation", g)).collect();
    groupings.extend(group::all(&points, &of_leaves, &counts, clock, geometry, options.seed));
    for (how, groups) in groupings {
        let used = group::used(&groups);
        if used < 2 || seen.contains(&groups) {
            continue;
        }
        all.push(Candidate {
            name: format!("regions, {used} groups ({how})"),
            kind: WayKind::Regions,
            handles: used,
            way: by_address(&groups),
            streams: None,
        });
        seen.push(groups);
    }
    if most >= 2 {
        all.push(Candidate {
            name: format!("age of the page written over, {most} classes"),
            kind: WayKind::History,
            handles: most,
            way: Way::History(lives.quantiles(most)),
            streams: None,
        });
        let deaths = std::sync::Arc::new(oracle::Deaths::of(log, geometry));
        let mut kinds = vec![most];
        // More handles than allowed, as many as leave the reclaim units for data.
        let room = [64, 32, 16].into_iter().find(|h| h * 16 <= geometry.ru_count as usize);
        kinds.extend(room.filter(|h| *h > most));
        for handles in kinds {
            for (how, bounds) in deaths.classes(handles, geometry) {
                all.push(Candidate {
                    name: format!("oracle, {handles} handles ({how})"),
                    kind: WayKind::Oracle,
                    handles,
                    way: Way::Oracle(deaths.clone(), bounds),
                    streams: None,
                });
            }
        }
    }
    Ok(all)
}

/// Numbers of groups to try.
fn counts(most: usize) -> impl Iterator<Item = usize> {
    [2, 3, 4, 6, 8, 12, 16, 32, 64, 128]
        .into_iter()
        .filter(move |k| *k < most)
        .chain((most >= 2).then_some(most))
}
