//! The placement schemes worth simulating.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use wafer_config::ResolvedDevice;
use wafer_lab::LabError;

use crate::advice::{AdviseOptions, SchemeKind};
use crate::group::{self, Point};
use crate::lives::{Life, Lives};
use crate::log::Log;
use crate::oracle::DeathTimes;
use crate::placing::Scheme;
use crate::simulate::Plan;
use crate::{firmware, regions, scale, search, simulate, streams};

/// A placement scheme to be simulated.
pub(super) struct Candidate {
    pub(super) name: String,
    pub(super) kind: SchemeKind,
    pub(super) handles: usize,
    pub(super) scheme: Scheme,
    /// The drive with other firmware, if the scheme requires it.
    pub(super) firmware: Option<ResolvedDevice>,
}

/// The traffic, the lifetimes learned from it, and the drive.
pub(super) struct Traffic<'a> {
    pub(super) device: &'a ResolvedDevice,
    pub(super) log: &'a Log,
    pub(super) lives: &'a Lives,
    pub(super) leaves: &'a [regions::Leaf],
    pub(super) plan: &'a Plan,
}

/// Returns all schemes worth simulating; the first is without placement.
pub(super) fn all(
    traffic: &Traffic<'_>,
    options: &AdviseOptions,
    cancel: &AtomicBool,
) -> Result<Vec<Candidate>, LabError> {
    let mut all = placements(traffic, options, cancel)?;
    all.extend(firmware::all(traffic.device).into_iter().map(|(name, device)| Candidate {
        name: format!("no placement, {name}"),
        kind: SchemeKind::Firmware,
        handles: 1,
        scheme: Scheme::One,
        firmware: Some(device),
    }));
    Ok(all)
}

/// Returns the schemes for the unchanged drive.
fn placements(
    traffic: &Traffic<'_>,
    options: &AdviseOptions,
    cancel: &AtomicBool,
) -> Result<Vec<Candidate>, LabError> {
    let Traffic { device, log, lives, leaves, plan } = *traffic;
    let geometry = &device.geometry;
    let most = usize::from(options.handles.max(1));
    let mut all = vec![Candidate {
        name: "no placement".to_owned(),
        kind: SchemeKind::None,
        handles: 1,
        scheme: Scheme::One,
        firmware: None,
    }];
    for (number, labels) in log.labels.iter().enumerate() {
        let points = streams::points(log, labels, geometry, plan.learned);
        if points.iter().filter(|p| p.weight > 0.0).count() < 2 {
            continue;
        }
        if labels.recorded && labels.names.len() <= most {
            all.push(Candidate {
                name: "as recorded".to_owned(),
                kind: SchemeKind::Recorded,
                handles: labels.names.len(),
                scheme: Scheme::Labels(number, (0..labels.names.len() as u16).collect()),
                firmware: None,
            });
            continue;
        }
        let mut seen: Vec<Vec<u16>> = Vec::new();
        for k in counts(most.min(points.len())) {
            let groups = group::k_means(&points, k, options.seed);
            let used = group::used(&groups);
            if used < 2 || seen.contains(&groups) {
                continue;
            }
            seen.push(groups.clone());
            all.push(Candidate {
                name: format!("{}, {used} groups", labels.what),
                kind: SchemeKind::Streams,
                handles: used,
                scheme: Scheme::Labels(number, groups),
                firmware: None,
            });
        }
    }
    let points: Vec<Point> = leaves.iter().map(regions::Leaf::point).collect();
    let of_leaves: Vec<Life> = leaves.iter().map(|leaf| leaf.life).collect();
    let clock = log.pages_of(plan.learned) as f64;
    let counts: Vec<usize> = counts(most).collect();
    let mut seen: Vec<Vec<u16>> = Vec::new();
    let by_address =
        |groups: &[u16]| Scheme::Regions(Box::new(regions::map(leaves, groups, lives, geometry)));
    let learning = plan.learning(log, geometry);
    let cost = |groups: &[u16]| {
        let scheme = by_address(groups);
        let outcome = simulate::run(device, log, &scheme, &learning, group::used(groups), cancel)?;
        Ok(outcome.waf)
    };
    let pages = clock * f64::from(learning.passes);
    // A small drive may not have enough reclaim units for the initial groups of the search.
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
            kind: SchemeKind::Regions,
            handles: used,
            scheme: by_address(&groups),
            firmware: None,
        });
        seen.push(groups);
    }
    if most >= 2 {
        all.push(Candidate {
            name: format!("age of the page written over, {most} classes"),
            kind: SchemeKind::History,
            handles: most,
            scheme: Scheme::History(lives.quantiles(most)),
            firmware: None,
        });
        let deaths = Arc::new(DeathTimes::of(log, geometry));
        let mut kinds = vec![most];
        // More handles than allowed, as long as 16 reclaim units remain for each.
        let room = [64, 32, 16].into_iter().find(|h| h * 16 <= geometry.ru_count as usize);
        kinds.extend(room.filter(|h| *h > most));
        for handles in kinds {
            for (how, bounds) in deaths.classes(handles, geometry) {
                all.push(Candidate {
                    name: format!("oracle, {handles} handles ({how})"),
                    kind: SchemeKind::Oracle,
                    handles,
                    scheme: Scheme::Oracle(deaths.clone(), bounds),
                    firmware: None,
                });
            }
        }
    }
    Ok(all)
}

/// Returns the group counts to try.
fn counts(most: usize) -> impl Iterator<Item = usize> {
    [2, 3, 4, 6, 8, 12, 16, 32, 64, 128]
        .into_iter()
        .filter(move |k| *k < most)
        .chain((most >= 2).then_some(most))
}
