//! Groups by simulation: joins the two clusters whose union costs the fewest media writes until few
//! enough are left.
//!
//! Lifetimes show which data differs, not whether the difference matters on this drive. A log that lives
//! as long as cold pages must stay on its own handle, while pages with different lifetimes may share one
//! if there is plenty of spare space. Only the learned part of the traffic is simulated.

use rayon::prelude::*;
use wafer_lab::LabError;

use super::group::{self, Point};

/// Maximum number of page writes that the search simulates: some ten seconds on two cores.
const BUDGET: f64 = 6e8;
/// Maximum and minimum number of initial clusters.
pub(super) const MOST: usize = 12;
const LEAST: usize = 4;

/// Returns the number of simulations needed to join `from` clusters down to two.
fn simulations(from: usize) -> usize {
    (3..=from).map(|k| k * (k - 1) / 2).sum()
}

/// Returns the group of each point, for each number of groups in `counts` that is reached. `cost`
/// returns the WAF of up to `most` groups by a simulation that writes `pages` pages.
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

/// Returns groups with `b` joined to `a`, renumbered without gaps; `a` is less than `b`.
fn join(groups: &[u16], a: u16, b: u16) -> Vec<u16> {
    let joined = |group: &u16| match *group {
        group if group == b => a,
        group if group > b => group - 1,
        group => group,
    };
    groups.iter().map(joined).collect()
}
