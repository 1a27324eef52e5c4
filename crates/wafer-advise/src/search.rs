//! Groups by simulation: of what was clustered, the two whose union costs the least media writes are
//! joined, again and again, until few enough are left.
//!
//! Lives tell what differs, not whether the difference matters on this drive: a log that lives as
//! long as cold pages must stay alone, while pages that live unlike may share a handle where spare space
//! is plenty. Only the part of the traffic that is learned from is simulated.

use rayon::prelude::*;
use wafer_lab::LabError;

use super::group::{self, Point};

/// Page writes that the search may simulate: some ten seconds on two cores.
const BUDGET: f64 = 6e8;
/// Clusters that it begins with, at most and at least.
pub(super) const MOST: usize = 12;
const LEAST: usize = 4;

/// Simulations that joining `from` clusters down to two takes.
fn simulations(from: usize) -> usize {
    (3..=from).map(|k| k * (k - 1) / 2).sum()
}

/// The groups of each point for every number of groups in `counts` that can be had. `cost` simulates
/// groups and answers their WAF, of up to `most` groups; one simulation writes `pages` pages.
pub(super) fn groups(
    points: &[Point],
    counts: &[usize],
    most: usize,
    pages: f64,
    seed: u64,
    cost: &(dyn Fn(&[u16]) -> Result<f64, LabError> + Sync),
) -> Result<Vec<Vec<u16>>, LabError> {
    let fits = |from: &usize| simulations(*from) as f64 * pages <= BUDGET;
    let from = (LEAST..=most).rev().find(fits).unwrap_or(LEAST).min(most);
    if from < 3 {
        return Ok(Vec::new());
    }
    let mut groups = group::in_order_apart(points, from, seed)
        .unwrap_or_else(|| group::k_means(points, from, seed));
    let mut found = Vec::new();
    loop {
        let count = group::used(&groups);
        if counts.contains(&count) && count < from {
            found.push(groups.clone());
        }
        if count <= 2 {
            return Ok(found);
        }
        let pairs: Vec<(u16, u16)> =
            (0..count as u16).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
        let joined = pairs
            .into_par_iter()
            .map(|(a, b)| {
                let groups = join(&groups, a, b);
                Ok((cost(&groups)?, groups))
            })
            .collect::<Result<Vec<_>, LabError>>()?;
        let best = joined.into_iter().min_by(|x, y| x.0.total_cmp(&y.0));
        let Some((_, best)) = best else { return Ok(found) };
        groups = best;
    }
}

/// Groups with `b` joined to `a`, numbered without a gap; `a` is less than `b`.
fn join(groups: &[u16], a: u16, b: u16) -> Vec<u16> {
    let joined = |group: &u16| match *group {
        group if group == b => a,
        group if group > b => group - 1,
        group => group,
    };
    groups.iter().map(joined).collect()
}
