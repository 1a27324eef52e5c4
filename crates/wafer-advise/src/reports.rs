//! Reports the contents of groups and streams.

use wafer_device::Geometry;
use wafer_interface::Op;

use super::advice::{GroupReport, StreamReport};
use super::lives::{Life, Lives};
use super::log::{Log, pages};
use super::placing::{Placer, Scheme};
use super::streams;

/// Returns a report on the data of each handle in the first `learned` commands.
pub(super) fn groups(
    scheme: &Scheme,
    log: &Log,
    lives: &Lives,
    geometry: &Geometry,
    learned: usize,
    handles: usize,
) -> Vec<GroupReport> {
    let mut groups = vec![Life::default(); handles];
    match scheme {
        Scheme::Regions(map) => {
            for (granule, life) in lives.of.iter().enumerate() {
                let page = granule as u64 * lives.granule;
                let namespace =
                    geometry.namespaces.iter().position(|n| n.contains(&page)).unwrap_or(0);
                let within = page.saturating_sub(geometry.namespaces[namespace].start);
                let (placement, _) = map.at(namespace as u8, within * geometry.blocks_per_page());
                if let Some(group) = groups.get_mut(usize::from(placement.0)) {
                    group.add(life);
                }
            }
        }
        Scheme::Labels(number, of) => {
            let stream = streams::lives(log, &log.labels[*number], geometry, learned);
            for (life, group) in stream.iter().zip(of) {
                groups[usize::from(*group)].add(life);
            }
        }
        Scheme::One => lives.of.iter().for_each(|life| groups[0].add(life)),
        Scheme::History(_) | Scheme::Oracle(..) => {
            let mut placer = Placer::new(scheme, log, geometry);
            let mut out = Vec::new();
            for (at, command) in log.commands[..learned].iter().enumerate() {
                out.clear();
                placer.place(at, command, &mut out);
                for piece in out.iter().filter(|c| c.op == Op::Write) {
                    let handle = if piece.placement == wafer_interface::Placement::NONE {
                        0
                    } else {
                        piece.placement.0
                    };
                    if let Some(group) = groups.get_mut(usize::from(handle)) {
                        group.writes += pages(piece, log.page_blocks).count() as f64;
                    }
                }
            }
        }
    }
    let writes: f64 = groups.iter().map(|g| g.writes).sum();
    let space: f64 = groups.iter().map(|g| g.space).sum();
    (groups.iter().enumerate())
        .map(|(handle, life)| GroupReport {
            handle: handle as u16,
            write_share: life.writes / writes.max(1.0),
            space_share: life.space / space.max(1.0),
            mean_life_bytes: if life.exposure > 0.0 {
                life.mean() * geometry.page_bytes as f64
            } else {
                0.0
            },
            spread: life.spread(),
        })
        .collect()
}

/// Returns the streams of a scheme by label with their handles, by descending bytes written.
pub(super) fn streams(
    scheme: &Scheme,
    log: &Log,
    geometry: &Geometry,
    learned: usize,
) -> Vec<StreamReport> {
    let Scheme::Labels(number, groups) = scheme else { return Vec::new() };
    let labels = &log.labels[*number];
    let lives = streams::lives(log, labels, geometry, learned);
    let all: f64 = lives.iter().map(|l| l.writes).sum();
    let mut reports: Vec<StreamReport> = (labels.names.iter().zip(groups).zip(&lives))
        .map(|((name, handle), life)| StreamReport {
            name: name.clone(),
            handle: *handle,
            write_share: life.writes / all.max(1.0),
            mean_life_bytes: life.mean() * geometry.page_bytes as f64,
        })
        .collect();
    reports.sort_by(|a, b| b.write_share.total_cmp(&a.write_share));
    reports
}
