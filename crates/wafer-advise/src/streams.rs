//! Lifetimes by stream: process, volume, size.

use wafer_device::Geometry;
use wafer_interface::Op;

use super::group::Point;
use super::lives::Life;
use super::log::{Labels, Log};

/// Returns the lifetimes of each label's writes in the first `learned` commands.
pub(super) fn lives(log: &Log, labels: &Labels, geometry: &Geometry, learned: usize) -> Vec<Life> {
    let mut of = vec![Life::default(); labels.names.len()];
    // Time and label of each page's last write; 0 for an unmapped page.
    let mut born = vec![(0u64, 0u16); geometry.logical_pages as usize];
    let mut clock = 0u64;
    for (command, label) in log.commands[..learned].iter().zip(&labels.of) {
        for page in log.device_pages(command, geometry) {
            let Some((birth, by)) = born.get_mut(page as usize) else { break };
            if *birth > 0 {
                of[usize::from(*by)].end((clock + 1 - *birth) as f64);
            }
            if command.op == Op::Write {
                clock += 1;
                (*birth, *by) = (clock, *label);
                of[usize::from(*label)].writes += 1.0;
            } else {
                *birth = 0;
            }
        }
    }
    for (birth, by) in born.into_iter().filter(|(b, _)| *b > 0) {
        let life = &mut of[usize::from(by)];
        life.exposure += (clock + 1 - birth) as f64;
        life.space += 1.0;
    }
    of
}

/// Returns the labels as points to group.
pub(super) fn points(
    log: &Log,
    labels: &Labels,
    geometry: &Geometry,
    learned: usize,
) -> Vec<Point> {
    let point = |life: &Life| Point {
        life: life.mean().ln(),
        spread: life.spread(),
        weight: (life.writes * (life.space + 1.0)).sqrt(),
    };
    lives(log, labels, geometry, learned).iter().map(point).collect()
}
